//! `homing launch`: an id at once, and every option where it belongs.

use serde_json::json;

use crate::scene::{Scene, finish};

#[test]
fn the_id_is_printed_alone_and_at_once() {
    let scene = Scene::new();
    let gate = scene.gate("one");
    let said = scene.homing(["launch", "--name", "one", "--", "sh", "-c", &gate.wait()]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_eq!(said.text(), format!("{}\n", said.id()));
    drop(gate.open());
    assert_eq!(scene.homing(["wait", "one"]).code, Some(0));
}

#[test]
fn json_names_id_parent_and_whether_it_was_there_before() {
    let scene = Scene::new();
    let launch = || scene.homing(["launch", "--key", "k", "--json", "--", "echo", "once"]).json();
    let first = launch();
    let id = &first["id"];
    assert_eq!(first, json!({ "id": id, "existing": false, "parent": "inbox:cli" }));
    assert_eq!(launch(), json!({ "id": id, "existing": true, "parent": "inbox:cli" }));
    let said = scene.homing(["launch", "--key", "k", "--", "echo", "twice"]);
    assert_eq!(said.code, Some(5), "{}", said.err);
}

#[test]
fn the_parent_is_the_one_that_is_named_here_or_in_the_environment() {
    let scene = Scene::new();
    let parent = |options: &[&str], env: &str| {
        let words = ["launch", "--json"].iter().chain(options).chain(&["--", "true"]);
        finish(scene.command(words).env("HOMING_PARENT", env).spawn().unwrap())
    };
    assert_eq!(parent(&[], "").json()["parent"], "inbox:cli");
    assert_eq!(parent(&[], "inbox:nightly").json()["parent"], "inbox:nightly");
    assert_eq!(parent(&["--parent", "none"], "inbox:nightly").json()["parent"], "none");
    let said = parent(&[], "somebody");
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("HOMING_PARENT: \"somebody\" is not a parent"), "{}", said.err);
}

#[test]
fn inside_a_task_the_task_is_the_parent_whatever_the_environment_says() {
    let scene = Scene::new();
    let homing = env!("CARGO_BIN_EXE_homing");
    let script = format!("HOMING_PARENT=inbox:x {homing} run --name inner -- true; {homing} owned");
    let said = scene.run(["--name", "outer"], ["sh", "-c", &script]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let (outer, inner) = (scene.show("outer"), scene.show("inner"));
    assert_eq!(inner["parent"], format!("task:{}", outer["id"].as_str().unwrap()));
    let listed = said.text().lines().nth(1).unwrap();
    assert!(listed.starts_with(inner["id"].as_str().unwrap()), "its own: {}", said.text());
}

#[test]
fn what_comes_after_another_waits_for_it_and_falls_with_it() {
    let scene = Scene::new();
    let (gate, log) = (scene.gate("first"), scene.path("log"));
    let note = |word: &str| format!("echo {word} >> '{}'", log.display());
    scene.launch("first", [], &format!("{}; {}", gate.wait(), note("first")));
    let open = gate.open();
    let second = scene.launch("second", ["--after", "first"], &note("second"));
    scene.launch("third", ["--after", &second[..9], "--after", "first"], &note("third"));
    assert_eq!((scene.show("second")["state"]).as_str(), Some("queued"));
    drop(open);
    assert_eq!(scene.homing(["wait", "third"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "first\nsecond\nthird\n");
    scene.launch("broken", [], "exit 3");
    scene.launch("never", ["--after", "broken"], &note("never"));
    assert_eq!(scene.homing(["wait", "never"]).code, Some(1));
    let never = scene.show("never");
    assert_eq!((&never["state"], &never["cause"]), (&"cancelled".into(), &"dependency".into()));
    let said = scene.homing(["launch", "--after", "nobody", "--", "true"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
}

#[test]
fn options_reach_the_task() {
    let scene = Scene::new();
    let words = [
        "launch",
        "--name",
        "all",
        "--model",
        "acme/large",
        "--model",
        "acme/small",
        "--variant",
        "high",
        "--batch",
        "night",
        "--notify",
        "silent",
        "--priority",
        "-3",
        "--budget",
        "calls=5,wall=5m",
        "--timeout",
        "5m",
        "--delegate",
        "--tools",
        "a,b",
        "--permissions",
        "c",
        "--system",
        "be kind",
        "--",
        "true",
    ];
    let said = finish(scene.command(words).spawn().unwrap());
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(scene.homing(["wait", "all"]).code, Some(0));
    let task = scene.show("all");
    assert_eq!(
        (&task["batch"], &task["delivery"]["state"]),
        (&"name:night".into(), &"none".into())
    );
    assert!(task["model"].as_str().unwrap().starts_with("acme/large"), "{}", task["model"]);
    let accepted = scene.homing(["events"]);
    let accepted = accepted.text().lines().next().unwrap();
    for each in ["-3", "high", "300000"] {
        assert!(accepted.contains(each), "{each} in {accepted}");
    }
}

#[test]
fn what_no_host_can_do_is_refused_with_what_to_try() {
    let scene = Scene::new();
    std::fs::create_dir(&scene.home).unwrap();
    let settings = "[opencode]\ncommand = [\"no-such-opencode\"]\n";
    std::fs::write(scene.home.join("homing.toml"), settings).unwrap();
    for (words, says) in [
        (vec!["launch", "Count the ducks."], "no-such-opencode was not started"),
        (vec!["run", "true"], "try: a command: homing run -- CMD"),
        (vec!["launch", "--host", "process", "Count the ducks."], "process runs a command"),
        (vec!["launch", "--host", "proces", "--", "true"], "did you mean \"process\"?"),
        (vec!["launch", "--preset", "nightly"], "preset: there is no \"nightly\""),
    ] {
        let said = finish(scene.command(&words).spawn().unwrap());
        assert_eq!((said.code, said.text()), (Some(2), ""), "{words:?}: {}", said.err);
        assert!(said.err.contains(says), "{words:?}: {}", said.err);
    }
}

#[test]
fn a_preset_says_what_is_not_said_here() {
    let scene = Scene::new();
    std::fs::create_dir(&scene.home).unwrap();
    let preset = "[presets.hello]\ncommand = [\"echo\", \"from the preset\"]\nname = \"hello\"\n";
    std::fs::write(scene.home.join("homing.toml"), preset).unwrap();
    let said = scene.homing(["run", "--preset", "hello"]);
    assert_eq!((said.code, said.text()), (Some(0), "from the preset\n"), "{}", said.err);
    assert_eq!(scene.show("hello")["name"], "hello");
}

#[test]
fn a_reader_that_is_gone_does_not_stop_a_launch() {
    let scene = Scene::new();
    let mut child = scene.command(["launch", "--name", "kept", "--", "true"]).spawn().unwrap();
    drop(child.stdout.take());
    let said = finish(child);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_eq!(scene.homing(["wait", "kept"]).code, Some(0));
}
