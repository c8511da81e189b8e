//! L: launch, queue, slots.

use std::process::Child;
use std::thread::JoinHandle;

use homing_core::wire;
use rustix::process::{Signal, kill_process, test_kill_process};

use super::{
    ONE_SLOT, block, client, daemon, is, is_gone, kill_daemon, lines, path, shim, with, witnessed,
};
use crate::scene::{Gate, Scene, finish, until};

/// A script that appends a word to the scene's witness.
fn says(scene: &Scene, word: &str) -> String {
    format!("echo {word} >> '{}'", scene.path("witness").display())
}

#[test]
fn l5_what_is_cancelled_in_the_queue_is_never_started_and_the_others_keep_their_order() {
    let scene = with(ONE_SLOT);
    let gate = scene.gate("first");
    scene.launch("first", [], &gate.wait());
    let open = gate.open();
    let second = scene.launch("second", [], &says(&scene, "second"));
    for name in ["third", "fourth"] {
        scene.launch(name, [], &says(&scene, name));
    }
    assert_eq!(scene.homing(["cancel", &second]).code, Some(0));
    drop(open);
    for name in ["first", "third", "fourth"] {
        assert_eq!(scene.homing(["wait", name]).code, Some(0), "{name}");
    }
    assert_eq!(witnessed(&scene.path("witness")), ["third", "fourth"]);
    assert_eq!(path(&scene, &second), ["cancelled"]);
    assert!(scene.show(&second)["session"].is_null());
    assert!(!scene.home.join(format!("runs/{second}.1")).exists());
}

#[test]
fn l6_cancelled_while_its_process_is_made_it_ends_cancelled_and_its_slot_is_free() {
    let scene = with(ONE_SLOT);
    let client = client(&scene);
    let mut caught = 0;
    for n in 0..20 {
        let command = ["sleep", "300"].map(str::to_owned).to_vec();
        let launch =
            wire::Launch { command, name: Some(format!("n{n}")), ..wire::Launch::default() };
        let id = block(async {
            let id = client.launch(&launch).await.unwrap().id.to_string();
            client.cancel(&id, &wire::Cancel::default()).await.unwrap();
            id
        });
        is(&scene, &id, "cancelled");
        if scene.home.join(format!("runs/{id}.1/child")).exists() {
            let shim = shim(&scene, &id, 1);
            until(|| test_kill_process(shim).is_err());
        }
        let lines = lines(&scene, &id);
        let at = |found: &dyn Fn(&serde_json::Value) -> bool| lines.iter().position(found);
        let stop =
            at(&|line| line["body"]["to"] == "stopping" || line["body"]["to"] == "cancelled");
        let made = at(&|line| line["body"]["fact"]["fact"] == "session_made");
        caught += usize::from(made.is_none_or(|made| stop.unwrap() < made));
    }
    assert!(caught > 0, "none was cancelled before its process was there");
    let said = scene.run([], ["echo", "the slot is free"]);
    assert_eq!(said.text(), "the slot is free\n", "{}", said.err);
}

/// Kills the daemon once a run more is claimed: as a rule before that start is in the ledger.
fn kill_at_next_claim(scene: &Scene) -> JoinHandle<()> {
    let (daemon, runs) = (daemon(scene), scene.home.join("runs"));
    let claims = move || {
        let runs = std::fs::read_dir(&runs).unwrap().flatten();
        runs.filter(|run| run.path().join("claim").exists()).count()
    };
    let before = claims();
    std::thread::spawn(move || {
        until(|| claims() > before);
        kill_process(daemon, Signal::KILL).unwrap();
        until(|| is_gone(daemon));
    })
}

#[test]
fn l8_l14_a_command_whose_start_was_not_written_down_is_found_again_and_not_run_twice() {
    let scene = Scene::new();
    let (mut names, mut unwritten) = (Vec::new(), 0);
    for n in 0..40 {
        // The kill does not come in time each time.
        if n >= 6 && unwritten > 0 {
            break;
        }
        assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
        let (name, first) = (format!("n{n}"), daemon(&scene));
        // Found while it runs, and found when it has ended.
        let gate = (n % 2 == 0).then(|| scene.gate(&name));
        let waits = gate.as_ref().map_or_else(|| "true".to_owned(), Gate::wait);
        let killer = kill_at_next_claim(&scene);
        let script = format!("{}; {waits}; echo {name}", says(&scene, &name));
        let words = ["launch", "--key", &name, "--name", &name, "--", "sh", "-c", &script];
        let mut said = scene.homing(words);
        killer.join().unwrap();
        if said.code == Some(6) {
            // Its reply was cut off.
            said = scene.homing(words);
        }
        assert_eq!(said.code, Some(0), "{}", said.err);
        let id = said.id();
        let open = gate.map(|gate| gate.open());
        assert!(open.is_none() || scene.lives(&id));
        drop(open);
        until(|| !scene.lives(&id));
        let task = scene.show(&id);
        assert_eq!(
            (&task["state"], &task["result"]["text"]),
            (&"completed".into(), &format!("{name}\n").into()),
            "{task}"
        );
        assert_eq!(task["attempts"].as_array().unwrap().len(), 1);
        let lines = lines(&scene, &id);
        let made = lines.iter().filter(|line| line["body"]["fact"]["fact"] == "session_made");
        assert_eq!(made.clone().count(), 1, "one session");
        assert_ne!(daemon(&scene), first);
        // Told by the next daemon: the one that started it had not come to it.
        let note = std::fs::read_to_string(scene.home.join("daemon.json")).unwrap();
        let note: serde_json::Value = serde_json::from_str(&note).unwrap();
        let since = note["since"].as_i64().unwrap();
        unwritten += made.filter(|line| line["wall_ms"].as_i64().unwrap() >= since).count();
        names.push(name);
    }
    assert_eq!(witnessed(&scene.path("witness")), names, "each was run once");
    assert!(unwritten > 0, "every start was written down before the kill");
}

#[test]
fn l12_one_key_is_one_task_and_one_process_at_once_and_after_a_kill() {
    let scene = Scene::new();
    let script = format!("{}; echo done", says(&scene, "ran"));
    let run = || scene.command(["run", "--key", "once", "--json", "--", "sh", "-c", &script]);
    let many: Vec<Child> = (0..6).map(|_| run().spawn().unwrap()).collect();
    let mut ids: Vec<String> = many.into_iter().map(|child| finish(child).id()).collect();
    kill_daemon(&scene);
    ids.push(finish(run().spawn().unwrap()).id());
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(witnessed(&scene.path("witness")), ["ran"]);
}

#[test]
fn l13_what_was_accepted_and_not_started_runs_after_a_kill() {
    let scene = with(ONE_SLOT);
    let gate = scene.gate("first");
    scene.launch("first", [], &gate.wait());
    let open = gate.open();
    let next = scene.launch("next", [], "echo it ran");
    assert_eq!(scene.show(&next)["state"], "queued");
    kill_daemon(&scene);
    drop(open);
    assert_eq!(scene.homing(["wait", "first", "next"]).code, Some(0));
    assert_eq!(scene.homing(["output", "next"]).text(), "it ran\n");
}

#[test]
fn l15_a_launch_that_makes_no_sense_names_what_is_wrong_and_stores_nothing() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    let long = "x".repeat(70_000);
    for (words, says) in [
        (vec!["launch", " "], "PROMPT: it is empty"),
        (vec!["launch", "--host", "proces", "--", "true"], "did you mean \"process\"?"),
        (vec!["launch", "--agent", "builder", "--", "true"], "agent"),
        (vec!["launch", "--model", "nonsense", "--", "true"], "model"),
        (vec!["launch", "--after", "nobody", "--", "true"], "nobody"),
        (vec!["launch", "--name", &long, "--", "true"], "name: it has more than 65536 bytes"),
    ] {
        let said = finish(scene.command(&words).spawn().unwrap());
        assert!(matches!(said.code, Some(2 | 3 | 5)), "{}: {:?}", words[1], said.code);
        assert_eq!(said.text(), "");
        assert!(said.err.contains(says), "{}", said.err);
    }
    let prompt = Some("x".repeat((1 << 20) + 1));
    let command = vec!["cat".to_owned()];
    let launch = wire::Launch { command, prompt, ..wire::Launch::default() };
    let refused = block(client(&scene).launch(&launch)).unwrap_err().to_string();
    assert!(refused.contains("prompt"), "{refused}");
    assert_eq!(scene.homing(["ls", "--all", "--json"]).json(), serde_json::json!([]));
    assert_eq!(scene.homing(["events"]).text(), "");
}

#[test]
fn l16_with_one_slot_a_task_that_waits_for_its_own_lets_it_run() {
    let homing = env!("CARGO_BIN_EXE_homing");
    for (how, expected) in [
        (format!("{homing} run --name inner -- echo inner; echo outer"), "inner\nouter\n"),
        (format!("{homing} launch --name inner -- echo inner > /dev/null; echo outer"), "outer\n"),
    ] {
        let scene = with(ONE_SLOT);
        let said = scene.run(["--name", "outer"], ["sh", "-c", &how]);
        assert_eq!((said.code, said.text()), (Some(0), expected), "{}", said.err);
        let (outer, inner) = (scene.show("outer"), scene.show("inner"));
        assert_eq!((&outer["state"], &inner["state"]), (&"completed".into(), &"completed".into()));
        let ended = |task: &serde_json::Value| {
            let lines = lines(&scene, task["id"].as_str().unwrap());
            let end = lines.iter().find(|line| line["body"]["to"] == "completed").unwrap();
            end["seq"].as_u64().unwrap()
        };
        assert!(ended(&inner) < ended(&outer), "not before its own");
    }
}
