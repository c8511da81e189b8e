//! Records as OpenCode was seen to write them.

use homing_core::fact::{ErrorClass, Fence};
use serde_json::json;

use super::super::ids;
use super::*;

const OURS: Fence = Fence { attempt: 1, turn: 1 };

fn task() -> TaskId {
    TaskId::from_bits(7)
}

fn prompt() -> Value {
    let mark = Mark { task: task(), attempt: 1, turn: 1, server: "one".to_owned() };
    json!({
        "info": {"id": ids::message(task(), OURS), "role": "user", "time": {"created": 1},
            "summary": {"diffs": []}},
        "parts": [{"type": "text", "text": "Hello.", "metadata": mark.json()}]
    })
}

/// An answer to our prompt; `more` goes over what it says by itself.
fn answer(more: Value, parts: Value) -> Value {
    let mut info = json!({
        "id": "msg_a", "role": "assistant", "parentID": ids::message(task(), OURS),
        "time": {"created": 2, "completed": 3}, "cost": 0.000_002,
        "tokens": {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 1, "write": 0}}
    });
    for (name, value) in more.as_object().unwrap() {
        info[name] = value.clone();
    }
    json!({"info": info, "parts": parts})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn tool(id: &str, status: &str) -> Value {
    json!({"type": "tool", "tool": "bash", "callID": id,
        "state": {"status": status, "input": {"command": "true"}}})
}

fn messages(all: &[Value]) -> Vec<Message> {
    all.iter().map(|message| serde_json::from_value(message.clone()).unwrap()).collect()
}

fn read(all: &[Value]) -> Turn {
    turn(&messages(all), &ids::message(task(), OURS), 1 << 20)
}

fn ended(all: &[Value]) -> End {
    let record = read(all).record;
    let TurnRecord::Ended(end) = record else {
        unreachable!("{record:?}");
    };
    end
}

fn said(end: &End) -> Option<String> {
    end.text.as_ref().map(|text| String::from_utf8(text.bytes.to_vec()).unwrap())
}

#[test]
fn a_turn_has_ended_with_its_own_last_answer() {
    let end = ended(&[prompt(), answer(json!({"finish": "stop"}), json!([text("4")]))]);
    assert_eq!((end.finish, said(&end).as_deref()), (Finish::Stop, Some("4")));
    assert!(end.error.is_none() && !end.tools_ran);
    let ended_with = |word: &str| ended(&[prompt(), answer(json!({"finish": word}), json!([]))]);
    for (word, finish) in [("length", Finish::Length), ("content-filter", Finish::Refusal)] {
        assert_eq!(ended_with(word).finish, finish);
    }
    // OpenCode does not go on after it, whatever it means.
    let odd = ended_with("other");
    assert_eq!((odd.finish, odd.error.unwrap().class), (Finish::Unknown, ErrorClass::Other));
}

#[test]
fn without_our_prompt_or_an_end_nothing_has_ended() {
    let other = json!({"finish": "stop", "parentID": "msg_other"});
    let open = json!({"finish": null, "time": {"created": 2}});
    assert_eq!(read(&[]).record, TurnRecord::Absent);
    assert_eq!(read(&[prompt()]).stopped, Some(Stopped::Unanswered));
    assert_eq!(read(&[prompt(), answer(other, json!([text("4")]))]).record, TurnRecord::Open);
    let open = read(&[prompt(), answer(open, json!([tool("call_1", "running")]))]);
    assert_eq!((open.record, open.calls.len()), (TurnRecord::Open, 1));
    assert_eq!(open.stopped, Some(Stopped::Cut));
    assert_eq!(open.server.as_deref(), Some("one"));
}

#[test]
fn an_answer_with_tools_is_not_the_last_whatever_it_says() {
    for finish in ["tool-calls", "stop", "unknown"] {
        let step = answer(json!({"finish": finish}), json!([tool("call_1", "completed")]));
        assert_eq!(read(&[prompt(), step.clone()]).record, TurnRecord::Open, "{finish}");
        let last = answer(json!({"finish": "stop"}), json!([text("done")]));
        let end = ended(&[prompt(), step, last]);
        assert!(end.tools_ran && end.finish == Finish::Stop, "{finish}");
    }
}

#[test]
fn t8_an_error_ends_a_turn_and_what_was_said_before_is_kept() {
    let error =
        json!({"error": {"name": "APIError", "data": {"message": "no", "statusCode": 401}}});
    let end = ended(&[prompt(), answer(error, json!([text("half")]))]);
    assert_eq!(said(&end).as_deref(), Some("half"));
    assert_eq!(end.error.unwrap().class, ErrorClass::Auth);
    let aborted = json!({"error": {"name": "MessageAbortedError", "data": {"message": "Aborted"}}});
    let step = answer(
        json!({"finish": "tool-calls"}),
        json!([text("I look."), tool("call_1", "completed")]),
    );
    let end = ended(&[prompt(), step, answer(aborted, json!([]))]);
    assert_eq!((end.finish, said(&end).as_deref()), (Finish::Cancelled, Some("I look.")));
}

#[test]
fn what_stopped_an_open_turn_is_told() {
    let refused = answer(json!({"finish": "tool-calls"}), json!([tool("call_1", "error")]));
    assert_eq!(read(&[prompt(), refused.clone()]).stopped, Some(Stopped::Refused));
    assert_eq!(read(&[prompt(), answer(json!({}), json!([]))]).stopped, Some(Stopped::Aborted));
    let person = json!({"info": {"id": "msg_p", "role": "user"}, "parts": [text("And this?")]});
    assert_eq!(read(&[prompt(), refused, person]).stopped, Some(Stopped::Overtaken));
}

#[test]
fn t22_a_turn_goes_on_after_its_context_was_compacted() {
    let sums_up = json!({"info": {"id": "msg_c", "role": "user"}, "parts": [{"type": "compaction", "auto": true}]});
    let summary = answer(
        json!({"finish": "stop", "parentID": "msg_c", "summary": true}),
        json!([text("So far: nothing.")]),
    );
    let goes_on = json!({"info": {"id": "msg_g", "role": "user"},
        "parts": [{"type": "text", "text": "Continue.", "synthetic": true}]});
    let last = answer(json!({"finish": "stop", "parentID": "msg_g"}), json!([text("4")]));
    let half = [prompt(), sums_up, summary];
    let seen = read(&half);
    assert_eq!((seen.record, seen.stopped), (TurnRecord::Open, Some(Stopped::Unanswered)));
    let [first, second, third] = half;
    let end = ended(&[first, second, third, goes_on, last]);
    assert_eq!(said(&end).as_deref(), Some("4"));
}

#[test]
fn t22_a_prompt_that_opencode_says_again_after_it_summed_up_is_of_the_same_turn() {
    let too_long = answer(json!({}), json!([]));
    let sums_up = json!({"info": {"id": "msg_c", "role": "user"}, "parts": [{"type": "compaction", "auto": true, "overflow": true}]});
    let summary = answer(
        json!({"finish": "stop", "parentID": "msg_c", "summary": true}),
        json!([text("So far: nothing.")]),
    );
    let mut again = prompt();
    again["info"]["id"] = json!("msg_again");
    let last = answer(json!({"finish": "stop", "parentID": "msg_again"}), json!([text("4")]));
    let mut all = vec![prompt(), too_long, sums_up, summary, again, last];
    assert_eq!(said(&ended(&all)).as_deref(), Some("4"));
    // Everything that was used for it counts, the summing up too.
    assert_eq!(spent(&messages(&all), task(), 1).0.tokens, 3 * 16);
    // What somebody says later, and what is answered then, is not of it.
    all.push(json!({"info": {"id": "msg_p", "role": "user"}, "parts": [text("And this?")]}));
    all.push(answer(json!({"finish": "stop", "parentID": "msg_p"}), json!([text("5")])));
    all.push(json!({"info": {"id": "msg_g", "role": "user"},
        "parts": [{"type": "text", "text": "Continue.", "synthetic": true}]}));
    all.push(answer(json!({"finish": "stop", "parentID": "msg_g"}), json!([text("6")])));
    assert_eq!(said(&ended(&all)).as_deref(), Some("4"));
    assert_eq!(spent(&messages(&all), task(), 1).0.tokens, 3 * 16);
}

#[test]
fn t8_what_could_not_be_summed_up_ends_with_that_error() {
    let step = answer(json!({"finish": "tool-calls"}), json!([tool("call_1", "error")]));
    let sums_up = json!({"info": {"id": "msg_c", "role": "user"}, "parts": [{"type": "compaction", "auto": true}]});
    let error = json!({"name": "APIError", "data": {"message": "no", "statusCode": 401}});
    let summary = answer(json!({"parentID": "msg_c", "summary": true, "error": error}), json!([]));
    let end = ended(&[prompt(), step, sums_up, summary]);
    assert_eq!(end.error.unwrap().class, ErrorClass::Auth);
}

#[test]
fn t8_an_answer_that_the_provider_ended_with_an_error_is_no_success() {
    let end = ended(&[prompt(), answer(json!({"finish": "error"}), json!([text("half")]))]);
    assert_eq!((end.finish, said(&end).as_deref()), (Finish::Unknown, Some("half")));
    assert_eq!(end.error.unwrap().class, ErrorClass::Transient);
}

#[test]
fn an_answer_is_the_last_despite_tools_that_opencode_does_not_go_on_after() {
    let mut searched = tool("call_1", "completed");
    searched["metadata"] = json!({"providerExecuted": true});
    let mut broke_off = tool("call_2", "error");
    broke_off["state"]["metadata"] = json!({"interrupted": true});
    for part in [searched, broke_off] {
        let last = answer(json!({"finish": "stop"}), json!([part, text("4")]));
        assert_eq!(said(&ended(&[prompt(), last])).as_deref(), Some("4"));
    }
}

#[test]
fn a_command_that_a_person_runs_is_not_of_the_turn() {
    let done = answer(json!({"finish": "stop"}), json!([text("4")]));
    let ran = json!({"info": {"id": "msg_s", "role": "user"}, "parts": [{"type": "text", "synthetic": true,
        "text": "The following tool was executed by the user"}]});
    let shell = answer(json!({"parentID": "msg_s"}), json!([tool("call_s", "completed")]));
    assert_eq!(said(&ended(&[prompt(), done, ran, shell])).as_deref(), Some("4"));
}

#[test]
fn what_was_used_is_counted_for_the_attempt_alone() {
    let ours = answer(json!({"finish": "stop"}), json!([tool("call_1", "completed")]));
    let other = answer(json!({"finish": "stop", "parentID": "msg_other"}), json!([]));
    let all = messages(&[prompt(), ours, other]);
    assert_eq!(spent(&all, task(), 1).0, Spend { calls: 1, tokens: 16, cost: 2 });
    assert_eq!(spent(&all, task(), 2).0, Spend::default());
    assert_eq!(latest(&all, task(), 1).unwrap().turn, 1);
    assert_eq!(latest(&all, task(), 2), None);
    let mut sends = tool("call_2", "completed");
    sends["state"]["metadata"] = json!({"sessionId": "ses_helper"});
    sends["state"]["time"] = json!({"start": 7});
    let all = messages(&[prompt(), answer(json!({"finish": "stop"}), json!([sends]))]);
    assert_eq!(spent(&all, task(), 1).1, BTreeMap::from([("ses_helper".to_owned(), 7.0)]));
    assert_eq!(spent(&all, task(), 2).1, BTreeMap::new());
}

#[test]
fn of_a_helper_that_is_called_again_only_what_is_new_is_counted() {
    let said = |at: u32| {
        let time = json!({"created": at, "completed": at});
        answer(json!({"finish": "stop", "time": time}), json!([tool("call_1", "completed")]))
    };
    let all = messages(&[said(3), said(7), said(8)]);
    assert_eq!(spent_since(&all, 0.0).0.tokens, 3 * 16);
    assert_eq!(spent_since(&all, 7.0).0, Spend { calls: 2, tokens: 2 * 16, cost: 4 });
}

#[test]
fn b3_one_call_is_one_however_often_it_is_seen() {
    let part = |status| serde_json::from_value::<Part>(tool("call_1", status)).unwrap();
    let (pending, running) = (call(&part("pending")).unwrap(), call(&part("running")).unwrap());
    assert_eq!(pending.id, running.id);
    assert!(pending.input.is_none() && running.input.is_some());
    assert_eq!(running, call(&part("completed")).unwrap());
}
