//! A command whose standard input is kept open: what it is told while it runs, once and in order, whatever is killed.

use std::fs;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use crate::scene::{Scene, until};

/// Answers each line; ends when there are no more.
const ECHO: &str = "while read -r line; do echo \"heard $line\"; done; echo over";

fn with(settings: &str) -> Scene {
    let scene = Scene::new();
    fs::create_dir(&scene.home).unwrap();
    fs::write(scene.home.join("homing.toml"), settings).unwrap();
    scene
}

fn wrote(scene: &Scene, id: &str, line: &str) -> bool {
    scene.homing(["logs", id]).text().contains(line)
}

fn kill(scene: &Scene) {
    let status = scene.homing(["daemon", "status", "--json"]).json();
    let pid = Pid::from_raw(i32::try_from(status["pid"].as_i64().unwrap()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    until(|| test_kill_process(pid).is_err());
}

#[test]
fn c5_a_command_that_keeps_its_input_open_hears_each_word_once_and_in_order() {
    let scene = Scene::new();
    let id = scene.launch("echo", ["--stdin", "open"], ECHO);
    assert_eq!(scene.homing(["send", &id, "one"]).code, Some(0));
    until(|| wrote(&scene, &id, "heard one"));
    kill(&scene);
    assert_eq!(scene.homing(["send", &id, "two"]).code, Some(0));
    assert_eq!(scene.homing(["send", &id, "three\nand four"]).code, Some(0));
    kill(&scene);
    let said = scene.homing(["send", &id, "five", "--last", "--json"]);
    assert_eq!(said.json()["id"], id.as_str(), "{}", said.err);
    let said = scene.homing(["output", &id, "--wait", "--timeout", "1m"]);
    let all = "heard one\nheard two\nheard three\nheard and four\nheard five\nover\n";
    assert_eq!((said.code, said.text()), (Some(0), all), "{}", said.err);
    let why = scene.homing(["why", &id]);
    for n in 1..=4 {
        let taken = format!("it has what was sent as number {n}");
        assert_eq!(why.text().matches(&taken).count(), 1, "{}", why.text());
    }
}

#[test]
fn a_preset_that_keeps_the_input_open_is_an_agent_that_can_be_spoken_to() {
    let settings = format!(
        "[presets.echo]\nhost = \"process\"\ncommand = [\"sh\", \"-c\", {ECHO:?}]\nstdin = \"open\"\n"
    );
    let scene = with(&settings);
    let said = scene.homing(["launch", "--preset", "echo", "the prompt"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let id = said.text().trim_end().to_owned();
    until(|| wrote(&scene, &id, "heard the prompt"));
    assert_eq!(scene.homing(["send", &id, "more"]).code, Some(0));
    assert_eq!(scene.homing(["send", &id, "--last"]).code, Some(0));
    let said = scene.homing(["output", &id, "--wait", "--timeout", "1m"]);
    assert_eq!(said.text(), "heard the prompt\nheard more\nover\n", "{}", said.err);
    let show = scene.homing(["config", "show"]);
    assert!(show.text().contains("stdin = \"open\""), "{}", show.text());
}

#[test]
fn words_that_nobody_can_take_are_refused_with_the_reason() {
    let scene = Scene::new();
    let gate = scene.gate("plain");
    let plain = scene.launch("plain", [], &gate.wait());
    let held = gate.open();
    for words in [vec!["send", &plain, "x"], vec!["send", &plain, "--last"]] {
        let said = crate::scene::finish(scene.command(words).spawn().unwrap());
        assert_eq!(said.code, Some(5), "{}", said.err);
        assert!(said.err.contains("takes no further words"), "{}", said.err);
    }
    drop(held);
    let open = scene.launch("open", ["--stdin", "open"], "cat; read gone");
    let said = scene.homing(["send", &open, ""]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert_eq!(scene.homing(["send", &open, "bye", "--last"]).code, Some(0));
    assert_eq!(
        scene.homing(["wait", &open, "--timeout", "1m"]).code,
        Some(1),
        "cat ended, read failed"
    );
    let said = scene.homing(["send", &open, "late"]);
    assert_eq!(said.code, Some(5), "{}", said.err);
    let said = scene.homing(["launch", "--stdin", "shut", "--", "true"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    let slow = scene.launch("slow", ["--stdin", "open"], "exec 0<&-; sleep 1000");
    assert_eq!(scene.homing(["send", &slow, "into the void"]).code, Some(0));
    assert_eq!(scene.homing(["cancel", &slow]).code, Some(0), "what is not read holds nothing up");
}

#[test]
fn f1_another_attempt_is_told_all_that_was_said() {
    let scene = Scene::new();
    // The first model hears one line and asks for the next model.
    let script = "read -r line; echo \"$HOMING_MODEL heard $line\"; [ $HOMING_MODEL = a/one ] && exit 75; cat";
    let options = ["--stdin", "open", "--model", "a/one", "--model", "a/two"];
    let id = scene.launch("again", options, script);
    assert_eq!(scene.homing(["send", &id, "hello"]).code, Some(0));
    until(|| scene.show(&id)["attempt"] == 2);
    until(|| wrote(&scene, &id, "a/two heard hello"));
    assert_eq!(scene.homing(["send", &id, "and more", "--last"]).code, Some(0));
    let said = scene.homing(["output", &id, "--wait", "--timeout", "1m"]);
    assert_eq!(said.text(), "a/two heard hello\nand more\n", "{}", said.err);
}
