//! The next-turn leak, as a story, and its variations.

use homing_core::wire::TurnEvent;

use super::super::program::sends;
use super::super::scene::{Scene, waits};
use super::super::server::until;
use super::chat::{Chat, text};

fn scene() -> Scene {
    let scene = Scene::new();
    scene.set_up([]);
    scene
}

fn until_settled(scene: &Scene, task: &str) {
    until("the receipt", || (scene.show(task)["delivery"]["state"] == "settled").then_some(()));
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
    scene.open(&gate);
    scene.until_owed("errand");
    assert!(chat.debriefs().is_empty(), "nothing is put into a person's turn");
    scene.open(&second);
    let events = chat.events(turn, None);
    assert_eq!(text(&events), "4", "{events:?}");
    let end = chat.ended(turn);
    assert_eq!((end.text.as_deref(), &*end.cause, &*end.state), (Some("4"), "person", "completed"));
    until_settled(&scene, "errand");
    let told = chat.debriefs();
    assert_eq!((told.len(), told[0].turn), (1, 3), "{told:?}");
    assert!(!text(&chat.events(3, None)).is_empty());
    for n in [4, 5] {
        assert_eq!(chat.ask(&format!("@say {n} it is")), format!("{n} it is"));
    }
    assert_eq!(chat.debriefs().len(), 1, "once");
}

#[test]
fn u7_a_reader_that_comes_back_goes_on_where_it_was() {
    let scene = scene();
    let gate = scene.gate("gate");
    let chat = Chat::open(&scene, None);
    let call = serde_json::json!({"command": format!("read x < '{}'", gate.display()), "description": "waits"});
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
    until_settled(&scene, "errand");
    assert_eq!(chat.debriefs().len(), 1);
    // The host dies between two turns.
    scene.server().kill();
    assert_eq!(chat.ask("@say five"), "five");
    assert_eq!(chat.view().session, session);
}
