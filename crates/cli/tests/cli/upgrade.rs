//! A home that an earlier release left behind: this one goes on with it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use crate::scene::{Scene, until};

/// Lays a released home out, for its owner alone, as it was before it went into version control.
fn lay(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, Permissions::from_mode(0o700)).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if from.is_dir() {
            lay(&from, &to);
        } else {
            fs::write(&to, fs::read(&from).unwrap()).unwrap();
            fs::set_permissions(&to, Permissions::from_mode(0o600)).unwrap();
        }
    }
}

fn released(version: &str) -> Scene {
    let scene = Scene::new();
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures");
    lay(&store.join(version), &scene.home);
    scene
}

fn well(scene: &Scene) {
    let said = scene.homing(["doctor"]);
    assert_eq!(said.code, Some(0), "{}{}", said.text(), said.err);
    assert!(said.text().contains(" 0 damaged"), "{}", said.text());
}

/// The names of what is owed to a parent, in order.
fn owed(scene: &Scene, parent: &str) -> Vec<String> {
    let inbox = scene.homing(["inbox", parent, "--json"]).json();
    let notices = inbox["notices"].as_array().unwrap();
    notices.iter().map(|notice| notice["name"].as_str().unwrap().to_owned()).collect()
}

fn end(scene: &Scene, task: &str) -> (Value, Value) {
    until(|| !scene.lives(task));
    let task = scene.show(task);
    (task["state"].clone(), task["cause"].clone())
}

#[test]
fn r9_a_home_of_version_1_is_gone_on_with() {
    let scene = released("v1");
    well(&scene);
    // What had ended is as it was.
    for (task, state, text) in [
        ("settled", "completed", "read and acknowledged\n"),
        ("done", "completed", "12 passed\n"),
        ("half", "failed", "half\n[standard error]\nwhy not\n"),
    ] {
        let task = scene.show(task);
        assert_eq!((&task["state"], &task["result"]["text"]), (&state.into(), &text.into()));
    }
    let long: String = (1..=13_000).map(|n| format!("{n}\n")).collect();
    let said = scene.homing(["output", "long", "--full"]);
    assert!(said.text() == long, "a long result without its run: {} bytes", said.out.len());
    let logs = scene.homing(["logs", "half"]);
    assert!(logs.text().contains("half"), "{}{}", logs.text(), logs.err);

    // What ended while nobody looked is told as it was; what was cut off, too.
    assert_eq!(end(&scene, "meanwhile"), ("completed".into(), "exited".into()));
    assert_eq!(scene.show("meanwhile")["result"]["text"], "while nobody looked\n");
    assert_eq!(end(&scene, "cut"), ("failed".into(), "interrupted".into()));
    // What may be tried again is; what waited for a slot, or for another, has its turn, or is told why not.
    assert_eq!(end(&scene, "again"), ("completed".into(), "exited".into()));
    let again = scene.show("again");
    assert_eq!(
        (&again["attempt"], &again["result"]["text"]),
        (&2.into(), &"at the second try\n".into())
    );
    assert_eq!(end(&scene, "next"), ("completed".into(), "exited".into()));
    assert_eq!(scene.show("next")["model"], "acme/one");
    assert_eq!(end(&scene, "then"), ("completed".into(), "exited".into()));
    assert_eq!(end(&scene, "after"), ("cancelled".into(), "dependency".into()));

    // What was owed still is, once each; so is what came since.
    assert_eq!(owed(&scene, "inbox:reports"), ["half"]);
    let mut all = owed(&scene, "inbox:cli");
    assert_eq!(all[..1], ["done"], "what was owed first is told first");
    all.sort_unstable();
    assert_eq!(all, ["after", "again", "cut", "done", "meanwhile", "next", "then"]);
    for name in &all {
        let said = scene.homing(["inbox", "--ack", &format!("{name}/1")]);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    }
    assert_eq!(owed(&scene, "inbox:cli"), [""; 0]);

    // The same key is the same task, and new ones are taken.
    let settled = scene.show("settled")["id"].as_str().unwrap().to_owned();
    let same = scene.run(
        ["--key", "first", "--cwd", "/", "--name", "settled", "--json"],
        ["echo", "read", "and", "acknowledged"],
    );
    assert_eq!(same.id(), settled, "{}", same.err);
    assert_eq!(scene.run([], ["echo", "new"]).text(), "new\n");
    well(&scene);
}
