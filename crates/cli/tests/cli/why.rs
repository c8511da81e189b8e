//! `why` of real commands in every state that they can be in: the missing fact, and what comes next.

use crate::read::steady;
use crate::scene::{Scene, until};

/// What is known, missing and next, without what differs from run to run.
fn rest(scene: &Scene, task: &str) -> String {
    let said = scene.homing(["why", task]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let text = steady(said.text(), "no id to hide");
    let at = ["what is known", "what is missing", "what comes next"].iter();
    let at = at.filter_map(|head| text.find(head)).min().unwrap();
    let lines = text[at..].lines().filter(|line| !line.starts_with("the host's last word came"));
    lines.map(timeless).collect::<Vec<_>>().join("\n")
}

/// `(in 59m 59s)` differs, too.
fn timeless(line: &str) -> String {
    match (line.find(" (in "), line.find("): ")) {
        (Some(from), Some(to)) => format!("{}{}", &line[..from], &line[to + 1..]),
        (Some(_), None) | (None, _) => line.to_owned(),
    }
}

/// A command may run a moment before its host has said so.
fn runs(scene: &Scene, task: &str) {
    until(|| scene.show(task)["state"] == "running");
}

/// One command at a time.
fn one_slot() -> Scene {
    let scene = Scene::new();
    std::fs::create_dir(&scene.home).unwrap();
    std::fs::write(scene.home.join("homing.toml"), "[concurrency]\ndefault = 1\n").unwrap();
    scene
}

#[test]
fn an_end_is_told_with_its_chain() {
    let scene = Scene::new();
    let id = scene.run([], ["false"]).id();
    let said = scene.homing(["why", &id]);
    // Sealed before it was acknowledged, or not: both are right.
    let text = steady(said.text(), &id).replace("+T  its notice is sealed in a debrief\n", "");
    assert_eq!(
        text,
        "ID false: failed (exited)\n\nwhat happened\n\
         +T  accepted for inbox:cli, to run on process\n+T  turn 1: what it was launched with\n\
         +T  starting: a slot of agent:process was free\n+T  seen: session SESSION was made\n\
         +T  seen: the host has the prompt\n+T  running: the host has the prompt of turn 1\n\
         +T  seen: the process ended with exit code 1\n\
         +T  no result; exit: the process ended with exit code 1\n\
         +T  failed (exited): exit (other): the process ended with exit code 1\n\
         +T  its notice is settled: the receipt is here\n\n\
         what is known\nthe process ended with exit code 1\n\n\
         what comes next\nnothing: it has ended, and nothing is owed about it\n"
    );
}

#[test]
fn a_command_that_runs_and_those_that_wait_for_it() {
    let scene = one_slot();
    let gate = scene.gate("running");
    let running = scene.launch("runs", [], &gate.wait());
    let next = scene.launch("next", [], "true");
    let last = scene.launch("last", [], "true");
    let after = scene.launch("after", ["--after", "runs"], "true");
    let open = gate.open();
    runs(&scene, &running);
    assert_eq!(
        rest(&scene, &running),
        "what is known\nthe host says the session is busy\n\nwhat is missing\nthe host's record of the turn's end\n\n\
         what comes next\n\
         it ends when its process ends. No timer runs: a command may be silent for as long as it \
         likes; --timeout would bound it"
    );
    let by_itself = "what comes next\nit starts by itself as soon as a slot is free. No timer runs: \
                     waiting alone never ends it";
    let slot = "a free slot of agent:process: 1 of 1 held";
    assert_eq!(rest(&scene, &next), format!("what is missing\n{slot}\n\n{by_itself}"));
    let ahead = "; 1 task ahead of it";
    assert_eq!(rest(&scene, &last), format!("what is missing\n{slot}{ahead}\n\n{by_itself}"));
    assert_eq!(
        rest(&scene, &after),
        format!(
            "what is missing\nthe completion of {running} (runs), which is running\n\n\
             what comes next\nonce all of it has completed it queues for a slot; if one ends \
             otherwise, it is cancelled (dependency). No timer runs meanwhile"
        )
    );
    drop(open);
    for task in [&next, &last, &after] {
        assert_eq!(scene.homing(["wait", task]).code, Some(0));
    }
}

#[test]
fn a_command_with_a_time_limit() {
    let scene = Scene::new();
    let gate = scene.gate("limited");
    let id = scene.launch("limited", ["--timeout", "1h"], &gate.wait());
    let _open = gate.open();
    runs(&scene, &id);
    assert_eq!(
        rest(&scene, &id),
        "what is known\nthe host says the session is busy\n\nwhat is missing\nthe host's record of the turn's end\n\n\
         what comes next\n\
         at TIME: its time is up: the host is asked once more; unless that shows an end, it is \
         stopped as timed_out (timeout)"
    );
}

#[test]
fn a_command_that_ended_and_waits_for_its_own() {
    let scene = Scene::new();
    let gate = scene.gate("inner");
    let homing = env!("CARGO_BIN_EXE_homing");
    let script = format!("{homing} launch --name inner -- sh -c \"{}\"", gate.wait());
    let outer = scene.launch("outer", [], &script);
    let open = gate.open();
    until(|| scene.show(&outer)["state"] == "waiting_children");
    let inner = scene.show("inner")["id"].as_str().unwrap().to_owned();
    assert_eq!(
        rest(&scene, &outer),
        format!(
            "what is known\nthe process ended with exit code 0\nthe host says the session is not \
             busy\n\nwhat is missing\nthe end of {inner} (inner), which is running\n\n\
             what comes next\nit goes on by itself once that is there"
        )
    );
    drop(open);
    assert_eq!(scene.homing(["wait", &outer]).code, Some(0));
}

#[test]
fn ends_that_are_still_owed() {
    let scene = Scene::new();
    let id = scene.launch("done", [], "echo 42");
    assert_eq!(scene.homing(["wait", &id]).code, Some(0));
    until(|| scene.show(&id)["delivery"]["state"] == "sealed");
    assert_eq!(
        rest(&scene, &id),
        format!(
            "what is known\nthe process ended with exit code 0\n\nwhat is missing\n\
             the receipt of inbox:cli: its notice is sealed\n\nwhat comes next\n\
             it waits until inbox:cli fetches it (homing inbox shows it); homing inbox --ack {id}/1 \
             settles it"
        )
    );
    // What it says to do does it.
    assert_eq!(scene.homing(["inbox", "--ack", &format!("{id}/1")]).code, Some(0));
    let nothing = "what comes next\nnothing: it has ended, and nothing is owed about it";
    assert!(rest(&scene, &id).ends_with(nothing));
}

#[test]
fn a_cancelled_command_and_one_whose_time_was_up() {
    let scene = Scene::new();
    let gate = scene.gate("cancelled");
    let id = scene.launch("cancelled", [], &gate.wait());
    let _open = gate.open();
    assert_eq!(scene.homing(["cancel", &id, "--reason", "not needed"]).code, Some(0));
    until(|| scene.show(&id)["state"] == "cancelled");
    let said = scene.homing(["why", &id]);
    let why = "cancelled (asked): asked by someone at the command line or API: not needed";
    assert!(said.text().contains(why), "{}", said.text());
    let said = scene.run(["--timeout", "300ms"], ["sleep", "60"]);
    let said = scene.homing(["why", &said.id()]);
    assert!(said.text().contains("timed_out (timeout): its time is up after"), "{}", said.text());
}
