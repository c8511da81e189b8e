//! What the simulation found, each as the shortest story that shows it.

mod stage;

use homing_core::fact::{ErrorClass, Fact, Fence, Picture, Presence, TurnRecord};
use homing_core::words::{Cause, Notify, State, Tri};
use stage::host::{error, open_picture};
use stage::launch::{by_model, task};
use stage::{MINUTE, SECOND, Stage};

fn died() -> Fact {
    Fact::Interrupted { why: "the program died".into() }
}

#[test]
fn a_program_that_dies_after_a_turn_had_ended_cuts_nothing_off() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a"));
    let b = stage.launch_running(task("b").by(a));
    stage.answer(a, "I wait");
    stage.observe(a, died());
    assert_eq!(stage.state(a), State::WaitingChildren);
    stage.answer(b, "found");
    assert_eq!(stage.compose().len(), 1, "what its child found is still told to it");
    stage.prompt_taken(a);
    stage.answer(a, "all done");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
}

#[test]
fn a_session_deleted_while_its_task_waits_for_a_slot_leaves_no_place_in_the_line() {
    for gone in [Fact::SessionDeleted, Fact::HostGone { why: "removed".into() }] {
        let mut stage = Stage::slots(1);
        let a = stage.launch_running(task("a"));
        let b = stage.launch(task("b").by(a));
        let other = stage.launch(task("other"));
        let last = stage.launch(task("last"));
        stage.answer(a, "I wait");
        stage.start(b);
        stage.answer(b, "found");
        assert_eq!(stage.compose().len(), 1, "a has a turn, and no slot for it");
        stage.observe(a, gone);
        assert_eq!(stage.state(a), State::Lost);
        stage.start(other);
        stage.answer(other, "done");
        assert_eq!(stage.state(last), State::Starting, "nobody stands before it");
    }
}

/// A look that did not show the session.
fn missing() -> Picture {
    Picture {
        turn: TurnRecord::Absent,
        busy: Tri::Unknown,
        session: Presence::Missing,
        asks: None,
        same_host: Tri::Unknown,
        ..open_picture()
    }
}

#[test]
fn looks_from_before_a_session_was_made_do_not_count_against_it() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a"));
    stage.looked(a, missing());
    stage.advance(2 * MINUTE);
    stage.looked(a, missing());
    assert_eq!(stage.state(a), State::Starting, "there is no session yet that could be gone");
    stage.start(a);
    stage.advance(SECOND);
    stage.looked(a, missing());
    assert_eq!(stage.state(a), State::Running, "one look proves nothing");
}

#[test]
fn a_look_without_a_name_that_is_answered_late_does_not_count_against_the_session() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a"));
    stage.start(a);
    let late = Fact::Looked { picture: missing() }.without_name();
    stage.observe(a, late);
    stage.advance(2 * MINUTE);
    stage.looked(a, missing());
    assert_eq!(
        stage.state(a),
        State::Running,
        "only one look of the session itself did not show it"
    );
}

#[test]
fn a_process_that_exits_with_an_ask_open_waits_for_no_answer() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a").process());
    stage.asks_permission(a, "k1");
    assert_eq!(stage.state(a), State::WaitingAsk);
    stage.exited(a, 0, "done without");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Exited)));
}

#[test]
fn a_prompt_that_arrives_after_its_attempt_was_given_up_on_is_stopped() {
    // Of a session that was made, and of one whose name was lost with a commit that failed.
    for named in [true, false] {
        let mut stage = Stage::new();
        let a = stage.launch(task("a"));
        if named {
            stage.session_made(a);
        }
        stage.cancel(a);
        stage.advance(MINUTE);
        assert_eq!(stage.end(a), (State::Lost, Some(Cause::AbortUnconfirmed)));
        stage.observe_at(a, Fence { attempt: 1, turn: 1 }, Fact::PromptTaken);
        assert!(stage.wants_abort(a), "it runs now");
        stage.stopped_attempt(a, 1);
        assert!(!stage.wants_abort(a));
        stage.retry(a);
        assert_eq!(stage.state(a), State::Starting, "nothing of it can run any more");
    }
}

#[test]
fn a_start_that_nobody_knows_of_is_stopped_after_its_attempt_was_given_up_on() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a"));
    stage.cancel(a);
    stage.advance(MINUTE);
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::AbortUnconfirmed)));
    let unsure = Fact::StartUnsure { why: "the reply was cut off".into() };
    stage.observe_at(a, Fence { attempt: 1, turn: 0 }, unsure);
    assert!(stage.wants_abort(a), "it may run");
}

#[test]
fn what_starts_while_it_is_stopped_is_given_its_time_to_stop() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a").process());
    stage.cancel(a);
    stage.advance(29 * SECOND);
    stage.session_made(a);
    stage.observe(a, Fact::PromptTaken);
    stage.advance(29 * SECOND);
    assert_eq!(stage.state(a), State::Stopping, "it could not be told any sooner");
    stage.observe(a, Fact::PromptTaken);
    stage.advance(2 * SECOND);
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::AbortUnconfirmed)), "only once");
}

#[test]
fn a_refusal_of_what_was_taken_is_a_reason_to_look() {
    let refused = || Fact::PromptRefused { error: error(ErrorClass::Other) };
    let failed = || Fact::StartFailed { error: error(ErrorClass::Other) };
    for fact in [refused(), failed()] {
        let mut stage = Stage::new();
        let a = stage.launch_running(task("a"));
        stage.advance(SECOND);
        stage.observe(a, fact);
        assert_eq!(stage.state(a), State::Running);
        assert!(stage.wants_look(a));
    }
    let mut stage = Stage::new();
    let a = stage.launch(task("a"));
    stage.session_made(a);
    stage.observe(a, refused());
    assert_eq!(stage.state(a), State::Stopping, "a refusal of what was not taken counts");
}

#[test]
fn a_session_that_has_exited_is_not_given_the_debrief_that_an_earlier_attempt_left() {
    let mut stage = Stage::new();
    let a = stage.launch_running(by_model("a", &["acme/large", "acme/small"]));
    let [b, c] = ["b", "c"].map(|name| stage.launch_running(task(name).by(a).notify(Notify::Each)));
    stage.answer(a, "I wait");
    stage.answer(b, "found");
    assert_eq!(stage.compose().len(), 1);
    stage.prompt_taken(a);
    stage.exited(a, 75, "another model");
    stage.start(a);
    stage.exited(a, 0, "bye");
    assert_eq!((stage.state(a), stage.task(a).turn.n), (State::WaitingChildren, 1));
    assert!(!stage.wants_prompt(a), "nobody is there to read it");
    stage.answer(c, "found");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Exited)));
}
