//! `logs` and `events`, as they are and as they come; completions.

use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::scene::{Scene, finish, until};

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
    let mut child = scene.command(["logs", "-f", "slow"]).spawn().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    told.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    drop(gate.open());
    line.clear();
    told.read_line(&mut line).unwrap();
    assert_eq!(line, "last\n");
    let said = finish(child);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
}

#[test]
fn an_interrupt_ends_the_reading_and_not_the_task() {
    let scene = Scene::new();
    let gate = scene.gate("slow");
    scene.launch("slow", [], &format!("echo first; {}", gate.wait()));
    for words in [["logs", "slow", "-f"].as_slice(), &["events", "-f"]] {
        let mut child = scene.command(words).spawn().unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap());
        told.read_line(&mut String::new()).unwrap();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let said = finish(child);
        assert_eq!((said.code, said.err.as_str()), (Some(130), ""), "{words:?}");
    }
    assert_eq!(scene.show("slow")["state"], "running");
}

#[test]
fn events_are_followed_until_the_daemon_is_stopped() {
    let scene = Scene::new();
    scene.run(["--name", "before"], ["true"]);
    let mut child = scene.command(["events", "-f", "--after", "2"]).spawn().unwrap();
    let told = BufReader::new(child.stdout.take().unwrap());
    let mut lines = told.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert_eq!(lines.next().unwrap()["seq"], 3);
    let id = scene.launch("later", [], "true");
    let mut seq = 3;
    let later = lines.by_ref().find(|line| {
        seq += 1;
        assert_eq!(line["seq"], seq, "no gaps");
        line["kind"] == "accepted"
    });
    assert_eq!(later.unwrap()["task"], id.as_str());
    assert_eq!(scene.homing(["wait", "later"]).code, Some(0));
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let last = lines.last().unwrap()["seq"].clone();
    let said = finish(child);
    assert_eq!(said.code, Some(6));
    assert!(said.err.contains("the daemon was stopped"), "{}", said.err);
    assert!(said.err.contains(&format!("try: homing events -f --after {last}")), "{}", said.err);
}

#[test]
fn events_go_on_when_the_daemon_is_killed() {
    let scene = Scene::new();
    scene.run([], ["true"]);
    let mut child = scene.command(["events", "-f"]).spawn().unwrap();
    let told = BufReader::new(child.stdout.take().unwrap());
    let mut lines = told.lines().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert_eq!(lines.next().unwrap()["seq"], 1);
    let pid = scene.homing(["daemon", "status", "--json"]).json()["pid"].as_i64().unwrap();
    let daemon = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(daemon, Signal::KILL).unwrap();
    until(|| test_kill_process(daemon).is_err());
    let id = scene.launch("later", [], "true");
    let mut seq = 1;
    let later = lines.by_ref().find(|line| {
        seq += 1;
        assert_eq!(line["seq"], seq, "no gaps, nothing twice");
        line["kind"] == "accepted" && line["task"] == id.as_str()
    });
    assert!(later.is_some());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(finish(child).code, Some(130));
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
