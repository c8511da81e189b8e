//! Who waits for a slot, and who is given one.

use std::process::Stdio;

use serde_json::{Value, json};

use super::program::{calls, sends, started, words};
use super::scene::{Scene, runs, waits};
use super::server::until;

const ONE: &str = "[concurrency]\ndefault = 1\n";

fn state(scene: &Scene, task: &str) -> Value {
    scene.show(task)["state"].clone()
}

/// How often it ended, by the journal.
pub fn ends(scene: &Scene, task: &str) -> usize {
    let said = String::from_utf8(scene.home.homing(["events"]).stdout).unwrap();
    let last = ["completed", "failed", "cancelled", "timed_out", "lost"];
    let lines = said.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let moved = lines.filter(|line| line["task"] == task && line["kind"] == "moved");
    moved.filter(|line| last.contains(&line["body"]["to"].as_str().unwrap())).count()
}

#[test]
fn l1_l5_l13_one_that_is_cancelled_while_it_waits_has_no_session_and_holds_up_nobody_also_after_a_kill()
 {
    let scene = Scene::with(ONE);
    let (gate, ran) = (scene.gate("gate"), scene.file("ran"));
    let says = |name: &str| runs(&format!("echo {name} >> '{}'", ran.display()), "@say done");
    let first = scene.launch("first", [], &waits(&gate, "@say done"));
    scene.until_state(&first, "running");
    let second = scene.launch("second", [], &says("second"));
    let third = scene.launch("third", [], &says("third"));
    let fourth = scene.launch("fourth", [], &says("fourth"));
    scene.home.homing(["cancel", &third]);
    assert_eq!(state(&scene, &third), "cancelled");
    assert_eq!(
        (state(&scene, &second), state(&scene, &fourth)),
        ("queued".into(), "queued".into())
    );
    scene.kill_daemon();
    scene.open(&gate);
    for task in [&first, &second, &fourth] {
        assert_eq!(scene.result(task), "done");
    }
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "second\nfourth\n");
    assert!(scene.server().sessions(&third).is_empty());
}

#[test]
fn l3_l4_a_providers_limit_spans_its_models() {
    let scene = Scene::with("[concurrency]\ndefault = 20\nproviders = { scripted = 2 }\n");
    let gate = scene.gate("gate");
    let tasks: Vec<String> = (0..4)
        .map(|n| {
            let model = ["scripted/one", "scripted/two"][n % 2];
            scene.launch(&format!("child-{n}"), ["--model", model], &waits(&gate, "@say done"))
        })
        .collect();
    for task in &tasks[..2] {
        scene.until_state(task, "running");
    }
    for task in &tasks[2..] {
        assert_eq!(state(&scene, task), "queued");
    }
    for task in &tasks {
        // Each that runs reads one line.
        until("its turn", || (state(&scene, task) != "queued").then_some(()));
        scene.open(&gate);
    }
    for task in &tasks {
        assert_eq!(scene.result(task), "done");
    }
}

#[test]
fn l7_of_two_resumes_at_once_one_wins_and_no_slot_is_lost() {
    let scene = Scene::with(ONE);
    let task = scene.launch("again", [], "@say first");
    assert_eq!(scene.result(&task), "first");
    let resume = |words: &str| {
        let mut command = scene.home.command();
        command.args(["resume", &task, words]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [resume("@say one"), resume("@say two")];
    let said = both.map(|one| one.wait_with_output().unwrap());
    let won: Vec<bool> = said.iter().map(|said| said.status.success()).collect();
    assert_eq!(won.iter().filter(|won| **won).count(), 1, "{said:?}");
    let lost = said.iter().find(|said| !said.status.success()).unwrap();
    assert!(String::from_utf8_lossy(&lost.stderr).contains("[E_NOT_ENDED]"), "{lost:?}");
    assert_eq!(scene.result(&task), if won[0] { "one" } else { "two" });
    assert_eq!(scene.result(&scene.launch("next", [], "@say free")), "free");
}

#[test]
fn l16_one_slot_is_enough_for_one_that_waits_for_its_own_helper() {
    let scene = Scene::with(
        "[concurrency]\ndefault = 1\n[presets.boss]\nhost = \"opencode\"\ndelegate = true\n",
    );
    let program = started(&scene);
    let session = program.session();
    let boss = format!("{}@say interim", sends("helper", "@say helped"));
    let sent = json!({"description": "boss", "prompt": boss, "agent": "boss"});
    program.ask(&session, &format!("{}@say sent", calls("background_task", &sent)));
    until("the helper", || scene.is_there("helper"));
    assert_eq!(scene.result("helper"), "helped");
    assert_eq!(scene.end("boss").0, "completed");
    assert!(words(&program.debrief(&session)).contains("boss"));
}

#[test]
fn l10_the_limit_on_those_below_counts_the_living() {
    let scene = Scene::with("[limits]\nliving = 1\n");
    let program = scene.home.command().get_program().to_owned().into_string().unwrap();
    let gate = scene.gate("gate");
    let launch =
        |name: &str, does: &str| format!("'{program}' launch --name {name} -- sh -c '{does}'");
    let (first, second) = (launch("first", "true"), launch("second", "true"));
    let long = launch("long", &gate.wait());
    let refused = scene.file("refused");
    let script = format!(
        "{first} && '{program}' wait first && {second} && '{program}' wait second && {long} && {} 2> '{}'; true",
        launch("over", "true"),
        refused.display()
    );
    let task = scene.launch("boss", ["--delegate"], &runs(&script, "@say sent"));
    let said = until("the refusal", || {
        std::fs::read_to_string(&refused).ok().filter(|said| said.contains('\n'))
    });
    assert!(said.contains("[E_LIVING_DESCENDANTS_EXCEEDED]"), "{said}");
    assert!(scene.is_there("over").is_none());
    scene.open(&gate);
    assert_eq!(scene.end(&task).0, "completed");
    for name in ["first", "second", "long"] {
        assert_eq!(scene.end(name).0, "completed");
    }
}

#[test]
fn a3_what_is_adopted_over_the_limit_is_counted_and_nothing_new_starts() {
    let scene = Scene::with(ONE);
    let (own, other) = (scene.gate("own"), scene.gate("other"));
    let first = scene.launch("first", [], &waits(&own, "@say first"));
    scene.until_state(&first, "running");
    // Somebody else's, on the server that runs.
    let server = scene.server();
    let work = scene.place.work().display().to_string();
    let made = server.post(&format!("/session?directory={work}"), &json!({})).unwrap();
    let session = made["id"].as_str().unwrap().to_owned();
    let parts = json!({"parts": [{"type": "text", "text": waits(&other, "@say theirs")}]});
    server.post(&format!("/session/{session}/prompt_async?directory={work}"), &parts);
    until("its tool", || {
        let messages = server.messages(&session).into_iter();
        messages
            .flat_map(|m| m["parts"].as_array().unwrap().clone())
            .find(|part| part["type"] == "tool")
    });
    scene.home.homing(["adopt", "opencode", &session, "--name", "theirs"]);
    scene.until_state("theirs", "running");
    let next = scene.launch("next", [], "@say next");
    scene.open(&own);
    assert_eq!(scene.result(&first), "first");
    assert_eq!(state(&scene, &next), "queued", "the adopted one counts");
    scene.open(&other);
    assert_eq!(scene.result("theirs"), "theirs");
    assert_eq!(scene.result(&next), "next");
}
