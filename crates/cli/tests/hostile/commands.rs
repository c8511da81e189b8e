//! Commands that do what no command should: each is bounded, told of truthfully, ended whole, and harms nobody.

use std::path::Path;

use serde_json::Value;

use crate::scene::{Scene, until};
use crate::witness::{Beside, DAEMON_KB_MAX, SHIM_KB_MAX, bytes_below, peak_kb, runs};

const GB_3: u64 = 3 << 30;
/// What is kept of an attempt's output, as the defaults say.
const SPOOL_MAX: u64 = 256 << 20;

/// Neither the daemon nor the task's shim ever held more than a little.
fn is_bounded(scene: &Scene, task: &str) {
    let (daemon, shim) = (peak_kb(scene.daemon()), peak_kb(scene.shim(task).pid));
    assert!(daemon < DAEMON_KB_MAX, "the daemon held {daemon} kB");
    assert!(shim < SHIM_KB_MAX, "the shim held {shim} kB");
}

/// The process that a command wrote down.
fn noted(path: &Path) -> i32 {
    let read = || std::fs::read_to_string(path).ok().filter(|text| text.ends_with('\n'));
    until(|| read().is_some());
    read().unwrap().trim().parse().unwrap()
}

/// R5: the disk never holds it all; its beginning and its end are the result, and the rest is counted.
#[test]
fn r5_three_gigabytes_are_bounded_in_memory_and_on_disk() {
    let scene = Scene::new();
    let beside = Beside::start(&scene);
    let gate = scene.gate("flood");
    let script = format!("echo first; head -c {GB_3} /dev/zero; echo; echo last; {}", gate.wait());
    scene.launch("flood", [], &script);
    let opened = std::thread::spawn(move || gate.open());
    let mut most = 0;
    while !opened.is_finished() {
        most = most.max(bytes_below(&scene.home));
        std::thread::yield_now();
    }
    let open = opened.join().unwrap();
    assert!(most > 1 << 20, "it was looked at while it wrote");
    assert!(most < SPOOL_MAX, "{most} bytes on disk");
    until(|| scene.homing(["logs", "flood"]).out.ends_with(b"last\n"));
    is_bounded(&scene, "flood");
    drop(open);
    let said = scene.homing(["output", "flood", "--wait"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.err.contains("longer than what is kept"), "{}", said.err);
    assert!(said.out.starts_with(b"first\n") && said.out.ends_with(b"\nlast\n"));
    assert!(said.out.len() <= 1 << 20, "{}", said.out.len());
    let full = scene.homing(["output", "flood", "--full"]);
    assert!(full.out.len() as u64 > SPOOL_MAX / 2 - (16 << 20), "{}", full.out.len());
    assert!(full.out.starts_with(b"first\n") && full.out.ends_with(b"\nlast\n"));
    let missing = GB_3 + 12 - full.out.len() as u64;
    assert!(full.err.contains(&format!("homing: {missing} bytes from byte ")), "{}", full.err);
    let result = &scene.show("flood")["result"];
    assert_eq!(result["truncated"], true, "{}", result["bytes"]);
    assert!(bytes_below(&scene.home) < SPOOL_MAX);
    assert!(peak_kb(scene.daemon()) < DAEMON_KB_MAX);
    beside.ends_unharmed();
    scene.nothing_runs();
}

/// R5: a line without an end, on both streams, and everyone who reads it.
#[test]
fn r5_a_line_of_a_hundred_megabytes_harms_nobody() {
    let scene = Scene::new();
    let beside = Beside::start(&scene);
    let gate = scene.gate("line");
    let line = "head -c 100000000 /dev/zero | tr '\\0' x";
    let script = format!("{line}; {line} >&2; {}; exit 3", gate.wait());
    scene.launch("line", ["--parent", "inbox:lines"], &script);
    let open = gate.open();
    until(|| {
        scene.homing(["logs", "line"]).out.windows(16).any(|part| part == b"[standard error]")
    });
    is_bounded(&scene, "line");
    drop(open);
    let said = scene.homing(["output", "line", "--wait"]);
    assert_eq!(said.code, Some(1));
    assert!(said.out.len() <= 1 << 20, "{}", said.out.len());
    assert!(said.out.starts_with(b"xxx") && said.out.ends_with(b"xxx"));
    // All of it fits into the spool, and can be had.
    let full = scene.homing(["output", "line", "--full"]);
    assert_eq!((full.out.len(), full.out.iter().all(|byte| *byte == b'x')), (100_000_000, true));
    assert!(!full.err.contains("not kept"), "{}", full.err);
    for words in [["show", "line"], ["why", "line"], ["logs", "line"], ["inbox", "inbox:lines"]] {
        let said = scene.homing(words);
        assert_eq!(said.code, Some(0), "{words:?}: {}", said.err);
        assert!(said.out.len() < 8 << 20, "{words:?}: {}", said.out.len());
    }
    let shown = scene.show("line");
    assert_eq!((&shown["state"], &shown["cause"]), (&"failed".into(), &"exited".into()));
    assert!(peak_kb(scene.daemon()) < DAEMON_KB_MAX);
    beside.ends_unharmed();
    scene.nothing_runs();
}

/// R5, B6: one that writes for ever is ended when its time is up, and what it wrote is kept, bounded.
#[test]
fn r5_b6_one_that_never_ends_is_timed_out_with_what_it_wrote() {
    let scene = Scene::new();
    let beside = Beside::start(&scene);
    scene.launch("endless", ["--timeout", "1s"], "echo first; exec yes");
    let said = scene.homing(["output", "endless", "--wait"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("timed_out"), "{}", said.err);
    assert!(said.out.starts_with(b"first\ny\n") && said.out.len() <= 1 << 20);
    assert_eq!(scene.state("endless"), "timed_out");
    scene.launch("silent", [], "exec sleep 100000");
    let said = scene.homing(["cancel", "silent"]);
    assert_eq!((said.code, scene.state("silent").as_str()), (Some(0), "cancelled"));
    assert!(peak_kb(scene.daemon()) < DAEMON_KB_MAX);
    beside.ends_unharmed();
    scene.nothing_runs();
}

/// R5, B6: what does not hear the first word hears the second. One ignores it, one sleeps through it.
#[test]
fn r5_b6_one_that_ignores_sigterm_is_ended_all_the_same() {
    let scene = Scene::new();
    let beside = Beside::start(&scene);
    let deaf = scene.path("deaf");
    let script =
        format!("trap '' TERM; sleep 1000 & echo $! > '{}'; wait; sleep 1000", deaf.display());
    scene.launch("deaf", [], &script);
    let below = noted(&deaf);
    let still = scene.path("still");
    scene.launch("still", [], &format!("echo $$ > '{}'; kill -STOP $$", still.display()));
    let stopped = noted(&still);
    let said = scene.homing(["cancel", "deaf", "still"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    for task in ["deaf", "still"] {
        assert_eq!(scene.state(task), "cancelled", "{task}");
    }
    assert!(!runs(below) && !runs(stopped), "told as ended once it has");
    beside.ends_unharmed();
    scene.nothing_runs();
}

/// Forks twice, leads a session of its own, has closed every pipe and forgotten its environment; deaf if so.
fn daemonise(note: &Path, deaf: bool) -> String {
    let trap = if deaf { "trap '' TERM; " } else { "" };
    format!(
        "setsid sh -c '( env -i sh -c \"{trap}echo \\$\\$ > {}; exec sleep 1000\" \
         </dev/null >/dev/null 2>&1 & )' </dev/null >/dev/null 2>&1 &",
        note.display()
    )
}

/// R5: what gets away from its parents does not get away from its task: on its end, and on its cancel.
#[test]
fn r5_one_that_double_forks_and_daemonises_is_ended_with_its_task() {
    let scene = Scene::new();
    let beside = Beside::start(&scene);
    for (name, deaf) in [("plain", false), ("deaf", true)] {
        let note = scene.path(&format!("{name}-ends"));
        let wait = format!("until [ -s '{}' ]; do sleep 0.05; done", note.display());
        let script = format!("{} {wait}; echo started", daemonise(&note, deaf));
        scene.launch(name, [], &script);
        let said = scene.homing(["output", name, "--wait"]);
        assert_eq!((said.code, said.text()), (Some(0), "started\n"), "{}", said.err);
        assert!(!runs(noted(&note)), "{name}: told as ended, and runs");
    }
    let note = scene.path("cancelled");
    scene.launch("cancelled", [], &format!("{} exec sleep 1000", daemonise(&note, false)));
    let away = noted(&note);
    assert!(runs(away));
    assert_eq!(scene.homing(["cancel", "cancelled"]).code, Some(0));
    assert!(!runs(away));
    beside.ends_unharmed();
    scene.nothing_runs();
}

/// T11: those that end before anybody looks complete at once, and once.
#[test]
fn t11_those_that_exit_at_once_complete_once() {
    let scene = Scene::new();
    let beside = Beside::start(&scene);
    for n in 0..20 {
        let code = n % 2;
        scene.launch(&format!("quick {n}"), [], &format!("exit {code}"));
    }
    for n in 0..20 {
        let name = format!("quick {n}");
        assert_eq!(scene.homing(["wait", &name]).code, Some(n % 2), "{name}");
        let shown = scene.show(&name);
        assert_eq!((&shown["attempt"], &shown["generation"]), (&1.into(), &1.into()));
    }
    let events = scene.homing(["events"]);
    let ends = events
        .text()
        .lines()
        .filter(|line| line.contains(r#""to":"completed""#) || line.contains(r#""to":"failed""#));
    assert_eq!(ends.count(), 20);
    beside.ends_unharmed();
    scene.nothing_runs();
}

const BYTES: &[u8] =
    b"\xff\xfe \x00 \x1b]0;owned\x07\x1b[2J\x1b[31m\xc2\x9b2J\xe2\x80\xae\x08\rbye\xe2\x82";

/// R5: bytes that are no text are given as they are to a pipe, spelled out to a terminal, valid as JSON.
#[test]
fn r5_bytes_that_a_terminal_would_obey_reach_pipes_alone() {
    let scene = Scene::new();
    let octal: String = BYTES.iter().map(|byte| format!("\\{byte:03o}")).collect();
    let script = format!("printf '{octal}'; printf '{octal}' >&2; exit 3");
    let name = "name \u{1b}]0;owned\u{7}\u{9b}31m";
    let id = scene.launch(name, [], &script);
    assert_eq!(scene.homing(["wait", &id]).code, Some(1));
    let said = scene.homing(["output", &id]);
    assert!(said.out.starts_with(BYTES), "{:?}", said.out);
    assert!(scene.homing(["logs", &id]).out.ends_with(BYTES));
    for words in [["output", &id, "--json"], ["show", &id, "--json"], ["logs", &id, "--json"]] {
        scene.homing(words).json();
    }
    for words in [
        ["output", &id].as_slice(),
        &["output", &id, "--full"],
        &["output", &id, "--json"],
        &["show", &id],
        &["show", &id, "--json"],
        &["logs", &id],
        &["logs", &id, "-f"],
        &["ls", "--all"],
        &["ls", "--all", "--json"],
        &["why", &id],
        &["inbox"],
        &["owned"],
        &["events"],
        &["wait", &id],
        &["cancel", &id],
    ] {
        let (said, shown) = scene.at_terminal(words);
        assert!(matches!(said.code, Some(0 | 1)), "{words:?}: {shown}");
        let obeyed = |c: char| (c.is_control() && !"\n\t".contains(c)) || c == '\u{202e}';
        assert!(!shown.contains(obeyed), "{words:?}: {shown:?}");
        if words.contains(&"--json") {
            // How it ended follows: the errors come to the same terminal.
            let mut values = serde_json::Deserializer::from_str(&shown).into_iter::<Value>();
            values.next().unwrap().unwrap();
        }
    }
    let (_, shown) = scene.at_terminal(&["output", &id]);
    assert!(shown.contains("\\u{1b}]0;owned\\u{7}") && shown.contains("bye"), "{shown}");
}
