//! Bad usage: exit code 2, what is wrong, what to try; never a panic.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::scene::{Scene, finish};

#[test]
fn bad_usage_is_exit_code_2_and_names_what_is_wrong() {
    let scene = Scene::new();
    for (words, says) in [
        (vec![], "Usage: homing"),
        (vec!["fly"], "unrecognized subcommand 'fly'"),
        (vec!["run"], "<CMD>"),
        (vec!["launch"], "<CMD>"),
        (vec!["run", "say", "--", "true"], "cannot be used with"),
        (vec!["run", ""], "PROMPT: it is empty"),
        (vec!["launch", "--parent", "nobody", "--", "true"], "is not a parent"),
        (vec!["launch", "--notify", "eech", "--", "true"], "did you mean \"each\"?"),
        (vec!["launch", "--budget", "wall=30", "--", "true"], "it has no unit"),
        (vec!["launch", "--origin", "x", "--", "true"], "is not an origin"),
        (vec!["wait"], "<ID>"),
        (vec!["wait", "a", "--timeout", "30"], "it has no unit"),
        (vec!["output", "a", "--timeout", "30"], "it has no unit"),
        (vec!["cancel"], "<ID>"),
        (vec!["cancel", "a", "--all"], "cannot be used with"),
        (vec!["answer", "a"], "<TEXT>"),
        (vec!["answer", "a", "--allow", "--deny"], "cannot be used with"),
        (vec!["inbox", "nobody"], "is not a parent"),
        (vec!["ls", "--state", "done"], "there is no \"done\""),
        (vec!["completions", "dosh"], "invalid value 'dosh'"),
        (
            vec!["run", "--timeout", "30", "--", "true"],
            "it has no unit: write 300ms, 30s, 5m, 2h or 1d",
        ),
        (vec!["run", "--timeout", "5x", "--", "true"], "\"x\" is no unit"),
        (vec!["run", "--model", "large", "--", "true"], "write PROVIDER/MODEL"),
        (
            vec!["run", "--cwd", "/no/such/place", "--", "true"],
            "--cwd: /no/such/place is not a directory",
        ),
        (vec!["show"], "<ID>"),
        (vec!["events", "--after", "x"], "invalid value 'x'"),
        (vec!["ls", "--home", ""], "--home"),
    ] {
        let said = finish(scene.command(&words).spawn().unwrap());
        assert_eq!(said.code, Some(2), "{words:?}: {}", said.err);
        assert!(said.err.contains(says), "{words:?}: {}", said.err);
        assert_eq!(said.text(), "", "{words:?}");
    }
    assert!(!scene.home.exists(), "bad usage leaves nothing behind");
}

#[test]
fn a_word_that_is_not_utf_8_is_refused_in_words() {
    let scene = Scene::new();
    let bad = OsStr::from_bytes(b"a\xffb");
    for (words, says) in [
        (vec![OsStr::new("run"), OsStr::new("--"), OsStr::new("echo"), bad], "is not UTF-8"),
        (
            vec![
                OsStr::new("run"),
                OsStr::new("--name"),
                bad,
                OsStr::new("--"),
                OsStr::new("true"),
            ],
            "UTF-8",
        ),
        (vec![OsStr::new("show"), bad], "UTF-8"),
    ] {
        let said = finish(scene.command(&words).spawn().unwrap());
        assert_eq!(said.code, Some(2), "{words:?}: {}", said.err);
        assert!(said.err.contains(says), "{words:?}: {}", said.err);
    }
}

#[test]
fn every_verb_helps_with_examples() {
    let scene = Scene::new();
    for verb in [
        "launch",
        "run",
        "ls",
        "show",
        "output",
        "wait",
        "why",
        "logs",
        "events",
        "send",
        "cancel",
        "resume",
        "retry",
        "asks",
        "answer",
        "inbox",
        "owned",
        "daemon",
        "config",
        "doctor",
        "completions",
    ] {
        let said = scene.homing([verb, "--help"]);
        assert_eq!(said.code, Some(0));
        let example = format!("Examples:\n  homing {verb}");
        assert!(said.text().contains(&example), "{}", said.text());
    }
    for (verb, example) in [("launch", "id=$(homing launch"), ("resume", "--parent inbox:")] {
        assert!(scene.homing([verb, "--help"]).text().contains(example), "{verb}");
    }
    let said = scene.homing(["run", "--help"]);
    assert!(said.text().contains("The daemon of the home does the work"), "{}", said.text());
    let said = scene.homing(["--help"]);
    assert!(said.text().contains("Exit codes: 0 done; 1 the task ended otherwise; 2 usage"));
}
