//! What really happened in a session, and what is said of it.

use homing_testkit::gate::Gate;
use serde_json::json;

use super::scene::{Scene, runs, waits};
use super::server::until;

fn is(state: &str, cause: &str) -> (String, String) {
    (state.to_owned(), cause.to_owned())
}

/// A child whose tool has begun, with the name of its session.
fn begun(scene: &Scene, name: &str, then: &str) -> (String, String, Gate) {
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
fn t22_an_overflow_in_a_later_turn_is_compacted_and_that_turn_is_answered() {
    let scene = Scene::new();
    let long = format!("{}\n@say first", "much ".repeat(24_000));
    let task = scene.launch("overflows", [], &long);
    assert_eq!(scene.result(&task), "first");
    scene.home.homing(["resume", &task, "@overflow 120000\n@say second"]);
    let shown = scene.ended(&task);
    assert_eq!((&shown["state"], &shown["cause"]), (&"completed".into(), &"answered".into()));
    assert_eq!(scene.result(&task), "second");
    let messages = scene.server().messages(shown["session"]["id"].as_str().unwrap());
    assert!(messages.iter().any(|message| message["info"]["summary"] == true), "{messages:?}");
}

#[test]
fn t8_a_turn_that_breaks_inside_of_opencode_ends_with_its_error() {
    let scene = Scene::new();
    let plugins = scene.place.config().join("plugin");
    std::fs::create_dir_all(&plugins).unwrap();
    let breaks = "export const Breaks = async () => ({ 'experimental.chat.messages.transform': async (_, { messages }) => {
        if (JSON.stringify(messages).includes('breaks here')) throw new Error('a plugin that breaks')
    } })";
    std::fs::write(plugins.join("breaks.js"), breaks).unwrap();
    let task = scene.launch("broken", [], "breaks here\n@say never");
    let shown = scene.ended(&task);
    assert_eq!(shown["state"], "failed", "{shown}");
    assert!(shown.to_string().contains("a plugin that breaks"), "{shown}");
    assert_eq!(scene.result(&scene.launch("next", [], "@say fine")), "fine");
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
fn a_tool_that_is_called_in_an_answer_that_says_it_is_the_last_is_gone_on_after() {
    let scene = Scene::new();
    let prompt = format!("@say not yet\n@stop\n{}", runs("echo hi", "@say went on"));
    assert_eq!(scene.result(&scene.launch("stops", [], &prompt)), "went on");
}

#[test]
fn a_prompt_of_somebody_else_while_it_speaks_leaves_it_its_answer() {
    let scene = Scene::new();
    let task = scene.launch("speaks", [], "@say ours\n@delay 3000\n@say , all of it");
    let session = until("its session", || {
        let shown = scene.show(&task);
        shown["session"]["id"].as_str().map(str::to_owned)
    });
    until("its answer", || {
        let messages = scene.server().messages(&session);
        messages.iter().any(|each| each["info"]["role"] == "assistant").then_some(())
    });
    let work = scene.place.work().display().to_string();
    let prompt = json!({"parts": [{"type": "text", "text": "@say theirs"}]});
    scene.server().post(&format!("/session/{session}/prompt_async?directory={work}"), &prompt);
    assert_eq!(scene.end(&task), is("completed", "answered"));
    assert_eq!(scene.result(&task), "ours, all of it");
    until("their answer", || {
        let last = scene.server().messages(&session).pop()?;
        (last["parts"].to_string().contains("theirs") && last["info"]["finish"] == "stop")
            .then_some(())
    });
    assert_eq!(scene.result(&task), "ours, all of it");
}

#[test]
fn one_that_is_stopped_while_the_provider_is_waited_for_is_no_success() {
    let scene = Scene::new();
    let task = scene.launch("waits", [], "@status 429 300");
    let session = until("the provider's word", || {
        let shown = scene.show(&task);
        let why = String::from_utf8(scene.home.homing(["why", &task]).stdout).unwrap();
        why.contains("waits for its provider")
            .then(|| shown["session"]["id"].as_str().unwrap().to_owned())
    });
    let work = scene.place.work().display().to_string();
    scene.server().post(&format!("/session/{session}/abort?directory={work}"), &json!({})).unwrap();
    assert_eq!(scene.end(&task).0, "failed");
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

/// The agent was there when it was asked for, and is not any more: OpenCode takes the prompt, and says so in an event alone.
#[test]
fn l2_t15_an_agent_that_is_gone_when_its_turn_comes_fails_the_task_with_its_name() {
    let scene = Scene::with("[concurrency]\ndefault = 1\n");
    let gate = scene.gate("gate");
    let first = scene.launch("first", ["--agent", "reader"], &waits(&gate, "@say never"));
    scene.until_state(&first, "running");
    let task = scene.launch("late", ["--agent", "reader"], "@say never");
    let path = scene.place.config().join("opencode.json");
    let mut settings: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    settings["agent"] = json!({});
    std::fs::write(&path, settings.to_string()).unwrap();
    // Its server goes, and the next one knows what the settings say now.
    scene.server().kill();
    assert_eq!(scene.end(&first).1, "interrupted");
    let shown = scene.ended(&task);
    assert_eq!(shown["state"], "failed", "{shown}");
    assert!(shown["error"]["message"].as_str().unwrap().contains("reader"), "{shown}");
    assert_eq!(scene.result(&scene.launch("next", [], "@say free")), "free", "its slot is free");
}
