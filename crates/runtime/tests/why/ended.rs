//! Tasks that ended, each with its notice in the parent's inbox.

use homing_core::fact::ErrorClass;
use homing_core::ids::TaskId;
use homing_core::spec::Overrides;
use homing_core::words::State;
use insta::assert_snapshot;

use crate::scene::told;
use crate::stage::host::{bad, error};
use crate::stage::launch::{by_model, task};
use crate::stage::{MINUTE, SECOND, Stage};

/// Acknowledged: nothing is owed any more.
fn settled(stage: &mut Stage, id: TaskId) {
    stage.ack_notice(id, 1);
    stage.telemetry_taken(id, 1);
}

#[test]
fn completed() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count"));
    stage.advance(3 * SECOND);
    stage.answer(id, "42");
    settled(&mut stage, id);
    assert_eq!(stage.state(id), State::Completed);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn failed_with_every_model_tried() {
    let mut stage = Stage::new();
    let id = stage.launch_running(by_model("count", &["acme/large", "acme/small"]));
    stage.ended(id, bad(error(ErrorClass::RateLimited)));
    stage.stopped(id);
    stage.start(id);
    stage.ended(id, bad(error(ErrorClass::Auth)));
    settled(&mut stage, id);
    assert_eq!(stage.state(id), State::Failed);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn cancelled() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count"));
    stage.advance(SECOND);
    stage.cancel(id);
    stage.stopped(id);
    settled(&mut stage, id);
    assert_eq!(stage.state(id), State::Cancelled);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn cancelled_because_of_what_it_was_to_run_after() {
    let mut stage = Stage::new();
    let build = stage.launch_running(task("build").process());
    let publish = stage.launch(task("publish").after(&[build]));
    stage.exited(build, 2, "no");
    settled(&mut stage, publish);
    assert_eq!(stage.state(publish), State::Cancelled);
    assert_snapshot!(told(&stage, publish));
}

#[test]
fn timed_out() {
    let mut stage = Stage::new();
    let over = Overrides { timeout_ms: Some(MINUTE), ..Overrides::default() };
    let id = stage.launch_running(task("count").over(over));
    stage.advance(MINUTE);
    stage.shows_nothing_new(id);
    stage.stopped(id);
    settled(&mut stage, id);
    assert_eq!(stage.state(id), State::TimedOut);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn lost_because_its_stop_was_never_confirmed() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count"));
    stage.cancel(id);
    stage.advance(30 * SECOND);
    settled(&mut stage, id);
    assert_eq!(stage.state(id), State::Lost);
    assert_snapshot!(told(&stage, id));
}
