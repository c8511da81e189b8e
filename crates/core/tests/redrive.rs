//! What its receiver will never take, and what is sent again when somebody asks for it.

mod stage;

use homing_core::ids::{DebriefId, TaskId};
use homing_core::input::{DeliveryFact, Input, Outgoing};
use homing_core::reply::Told;
use homing_core::words::{Code, DeliveryState};
use stage::delivery::{BOT, GROUP, group_errand};
use stage::launch::task;
use stage::{HOUR, MINUTE, Stage, refused};

const OPS: &str = "webhook:ops";

impl Stage {
    fn told_to_ops(&mut self, name: &str) -> TaskId {
        let id = self.launch_running(task(name).parent(OPS));
        self.answer(id, name);
        id
    }

    fn refuses(&mut self, debrief: DebriefId) {
        self.delivery(debrief, DeliveryFact::Refused { why: "it answered 410 Gone".into() });
    }

    fn taken(&mut self, debrief: DebriefId) {
        self.delivery(debrief, DeliveryFact::Shared);
    }

    fn redrive(&mut self, id: DebriefId) -> Told {
        self.ask(|request| Input::Redrive { request, what: Outgoing::Debrief(id) })
    }
}

#[test]
fn what_is_refused_rests_with_the_reason_and_what_comes_behind_it_goes_on() {
    let mut stage = Stage::new();
    let [a, b] = ["a", "b"].map(|name| stage.told_to_ops(name));
    let first = stage.seal(OPS);
    stage.refuses(first.id);
    let rests = stage.debrief(first.id);
    assert_eq!(
        (rests.state, rests.code),
        (DeliveryState::Undeliverable, Some(Code::ReceiverRefused))
    );
    assert_eq!(rests.why.as_deref(), Some("it answered 410 Gone"));
    assert_eq!(stage.notice_state(a), DeliveryState::Undeliverable);
    let second = stage.seal(OPS);
    assert_eq!(second.notices, [(b, 1)]);
    stage.taken(second.id);
    stage.advance(24 * HOUR);
    assert!(!stage.wants_deliver(first.id), "it is not sent by itself any more");
    stage.refuses(first.id);
    assert_eq!(stage.times_notice(a, DeliveryState::Undeliverable), 1, "said once");
}

#[test]
fn a_failure_that_may_pass_says_why_until_it_arrives() {
    let mut stage = Stage::new();
    stage.told_to_ops("a");
    let debrief = stage.seal(OPS);
    stage.delivery_failed(debrief.id);
    assert_eq!(stage.debrief(debrief.id).why.as_deref(), Some("connection refused"));
    stage.advance(MINUTE);
    assert_eq!(stage.debrief(debrief.id).why.as_deref(), Some("connection refused"), "on its way");
    stage.accepted(debrief.id);
    assert_eq!(stage.debrief(debrief.id).why, None);
}

#[test]
fn what_rests_is_sent_again_under_its_key_and_settles_all_it_tells() {
    let mut stage = Stage::new();
    let a = stage.told_to_ops("a");
    let debrief = stage.seal(OPS);
    stage.refuses(debrief.id);
    assert_eq!(stage.redrive(debrief.id), Told::Redriven { waits: false });
    assert!(stage.wants_deliver(debrief.id));
    assert!(stage.tries_before(debrief.id) > 0, "perhaps it has it after all");
    let again = stage.debrief(debrief.id);
    assert_eq!((again.text, again.code), (debrief.text, None));
    assert_eq!(refused(&stage.redrive(debrief.id)), Code::OnItsWay);
    stage.taken(debrief.id);
    assert_eq!(stage.notice_state(a), DeliveryState::Settled);
    assert_eq!(refused(&stage.redrive(debrief.id)), Code::NotFound);
}

#[test]
fn what_is_sent_again_waits_for_what_is_on_its_way_and_goes_in_the_order_it_was_asked_for() {
    let mut stage = Stage::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| stage.told_to_ops(name));
    let mut rests = Vec::new();
    for _ in [a, b] {
        let debrief = stage.seal(OPS);
        stage.refuses(debrief.id);
        rests.push(debrief.id);
    }
    let flies = stage.seal(OPS);
    assert_eq!(flies.notices, [(c, 1)]);
    stage.delivery_failed(flies.id);
    for id in rests.iter().rev() {
        assert_eq!(stage.redrive(*id), Told::Redriven { waits: true });
        assert_eq!(stage.redrive(*id), Told::Redriven { waits: true }, "asked twice is once");
        assert!(!stage.wants_deliver(*id));
    }
    stage.restart();
    stage.taken(flies.id);
    for id in rests.iter().rev() {
        assert!(stage.wants_deliver(*id));
        stage.taken(*id);
    }
    let states = [a, b, c].map(|id| stage.notice_state(id));
    assert_eq!(states, [DeliveryState::Settled; 3]);
}

#[test]
fn one_that_waits_goes_when_the_one_before_it_is_refused_too() {
    let mut stage = Stage::new();
    let [_, b] = ["a", "b"].map(|name| stage.told_to_ops(name));
    let first = stage.seal(OPS);
    stage.refuses(first.id);
    let second = stage.seal(OPS);
    assert_eq!(second.notices, [(b, 1)]);
    stage.redrive(first.id);
    stage.refuses(second.id);
    assert!(stage.wants_deliver(first.id));
    assert!(!stage.wants_deliver(second.id));
}

#[test]
fn what_was_acknowledged_while_it_rested_is_over() {
    let mut stage = Stage::new();
    let a = stage.told_to_ops("a");
    let debrief = stage.seal(OPS);
    stage.refuses(debrief.id);
    stage.ack_notice(a, 1);
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
    assert_eq!(refused(&stage.redrive(debrief.id)), Code::NotFound);
}

#[test]
fn a_parked_debrief_can_be_sent_again_and_fails_again_with_its_code() {
    let mut stage = Stage::new();
    let id = stage.errand_done(group_errand("tests", "t1"), "done");
    let debrief = stage.seal(BOT);
    stage.delivery_failed(debrief.id);
    stage.advance(HOUR);
    let parked = stage.debrief(debrief.id);
    assert_eq!((parked.parked, parked.code), (true, Some(Code::HandshakeFailed)));
    assert_eq!(stage.redrive(debrief.id), Told::Redriven { waits: false });
    assert!(stage.wants_deliver(debrief.id));
    stage.delivery_failed(debrief.id);
    stage.advance(HOUR);
    assert!(stage.debrief(debrief.id).parked, "no sign once more");
    assert_eq!(stage.room().len(), 1, "one marker, whatever is tried");
    stage.redrive(debrief.id);
    stage.answered(debrief.id, "Done.");
    assert_eq!(stage.notice_state(id), DeliveryState::Settled);
}

#[test]
fn a_receiver_that_refuses_is_spoken_for_by_one_marker_in_the_room() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a").parent(OPS).origin(GROUP));
    stage.answer(id, "one");
    let debrief = stage.seal(OPS);
    stage.refuses(debrief.id);
    let [(origin, words)] = &stage.room()[..] else {
        panic!("{:?}", stage.room());
    };
    assert_eq!(origin, GROUP);
    assert!(words.ends_with("[E_RECEIVER_REFUSED]"), "{words}");
    stage.redrive(debrief.id);
    stage.refuses(debrief.id);
    assert_eq!(stage.room().len(), 1);
}

#[test]
fn g17_a_message_that_a_room_would_not_take_can_be_posted_again() {
    let mut stage = Stage::new();
    stage.errand_done(group_errand("tests", "t1"), "done");
    let debrief = stage.seal(BOT);
    stage.answered(debrief.id, "Done.");
    let post = stage.posts_wanted()[0];
    let again = |stage: &mut Stage| {
        stage.ask(|request| Input::Redrive { request, what: Outgoing::Post(post) })
    };
    assert_eq!(refused(&again(&mut stage)), Code::OnItsWay);
    stage.post_refused(post);
    assert!(stage.posts_wanted().is_empty());
    assert_eq!(again(&mut stage), Told::Redriven { waits: false });
    assert_eq!(stage.posts_wanted(), [post]);
    stage.posted(post);
    assert_eq!(refused(&again(&mut stage)), Code::NotFound);
}

#[test]
fn nothing_is_brought_to_one_that_fetches_or_is_gone() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a").parent("inbox:bot"));
    stage.answer(id, "one");
    let debrief = stage.seal("inbox:bot");
    assert_eq!(refused(&stage.redrive(debrief.id)), Code::SessionNotFound);
    stage.told_to_ops("b");
    let debrief = stage.seal(OPS);
    stage.delivery(debrief.id, DeliveryFact::Gone);
    assert_eq!(refused(&stage.redrive(debrief.id)), Code::SessionNotFound);
}
