//! What a session's messages say of a debrief, as data.

use serde_json::{Value, json};

use super::*;

const NAME: &str = "msg_debrief";
const PROGRAM: &str = "7-3";

fn asked(id: &str) -> Value {
    let parts = json!([{"type": "text", "text": "words", "metadata": null}]);
    json!({"info": {"id": id, "role": "user", "time": {"created": wall_ms()}}, "parts": parts})
}

fn answer(to: &str) -> Value {
    let time = json!({"created": wall_ms(), "completed": wall_ms()});
    let info = json!({
        "id": format!("{to}-answer"), "role": "assistant", "parentID": to, "finish": "stop", "time": time
    });
    json!({"info": info, "parts": [{"type": "text", "text": format!("to {to}")}]})
}

fn with(mut message: Value, path: &str, value: Value) -> Value {
    *message.pointer_mut(path).unwrap() = value;
    message
}

fn stand(busy: Tri, messages: &[Value]) -> Stand {
    let session = json!({"id": "ses_1", "directory": "/x"});
    let messages = messages.iter().map(|message| serde_json::from_value(message.clone()).unwrap());
    let session = Arc::new(serde_json::from_value(session).unwrap());
    Stand { session, busy, messages: messages.collect() }
}

#[test]
fn u3_a_debrief_waits_while_a_turn_runs_begins_or_is_undone() {
    let turn = |busy, messages: &[Value]| stand(busy, messages).turn();
    let done = [asked("msg_1"), answer("msg_1")];
    assert_eq!(turn(Tri::No, &[]), None, "nothing was ever said");
    assert_eq!(turn(Tri::No, &done), None);
    assert_eq!(turn(Tri::Yes, &done).as_deref(), Some("msg_1"));
    assert_eq!(turn(Tri::Unknown, &done).as_deref(), Some("msg_1"));
    // A prompt that was just stored, and nothing says yet that it is being answered.
    let fresh = [done[0].clone(), done[1].clone(), asked("msg_2")];
    assert_eq!(turn(Tri::No, &fresh).as_deref(), Some("msg_2"));
    let open = with(answer("msg_2"), "/info/time", json!({"created": wall_ms()}));
    assert_eq!(turn(Tri::No, &[asked("msg_2"), open.clone()]).as_deref(), Some("msg_2"));
    assert!(stand(Tri::No, &[asked("msg_2"), open.clone()]).settles());
    // What a crash left open long ago, or what wanted no answer.
    let long_ago = json!({"created": wall_ms() - LEFT_MS - 1});
    let left = with(open, "/info/time", long_ago.clone());
    assert_eq!(turn(Tri::No, &[asked("msg_2"), left]), None);
    assert_eq!(turn(Tri::No, &[with(asked("msg_3"), "/info/time", long_ago)]), None);
    let mut undone = stand(Tri::No, &done);
    undone.session =
        Arc::new(Session { revert: json!({"messageID": "msg_1"}), ..(*undone.session).clone() });
    assert_eq!(undone.turn().as_deref(), Some("undone"));
}

#[test]
fn n9_what_became_of_a_debrief_stands_in_the_transcript() {
    let became = |busy, messages: &[Value]| stand(busy, messages).became(NAME, PROGRAM, 1_000);
    let over = |became| match became {
        Became::Over(fact) => Some(fact),
        Became::Open | Became::Failed(_) | Became::Unanswered => None,
    };
    let answered = over(became(Tri::No, &[asked(NAME), answer(NAME)]));
    assert!(matches!(answered, Some(DeliveryFact::Answered { text: Some(_) })), "{answered:?}");
    let error = |name: &str| {
        let mut broken = answer(NAME);
        broken["info"]["error"] = json!({"name": name, "data": {"message": "why"}});
        broken
    };
    // The person stopped it: done.
    let stopped = over(became(Tri::No, &[asked(NAME), error("MessageAbortedError")]));
    assert_eq!(stopped, Some(DeliveryFact::Shared));
    let broken = became(Tri::No, &[asked(NAME), error("UnknownError")]);
    assert!(matches!(broken, Became::Failed(_)));
    // The person refused it a tool: done, too. It is not asked to try again.
    let refused = with(answer(NAME), "/info/finish", json!("tool-calls"));
    let parts =
        json!([{"type": "tool", "tool": "bash", "callID": "call_1", "state": {"status": "error"}}]);
    let taken = |program: &str| {
        with(asked(NAME), "/parts/0/metadata", json!({"homing": {"program": program}}))
    };
    let mut refused = [taken(PROGRAM), with(refused, "/parts", parts)];
    assert_eq!(over(became(Tri::No, &refused)), Some(DeliveryFact::Shared));
    assert!(matches!(became(Tri::Yes, &refused), Became::Open));
    // The program that took it was killed between two steps of its turn.
    refused[0] = taken("5-2");
    assert!(matches!(became(Tri::No, &refused), Became::Unanswered));
    refused[1]["parts"][0]["state"]["status"] = json!("completed");
    assert!(matches!(became(Tri::No, &refused), Became::Unanswered));
    // Another prompt was answered with it in view.
    let shared = [asked(NAME), asked("msg_2"), answer("msg_2")];
    assert_eq!(over(became(Tri::No, &shared)), Some(DeliveryFact::Shared));
    let shared = [asked(NAME), error("UnknownError"), asked("msg_2"), answer("msg_2")];
    assert_eq!(over(became(Tri::No, &shared)), Some(DeliveryFact::Shared));
    // That one waits for its answer; one that has had none for long gets none.
    assert!(matches!(became(Tri::No, &[asked(NAME), asked("msg_2")]), Became::Open));
    let left = with(asked("msg_2"), "/info/time", json!({"created": wall_ms() - LEFT_MS - 1}));
    assert!(matches!(became(Tri::No, &[asked(NAME), left]), Became::Unanswered));
    assert!(matches!(became(Tri::Yes, &[asked(NAME)]), Became::Open));
    assert!(matches!(became(Tri::No, &[asked(NAME)]), Became::Unanswered));
}

#[test]
fn a_debrief_speaks_as_the_parent_was_last_spoken_to() {
    let mut person = asked("msg_1");
    person["info"]["agent"] = json!("reader");
    person["info"]["model"] = json!({"providerID": "p", "modelID": "m", "variant": "high"});
    person["info"]["tools"] = json!({"bash": false});
    let mut summing = asked("msg_2");
    summing["info"]["agent"] = json!("compaction");
    summing["parts"] = json!([{"type": "compaction"}]);
    let said = |messages: &[Value]| stand(Tri::No, messages).messages;
    let before = said(&[person.clone(), answer("msg_1"), summing.clone()]);
    let delivery = Delivery {
        key: DebriefId::from_bits(1),
        parent: arms_parent(),
        notices: Vec::new(),
        text: b"For people.\nFor the agent.\n".to_vec(),
        sealed: None,
        tries: 0,
    };
    let body = prompt(&delivery, NAME, PROGRAM, &before);
    assert_eq!((&body["messageID"], &body["agent"]), (&json!(NAME), &json!("reader")));
    assert_eq!(body["model"], json!({"providerID": "p", "modelID": "m"}));
    assert_eq!((&body["variant"], &body["tools"]), (&json!("high"), &json!({"bash": false})));
    let parts = body["parts"].as_array().unwrap();
    assert_eq!(parts[0]["text"], "For people.");
    assert_eq!(
        (&parts[1]["text"], &parts[1]["synthetic"]),
        (&json!("For the agent.\n"), &json!(true))
    );
    // OpenCode shows them in the order of their names.
    assert!(parts[0]["id"].as_str().unwrap() < parts[1]["id"].as_str().unwrap());
    assert_eq!(prompt(&delivery, NAME, PROGRAM, &[])["agent"], Value::Null);
    // An approved plan leads on to another agent.
    let mut approved = asked("msg_3");
    approved["info"]["agent"] = json!("build");
    approved["parts"] = json!([{"type": "text", "text": "Do it.", "synthetic": true}]);
    let before = said(&[person, answer("msg_1"), approved, answer("msg_3"), summing]);
    assert_eq!(prompt(&delivery, NAME, PROGRAM, &before)["agent"], "build");
}

fn arms_parent() -> ParentRef {
    "opencode:ses_1".parse().unwrap()
}
