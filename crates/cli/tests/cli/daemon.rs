//! The daemon: one per home, found by every verb, survived by its children.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::scene::{Scene, finish, until};

fn status(scene: &Scene) -> Value {
    let said = scene.homing(["daemon", "status", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    said.json()
}

fn pid(status: &Value) -> Pid {
    Pid::from_raw(i32::try_from(status["pid"].as_i64().unwrap()).unwrap()).unwrap()
}

/// A command that reads a line from a pipe, and tells it; opening the pipe waits until it runs.
struct Gated {
    child: Child,
    gate: PathBuf,
}

fn gated(scene: &Scene, name: &str) -> Gated {
    let gate = scene.path(name);
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let script = format!("read line < '{}'; echo $line", gate.display());
    let words = ["run", "--name", name, "--", "sh", "-c", &script];
    Gated { child: scene.command(words).spawn().unwrap(), gate }
}

fn open(gate: &Path) -> std::fs::File {
    std::fs::File::options().write(true).open(gate).unwrap()
}

#[test]
fn a_daemon_that_is_just_being_killed_is_followed_by_another() {
    let scene = Scene::new();
    for _ in 0..10 {
        let said = scene.homing(["daemon", "start"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        // Its socket may be connected to until it is gone.
        kill_process(pid(&status(&scene)), Signal::KILL).unwrap();
    }
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
}

#[test]
fn whoever_asks_while_the_daemon_is_just_being_killed_is_answered_by_the_next() {
    let scene = Scene::new();
    let task = scene.launch("one", [], "true");
    let verbs: [&[&str]; 5] =
        [&["show", &task], &["why", &task], &["asks"], &["inbox", "inbox:x"], &["ls", "--all"]];
    for verb in verbs.iter().cycle().take(40) {
        // Some find its socket, some only the home that it holds still.
        kill_process(pid(&status(&scene)), Signal::KILL).unwrap();
        let said = finish(scene.command(*verb).spawn().unwrap());
        assert_eq!(said.code, Some(0), "{verb:?}: {}", said.err);
    }
}

#[test]
fn a_daemon_is_started_once_told_of_and_stopped() {
    let scene = Scene::new();
    let said = scene.homing(["daemon", "status"]);
    assert_eq!(said.code, Some(6));
    assert!(said.err.contains("no daemon runs") && said.err.contains("homing daemon start"));
    assert!(!scene.home.exists(), "asking makes nothing");
    let said = scene.homing(["daemon", "stop"]);
    assert_eq!((said.code, said.err.contains("no daemon runs")), (Some(0), true));
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    let first = status(&scene);
    assert_eq!(first["home"], scene.home.to_str().unwrap());
    assert_eq!(first["version"], env!("CARGO_PKG_VERSION"));
    let socket = first["socket"].as_str().unwrap();
    assert!(socket.len() <= 107);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(Path::new(socket)), 0o600);
    assert_eq!(mode(Path::new(socket).parent().unwrap()), 0o700);
    assert_eq!(mode(&scene.home.join("daemon.log")), 0o600);
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    assert_eq!(status(&scene)["pid"], first["pid"]);
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    // It has ended; whoever adopted it asks how in its own time.
    until(|| test_kill_process(pid(&first)).is_err());
    assert!(!Path::new(socket).exists());
    assert_eq!(scene.homing(["daemon", "status"]).code, Some(6));
}

#[test]
fn r2_a_second_daemon_refuses_and_says_who_holds_the_home() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    let first = status(&scene);
    let said = scene.homing(["daemon", "run"]);
    assert_eq!(said.code, Some(6));
    let who = format!("process {} since {}", first["pid"], first["since"].as_str().unwrap());
    let about = &who[..who.len() - 4];
    assert!(said.err.contains(about), "{} in {}", about, said.err);
    assert_eq!(status(&scene)["pid"], first["pid"]);
}

#[test]
fn starting_and_stopping_speak_json() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["daemon", "stop", "--json"]).json(), Value::Null);
    let started = scene.homing(["daemon", "start", "--json"]).json();
    assert_eq!(started["home"], scene.home.to_str().unwrap());
    let stopped = scene.homing(["daemon", "stop", "--children", "--json"]).json();
    let expected = serde_json::json!({ "pid": started["pid"], "cancelled": 0, "left": [] });
    assert_eq!(stopped, expected);
}

#[test]
fn many_verbs_at_once_start_one_daemon() {
    let scene = Scene::new();
    let many: Vec<Child> = (0..8)
        .map(|n| scene.command(["run", "--", "echo", &n.to_string()]).spawn().unwrap())
        .collect();
    for (n, child) in many.into_iter().enumerate() {
        let said = finish(child);
        assert_eq!((said.code, said.text()), (Some(0), format!("{n}\n").as_str()), "{}", said.err);
    }
    let log = std::fs::read_to_string(scene.home.join("daemon.log")).unwrap();
    assert_eq!(log.matches(" daemon: ").count(), 2, "no second one was ever started: {log}");
}

#[test]
fn a_stop_leaves_commands_running_and_the_next_daemon_has_their_result() {
    for signal in [None, Some(Signal::TERM), Some(Signal::INT), Some(Signal::KILL)] {
        let scene = Scene::new();
        let mut running = gated(&scene, "left");
        let mut gate = open(&running.gate);
        // Whoever waits is not the one that runs it.
        running.child.kill().unwrap();
        finish(running.child);
        let before = status(&scene);
        match signal {
            Some(signal) => {
                kill_process(pid(&before), signal).unwrap();
                until(|| test_kill_process(pid(&before)).is_err());
            }
            None => assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0)),
        }
        gate.write_all(b"while nobody looked\n").unwrap();
        drop(gate);
        let left = || scene.homing(["show", "left", "--json"]).json();
        until(|| left()["state"] == "completed");
        assert_eq!(left()["result"]["text"], "while nobody looked\n", "{signal:?}");
        assert_ne!(status(&scene)["pid"], before["pid"]);
        let attempts = left()["attempts"].as_array().unwrap().len();
        assert_eq!(attempts, 1, "it was run once");
    }
}

#[test]
fn a_run_goes_on_when_its_daemon_is_killed() {
    let scene = Scene::new();
    let running = gated(&scene, "kept");
    let mut gate = open(&running.gate);
    kill_process(pid(&status(&scene)), Signal::KILL).unwrap();
    gate.write_all(b"home again\n").unwrap();
    drop(gate);
    let said = finish(running.child);
    assert_eq!((said.code, said.text()), (Some(0), "home again\n"), "{}", said.err);
}

#[test]
fn stop_with_children_ends_them() {
    let scene = Scene::new();
    let running = gated(&scene, "ended");
    let gate = open(&running.gate);
    let said = scene.homing(["daemon", "stop", "--children"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    drop(gate);
    let said = finish(running.child);
    assert_eq!(said.code, Some(1), "{}", said.err);
    assert!(said.err.contains("ended as cancelled"), "{}", said.err);
}

#[test]
fn a_socket_that_was_removed_is_made_again() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    let before = status(&scene);
    for _ in 0..3 {
        std::fs::remove_file(before["socket"].as_str().unwrap()).unwrap();
        let said = scene.run([], ["echo", "still there"]);
        assert_eq!((said.code, said.text()), (Some(0), "still there\n"), "{}", said.err);
        assert_eq!(status(&scene)["pid"], before["pid"]);
    }
}

#[test]
fn l17_what_a_command_launches_is_linked_to_it_without_its_help() {
    let scene = Scene::new();
    let homing = env!("CARGO_BIN_EXE_homing");
    // Double-forked, its environment wiped, in a session of its own: still inside.
    let script = format!(
        "setsid env -i HOMING_HOME=\"$HOMING_HOME\" PATH=\"$PATH\" sh -c '{homing} run --name inner -- echo from within' \
         | cat; ( {homing} daemon stop; echo stop: $? )"
    );
    let said = scene.run(["--name", "outer"], ["sh", "-c", &script]);
    assert_eq!(said.text().lines().next(), Some("from within"), "{} {}", said.text(), said.err);
    assert!(said.text().contains("stop: 5"), "a task does not stop the daemon: {}", said.text());
    let show = |name: &str| scene.homing(["show", name, "--json"]).json();
    let (outer, inner) = (show("outer"), show("inner"));
    assert_eq!(inner["launched_by"], outer["id"]);
    assert_eq!(inner["parent"], format!("task:{}", outer["id"].as_str().unwrap()));
    assert_eq!((&inner["depth"], &outer["children"][0]), (&1.into(), &inner["id"]));
}

#[test]
fn r8_a_named_variable_reaches_the_command_and_nothing_else_keeps_it() {
    let scene = Scene::new();
    let gate = scene.path("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let script = format!(
        "test ${{#TOKEN}} = 16 || exit 9; test -z \"$OTHER\" || exit 8; read x < '{}'; true",
        gate.display()
    );
    let words = ["run", "--name", "told", "--env", "TOKEN", "--", "sh", "-c", &script];
    let mut command = scene.command(words);
    let child = command.env("TOKEN", "wonderful-secret").env("OTHER", "unnamed").spawn().unwrap();
    let open = open(&gate);
    let holds = |secret: &str| {
        let mut found = Vec::new();
        let mut dirs = vec![scene.home.clone()];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    dirs.push(path);
                } else if let Ok(bytes) = std::fs::read(&path)
                    && bytes.windows(secret.len()).any(|part| part == secret.as_bytes())
                {
                    found.push(path);
                }
            }
        }
        found
    };
    let kept = holds("wonderful-secret");
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(std::fs::metadata(&kept[0]).unwrap().permissions().mode() & 0o777, 0o600);
    drop(open);
    let said = finish(child);
    assert_eq!(said.code, Some(0), "{}", said.err);
    until(|| holds("wonderful-secret").is_empty());
    let said = scene.command(["run", "--env", "NOT_SET_HERE", "--", "true"]).spawn().unwrap();
    let said = finish(said);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("--env: NOT_SET_HERE"), "{}", said.err);
}

#[test]
fn config_shows_what_is_in_effect_and_the_daemon_goes_by_it() {
    let scene = Scene::new();
    let said = scene.homing(["config", "show"]);
    assert_eq!(said.code, Some(0));
    assert!(said.text().contains("default = 5 ") && said.text().contains("retention = \"7d\""));
    std::fs::create_dir(&scene.home).unwrap();
    let file = scene.home.join("homing.toml");
    std::fs::write(&file, "[limits]\ndept = 1\n").unwrap();
    for words in [vec!["config", "show"], vec!["daemon", "start"], vec!["run", "--", "true"]] {
        let said = finish(scene.command(&words).stdin(Stdio::null()).spawn().unwrap());
        assert_eq!(said.code, Some(2), "{words:?}: {}", said.err);
        assert!(said.err.contains("there is no key \"limits.dept\""), "{}", said.err);
        assert!(said.err.contains("try: did you mean \"depth\"?"), "{}", said.err);
    }
    std::fs::write(&file, "[limits]\ndepth = 0\n").unwrap();
    let said = scene.homing(["config", "show"]);
    assert!(said.text().contains("depth = 0") && said.text().contains("set here"));
    let homing = env!("CARGO_BIN_EXE_homing");
    let said = scene.run([], ["sh", "-c", &format!("{homing} run -- true 2>&1; echo $?")]);
    assert!(said.text().contains("E_DELEGATION_DEPTH_EXCEEDED"), "{}", said.text());
    assert!(said.text().ends_with("\n5\n"), "{}", said.text());
}
