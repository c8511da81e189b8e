//! Tasks that ended and of which somebody is still to be told.

use homing_core::input::ParentFact;
use homing_core::words::{DeliveryState, Notify};
use insta::assert_snapshot;

use crate::scene::told;
use crate::stage::delivery::{BOT, errand};
use crate::stage::launch::task;
use crate::stage::{MINUTE, SECOND, Stage};

#[test]
fn sealed_for_an_inbox() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count"));
    stage.answer(id, "42");
    stage.seal("inbox:cli");
    assert_snapshot!(told(&stage, id));
}

#[test]
fn leased_by_a_consumer() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count"));
    stage.answer(id, "42");
    stage.seal("inbox:cli");
    stage.lease("inbox:cli").unwrap();
    stage.advance(SECOND);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn fetched_by_a_consumer_that_went_away() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count"));
    stage.answer(id, "42");
    stage.seal("inbox:cli");
    let request = stage.take("inbox:cli", false);
    stage.advance(SECOND);
    stage.let_go(stage.leased(request).flatten().unwrap());
    assert_snapshot!(told(&stage, id));
}

#[test]
fn kept_for_reading() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("count").notify(Notify::Inbox));
    stage.answer(id, "42");
    assert_snapshot!(told(&stage, id));
}

#[test]
fn held_back_until_the_batch_is_complete() {
    let mut stage = Stage::new();
    let one = stage.launch_running(errand("one", "t1"));
    stage.launch_running(errand("two", "t1"));
    stage.turn_ended(BOT, "t1");
    stage.answer(one, "1");
    stage.advance(MINUTE);
    assert_snapshot!(told(&stage, one));
}

#[test]
fn held_back_while_the_parent_is_in_a_turn() {
    let mut stage = Stage::new();
    let id = stage.errand_done(errand("one", "t1"), "1");
    stage.turn_began(BOT, "t2");
    assert_snapshot!(told(&stage, id));
}

#[test]
fn sent_and_failed_so_far() {
    let mut stage = Stage::new();
    let id = stage.errand_done(errand("one", "t1"), "1");
    stage.between_turns(BOT);
    let debrief = stage.seal(BOT);
    stage.delivery_failed(debrief.id);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn at_the_parent_and_not_answered() {
    let mut stage = Stage::new();
    let id = stage.errand_done(errand("one", "t1"), "1");
    stage.between_turns(BOT);
    let debrief = stage.seal(BOT);
    stage.accepted(debrief.id);
    stage.advance(SECOND);
    assert_snapshot!(told(&stage, id));
}

#[test]
fn without_a_sign_of_the_parent() {
    let mut stage = Stage::new();
    let id = stage.errand_done(errand("one", "t1"), "1");
    stage.between_turns(BOT);
    let debrief = stage.seal(BOT);
    stage.delivery_failed(debrief.id);
    stage.unreachable(BOT);
    for _ in 0..20 {
        stage.advance(MINUTE);
        stage.delivery_failed(debrief.id);
    }
    assert_snapshot!(told(&stage, id));
}

#[test]
fn undeliverable() {
    let mut stage = Stage::new();
    let id = stage.errand_done(errand("one", "t1"), "1");
    stage.parent(BOT, ParentFact::Deleted);
    assert_eq!(stage.notice_state(id), DeliveryState::Undeliverable);
    assert_snapshot!(told(&stage, id));
}
