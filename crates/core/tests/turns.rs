//! A parent's turn is a fence: scenarios U.

mod stage;

use homing_core::effect::EffectKey;
use homing_core::ids::DebriefId;
use homing_core::input::DeliveryFact;
use homing_core::payload::Payload;
use homing_core::record::{OutboxRecord, Record};
use homing_core::reply::Told;
use homing_core::task::BatchId;
use homing_core::words::{DeliveryState, State};
use stage::delivery::{BOT, errand};
use stage::launch::task;
use stage::{HOUR, Stage, parent_ref};

const CHAT: &str = "opencode:ses_1";

#[test]
fn u2_an_idle_parent_gets_a_debrief_turn_of_its_own() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a").parent(CHAT).parent_turn("t1"));
    stage.turn_ended(CHAT, "t1");
    stage.advance(20 * 60 * 1_000);
    assert!(!stage.wants_compose(CHAT), "nothing has ended");
    stage.answer(id, "done");
    let debrief = stage.seal(CHAT);
    assert!(stage.wants_deliver(debrief.id), "no person has to speak first");
    stage.accepted(debrief.id);
    stage.turn_began(CHAT, "debrief");
    stage.turn_ended(CHAT, "debrief");
    stage.answered(debrief.id, "your task is done");
    assert_eq!(stage.times_wished(&EffectKey::Deliver(debrief.id)), 1);
    assert_eq!(stage.times_notice(id, DeliveryState::Settled), 1);
}

#[test]
fn u3_when_a_user_turn_and_a_debrief_are_ready_together_the_user_goes_first() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a").parent(CHAT).parent_turn("t1"));
    stage.turn_ended(CHAT, "t1");
    stage.answer(id, "done");
    let key = EffectKey::Compose(Box::new(parent_ref(CHAT)));
    let wanted = stage.first_wanted(|known| *known == key).unwrap();
    stage.turn_began(CHAT, "t2");
    let homing_core::effect::Effect::Compose { parent, id: debrief, batch, notices, .. } = wanted
    else {
        panic!("a compose of another kind");
    };
    // The text was under way when the user's turn began.
    let text = Payload::from("too late");
    stage.give(homing_core::input::Input::Composed {
        parent,
        batch,
        notices,
        id: debrief,
        nonce: "n".into(),
        text,
    });
    assert_eq!(stage.times_sealed(CHAT), 0, "nothing is sealed while the parent is in a turn");
    assert_eq!(stage.notice_state(id), DeliveryState::Owed);
    stage.turn_ended(CHAT, "t2");
    let debrief = stage.seal(CHAT);
    assert_eq!(debrief.notices, [(id, 1)]);
}

#[test]
fn u4_a_result_that_the_owner_read_in_its_own_turn_is_not_delivered_again() {
    let mut stage = Stage::new();
    let id = stage.launch_running(errand("a", "t1"));
    stage.answer(id, "done");
    stage.read(id);
    assert_eq!(
        stage.notice_state(id),
        DeliveryState::Owed,
        "the reply is not known to have arrived"
    );
    assert_eq!(stage.ack_notice(id, 1), Told::Acked { known: true });
    assert_eq!(stage.notice_state(id), DeliveryState::Settled);
    stage.turn_ended(BOT, "t1");
    stage.advance(HOUR);
    assert_eq!(stage.times_sealed(BOT), 0);
    assert!(!stage.wants_compose(BOT) && !stage.wants_look_at(BOT));
    assert_eq!(stage.ack_notice(id, 1), Told::Acked { known: false }, "once");
}

#[test]
fn u4_a_sealed_debrief_that_was_wholly_read_before_it_was_sent_is_withdrawn() {
    let mut stage = Stage::new();
    let [a, b] = ["a", "b"].map(|name| stage.launch_running(errand(name, "t1")));
    stage.turn_ended(BOT, "t1");
    stage.answer(a, "one");
    stage.answer(b, "two");
    let debrief = stage.seal(BOT);
    stage.delivery(debrief.id, DeliveryFact::Busy);
    stage.turn_began(BOT, "t2");
    stage.ack_notice(a, 1);
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Sealed, "one of two is still owed");
    stage.ack_notice(b, 1);
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Withdrawn);
    stage.turn_ended(BOT, "t2");
    assert!(!stage.wants_deliver(debrief.id) && !stage.wants_compose(BOT));
    assert_eq!(stage.world.parent(&parent_ref(BOT)), None);
}

#[test]
fn u4_a_debrief_that_may_have_been_sent_is_not_withdrawn() {
    let mut stage = Stage::new();
    let id = stage.errand_done(errand("a", "t1"), "done");
    let debrief = stage.seal(BOT);
    stage.delivery_failed(debrief.id);
    stage.ack_notice(id, 1);
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Sent);
    stage.advance(2_000);
    assert_eq!(stage.tries_before(debrief.id), 1, "asked whether it has the key");
    stage.answered(debrief.id, "seen");
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
    assert_eq!(stage.times_notice(id, DeliveryState::Settled), 1);
}

#[test]
fn u5_of_two_tasks_each_is_told_once_in_its_own_place() {
    let mut stage = Stage::new();
    let [a, b] = ["a", "b"].map(|name| stage.launch_running(errand(name, "t1")));
    stage.answer(a, "in turn 1");
    stage.read(a);
    stage.ack_notice(a, 1);
    stage.turn_ended(BOT, "t1");
    stage.turn_began(BOT, "t2");
    stage.answer(b, "during turn 2");
    assert!(!stage.wants_compose(BOT));
    stage.turn_ended(BOT, "t2");
    let debrief = stage.seal(BOT);
    assert_eq!(debrief.notices, [(b, 1)], "the first was told in its own turn");
    stage.answered(debrief.id, "ok");
    for id in [a, b] {
        assert_eq!(stage.times_notice(id, DeliveryState::Settled), 1);
        assert_eq!(stage.times_told(id), 1);
    }
    assert_eq!(stage.times_sealed(BOT), 1);
}

#[test]
fn u5_batches_of_two_turns_are_told_apart_the_oldest_outcome_first() {
    let mut stage = Stage::new();
    let slow = stage.launch_running(errand("slow", "t1"));
    stage.turn_ended(BOT, "t1");
    let quick = stage.launch_running(errand("quick", "t2"));
    stage.answer(slow, "of turn 1");
    stage.answer(quick, "of turn 2");
    stage.turn_ended(BOT, "t2");
    let first = stage.seal(BOT);
    assert_eq!(first.notices, [(slow, 1)]);
    stage.answered(first.id, "one");
    let second = stage.seal(BOT);
    assert_eq!(second.notices, [(quick, 1)]);
    assert_ne!(first.id, second.id);
}

#[test]
fn u6_stopping_what_is_finished_says_so_and_changes_nothing() {
    let mut stage = Stage::new();
    let id = stage.errand_done(errand("a", "t1"), "done");
    let lines = stage.journal.len();
    assert_eq!(stage.cancel(id), Told::AlreadyEnded { task: id, state: State::Completed });
    assert_eq!(stage.journal.len(), lines);
    assert!(!stage.wants_abort(id));
    assert_eq!(stage.seal(BOT).notices, [(id, 1)], "it is told as what it was");
}

#[test]
fn what_is_sealed_is_never_changed() {
    let mut stage = Stage::new();
    let first = stage.errand_done(errand("a", "t1"), "one");
    let debrief = stage.seal(BOT);
    let text = stage.words_of(&debrief);
    stage.delivery_failed(debrief.id);
    let second = stage.launch_running(task("b").parent(BOT));
    stage.answer(second, "two");
    stage.advance(HOUR);
    let now = stage.debrief(debrief.id);
    assert_eq!((now.notices, stage.words_of(&debrief)), (vec![(first, 1)], text));
    let sealed = |record: &Record| matches!(record, Record::Outbox(OutboxRecord::Sealed { .. }));
    assert_eq!(stage.journal.iter().filter(|written| sealed(&written.record)).count(), 1);
    stage.between_turns(BOT);
    stage.answered(debrief.id, "ok");
    assert_eq!(stage.seal(BOT).notices, [(second, 1)], "what came later goes to the next");
}

#[test]
fn a_task_that_read_one_result_of_its_debrief_by_itself_still_takes_what_came_meanwhile() {
    let mut stage = Stage::slots(0);
    let above = stage.launch_running(task("above"));
    let [a, b] = ["a", "b"].map(|name| stage.launch_running(task(name).by(above).batch("one")));
    stage.answer(above, "I wait");
    stage.answer(a, "one");
    stage.answer(b, "two");
    let own = format!("task:{above}");
    let debrief = stage.seal(&own);
    stage.prompt_taken(above);
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Accepted);
    stage.ack_notice(a, 1);
    let late = stage.launch_running(task("late").by(above).batch("two"));
    stage.answer(late, "three");
    stage.answer(above, "I have seen a and b");
    assert_eq!([stage.notice_state(a), stage.notice_state(b)], [DeliveryState::Settled; 2]);
    assert_eq!(stage.state(above), State::WaitingChildren, "one result is not taken yet");
    assert_eq!(stage.seal(&own).notices, [(late, 1)]);
    stage.prompt_taken(above);
    stage.answer(above, "I have seen all");
    assert_eq!(stage.state(above), State::Completed);
}

#[test]
fn one_debrief_is_in_flight_per_parent_whatever_was_composed_meanwhile() {
    let mut stage = Stage::new();
    stage.errand_done(errand("a", "t1"), "one");
    let first = stage.seal(BOT);
    let other = stage.launch_running(errand("b", "t2"));
    stage.turn_ended(BOT, "t2");
    stage.answer(other, "two");
    assert!(!stage.wants_compose(BOT));
    stage.give(homing_core::input::Input::Composed {
        parent: parent_ref(BOT),
        batch: Box::new((BatchId::Turn("t2".into()), None)),
        notices: vec![(other, 1)],
        id: DebriefId::from_bits(99),
        nonce: "n".into(),
        text: Payload::from("too early"),
    });
    assert_eq!(stage.times_sealed(BOT), 1);
    stage.answered(first.id, "ok");
    assert_eq!(stage.seal(BOT).notices, [(other, 1)]);
}
