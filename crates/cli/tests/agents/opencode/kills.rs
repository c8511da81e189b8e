//! Programs that die: OpenCode, the daemon, and both.

use std::fs;
use std::time::Duration;

use homing_testkit::gate::Gate;
use homing_testkit::opencode::until_within;

use super::scene::{Scene, runs};
use super::server::until;

/// A tool that has begun.
fn begun(scene: &Scene, name: &str) -> (String, Gate, String) {
    let (gate, pid) = (scene.gate(&format!("gate {name}")), scene.file(&format!("pid {name}")));
    let script = format!("echo $$ > '{}'; {}", pid.display(), gate.wait());
    let task = scene.launch(name, [], &runs(&script, "@say done"));
    let read = || fs::read_to_string(&pid).ok().filter(|text| text.ends_with('\n'));
    let pid = until("the tool", read).trim().to_owned();
    (task, gate, pid)
}

#[test]
fn t23_opencode_is_killed_mid_turn_and_the_turn_is_interrupted_not_done() {
    let scene = Scene::new();
    let (task, _gate, pid) = begun(&scene, "cut off");
    scene.server().kill();
    assert_eq!(scene.end(&task), ("failed".to_owned(), "interrupted".to_owned()));
    // Its tool did not outlive the server.
    assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
    assert_eq!(scene.result(&scene.launch("next", [], "@say back again")), "back again");
}

#[test]
fn t23_a_server_that_hangs_is_ended_before_another_one_goes_on() {
    let scene = Scene::new();
    let (task, _gate, pid) = begun(&scene, "hangs");
    let hung = scene.server().process().clone();
    hung.signal(rustix::process::Signal::STOP).unwrap();
    // It is waited for, as long as one that is only slow.
    let ended = || (!scene.show(&task)["ended_at"].is_null()).then_some(());
    until_within(Duration::from_secs(400), "its end", ended);
    assert!(!hung.runs().unwrap() && !fs::exists(format!("/proc/{pid}")).unwrap());
    assert_eq!(scene.end(&task), ("failed".to_owned(), "interrupted".to_owned()));
    assert_eq!(scene.result(&scene.launch("next", [], "@say back again")), "back again");
}

#[test]
fn t23_an_interrupted_turn_goes_on_in_its_session_where_that_was_asked_for() {
    let scene = Scene::with("[limits]\nretry_interrupted = 1\n");
    let (task, gate, _) = begun(&scene, "again");
    scene.server().kill();
    until("another attempt", || (scene.show(&task)["attempt"] == 2).then_some(()));
    drop(gate);
    let shown = scene.ended(&task);
    assert_eq!(shown["state"], "completed", "{shown}");
    assert_eq!(scene.server().sessions(&task).len(), 1);
}

#[test]
fn r1_the_daemon_is_killed_mid_turn_and_the_answer_comes_home_once() {
    let scene = Scene::new();
    let (task, gate, _) = begun(&scene, "goes on");
    scene.kill_daemon();
    scene.open(&gate);
    assert_eq!(scene.result(&task), "done");
    assert_eq!(scene.server().sessions(&task).len(), 1);
    let messages = scene.server().messages(scene.show(&task)["session"]["id"].as_str().unwrap());
    let prompts = messages.iter().filter(|message| message["info"]["role"] == "user");
    assert_eq!(prompts.count(), 1);
}

#[test]
fn r1_both_are_killed_mid_turn_and_nothing_is_taken_for_done() {
    let scene = Scene::new();
    let (task, _gate, pid) = begun(&scene, "both");
    let server = scene.server();
    scene.kill_daemon();
    server.kill();
    assert_eq!(scene.end(&task), ("failed".to_owned(), "interrupted".to_owned()));
    assert!(!fs::exists(format!("/proc/{pid}")).unwrap());
    assert_eq!(scene.result(&scene.launch("next", [], "@say back again")), "back again");
}

/// It answers 204 at once, and stores the prompt when its plugins are done with it.
const SLOW: &str = "\
import { existsSync, writeFileSync } from 'node:fs'
export const Slow = async () => ({
  'chat.message': async () => {
    if (existsSync('BEGUN')) return
    writeFileSync('BEGUN', '')
    await new Promise(() => {})
  },
})
";

#[test]
fn l8_a_prompt_that_was_taken_and_lost_with_the_server_is_sent_again() {
    let scene = Scene::new();
    let begun = scene.file("begun");
    let plugins = scene.place.config().join("plugin");
    fs::create_dir_all(&plugins).unwrap();
    let slow = SLOW.replace("BEGUN", &begun.display().to_string());
    fs::write(plugins.join("slow.js"), slow).unwrap();
    let task = scene.launch("lost", [], "@say found");
    until("the hook", || begun.exists().then_some(()));
    scene.server().kill();
    assert_eq!(scene.result(&task), "found");
    let messages = scene.server().messages(scene.show(&task)["session"]["id"].as_str().unwrap());
    let prompts = messages.iter().filter(|message| message["info"]["role"] == "user");
    assert_eq!(prompts.count(), 1);
}
