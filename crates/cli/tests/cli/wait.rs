//! `homing wait`: all, any, not for ever.

use rustix::process::Signal;

use crate::scene::{Scene, finish};

#[test]
fn all_are_waited_for_and_each_is_told_once() {
    let scene = Scene::new();
    let gate = scene.gate("slow");
    let slow = scene.launch("slow", [], &gate.wait());
    let quick = scene.launch("quick", [], "true");
    let mut wait = scene.reading(["wait", &slow[..9], "quick", "slow"]);
    let line = wait.line();
    assert_eq!(line, Some(format!("{quick}  completed")), "told as soon as it has ended");
    drop(gate.open());
    assert_eq!(wait.line(), Some(format!("{slow}  completed")));
    assert_eq!(wait.line(), None);
    assert_eq!(wait.finish().code, Some(0));
}

#[test]
fn one_that_ends_otherwise_is_exit_code_1() {
    let scene = Scene::new();
    scene.launch("well", [], "true");
    scene.launch("badly", [], "exit 3");
    let said = scene.homing(["wait", "well", "badly", "--json"]);
    assert_eq!(said.code, Some(1));
    let mut states: Vec<String> = said.json().as_array().unwrap().iter().map(told).collect();
    states.sort();
    assert_eq!(states, ["badly failed", "well completed"]);
}

fn told(task: &serde_json::Value) -> String {
    format!("{} {}", task["name"].as_str().unwrap(), task["state"].as_str().unwrap())
}

#[test]
fn any_ends_with_the_first() {
    let scene = Scene::new();
    let gate = scene.gate("slow");
    scene.launch("slow", [], &gate.wait());
    let quick = scene.launch("quick", [], "true");
    let said = scene.homing(["wait", "--any", "slow", "quick"]);
    assert_eq!((said.code, said.text()), (Some(0), format!("{quick}  completed\n").as_str()));
    assert!(scene.lives("slow"), "waiting changes nothing");
}

#[test]
fn a_time_that_is_up_is_exit_code_4_and_names_what_goes_on() {
    let scene = Scene::new();
    let gate = scene.gate("slow");
    let slow = scene.launch("slow", [], &gate.wait());
    scene.launch("quick", [], "true");
    assert_eq!(scene.homing(["wait", "quick"]).code, Some(0));
    for words in
        [vec!["wait", "slow"], vec!["wait", "slow", "--any"], vec!["wait", "slow", "quick"]]
    {
        let words = words.iter().chain(&["--timeout", "100ms"]);
        let said = finish(scene.command(words).spawn().unwrap());
        assert_eq!(said.code, Some(4), "{}", said.err);
        assert!(said.err.contains(&format!("not ended: {slow}\n")), "{}", said.err);
        assert!(said.err.contains("try: a longer --timeout"), "{}", said.err);
    }
    assert!(scene.lives("slow"), "waiting changes nothing");
}

#[test]
fn what_is_not_there_is_found_out_before_anything_is_waited_for() {
    let scene = Scene::new();
    let said = scene.homing(["wait", "nobody"]);
    assert_eq!(said.code, Some(3));
    assert!(!scene.home.exists(), "asking makes nothing");
    let gate = scene.gate("slow");
    scene.launch("slow", [], &gate.wait());
    let said = scene.homing(["wait", "slow", "nobody"]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    scene.launch("slow", [], "true");
    let said = scene.homing(["wait", "slow"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("means more than one task"), "{}", said.err);
}

#[test]
fn an_interrupt_ends_the_waiting_and_not_the_task() {
    for signal in [Signal::INT, Signal::TERM] {
        let scene = Scene::new();
        let gate = scene.gate("slow");
        scene.launch("slow", [], &gate.wait());
        scene.launch("quick", [], "true");
        let mut wait = scene.reading(["wait", "quick", "slow"]);
        // Once it told of one, it waits for the other, and listens to signals.
        assert!(wait.line().is_some());
        wait.signal(signal);
        assert_eq!(wait.finish().code, Some(130));
        assert!(scene.lives("slow"), "waiting changes nothing");
        drop(gate.open());
        assert_eq!(scene.homing(["wait", "slow"]).code, Some(0));
    }
}
