//! What really happened in a session, and what is said of it.

use serde_json::json;

use super::scene::{Scene, waits};
use super::server::until;

fn is(state: &str, cause: &str) -> (String, String) {
    (state.to_owned(), cause.to_owned())
}

/// A child whose tool has begun, with the name of its session.
fn begun(scene: &Scene, name: &str, then: &str) -> (String, String, std::path::PathBuf) {
    let gate = scene.gate(name);
    let task = scene.launch(name, [], &waits(&gate, then));
    let session = until("the tool", || {
        let shown = scene.show(&task);
        let runs = shown["progress"]["tool_calls"] == 1;
        runs.then(|| shown["session"]["id"].as_str().unwrap().to_owned())
    });
    (task, session, gate)
}

#[test]
fn t1_t21_a_read_after_the_last_message_never_says_running() {
    let scene = Scene::new();
    for round in 0..5 {
        let (task, session, gate) = begun(&scene, &format!("round-{round}"), "@say the end");
        assert!(scene.show(&task)["ended_at"].is_null());
        let server = scene.server();
        scene.open(&gate);
        until("the last message", || {
            let messages = server.messages(&session);
            (messages.last()?["info"]["finish"] == "stop").then_some(())
        });
        let shown = scene.show(&task);
        assert_eq!(shown["state"], "completed", "round {round}: {shown}");
    }
}

#[test]
fn t15_f5_a_provider_that_refuses_for_ever_is_given_up_on() {
    let scene = Scene::with("[limits]\nattempts = 1\n");
    let task = scene.launch("limited", [], "@status 429 1");
    assert_eq!(scene.end(&task), is("failed", "error"));
    let shown = scene.show(&task);
    assert_eq!(shown["error"]["code"], "rate_limited", "{shown}");
}

#[test]
fn t22_an_overflow_is_compacted_and_the_turn_goes_on() {
    let scene = Scene::new();
    let task = scene.launch("overflows", [], "@overflow");
    let shown = scene.ended(&task);
    let messages = scene.server().messages(shown["session"]["id"].as_str().unwrap());
    let compacted = messages.iter().any(|message| message["info"]["summary"] == true);
    assert!(compacted, "{messages:?}");
    assert_eq!(
        (&shown["state"], &shown["cause"]),
        (&"completed".into(), &"answered".into()),
        "{shown}"
    );
}

#[test]
fn t13_a_session_that_somebody_deletes_is_lost() {
    let scene = Scene::new();
    let (task, session, _gate) = begun(&scene, "gone", "@say never");
    scene.server().ask("DELETE", &format!("/session/{session}"), "").unwrap();
    assert_eq!(scene.end(&task), is("lost", "session_deleted"));
}

#[test]
fn t5_a_turn_that_a_person_stops_is_no_success() {
    let scene = Scene::new();
    let (task, session, _gate) = begun(&scene, "stopped", "@say never");
    let work = scene.place.work().display().to_string();
    scene.server().post(&format!("/session/{session}/abort?directory={work}"), &json!({})).unwrap();
    assert_eq!(scene.end(&task), is("failed", "interrupted"));
}

#[test]
fn a_prompt_that_takes_the_turn_over_is_told_as_what_it_is() {
    let scene = Scene::new();
    let (task, session, gate) = begun(&scene, "overtaken", "@say ours");
    let work = scene.place.work().display().to_string();
    let prompt = json!({"parts": [{"type": "text", "text": "@say theirs"}]});
    let path = format!("/session/{session}/prompt_async?directory={work}");
    assert!(scene.server().post(&path, &prompt).is_none());
    until("their prompt", || {
        let messages = scene.server().messages(&session);
        (messages.iter().filter(|each| each["info"]["role"] == "user").count() == 2).then_some(())
    });
    scene.open(&gate);
    assert_eq!(scene.end(&task), is("failed", "interrupted"));
    let why = String::from_utf8(scene.home.homing(["why", &task]).stdout).unwrap();
    assert!(why.contains("another prompt took its place"), "{why}");
}

#[test]
fn l3_n10_twenty_children_at_once_all_come_home() {
    let scene = Scene::with("[concurrency]\ndefault = 20\n");
    let tasks: Vec<String> = (0..20)
        .map(|n| scene.launch(&format!("child-{n}"), [], &format!("@delay 200\n@say result {n}")))
        .collect();
    for (n, task) in tasks.iter().enumerate() {
        assert_eq!(scene.result(task), format!("result {n}"));
    }
    let owed = scene.home.json(["inbox", "--json"]).to_string();
    for task in &tasks {
        assert!(owed.contains(&**task), "{task} in {owed}");
    }
}
