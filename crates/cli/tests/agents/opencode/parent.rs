//! A session of OpenCode as a parent: what it sent out comes home to it, once, in a turn of its own.

use homing_testkit::model::Heard;
use serde_json::{Value, json};

use super::program::{calls, name, sends, started, words};
use super::scene::{Scene, runs, waits};
use super::server::until;

/// What a session is owed, and had.
fn owned(scene: &Scene, parent: &str) -> Vec<Value> {
    let said = scene.home.json(["owned", parent, "--json"]);
    said["tasks"].as_array().or(said.as_array()).unwrap().clone()
}

#[test]
fn u2_n1_what_a_session_sent_out_comes_home_in_one_debrief_with_its_own_answer() {
    let scene = Scene::new();
    let program = started(&scene);
    let session = program.session();
    // Said to another agent than usual, which has a model of its own.
    let prompt = format!("{}{}@say sent", sends("one", "@say eins"), sends("two", "@say zwei"));
    let asked = program.say_as(&session, Some("reader"), &prompt);
    until("an answer", || program.answers(&session, &asked).pop());
    let debrief = program.debrief(&session);
    let text = words(&debrief);
    assert!(text.contains("2 tasks have ended"), "{text}");
    assert!(text.contains("eins") && text.contains("zwei"), "{text}");
    assert_eq!(program.answers(&session, name(&debrief)), ["ok"]);
    let info = &debrief["info"];
    assert_eq!((&info["agent"], &info["model"]["modelID"]), (&"reader".into(), &"two".into()));
    // People see its first line; the rest is for the agent.
    let parts = debrief["parts"].as_array().unwrap();
    assert_eq!((parts.len(), &parts[1]["synthetic"]), (2, &true.into()), "{debrief}");
    let parent = scene.show("one")["parent"].as_str().unwrap().to_owned();
    assert!(parent.starts_with("opencode") && parent.ends_with(&session), "{parent}");
    scene.until_settled("one");
    scene.until_settled("two");
    assert_eq!(owned(&scene, &parent).len(), 2);
    assert_eq!(program.debriefs(&session).len(), 1);
    // The same turn sent both, so they are of one batch, and both work in the session's directory.
    let (one, two) = (scene.show("one"), scene.show("two"));
    assert_eq!((&one["batch"], &one["launched_by"]), (&two["batch"], &Value::Null));
    let of = |task: &Value| task["session"]["id"].as_str().unwrap().to_owned();
    let child = program.server.get(&format!("/session/{}", of(&one))).unwrap();
    assert_eq!(child["parentID"], session.as_str(), "it is linked below its parent");
    assert_eq!(child["directory"], scene.place.work().display().to_string());
}

#[test]
fn n1_a_debrief_goes_to_the_agent_of_a_turn_of_very_many_steps() {
    let scene = Scene::new();
    let program = started(&scene);
    let session = program.session();
    // More of them than are read of a session at once.
    let step = |n| format!("@tool glob {{\"pattern\": \"none-{n}\"}}\n");
    let steps: String = (0..110).map(step).collect();
    let prompt = format!("{}{steps}@say sent", sends("one", "@say eins"));
    let asked = program.say_as(&session, Some("reader"), &prompt);
    let debrief = program.debrief(&session);
    assert_eq!(program.answers(&session, &asked).last().map(String::as_str), Some("sent"));
    let info = &debrief["info"];
    assert_eq!((&info["agent"], &info["model"]["modelID"]), (&"reader".into(), &"two".into()));
}

#[test]
fn n9_a_tool_that_a_person_refuses_after_a_debrief_is_not_tried_again() {
    let scene = Scene::new();
    let program = started(&scene);
    let session = program.session();
    let outside = scene.file("outside");
    std::fs::write(&outside, "words outside").unwrap();
    let looks = format!("@tool read {{\"filePath\": {outside:?}}}\n@say looked");
    scene.model.when("has ended", &looks);
    program.ask(&session, &format!("{}@say sent", sends("one", "@say eins")));
    let (server, work) = (&program.server, scene.place.work().display().to_string());
    let ask = until("the ask", || {
        let asks = server.get(&format!("/permission?directory={work}"))?;
        asks[0]["id"].as_str().map(str::to_owned)
    });
    let path = format!("/permission/{ask}/reply?directory={work}");
    server.post(&path, &json!({"reply": "reject"})).unwrap();
    scene.until_settled("one");
    assert_eq!(program.debriefs(&session).len(), 1);
    let told = |heard: &&Heard| heard.asked.prompt.contains("has ended");
    assert_eq!(scene.model.log().iter().filter(told).count(), 1, "nobody asked it to go on");
}

#[test]
fn u3_a_prompt_that_is_slow_to_be_stored_is_answered_when_a_debrief_comes_meanwhile() {
    let scene = Scene::new();
    let plugins = scene.place.config().join("plugin");
    std::fs::create_dir_all(&plugins).unwrap();
    // Before ours, and after it.
    for name in ["a", "z"] {
        let slow = "export const Slow = async () => ({ 'chat.message': async (_, { parts }) => {
            if (JSON.stringify(parts).includes('slowly')) await new Promise((done) => setTimeout(done, 1500))
        } })";
        std::fs::write(plugins.join(format!("{name}.js")), slow).unwrap();
    }
    let program = started(&scene);
    let session = program.session();
    let gate = scene.gate("gate");
    program.ask(&session, &format!("{}@say sent", sends("one", &waits(&gate, "@say eins"))));
    scene.until_state("one", "running");
    let asked = program.say(&session, "slowly\n@say answered");
    scene.open(&gate);
    let answers = until("an answer", || {
        Some(program.answers(&session, &asked)).filter(|all| !all.is_empty())
    });
    assert_eq!(answers, ["answered"]);
    assert_eq!(program.answers(&session, name(&program.debrief(&session))), ["ok"]);
}

#[test]
fn u3_n3_a_debrief_waits_for_the_end_of_a_persons_turn_and_both_are_answered() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let program = started(&scene);
    let session = program.session();
    program.ask(&session, &format!("{}@say sent", sends("quick", "@say done")));
    // It may be told at once, or not: from now on a person speaks.
    let wait = gate.wait();
    let first = program.debriefs(&session).len();
    let asked = program
        .say(&session, &format!("{}{}", sends("second", "@say also"), runs(&wait, "@say mine")));
    until("the second", || scene.is_there("second"));
    scene.ended("second");
    until("the wait", || program.is_running(&session, "bash"));
    assert!(program.debriefs(&session).len() <= first + 1);
    let inside = |message: &Value| words(message).contains("also");
    assert!(!program.debriefs(&session).iter().any(inside), "not in a person's turn");
    scene.open(&gate);
    until("the person's answer", || program.answers(&session, &asked).pop());
    let told = || program.debriefs(&session).into_iter().find(inside);
    let debrief = until("the debrief", told);
    until("its answer", || program.answers(&session, name(&debrief)).pop());
    assert_eq!(program.answers(&session, &asked), ["mine"]);
    for task in ["quick", "second"] {
        scene.until_settled(task);
        let id = scene.show(task)["id"].as_str().unwrap().to_owned();
        let telling: Vec<Value> = program.debriefs(&session);
        let telling = telling.iter().filter(|debrief| words(debrief).contains(&format!(". {id} ")));
        assert_eq!(telling.count(), 1, "{task} is told once");
    }
}

#[test]
fn u4_what_the_owner_read_in_its_own_turn_is_not_told_again() {
    let scene = Scene::new();
    let program = started(&scene);
    let session = program.session();
    let reads = calls("background_output", &json!({"task_id": "read", "wait": "30s"}));
    let waits = calls(
        "background_task",
        &json!({"description": "awaited", "prompt": "@say whole", "run_in_background": false}),
    );
    let prompt = format!("{}{reads}{waits}@say both read", sends("read", "@say here"));
    assert_eq!(program.ask(&session, &prompt), "both read");
    let outputs: Vec<String> = program.outputs(&session);
    assert!(outputs[1].contains("completed") && outputs[1].contains("here"), "{outputs:?}");
    assert!(outputs[2].contains("mode: waited") && outputs[2].contains("whole"), "{outputs:?}");
    scene.until_settled("read");
    scene.until_settled("awaited");
    // Nothing is owed, so the next one is told alone.
    program.ask(&session, &format!("{}@say sent", sends("next", "@say later")));
    let text = words(&program.debrief(&session));
    assert!(text.contains("1 task has ended") && text.contains("later"), "{text}");
}

#[test]
fn n20_what_a_cut_off_read_told_is_still_owed() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let program = started(&scene);
    let session = program.session();
    let child = waits(&gate, "@say late");
    let reads = calls("background_output", &json!({"task_id": "slow", "wait": "30s"}));
    program.say(&session, &format!("{}{reads}@say never", sends("slow", &child)));
    until("the read", || program.is_running(&session, "background_output"));
    program.abort(&session);
    scene.open(&gate);
    let debrief = program.debrief(&session);
    assert!(words(&debrief).contains("late"), "{debrief}");
    scene.until_settled("slow");
}

#[test]
fn c4_a_session_that_is_deleted_takes_what_it_sent_out_with_it() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let program = started(&scene);
    let session = program.session();
    let child = waits(&gate, "@say never");
    program.ask(&session, &format!("{}@say sent", sends("orphan", &child)));
    scene.until_state("orphan", "running");
    program.server.ask("DELETE", &format!("/session/{session}"), "");
    assert_eq!(scene.end("orphan").0, "cancelled");
}

#[test]
fn l3_n10_twenty_at_once_come_home_in_one_debrief() {
    let scene = Scene::new();
    let program = started(&scene);
    let session = program.session();
    let names: Vec<String> = (0..20).map(|n| format!("of-{n}-20")).collect();
    let prompt: String = names.iter().map(|name| sends(name, &format!("@say {name}!"))).collect();
    assert_eq!(program.ask_long(&session, &format!("{prompt}@say all out")), "all out");
    let debrief = program.debrief(&session);
    let text = words(&debrief);
    assert!(text.contains("20 tasks have ended"), "{text}");
    for name in &names {
        assert_eq!(text.matches(&format!("{name}!")).count(), 1, "{name}: {text}");
        scene.until_settled(name);
    }
    assert_eq!(program.debriefs(&session).len(), 1);
}

#[test]
fn a_session_that_is_undone_is_left_alone_until_it_goes_on() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let program = started(&scene);
    let session = program.session();
    let child = waits(&gate, "@say at last");
    program.ask(&session, &format!("{}@say sent", sends("held", &child)));
    let second = program.say(&session, "@say undo me");
    until("an answer", || program.answers(&session, &second).pop());
    let path = format!("/session/{session}/revert");
    program.server.post(&path, &json!({"messageID": second}));
    scene.open(&gate);
    scene.ended("held");
    scene.until_owed("held");
    assert!(program.debriefs(&session).is_empty());
    program.server.post(&format!("/session/{session}/unrevert"), &json!({}));
    let debrief = program.debrief(&session);
    assert!(words(&debrief).contains("at last"));
    assert_eq!(program.answers(&session, &second), ["undo me"], "nothing was lost");
}

#[test]
fn t1_t21_a_child_whose_last_word_is_written_is_never_said_to_run() {
    let scene = Scene::new();
    let program = started(&scene);
    let session = program.session();
    for n in 0..5 {
        let task = format!("stale-{n}");
        program.ask(&session, &format!("{}@say sent", sends(&task, "@say done")));
        until("its session", || scene.show(&task)["session"]["id"].as_str().map(drop));
        let child = scene.show(&task)["session"]["id"].as_str().unwrap().to_owned();
        until("its last word", || {
            let messages = program.messages(&child);
            let last = messages.last().map(|last| last["info"].clone())?;
            (last["finish"] == "stop" && last["time"]["completed"].is_number()).then_some(())
        });
        let reads = calls("background_output", &json!({"task_id": task}));
        program.ask(&session, &format!("{reads}@say read"));
        let said = program.outputs(&session).pop().unwrap();
        assert!(said.contains("completed") && said.contains("done"), "{said}");
    }
}
