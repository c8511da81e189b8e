//! `logs` and `events`, as they are and as they come; completions.

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::scene::{Reading, Scene, finish, until};

#[test]
fn logs_are_what_was_written() {
    let scene = Scene::new();
    let id = scene.launch("both", [], "echo out; echo err >&2");
    assert_eq!(scene.homing(["wait", "both"]).code, Some(0));
    let said = scene.homing(["logs", &id[..9]]);
    assert_eq!((said.code, said.text()), (Some(0), "out\n[standard error]\nerr\n"));
    let said = scene.homing(["logs", "both", "--json"]).json();
    assert_eq!((&said["id"], &said["bytes"]), (&id.as_str().into(), &25.into()), "{said}");
    let said = scene.homing(["logs", "both", "-f"]);
    assert_eq!((said.code, said.text(), said.err.as_str()), (Some(0), "out\n", "err\n"));
}

#[test]
fn logs_are_followed_to_the_end() {
    let scene = Scene::new();
    let gate = scene.gate("slow");
    scene.launch("slow", [], &format!("echo first; {}; echo last", gate.wait()));
    let mut logs = scene.reading(["logs", "-f", "slow"]);
    assert_eq!(logs.line().as_deref(), Some("first"));
    drop(gate.open());
    assert_eq!(logs.line().as_deref(), Some("last"));
    let said = logs.finish();
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
}

#[test]
fn an_interrupt_ends_the_reading_and_not_the_task() {
    let scene = Scene::new();
    let gate = scene.gate("slow");
    scene.launch("slow", [], &format!("echo first; {}", gate.wait()));
    for words in [["logs", "slow", "-f"], ["events", "-f", "--json"]] {
        let mut reading = scene.reading(words);
        assert!(reading.line().is_some());
        reading.signal(Signal::INT);
        let said = reading.finish();
        assert_eq!((said.code, said.err.as_str()), (Some(130), ""), "{words:?}");
    }
    assert!(scene.lives("slow"));
}

#[test]
fn events_are_followed_until_the_daemon_is_stopped() {
    let scene = Scene::new();
    scene.run(["--name", "before"], ["true"]);
    let mut events = scene.reading(["events", "-f", "--after", "2"]);
    assert_eq!(events.json().unwrap()["seq"], 3);
    let id = scene.launch("later", [], "true");
    let last = accepted(&mut events, 3, &id);
    assert_eq!(scene.homing(["wait", "later"]).code, Some(0));
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let last = std::iter::from_fn(|| events.json()).last().unwrap()["seq"].as_u64().max(Some(last));
    let said = events.finish();
    assert_eq!(said.code, Some(6));
    assert!(said.err.contains("the daemon was stopped"), "{}", said.err);
    let hint = format!("try: homing events -f --after {}", last.unwrap());
    assert!(said.err.contains(&hint), "{}", said.err);
}

/// Reads on, number by number, until this task was accepted; with the number of that.
fn accepted(events: &mut Reading, mut seq: u64, id: &str) -> u64 {
    while let Some(event) = events.json() {
        seq += 1;
        assert_eq!(event["seq"], seq, "no gaps, nothing twice");
        if event["kind"] == "accepted" && event["task"] == id {
            return seq;
        }
    }
    panic!("the events end before {id} is accepted");
}

#[test]
fn events_go_on_when_the_daemon_is_killed() {
    let scene = Scene::new();
    scene.run([], ["true"]);
    let mut events = scene.reading(["events", "-f"]);
    assert_eq!(events.json().unwrap()["seq"], 1);
    let pid = scene.homing(["daemon", "status", "--json"]).json()["pid"].as_i64().unwrap();
    let daemon = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(daemon, Signal::KILL).unwrap();
    until(|| test_kill_process(daemon).is_err());
    let id = scene.launch("later", [], "true");
    accepted(&mut events, 1, &id);
    events.signal(Signal::TERM);
    assert_eq!(events.finish().code, Some(130));
}

#[test]
fn a_reader_that_goes_away_is_nobodys_error() {
    let scene = Scene::new();
    scene.run([], ["true"]);
    for words in
        [["events"].as_slice(), &["events", "-f"], &["ls", "--all"], &["completions", "zsh"]]
    {
        let mut child = scene.command(words).spawn().unwrap();
        drop(child.stdout.take());
        let said = finish(child);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{words:?}");
    }
    let said = scene.homing(["events", "--after", "100000"]);
    assert_eq!((said.code, said.text()), (Some(2), ""));
    assert!(said.err.contains("is ahead of the journal"), "{}", said.err);
}

#[test]
fn completions_know_every_verb() {
    let scene = Scene::new();
    for shell in ["bash", "zsh", "fish"] {
        let said = scene.homing(["completions", shell]);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
        for verb in ["launch", "cancel", "inbox", "owned", "completions"] {
            assert!(said.text().contains(verb), "{shell}: {verb}");
        }
    }
    assert!(!scene.home.exists());
}

#[test]
fn what_is_piped_has_no_colour_and_no_progress() {
    let scene = Scene::new();
    let said = scene.run([], ["echo", "plain"]);
    assert_eq!((said.text(), said.err.as_str()), ("plain\n", ""));
    assert!(!scene.homing(["ls", "--all"]).text().contains('\u{1b}'));
}
