//! C: cancel, resume, steer.

use rustix::process::{Signal, kill_process};

use super::{ends, is, owed, shim, witnessed};
use crate::scene::{Scene, until};

#[test]
fn c1_c7_a_command_that_finishes_while_it_is_cancelled_ends_once_and_stays_cancelled() {
    let scene = Scene::new();
    let ready = scene.path("ready");
    let script = format!(
        "trap 'echo finished after all; exit 0' TERM; echo up > '{}'; while :; do sleep 0.05; done",
        ready.display()
    );
    let id = scene.launch("late", [], &script);
    until(|| !witnessed(&ready).is_empty());
    assert_eq!(scene.homing(["cancel", &id]).code, Some(0));
    let task = scene.show(&id);
    assert_eq!((&task["state"], &task["cause"]), (&"cancelled".into(), &"asked".into()));
    // What it still said is kept, and nobody is told twice.
    until(|| scene.homing(["logs", &id]).text().contains("finished after all"));
    assert_eq!((ends(&scene, &id), owed(&scene, "inbox:cli").len()), (1, 1));
    assert_eq!(scene.show(&id)["state"], "cancelled");
}

/// A command in a file of its own, so that it needs no quoting.
fn script(scene: &Scene, name: &str, text: &str) -> String {
    let path = scene.path(&format!("{name}.sh"));
    std::fs::write(&path, text).unwrap();
    format!("sh '{}'", path.display())
}

#[test]
fn c4_when_a_parent_is_gone_what_it_sent_out_is_cancelled_and_told_to_the_one_above() {
    let scene = Scene::new();
    let homing = env!("CARGO_BIN_EXE_homing");
    let gates = ["top", "middle", "leaf"].map(|name| scene.gate(name));
    let leaf = script(&scene, "leaf", &gates[2].wait());
    let middle = format!("{homing} launch --name leaf -- {leaf}\n{}", gates[1].wait());
    let middle = script(&scene, "middle", &middle);
    let top = format!("{homing} launch --name middle -- {middle}\n{}", gates[0].wait());
    let top = scene.launch("top", [], &script(&scene, "top", &top));
    let open = gates.map(|gate| gate.open());
    for name in ["top", "middle", "leaf"] {
        is(&scene, name, "running");
    }
    let middle = scene.show("middle")["id"].as_str().unwrap().to_owned();
    kill_process(shim(&scene, &middle, 1), Signal::KILL).unwrap();
    is(&scene, "middle", "failed");
    assert_eq!(scene.show("middle")["cause"], "interrupted");
    is(&scene, "leaf", "cancelled");
    assert_eq!(scene.show("leaf")["cause"], "parent_ended");
    let told = || {
        let mut names: Vec<String> = owed(&scene, &format!("task:{top}"))
            .iter()
            .map(|notice| notice["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort_unstable();
        names
    };
    until(|| told() == ["leaf", "middle"]);
    drop(open);
    assert_eq!(scene.homing(["wait", &top]).code, Some(0));
    // It read neither: they go on to the one who sent it out.
    until(|| owed(&scene, "inbox:cli").len() == 3);
}
