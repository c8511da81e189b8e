//! `homing run` with real commands.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::scene::{Scene, finish};

#[test]
fn a_command_that_goes_well_says_nothing_of_its_own() {
    let said = Scene::new().run([], ["true"]);
    assert_eq!((said.code, said.text(), said.err.as_str()), (Some(0), "", ""));
}

#[test]
fn output_is_printed_byte_by_byte_as_it_is() {
    let scene = Scene::new();
    let said = scene.run([], ["echo", "home", "again"]);
    assert_eq!((said.code, said.text()), (Some(0), "home again\n"));
    let said = scene.run([], ["printf", r"no end of line, \000 and \377\033[2J"]);
    assert_eq!(said.out, b"no end of line, \0 and \xff\x1b[2J");
}

#[test]
fn a_command_that_fails_is_told_with_what_why_and_what_to_try() {
    let scene = Scene::new();
    let said = scene.run([], ["false"]);
    let id = said.id();
    assert_eq!((said.code, said.text()), (Some(1), ""));
    assert_eq!(
        said.err,
        format!(
            "homing: {id} (false) ended as failed, exited\n  \
             why: exit (other): the process ended with exit code 1\n  \
             try: homing why {id}\n"
        )
    );
    let said = scene.run([], ["sh", "-c", "echo half; echo broken >&2; exit 3"]);
    assert_eq!((said.code, said.text()), (Some(1), "half\n[standard error]\nbroken\n"));
    assert!(said.err.contains("exit code 3"), "{}", said.err);
}

#[test]
fn a_command_ended_by_a_signal_is_no_success() {
    let said = Scene::new().run([], ["sh", "-c", "kill -KILL $$"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("ended by signal 9"), "{}", said.err);
}

#[test]
fn a_command_that_is_not_there_says_so() {
    let said = Scene::new().run([], ["no-such-command-here"]);
    assert_eq!((said.code, said.text()), (Some(1), ""));
    assert!(said.err.contains("no-such-command-here: No such file or directory"), "{}", said.err);
    assert!(
        said.err.contains("try: see that the command is spelled right and on PATH"),
        "{}",
        said.err
    );
}

#[test]
fn exit_75_goes_on_with_the_next_model() {
    let scene = Scene::new();
    let script = "echo $HOMING_MODEL; test $HOMING_MODEL = acme/small || exit 75";
    let options = ["--model", "acme/large", "--model", "acme/small"];
    let said = scene.run(options, ["sh", "-c", script]);
    assert_eq!((said.code, said.text()), (Some(0), "acme/small\n"));
    let all = scene.homing(["ls", "--all", "--json"]).json();
    let models: Vec<&Value> =
        all[0]["attempts"].as_array().unwrap().iter().map(|each| &each["model"]).collect();
    assert_eq!(models, ["acme/large", "acme/small"]);
    let said = scene.run(options, ["sh", "-c", "exit 75"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("nothing is left to try after 2 attempts"), "{}", said.err);
}

#[test]
fn a_time_that_is_up_ends_the_command() {
    let said = Scene::new().run(["--timeout", "200ms"], ["sleep", "300"]);
    assert_eq!(said.code, Some(1));
    assert!(
        said.err.contains("ended as timed_out") && said.err.contains("a longer --timeout"),
        "{}",
        said.err
    );
}

#[test]
fn the_same_key_prints_the_same_result_and_runs_nothing_again() {
    let scene = Scene::new();
    let count = scene.path("count");
    let script = format!("echo x >> '{}'; echo done", count.display());
    for _ in 0..2 {
        let said = scene.run(["--key", "once"], ["sh", "-c", &script]);
        assert_eq!((said.code, said.text()), (Some(0), "done\n"));
    }
    assert_eq!(std::fs::read_to_string(count).unwrap(), "x\n");
    let said = scene.run(["--key", "once"], ["echo", "something else"]);
    assert_eq!(said.code, Some(5));
    assert!(
        said.err.contains("E_IDEMPOTENCY_KEY_REUSED")
            && said.err.contains("try: use another --key")
    );
}

#[test]
fn the_working_directory_is_the_callers_or_the_one_it_names() {
    let scene = Scene::new();
    let (here, there) = (scene.path("here"), scene.path("there"));
    std::fs::create_dir(&here).unwrap();
    std::fs::create_dir(&there).unwrap();
    let pwd = |words: &[&str]| {
        let child = scene.command(words).current_dir(&here).spawn().unwrap();
        finish(child).text().trim_end().to_owned()
    };
    assert_eq!(pwd(&["run", "--", "pwd"]), here.to_str().unwrap());
    assert_eq!(
        pwd(&["run", "--cwd", "../there", "--", "sh", "-c", "cd . && pwd -P"]),
        there.to_str().unwrap()
    );
}

#[test]
fn json_has_the_shape_of_every_door() {
    let said =
        Scene::new().run(["--json", "--name", "a name", "--model", "acme/large"], ["echo", "hi"]);
    assert_eq!(said.code, Some(0));
    let task = said.json();
    let mut known = task.clone();
    for field in [
        "id",
        "session",
        "created_at",
        "started_at",
        "ended_at",
        "as_of",
        "delivery",
        "attempts",
        "progress",
    ] {
        assert!(known.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    let progress = &task["progress"];
    assert_eq!((&progress["tool_calls"], &progress["tokens"]), (&0.into(), &0.into()));
    assert!(progress["last_activity_at"].as_str().unwrap().ends_with('Z'));
    let expected = serde_json::json!({
        "name": "a name", "state": "completed", "cause": "exited", "generation": 1, "attempt": 1,
        "host": "process", "agent": null, "model": "acme/large", "parent": "inbox:cli", "origin": null,
        "batch": "open:1", "depth": 0, "evidence": ["the process ended with exit code 0"],
        "reason": "the host's own record shows turn 1 ended with finish stop",
        "result": { "text": "hi\n", "bytes": 3, "truncated": false }, "error": null,
        "room": { "state": "none", "key": null, "code": null, "why": null }, "launched_by": null, "children": [], "flagged": false,
    });
    assert_eq!(known, expected);
    assert_eq!(task["session"]["host"], "process");
    assert!(task["ended_at"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn what_was_printed_is_settled_and_what_nobody_read_stays_owed() {
    let scene = Scene::new();
    let state = |id: &str| scene.homing(["show", id, "--json"]).json()["delivery"]["state"].clone();
    let said = scene.run(["--json"], ["true"]);
    assert_eq!(state(said.json()["id"].as_str().unwrap()), "settled");
    let mut child = scene.command(["run", "--", "echo", "unread"]).spawn().unwrap();
    drop(child.stdout.take());
    let said = finish(child);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "a closed output is nobody's error");
    let owed = state("echo unread");
    assert!(matches!(owed.as_str(), Some("owed" | "sealed")), "{owed}");
}

#[test]
fn an_interrupt_cancels_the_task_and_waits_for_its_end() {
    for signal in [Signal::INT, Signal::TERM] {
        let scene = Scene::new();
        let started = scene.path("started");
        let made = std::process::Command::new("mkfifo").arg(&started).status().unwrap();
        assert!(made.success());
        let script = format!("echo partial; echo $$ > '{}'; exec sleep 300", started.display());
        let child = scene.command(["run", "--", "sh", "-c", &script]).spawn().unwrap();
        // Opens when the command does: no sooner.
        let mut line = String::new();
        BufReader::new(std::fs::File::open(&started).unwrap()).read_line(&mut line).unwrap();
        let command = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let said = finish(child);
        assert_eq!((said.code, said.text()), (Some(130), "partial\n"), "{}", said.err);
        assert!(said.err.contains("ended as cancelled, asked"), "{}", said.err);
        assert!(test_kill_process(command).is_err(), "nothing of it runs any more");
        let why = scene.homing(["why", &said.id()]);
        assert!(why.text().contains("interrupted at the terminal"), "{}", why.text());
    }
}

#[test]
fn g23_a_home_and_names_with_spaces_and_other_scripts_work() {
    let scene = Scene::new();
    let home = scene.path("mein Zuhause ☂ дом");
    let words = ["run", "--name", "grüße ☂", "--", "echo", "naïve café"];
    let child =
        scene.command(words).env("HOMING_HOME", &home).stderr(Stdio::piped()).spawn().unwrap();
    let said = finish(child);
    assert_eq!((said.code, said.text()), (Some(0), "naïve café\n"));
    let child = scene.command(["show", "grüße ☂"]).env("HOMING_HOME", &home).spawn().unwrap();
    assert_eq!(finish(child).code, Some(0));
    assert!(home.join("ledger.db").exists());
    let child = scene.command(["daemon", "stop"]).env("HOMING_HOME", &home).spawn().unwrap();
    assert_eq!(finish(child).code, Some(0));
}
