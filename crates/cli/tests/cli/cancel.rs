//! `homing cancel`: whole trees, and the truth about what is left.

use homing_shim::run_dir::RunDir;
use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{Scene, finish, until};

/// Launches one that launches two, each of which waits.
fn tree(scene: &Scene) {
    let homing = env!("CARGO_BIN_EXE_homing");
    let gates = ["left", "right"].map(|name| (name, scene.gate(name)));
    let launch = |(name, gate): &(&str, crate::scene::Gate)| {
        format!("{homing} launch --name {name} -- sh -c \"{}\"; ", gate.wait().replace('"', "\\\""))
    };
    let script: String = gates.iter().map(launch).collect();
    scene.launch("root", [], &format!("{script} {homing} wait left right"));
    // Held by nobody: both wait until they are ended.
    until(|| ["left", "right"].iter().all(|name| scene.homing(["show", name]).code == Some(0)));
    until(|| ["left", "right"].iter().all(|name| scene.show(name)["state"] == "running"));
}

#[test]
fn c3_a_task_is_cancelled_with_all_below_it() {
    let scene = Scene::new();
    tree(&scene);
    let said = scene.homing(["ls", "--tree"]);
    let names: Vec<&str> = said.text().lines().skip(1).filter_map(|line| line.get(57..)).collect();
    assert_eq!(names, ["root", "  right", "  left"], "{}", said.text());
    let said = scene.homing(["cancel", "root", "--reason", "not needed", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let told = &said.json()[0];
    assert_eq!((&told["state"], &told["already_ended"]), (&"cancelled".into(), &false.into()));
    assert_eq!(told["below"].as_array().unwrap().len(), 2, "{told}");
    for name in ["root", "left", "right"] {
        assert_eq!(scene.show(name)["state"], "cancelled", "{name}");
    }
    assert!(scene.homing(["why", "root"]).text().contains("not needed"));
}

#[test]
fn c6_what_had_ended_stays_as_it_was_and_what_is_unknown_is_said_to_be() {
    let scene = Scene::new();
    let id = scene.launch("done", [], "true");
    assert_eq!(scene.homing(["wait", "done"]).code, Some(0));
    let said = scene.homing(["cancel", &id[..9]]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.text(), format!("{id}  completed  (had ended before)\n"));
    assert_eq!(scene.show("done")["state"], "completed");
    let said = scene.homing(["cancel", "bg_000000000000"]);
    assert_eq!(said.code, Some(3));
    assert!(said.err.contains("never accepted here"), "{}", said.err);
}

#[test]
fn all_are_found_before_any_is_cancelled() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["cancel", "nobody"]).code, Some(3));
    let gate = scene.gate("one");
    scene.launch("one", [], &gate.wait());
    assert_eq!(scene.homing(["cancel", "one", "nobody"]).code, Some(3));
    drop(gate.open());
    assert_eq!(scene.homing(["wait", "one"]).code, Some(0), "it was left alone");
}

#[test]
fn all_means_every_one_that_lives() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["cancel", "--all", "--json"]).json(), serde_json::json!([]));
    assert!(!scene.home.exists());
    tree(&scene);
    scene.launch("beside", [], "sleep 300");
    let said = scene.homing(["cancel", "--all"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_eq!(said.text().lines().count(), 4, "{}", said.text());
    assert_eq!(scene.homing(["ls", "--json"]).json(), serde_json::json!([]));
}

#[test]
fn of_a_quiet_one_nobody_is_told() {
    let scene = Scene::new();
    for (name, options, owed) in [("loud", vec![], 1), ("quiet", vec!["--quiet"], 1)] {
        scene.launch(name, [], "sleep 300");
        let said = scene.command(["cancel", name].iter().chain(&options)).spawn().unwrap();
        assert_eq!(finish(said).code, Some(0));
        let notices = scene.homing(["inbox", "--json"]).json()["notices"].clone();
        assert_eq!(notices.as_array().unwrap().len(), owed, "{name}: {notices}");
    }
}

/// The supervisors of a scene's commands.
fn shims(scene: &Scene) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if RunDir::of_shim(pid).is_some_and(|run| run.path().starts_with(&scene.home)) {
            found.extend(Pid::from_raw(pid));
        }
    }
    found
}

#[test]
fn c2_c3_an_end_that_is_not_confirmed_is_named() {
    let scene = Scene::new();
    std::fs::create_dir(&scene.home).unwrap();
    std::fs::write(scene.home.join("homing.toml"), "[limits]\nstopping = \"300ms\"\n").unwrap();
    let id = scene.launch("stuck", [], "sleep 300");
    until(|| scene.show("stuck")["state"] == "running");
    let held = shims(&scene);
    assert_eq!(held.len(), 1, "one supervisor");
    kill_process(held[0], Signal::STOP).unwrap();
    let said = scene.homing(["cancel", "stuck"]);
    kill_process(held[0], Signal::CONT).unwrap();
    assert_eq!(said.code, Some(5), "{} {}", said.text(), said.err);
    assert!(
        said.err.contains(&format!("not all have ended: {id} [E_CASCADE_INCOMPLETE]")),
        "{}",
        said.err
    );
    assert!(said.err.contains(&format!("try: homing why {id}")), "{}", said.err);
    let task = scene.show(&id);
    assert_eq!((&task["state"], &task["cause"]), (&"lost".into(), &"abort_unconfirmed".into()));
    // It hears of the stop now, and ends what it held.
    until(|| shims(&scene).is_empty());
}
