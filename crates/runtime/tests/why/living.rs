//! Tasks that live.

use homing_core::fact::{ErrorClass, Fact, HostError, Picture, Presence, TurnRecord};
use homing_core::reason::Caller;
use homing_core::spec::Overrides;
use homing_core::words::{State, Tri};
use insta::assert_snapshot;

use crate::scene::{answer, told};
use crate::stage::host::{bad, call, error, open_picture};
use crate::stage::launch::{by_model, task};
use crate::stage::{HOUR, MINUTE, SECOND, Stage};

#[test]
fn queued_for_a_slot() {
    let mut stage = Stage::slots(1);
    stage.launch_running(task("first"));
    stage.launch(task("second"));
    let third = stage.launch(task("third"));
    assert_eq!(stage.state(third), State::Queued);
    assert_snapshot!(told(&stage, third));
}

#[test]
fn queued_in_debt() {
    let mut stage = Stage::slots(1);
    let reader = stage.launch_running(task("reader"));
    let waits = stage.launch(task("waits"));
    let below = stage.launch(task("below").by(reader));
    stage.wait(below, MINUTE, Caller::Task(reader));
    stage.start(below);
    stage.advance(MINUTE);
    assert_eq!(stage.key("agent:script").debt(1), 1);
    assert_snapshot!(told(&stage, waits));
}

#[test]
fn queued_after_others() {
    let mut stage = Stage::new();
    let build = stage.launch_running(task("build"));
    let lint = stage.launch(task("lint"));
    let publish = stage.launch(task("publish").after(&[build, lint]));
    stage.start(lint);
    stage.answer(lint, "clean");
    assert_eq!(stage.state(publish), State::Queued);
    assert_snapshot!(told(&stage, publish));
}

#[test]
fn starting() {
    let mut stage = Stage::new();
    let id = stage.launch(task("count"));
    stage.advance(2 * SECOND);
    assert_eq!(stage.state(id), State::Starting);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn starting_and_unsure_of_the_prompt() {
    let mut stage = Stage::new();
    let id = stage.launch(task("count"));
    stage.session_made(id);
    stage.observe(id, Fact::PromptUnsure { why: "connection reset".into() });
    assert_eq!(stage.state(id), State::Starting);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn running() {
    let mut stage = Stage::new();
    let over = Overrides { timeout_ms: Some(2 * HOUR), ..Overrides::default() };
    let id = stage.launch_running(task("count").over(over));
    stage.advance(SECOND);
    stage.observe(id, Fact::ToolBegan { call: call(1, "bash", None) });
    stage.advance(10 * SECOND);
    assert_eq!(stage.state(id), State::Running);
    assert_snapshot!(told(&stage, id));
    // Programs are told the earliest of the two.
    let next = answer(&stage, id).next;
    assert_eq!(next.timer.as_deref(), Some("quiet"));
    assert_eq!(next.at.as_deref(), Some("2027-01-15T08:45:01Z"));
}

#[test]
fn running_as_a_process_without_a_timer() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("make").process());
    stage.advance(HOUR);
    assert_eq!(stage.state(id), State::Running);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn running_with_an_answer_and_open_to_dos() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count"));
    stage.observe(id, Fact::Todos { open: 2 });
    stage.answer(id, "42");
    stage.advance(5 * SECOND);
    assert_eq!(stage.state(id), State::Running);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn running_and_unknown_because_the_host_cannot_be_asked() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count"));
    stage.advance(MINUTE);
    stage.read(id);
    stage.look_failed(id);
    stage.advance(SECOND);
    assert_eq!(stage.state(id), State::Running);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn running_and_unknown_because_the_session_is_not_shown() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count"));
    stage.advance(MINUTE);
    stage.read(id);
    let gone = Picture {
        session: Presence::Missing,
        turn: TurnRecord::Absent,
        busy: Tri::No,
        ..open_picture()
    };
    stage.looked(id, gone);
    assert_eq!(stage.state(id), State::Running);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn waiting_ask() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("deploy"));
    stage.asks_permission(id, "perm_1");
    stage.advance(MINUTE);
    assert_eq!(stage.state(id), State::WaitingAsk);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn waiting_children() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("lead"));
    let one = stage.launch_running(task("one").by(id));
    stage.launch_running(task("two").by(id));
    stage.answer(one, "done");
    stage.answer(id, "handed out");
    assert_eq!(stage.state(id), State::WaitingChildren);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn stopping() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count"));
    stage.cancel(id);
    stage.observe(id, Fact::StopRefused { why: "not now".into() });
    stage.advance(SECOND);
    assert_eq!(stage.state(id), State::Stopping);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn paused_until_a_time_that_the_provider_named() {
    let mut stage = Stage::new();
    let id = stage.launch_running(by_model("count", &["acme/large"]));
    let until = stage.now.wall + 3 * HOUR as i64;
    stage.ended(id, bad(HostError { until_wall: Some(until), ..error(ErrorClass::Quota) }));
    assert_eq!(stage.state(id), State::Paused);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn paused_between_two_tries() {
    let mut stage = Stage::new();
    let id = stage.launch_running(by_model("count", &["acme/large"]));
    let wait = HostError { retry_after_ms: Some(90 * SECOND), ..error(ErrorClass::RateLimited) };
    stage.ended(id, bad(wait));
    assert_eq!(stage.state(id), State::Paused);
    assert_snapshot!(told(&stage, id));
}
