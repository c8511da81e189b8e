//! What homing.toml says: shown, and gone by.

use std::fs;

use crate::scene::{Scene, until};

fn with(settings: &str) -> Scene {
    let scene = Scene::new();
    fs::create_dir(&scene.home).unwrap();
    fs::write(scene.home.join("homing.toml"), settings).unwrap();
    scene
}

/// The directories of runs that are kept, without their attempts.
fn runs(scene: &Scene) -> Vec<String> {
    let entries = fs::read_dir(scene.home.join("runs")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    names.filter_map(|name| Some(name.split_once('.')?.0.to_owned())).collect()
}

#[test]
fn all_settings_are_shown_as_json() {
    let scene = with("[limits]\ndepth = 1\n[presets.slow.limits]\nstale = \"2h\"\n");
    let said = scene.homing(["config", "show", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let all = said.json();
    assert_eq!((&all["limits"]["depth"], &all["set"]), (&1.into(), &["limits.depth"].into()));
    assert_eq!(all["storage"]["result"], "1MiB");
    assert_eq!(all["presets"]["slow"]["limits"]["stale"], "2h");
    assert_eq!(all["path"], scene.home.join("homing.toml").to_str().unwrap());
}

#[test]
fn a_result_is_stored_up_to_its_size() {
    let scene = with("[storage]\nresult = \"2KiB\"\n");
    let said = scene.run(["--json"], ["seq", "2000"]);
    let result = &said.json()["result"];
    let text = result["text"].as_str().unwrap();
    assert!(text.len() <= 2 << 10 && text.starts_with("1\n2\n") && text.ends_with("1999\n2000\n"));
    assert!(text.contains(" bytes left out]"), "{text}");
    assert_eq!(result["truncated"], true);
    let failed = scene.run(["--json"], ["sh", "-c", "seq 2000; seq 1000 >&2; exit 1"]);
    let text = failed.json()["result"]["text"].as_str().unwrap().to_owned();
    assert!(text.len() <= 2 << 10 && text.ends_with("999\n1000\n"), "{}: {text}", text.len());
}

#[test]
fn what_retention_takes_leaves_no_files() {
    let scene = Scene::new();
    let settled = scene.run([], ["true"]);
    assert_eq!(settled.code, Some(0));
    let owed = scene.launch("owed", [], "true");
    assert_eq!(scene.homing(["wait", "owed"]).code, Some(0));
    let gate = scene.gate("lives");
    let lives = scene.launch("lives", [], &gate.wait());
    let open = gate.open();
    assert_eq!(runs(&scene).len(), 3);
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    // As a crash leaves it: no row speaks of it.
    let left = scene.home.join("runs/bg_000000000000.1");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("out.0"), "nobody's").unwrap();
    fs::write(scene.home.join("homing.toml"), "[storage]\nretention = \"1ms\"\n").unwrap();
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    until(|| runs(&scene).len() == 2);
    let mut kept = runs(&scene);
    kept.sort_unstable();
    let mut expected = [owed.clone(), lives.clone()];
    expected.sort_unstable();
    assert_eq!(kept, expected, "what is owed or lives stays");
    drop(open);
    // An end brings no sweep of its own within the hour; the next start does.
    for id in [&owed, &lives] {
        assert_eq!(scene.homing(["wait", id]).code, Some(0));
        assert_eq!(scene.homing(["inbox", "--ack", &format!("{id}/1")]).code, Some(0));
    }
    until(|| {
        assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
        assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
        runs(&scene).is_empty()
    });
    assert_eq!(scene.homing(["ls", "--all", "--json"]).json(), serde_json::json!([]));
}

#[test]
fn a_command_of_the_users_is_run_for_each_end_with_what_it_came_to() {
    let scene = Scene::new();
    let said = scene.path("said");
    fs::create_dir(&scene.home).unwrap();
    // A name is one word of it, whatever is in it.
    let script = format!("echo \"$*\" >> '{}'", said.display());
    let words = ["sh", "-c", &script, "hook", "{name}", "{task}", "{state}", "after {took}"];
    let settings = format!("[hooks]\nended = {words:?}\n");
    fs::write(scene.home.join("homing.toml"), settings).unwrap();
    let sends = "'HOMING' run -- true".replace("HOMING", env!("CARGO_BIN_EXE_homing"));
    let good = scene.launch("$(id) {task}; `id`", [], &sends);
    let read = || fs::read_to_string(&said).unwrap_or_default();
    let lines = |count: usize| {
        until(|| read().lines().count() >= count);
        read()
    };
    let first = lines(1);
    assert!(first.starts_with(&format!("$(id) {{task}}; `id` {good} completed after ")), "{first}");
    let bad = scene.launch("bad", ["--notify", "silent"], "exit 1");
    assert_eq!(scene.homing(["wait", &bad]).code, Some(1));
    let last = scene.launch("last", [], "exit 3");
    let all = lines(2);
    let ends: Vec<&str> = all.lines().map(|line| line.split(" after").next().unwrap()).collect();
    assert_eq!(ends.len(), 2, "not for one below another, or one that nobody is told of: {all}");
    assert_eq!(ends[1], format!("last {last} failed"));
}

#[test]
fn a_command_of_the_users_that_cannot_be_run_harms_nothing() {
    let scene = with("[hooks]\nended = [\"/no/such/program\", \"{name}\"]\n");
    assert_eq!(scene.run([], ["echo", "fine"]).text(), "fine\n");
    until(|| {
        let log = fs::read_to_string(scene.home.join("daemon.log")).unwrap_or_default();
        log.contains("hooks.ended cannot be run")
    });
    assert_eq!(scene.run([], ["echo", "still"]).text(), "still\n");
}
