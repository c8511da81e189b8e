//! The next-turn leak, as a story, and its variations.

use homing_core::wire::TurnEvent;
use homing_testkit::gate::Gate;
use homing_testkit::opencode::calls;

use super::super::program::sends;
use super::super::scene::{Scene, runs, waits};
use super::super::server::until;
use super::chat::{Chat, text};

fn scene() -> Scene {
    let scene = Scene::new();
    scene.set_up([]);
    scene
}

#[test]
fn u1_u2_what_was_sent_out_in_turn_1_is_told_in_a_turn_of_its_own_and_turn_2_says_4() {
    let scene = scene();
    let gate = scene.gate("gate");
    let chat = Chat::open(&scene, None);
    let child = sends("errand", &waits(&gate, "@say the errand is done"));
    assert_eq!(chat.ask(&format!("{child}@say sent")), "sent");
    let task = scene.show("errand");
    assert_eq!(task["parent"], format!("conv:{}", chat.id), "{task}");
    assert!(task["launched_by"].is_null() && task["depth"] == 0, "{task}");
    assert!(chat.debriefs().is_empty());
    // The child ends while a person's turn runs.
    let second = scene.gate("second");
    let turn = chat.speak(&waits(&second, "@say 4"));
    until("the turn runs", || chat.turn(turn).filter(|turn| turn.state == "running"));
    let listed = String::from_utf8(scene.home.homing(["ls"]).stdout).unwrap();
    let shown = listed.lines().find(|line| line.starts_with(&chat.id.to_string()));
    let shown = shown.unwrap_or_else(|| panic!("the turn that runs is not listed: {listed}"));
    assert!(shown.contains("running") && shown.ends_with("(conversation, turn 2)"), "{shown}");
    scene.open(&gate);
    scene.until_owed("errand");
    assert!(chat.debriefs().is_empty(), "nothing is put into a person's turn");
    scene.open(&second);
    let events = chat.events(turn, None);
    assert_eq!(text(&events), "4", "{events:?}");
    let end = chat.ended(turn);
    assert_eq!((end.text.as_deref(), &*end.cause, &*end.state), (Some("4"), "person", "completed"));
    scene.until_settled("errand");
    let told = chat.debriefs();
    assert_eq!((told.len(), told[0].turn), (1, 3), "{told:?}");
    assert!(!text(&chat.events(3, None)).is_empty());
    for n in [4, 5] {
        assert_eq!(chat.ask(&format!("@say {n} it is")), format!("{n} it is"));
    }
    assert_eq!(chat.debriefs().len(), 1, "once");
}

#[test]
fn u6_a_stop_of_what_has_ended_says_so() {
    let scene = scene();
    let chat = Chat::open(&scene, None);
    assert_eq!(chat.ask(&format!("{}@say sent", sends("errand", "@say done"))), "sent");
    scene.until_settled("errand");
    let id = scene.show("errand")["id"].clone();
    let stop = calls("background_cancel", &serde_json::json!({"task_id": id}));
    assert_eq!(chat.ask(&format!("{stop}@say I see")), "I see");
    let mut log = scene.model.log().into_iter().map(|heard| heard.asked.told);
    let told = log.rfind(|told| !told.is_empty()).unwrap();
    assert!(told.contains("completed (it had ended before)"), "{told}");
    assert!(!told.contains("stopping"), "nothing is: {told}");
    assert_eq!(scene.end("errand").0, "completed");
}

#[test]
fn g23_homes_and_places_with_spaces_and_more_than_ascii_are_as_good_as_others() {
    let scene = Scene::within("ein Ört für Tauben ", "");
    scene.set_up([]);
    let chat = Chat::open(&scene, None);
    let child = runs("echo gurr > 'ein Blätt'", "@say gurr");
    assert_eq!(chat.ask(&format!("{}@say sent", sends("Brieftaube №1", &child))), "sent");
    scene.until_settled("Brieftaube №1");
    assert_eq!(scene.result("Brieftaube №1"), "gurr");
    let sheet = std::fs::read_to_string(scene.place.work().join("ein Blätt")).unwrap();
    assert_eq!((&*sheet, chat.debriefs().len()), ("gurr\n", 1));
}

#[test]
fn u7_a_reader_that_comes_back_goes_on_where_it_was() {
    let scene = scene();
    let gate = scene.gate("gate");
    let chat = Chat::open(&scene, None);
    let call = serde_json::json!({"command": gate.wait(), "description": "waits"});
    let turn = chat.speak(&format!("@say first words\n@tool bash {call}\n@say last words"));
    let said =
        |event: &TurnEvent| matches!(event, TurnEvent::Said { text, .. } if text.contains("words"));
    let (before, cursor) = chat.events_until(turn, None, said);
    assert!(cursor.is_some(), "{before:?}");
    scene.open(&gate);
    let after = chat.events(turn, cursor.as_deref());
    let whole: Vec<TurnEvent> = before.into_iter().chain(after.clone()).collect();
    assert_eq!(text(&whole), "first wordslast words", "{whole:?}");
    assert!(!text(&after).contains("first"), "{after:?}");
    assert_eq!(
        text(&chat.events(turn, None)),
        "first wordslast words",
        "all of it, for one who reads later"
    );
}

#[test]
fn u7_r1_a_reader_goes_on_where_it_was_after_the_daemon_was_killed() {
    let scene = scene();
    let gate = scene.gate("gate");
    let mut chat = Chat::open(&scene, None);
    let turn = chat.speak(&format!("@say first words\n{}", waits(&gate, "@say last words")));
    let said =
        |event: &TurnEvent| matches!(event, TurnEvent::Said { text, .. } if text.contains("words"));
    let (before, cursor) = chat.events_until(turn, None, said);
    scene.kill_daemon();
    chat.again(&scene);
    scene.open(&gate);
    let after = chat.events(turn, cursor.as_deref());
    assert!(!text(&after).contains("first"), "{after:?}");
    let whole: Vec<TurnEvent> = before.into_iter().chain(after).collect();
    assert_eq!(text(&whole), "first wordslast words", "{whole:?}");
}

#[test]
fn u7_t23_what_was_read_and_the_host_lost_is_withdrawn() {
    let scene = scene();
    let chat = Chat::open(&scene, None);
    let turn = chat.speak("@say first words\n@stall");
    let said =
        |event: &TurnEvent| matches!(event, TurnEvent::Said { text, .. } if text.contains("words"));
    let (before, cursor) = chat.events_until(turn, None, said);
    scene.server().kill();
    let after = chat.events(turn, cursor.as_deref());
    let whole: Vec<TurnEvent> = before.into_iter().chain(after.clone()).collect();
    // It had not stored them.
    let reset = |event: &TurnEvent| matches!(event, TurnEvent::Reset { offset: 0, .. });
    assert!(after.iter().any(reset), "{after:?}");
    assert_eq!(text(&whole), "", "{whole:?}");
}

#[test]
fn r1_conversations_outlive_the_daemon_and_the_host() {
    let scene = scene();
    let gate = scene.gate("gate");
    let mut chat = Chat::open(&scene, None);
    assert_eq!(chat.ask("@say one"), "one");
    let child = sends("errand", &waits(&gate, "@say done"));
    assert_eq!(chat.ask(&format!("{child}@say sent")), "sent");
    scene.kill_daemon();
    chat.again(&scene);
    let session = chat.view().session;
    assert_eq!(chat.ask("@say three"), "three");
    assert_eq!(chat.view().session, session);
    scene.open(&gate);
    scene.until_settled("errand");
    assert_eq!(chat.debriefs().len(), 1);
    // The host dies between two turns.
    scene.server().kill();
    assert_eq!(chat.ask("@say five"), "five");
    assert_eq!(chat.view().session, session);
}

/// A turn in which a tool waits for a gate, between two rounds with the model.
fn two_rounds(gate: &Gate, say: &str) -> String {
    let call = |command: &str| {
        let call = serde_json::json!({"command": command, "description": "works"});
        format!("@tool bash {call}\n")
    };
    let wait = gate.wait();
    format!("{}{}@say {say}", call(&wait), call("true"))
}

#[test]
fn u1_u5_g19_children_that_end_in_the_middle_of_a_turn_are_told_after_all_who_wait() {
    let scene = scene();
    let [one, two, second, last] = ["one", "two", "second", "last"].map(|name| scene.gate(name));
    let chat = Chat::open(&scene, None);
    let children = format!(
        "{}{}",
        sends("first", &waits(&one, "@say first came")),
        sends("other", &waits(&two, "@say other came"))
    );
    assert_eq!(chat.ask(&format!("{children}@say sent")), "sent");
    // Both end at once, between two rounds of tools of turn 2; two more people wait by then.
    let turn = chat.speak(&two_rounds(&second, "4"));
    until("the turn runs", || chat.turn(turn).filter(|turn| turn.state == "running"));
    let third = chat.speak("@say 6");
    // This one's last words take their time: its last call of the model.
    let fourth = chat.speak(&two_rounds(&last, "8"));
    scene.open(&one);
    scene.open(&two);
    for task in ["first", "other"] {
        scene.until_owed(task);
    }
    scene.open(&second);
    scene.open(&last);
    for (turn, answer) in [(turn, "4"), (third, "6"), (fourth, "8")] {
        assert_eq!(text(&chat.events(turn, None)), answer);
        assert_eq!(chat.ended(turn).text.as_deref(), Some(answer));
    }
    for task in ["first", "other"] {
        scene.until_settled(task);
    }
    let told = chat.debriefs();
    assert_eq!((told.len(), told[0].turn), (1, 5), "both in one, after all who waited: {told:?}");
}

#[test]
fn n9_the_parent_is_killed_before_and_after_it_was_told_and_hears_of_it_once() {
    let scene = scene();
    let gate = scene.gate("gate");
    let chat = Chat::open(&scene, None);
    let child = sends("errand", &waits(&gate, "@say done"));
    assert_eq!(chat.ask(&format!("{child}@say sent")), "sent");
    // The child is a session of the same program: it ends first.
    scene.open(&gate);
    scene.ended("errand");
    scene.server().kill();
    scene.until_settled("errand");
    assert_eq!(chat.ask("@say again"), "again");
    scene.server().kill();
    assert_eq!(chat.ask("@say once more"), "once more");
    let answered: Vec<_> =
        chat.debriefs().into_iter().filter(|turn| turn.state == "completed").collect();
    assert_eq!(answered.len(), 1, "{answered:?}");
    // And the host has it stored: a turn that was cut off by a kill may stand there before the one that was answered.
    let session = chat.view().session.unwrap().id;
    let messages = scene.server().get(&format!("/session/{session}/message")).unwrap();
    let told = messages.as_array().unwrap().iter().filter(|message| {
        message["info"]["role"] == "user" && message.to_string().contains("1 task has ended")
    });
    assert!(told.count() >= 1, "{messages}");
}

#[test]
fn what_is_wrong_is_refused_in_words() {
    let scene = scene();
    let chat = Chat::open(&scene, None);
    let said = |words: &[&str]| {
        let said = scene.home.command().args(words).output().unwrap();
        (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    let (code, err) = said(&["chat", "--conversation", "cv_000000000000", "hello"]);
    assert_eq!(code, Some(3), "{err}");
    let (code, err) = said(&["chat", "--host", "process", "hello"]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("name a host of agents"), "{err}");
    let (code, err) = said(&["chat", "--conversation", "bg_000000000000", "hello"]);
    assert_eq!(code, Some(2), "{err}");
    let task = chat.view().task.to_string();
    let (code, err) = said(&["resume", &task, "more"]);
    assert_eq!(code, Some(5), "{err}");
    assert!(err.contains("carries the conversation"), "{err}");
}

#[test]
fn a_person_speaks_on_the_terminal_and_can_go_on_later() {
    let scene = scene();
    let said = |words: &[&str], input: &str| {
        let mut command = scene.home.command();
        command.args(words).current_dir(scene.place.work());
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let said = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (said.status.code(), text(said.stdout), text(said.stderr))
    };
    let (code, out, err) = said(&["chat", "--host", "opencode", "@say hello"], "");
    assert_eq!((code, out.as_str()), (Some(0), "hello\n"), "{err}");
    let id = err.rsplit(' ').next().unwrap().trim_end();
    let (code, out, err) = said(&["chat", "--conversation", id], "@say one\n@say two\n");
    assert_eq!((code, out.as_str()), (Some(0), "one\ntwo\n"), "{err}");
    let (code, out, err) = said(&["chat", "--conversation", id, "--json"], "@status 401\n");
    assert_eq!(code, Some(1), "{err}");
    let last: serde_json::Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["state"]), (&"ended".into(), &"failed".into()), "{out}");
}
