//! What the daemon writes down of its work: a line an event, nobody's words in it, and never without bound.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::scene::{Scene, finish};

/// Bytes after which a new file is begun.
const MOST: usize = 8 << 20;

fn log(scene: &Scene) -> String {
    fs::read_to_string(scene.home.join("daemon.log")).unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Level, target and the rest; the time before them is whole.
fn parts(line: &str) -> (&str, &str, &str) {
    let (at, rest) = line.split_once(' ').unwrap();
    let form: String = at.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(form, "0000-00-00T00:00:00.000Z", "{line}");
    let (level, rest) = rest.split_once(' ').unwrap();
    let (target, rest) = rest.trim_start().split_once(": ").unwrap();
    (level, target, rest)
}

#[test]
fn the_log_tells_start_tasks_and_stop_and_nobodys_words() {
    let scene = Scene::new();
    let said = scene.run(["--name", "hush-name"], ["echo", "hush-words"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let said = scene.run(["--json"], ["false"]);
    let id = said.json()["id"].as_str().unwrap().to_owned();
    let socket = scene.homing(["daemon", "status", "--json"]).json()["socket"].clone();
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let log = log(&scene);
    let lines: Vec<(&str, &str, &str)> = log.lines().map(parts).collect();
    assert!(lines.iter().all(|(level, ..)| *level == "INFO"), "{log}");
    let first = lines.first().unwrap();
    assert!(first.1 == "daemon" && first.2.starts_with("started version="), "{log}");
    assert!(first.2.contains(&format!("home={}", scene.home.display())), "{log}");
    let listening = format!("listening socket={}", socket.as_str().unwrap());
    assert!(lines[1].1 == "daemon" && lines[1].2.starts_with(&listening), "{log}");
    let of_task: Vec<&str> =
        lines.iter().filter(|(_, _, rest)| rest.contains(&id)).map(|(_, _, rest)| *rest).collect();
    let expected = [
        format!("accepted task={id} host=process"),
        format!("started task={id} state=starting"),
        format!("ended task={id} state=failed cause=exited"),
    ];
    assert_eq!(of_task, expected);
    assert_eq!(lines.last().unwrap().2, "stopped");
    assert!(!log.contains("hush"), "{log}");
    assert_eq!(mode(&scene.home.join("daemon.log")), 0o600);
}

#[test]
fn the_settings_say_the_form_and_the_variable_how_much() {
    let scene = Scene::new();
    fs::create_dir_all(&scene.home).unwrap();
    fs::write(scene.home.join("homing.toml"), "[log]\nlevel = \"warn\"\nformat = \"json\"\n")
        .unwrap();
    assert_eq!(scene.run([], ["true"]).code, Some(0));
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    assert_eq!(log(&scene), "", "nothing went wrong");
    let mut started = scene.command(["daemon", "start"]);
    started.env("HOMING_LOG", "error,http=debug");
    assert_eq!(finish(started.spawn().unwrap()).code, Some(0));
    assert_eq!(scene.homing(["show", "hush-task"]).code, Some(3));
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let log = log(&scene);
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["target"] == "http" && line["level"] == "debug"));
    let show = lines.iter().find(|line| line["status"] == 404).unwrap();
    assert_eq!((&show["method"], &show["route"]), (&"GET".into(), &"/v1/tasks/{task}".into()));
    assert!(show["ms"].is_u64() && show["id"].as_str().is_some_and(|id| !id.is_empty()), "{log}");
    assert!(!log.contains("hush"), "{log}");
}

#[test]
fn what_cannot_be_understood_is_said_with_what_to_try_and_a_refused_start_is_written_down() {
    let scene = Scene::new();
    let mut odd = scene.command(["daemon", "start"]);
    odd.env("HOMING_LOG", "debgu");
    let said = finish(odd.spawn().unwrap());
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("HOMING_LOG") && said.err.contains("\"debug\""), "{}", said.err);
    let odd = scene.homing(["daemon", "run", "--log", "nothing"]);
    assert_eq!(odd.code, Some(2), "{}", odd.err);
    fs::write(scene.home.join("homing.toml"), "[lgo]\n").unwrap();
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(2));
    let log = log(&scene);
    let lines: Vec<(&str, &str, &str)> = log.lines().map(parts).collect();
    assert_eq!(lines.len(), 2, "{log}");
    for (level, target, rest) in lines {
        assert_eq!((level, target), ("ERROR", "daemon"), "{log}");
        assert!(rest.starts_with("not started why=\""), "{log}");
    }
}

#[test]
fn a_log_that_is_large_is_set_aside_and_both_are_their_owners_alone() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let path = scene.home.join("daemon.log");
    let old = "x".repeat(MOST - 1) + "\n";
    fs::write(&path, &old).unwrap();
    assert_eq!(scene.run([], ["true"]).code, Some(0));
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let aside = scene.home.join("daemon.log.1");
    assert!(fs::read_to_string(&aside).unwrap().starts_with(&old));
    let log = log(&scene);
    assert!(log.lines().all(|line| parts(line).0 == "INFO") && log.contains("stopped"), "{log}");
    assert_eq!((mode(&path), mode(&aside)), (0o600, 0o600));
}
