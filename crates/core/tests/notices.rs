//! Notices to the parent: scenarios N.

mod stage;

use homing_core::effect::EffectKey;
use homing_core::fact::{ErrorClass, Fact, HostError};
use homing_core::ids::TaskId;
use homing_core::input::{DeliveryFact, Input, ParentFact, Purge};
use homing_core::outbox::Debrief;
use homing_core::reason::Caller;
use homing_core::reply::Told;
use homing_core::words::{Code, DeliveryState, Notify, State};
use stage::delivery::{BOT, errand};
use stage::host::{bad, open_picture};
use stage::launch::task;
use stage::{HOUR, MINUTE, SECOND, Stage, parent_ref, refusal, refused};

/// One task of the bot's turn `t1`, ended after that turn, with its debrief sealed.
fn one_sealed() -> (Stage, TaskId, Debrief) {
    let mut stage = Stage::new();
    let id = stage.errand_done(errand("a", "t1"), "the answer");
    let debrief = stage.seal(BOT);
    (stage, id, debrief)
}

#[test]
fn n1_two_siblings_that_end_together_are_told_once_each_in_one_debrief() {
    let mut stage = Stage::new();
    let [a, b] = ["a", "b"].map(|name| stage.launch_running(errand(name, "t1")));
    stage.turn_ended(BOT, "t1");
    stage.answer(a, "one");
    assert!(!stage.wants_compose(BOT), "the batch is not over");
    assert_eq!(stage.notice_state(a), DeliveryState::Owed);
    stage.answer(b, "two");

    let debrief = stage.seal(BOT);
    assert_eq!(debrief.notices, [(a, 1), (b, 1)]);
    assert_eq!([stage.notice_state(a), stage.notice_state(b)], [DeliveryState::Sealed; 2]);
    assert_eq!(stage.tries_before(debrief.id), 0);

    stage.accepted(debrief.id);
    assert!(!stage.wants_deliver(debrief.id));
    stage.answered(debrief.id, "thanks");
    for id in [a, b] {
        assert_eq!(stage.times_told(id), 1);
        assert_eq!(stage.times_notice(id, DeliveryState::Settled), 1);
    }
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
    assert_eq!(stage.times_sealed(BOT), 1);
    assert_eq!(stage.world.parent(&parent_ref(BOT)), None, "nothing is owed and nothing is out");
    stage.advance(HOUR);
    assert_eq!(stage.times_wished(&EffectKey::Deliver(debrief.id)), 1);
}

#[test]
fn n2_a_transport_error_is_tried_again_with_backoff_until_it_is_accepted() {
    let (mut stage, id, debrief) = one_sealed();
    let mut waits = Vec::new();
    for tries in 0..5 {
        assert_eq!(stage.tries_before(debrief.id), tries);
        stage.delivery_failed(debrief.id);
        assert!(!stage.wants_deliver(debrief.id), "not again at once");
        let from = stage.now.tick;
        while !stage.wants_deliver(debrief.id) {
            stage.advance(100);
        }
        waits.push(stage.now.tick - from);
    }
    for (n, wait) in waits.iter().enumerate() {
        let least = SECOND << n;
        assert!((least..=least * 5 / 4 + 100).contains(wait), "wait {n} was {wait}");
    }
    assert_eq!(stage.notice_state(id), DeliveryState::Sealed);
    stage.accepted(debrief.id);
    stage.answered(debrief.id, "at last");
    assert_eq!(stage.notice_state(id), DeliveryState::Settled);
    assert_eq!(stage.times_sealed(BOT), 1, "the same debrief, under the same key");
}

#[test]
fn n2_a_parent_that_names_a_time_is_not_sent_to_before_it() {
    let (mut stage, _, debrief) = one_sealed();
    let fact = DeliveryFact::Failed { why: "429".into(), retry_after_ms: Some(40 * SECOND) };
    stage.delivery(debrief.id, fact);
    stage.advance(40 * SECOND - 1);
    assert!(!stage.wants_deliver(debrief.id));
    stage.advance(11 * SECOND);
    assert!(stage.wants_deliver(debrief.id));
}

#[test]
fn n3_a_parent_in_mid_turn_gets_no_second_turn() {
    let mut stage = Stage::new();
    let a = stage.launch_running(errand("a", "t1"));
    stage.turn_began(BOT, "t1");
    stage.answer(a, "early");
    assert!(!stage.wants_compose(BOT), "the launching turn still runs");
    stage.turn_ended(BOT, "t1");
    assert!(stage.wants_compose(BOT));
    stage.turn_began(BOT, "t2");
    assert!(!stage.wants_compose(BOT));
    stage.turn_ended(BOT, "t1");
    assert!(!stage.wants_compose(BOT), "the end of another turn is not the end of this one");
    stage.turn_ended(BOT, "t2");
    assert!(stage.wants_compose(BOT));
}

#[test]
fn n3_a_sealed_debrief_waits_while_the_parent_is_in_a_turn_also_when_it_is_sent_again() {
    let (mut stage, _, debrief) = one_sealed();
    stage.turn_began(BOT, "t2");
    assert!(!stage.wants_deliver(debrief.id));
    stage.turn_ended(BOT, "t2");
    assert!(stage.wants_deliver(debrief.id));
    stage.delivery_failed(debrief.id);
    stage.turn_began(BOT, "t3");
    stage.advance(5 * SECOND);
    assert!(!stage.wants_deliver(debrief.id), "its time has come, but the parent is in a turn");
    stage.turn_ended(BOT, "t3");
    assert_eq!(stage.tries_before(debrief.id), 1);
}

#[test]
fn n3_a_turn_whose_end_is_not_told_delays_for_a_bounded_time() {
    let mut stage = Stage::new();
    let a = stage.launch_running(errand("a", "t1"));
    stage.turn_began(BOT, "t1");
    stage.answer(a, "done");
    assert!(!stage.wants_look_at(BOT));
    stage.advance(MINUTE);
    assert!(stage.wants_look_at(BOT), "asked again, though nobody said that the turn ended");
    stage.turn_began(BOT, "t1");
    assert!(!stage.wants_look_at(BOT), "it still runs: asked again later");
    stage.advance(MINUTE);
    assert!(stage.wants_look_at(BOT));
    stage.between_turns(BOT);
    assert!(stage.wants_compose(BOT));
}

#[test]
fn n3_a_parent_whose_turn_is_not_known_is_asked_first() {
    let mut stage = Stage::new();
    let a = stage.launch_running(errand("a", "t1"));
    stage.answer(a, "done");
    assert!(
        stage.wants_look_at(BOT) && !stage.wants_compose(BOT),
        "nobody said whether the launching turn is over"
    );
    stage.turn_began(BOT, "t1");
    assert!(!stage.wants_look_at(BOT) && !stage.wants_compose(BOT));
    stage.turn_ended(BOT, "t1");
    assert!(stage.wants_compose(BOT));
}

#[test]
fn n3_a_look_that_a_new_turn_overtook_proves_nothing() {
    let mut stage = Stage::new();
    let a = stage.launch_running(errand("a", "t1"));
    stage.turn_began(BOT, "t1");
    stage.answer(a, "done");
    stage.advance(MINUTE);
    assert!(stage.wants_look_at(BOT));
    stage.turn_began(BOT, "t2");
    stage.between_turns(BOT);
    assert!(!stage.wants_compose(BOT), "the look was from before that turn");
}

#[test]
fn n3_a_parent_that_says_busy_is_asked_less_and_less_often_and_never_counted_as_failing() {
    let (mut stage, id, debrief) = one_sealed();
    stage.delivery(debrief.id, DeliveryFact::Busy);
    assert!(!stage.wants_deliver(debrief.id) && !stage.wants_look_at(BOT));
    let (mut looks, mut sends) = (0, 1);
    for _ in 0..30 * 60 {
        stage.advance(SECOND);
        if stage.wants_look_at(BOT) {
            looks += 1;
            stage.between_turns(BOT);
        }
        if stage.wants_deliver(debrief.id) {
            sends += 1;
            stage.delivery(debrief.id, DeliveryFact::Busy);
        }
    }
    assert!((30..=40).contains(&looks), "{looks} looks in half an hour");
    assert_eq!(sends, looks + 1);
    let now = stage.debrief(debrief.id);
    assert_eq!((now.state, now.tries, now.code), (DeliveryState::Sealed, 0, None));
    stage.turn_ended(BOT, "whichever it was");
    assert!(stage.wants_deliver(debrief.id), "told otherwise: at once");
    stage.answered(debrief.id, "ok");
    assert_eq!(stage.notice_state(id), DeliveryState::Settled);
}

#[test]
fn n4_a_parent_that_has_it_and_never_answers_is_woken_then_named_with_a_code_and_still_owed() {
    let (mut stage, id, debrief) = one_sealed();
    stage.accepted(debrief.id);
    let mut wakes = Vec::new();
    let from = stage.now.tick;
    while stage.debrief(debrief.id).code.is_none() {
        stage.advance(SECOND);
        if stage.wants_deliver(debrief.id) {
            assert_eq!(stage.tries_before(debrief.id), wakes.len() as u32 + 1);
            wakes.push((stage.now.tick - from) / SECOND);
            stage.accepted(debrief.id);
        }
    }
    assert_eq!(wakes, [60, 180, 420], "each after twice as long");
    assert_eq!(stage.now.tick - from, 10 * MINUTE);
    let now = stage.debrief(debrief.id);
    assert_eq!((now.code, now.parked), (Some(Code::HandshakeFailed), false));
    assert_eq!(stage.notice_state(id), DeliveryState::Sealed, "still owed");
    assert!(stage.room().is_empty(), "there is no room to post to");

    stage.advance(10 * MINUTE);
    assert!(stage.wants_deliver(debrief.id), "it goes on being woken");
    assert_eq!(stage.ack_debrief(debrief.id), Told::Acked { known: true });
    assert_eq!(stage.notice_state(id), DeliveryState::Settled);
    assert_eq!(stage.ack_debrief(debrief.id), Told::Acked { known: false });
}

#[test]
fn n4_a_parent_that_cannot_be_asked_at_all_is_named_with_a_code_and_told_when_it_is_back() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a").parent(BOT));
    stage.answer(id, "done");
    let mut looks = 0;
    for _ in 0..20 * 60 {
        if stage.wants_look_at(BOT) {
            looks += 1;
            stage.unreachable(BOT);
        }
        stage.advance(SECOND);
    }
    assert!((8..=13).contains(&looks), "{looks} looks in twenty minutes");
    let notice = &stage.notices(id)[0];
    assert_eq!((notice.state, notice.code), (DeliveryState::Owed, Some(Code::HandshakeFailed)));
    assert_eq!(stage.times_notice(id, DeliveryState::Owed), 1, "said once");
    stage.advance(5 * MINUTE);
    stage.between_turns(BOT);
    let debrief = stage.seal(BOT);
    assert_eq!(debrief.notices, [(id, 1)]);
    stage.answered(debrief.id, "back");
    assert_eq!(stage.notice_state(id), DeliveryState::Settled);
}

#[test]
fn n4_the_time_in_which_a_parent_works_on_its_debrief_is_not_silence() {
    let (mut stage, _, debrief) = one_sealed();
    stage.accepted(debrief.id);
    stage.turn_began(BOT, "debrief turn");
    stage.advance(HOUR);
    let now = stage.debrief(debrief.id);
    assert_eq!((now.code, now.state), (None, DeliveryState::Accepted));
    assert!(!stage.wants_deliver(debrief.id), "not woken while it works");
    stage.turn_ended(BOT, "debrief turn");
    stage.answered(debrief.id, "that was long");
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
}

#[test]
fn n5_a_failed_sibling_is_named_with_its_error() {
    let mut stage = Stage::new();
    let [a, b] = ["good", "bad"].map(|name| stage.launch_running(errand(name, "t1")));
    stage.turn_ended(BOT, "t1");
    stage.answer(a, "fine");
    let mut error = HostError::new(ErrorClass::Auth, "invalid_api_key", "the key was revoked");
    error.status = Some(401);
    stage.ended(b, bad(error));
    assert_eq!(stage.states(&[a, b]), [State::Completed, State::Failed]);
    let debrief = stage.seal(BOT);
    let text = stage.words_of(&debrief);
    for part in [
        &format!("1. {a} \"good\"\n   completed (answered)"),
        "| fine\n",
        &format!("2. {b} \"bad\"\n   failed (error)"),
        "error: invalid_api_key (auth, status 401)\n",
        "| the key was revoked\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn n6_the_wake_of_text_that_is_in_the_context_does_not_insert_it_again() {
    let (mut stage, _, debrief) = one_sealed();
    assert_eq!(stage.tries_before(debrief.id), 0);
    stage.accepted(debrief.id);
    stage.advance(MINUTE);
    assert_eq!(stage.tries_before(debrief.id), 1, "the parent is asked for the key first");
    assert_eq!(stage.debrief(debrief.id).text, debrief.text);
    stage.words_of(&debrief);
    assert_eq!(stage.times_sealed(BOT), 1);
}

#[test]
fn n7_g19_what_a_person_typed_goes_first() {
    let mut stage = Stage::new();
    let id = stage.errand_done(errand("a", "t1"), "done");
    stage.person_waits(BOT, 1);
    assert!(!stage.wants_compose(BOT), "a message of a person waits to be taken");
    stage.advance(HOUR);
    assert!(!stage.wants_compose(BOT));
    stage.turn_began(BOT, "the person's");
    stage.person_waits(BOT, 0);
    assert!(!stage.wants_compose(BOT));
    stage.turn_ended(BOT, "the person's");
    let debrief = stage.seal(BOT);
    stage.person_waits(BOT, 2);
    assert!(!stage.wants_deliver(debrief.id), "sealed, and still behind a person");
    stage.person_waits(BOT, 0);
    assert!(stage.wants_deliver(debrief.id));
    assert_eq!(debrief.notices, [(id, 1)]);
}

#[test]
fn n8_what_ended_before_a_restart_is_told_once_after_it() {
    let mut stage = Stage::new();
    let id = stage.errand_done(errand("a", "t1"), "done");
    stage.restart();
    assert!(!stage.wants_compose(BOT), "whether the parent is in a turn is not known any more");
    assert!(stage.wants_look_at(BOT));
    stage.between_turns(BOT);
    let debrief = stage.seal(BOT);
    stage.restart();
    assert!(!stage.wants_deliver(debrief.id));
    assert!(stage.wants_look_at(BOT), "a sealed debrief waits: the parent must be asked");
    stage.between_turns(BOT);
    assert_eq!(
        stage.tries_before(debrief.id),
        1,
        "it may have been sent: the parent is asked for the key"
    );
    let now = stage.debrief(debrief.id);
    assert_eq!((now.notices, now.text, now.nonce), (debrief.notices, debrief.text, debrief.nonce));
    stage.accepted(debrief.id);
    stage.answered(debrief.id, "ok");
    assert_eq!(stage.times_sealed(BOT), 1);
    assert_eq!(stage.times_notice(id, DeliveryState::Settled), 1);
}

#[test]
fn n9_a_parent_that_died_with_the_wake_is_woken_again_under_the_same_key() {
    let (mut stage, id, debrief) = one_sealed();
    stage.accepted(debrief.id);
    stage.advance(10 * SECOND);
    stage.restart();
    assert!(!stage.wants_deliver(debrief.id), "it has it: not at once");
    stage.advance(50 * SECOND);
    assert!(stage.wants_look_at(BOT));
    stage.between_turns(BOT);
    assert_eq!(stage.tries_before(debrief.id), 1);
    stage.answered(debrief.id, "there it is");
    assert_eq!(stage.notice_state(id), DeliveryState::Settled);
}

#[test]
fn n9_after_a_long_downtime_the_parent_is_asked_before_it_is_called_silent() {
    let (mut stage, _, debrief) = one_sealed();
    stage.accepted(debrief.id);
    stage.turn_began(BOT, "debrief turn");
    stage.advance(HOUR);
    stage.restart();
    stage.advance(SECOND);
    assert_eq!(stage.debrief(debrief.id).code, None);
    assert!(stage.wants_look_at(BOT));
    stage.between_turns(BOT);
    assert!(stage.wants_deliver(debrief.id));
    stage.advance(SECOND);
    assert_eq!(
        stage.debrief(debrief.id).code,
        None,
        "it may have answered: that is found out first"
    );
    stage.answered(debrief.id, "long ago");
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
}

#[test]
fn n10_fifty_that_end_at_once_come_home_in_one_debrief_in_the_order_they_ended() {
    let play = || {
        let mut stage = Stage::slots(0);
        let all: Vec<TaskId> =
            (0..50).map(|n| stage.launch_running(errand(&format!("task {n}"), "t1"))).collect();
        stage.turn_ended(BOT, "t1");
        let order: Vec<TaskId> = (0..50).map(|n| all[n * 7 % 50]).collect();
        for id in &order {
            stage.answer(*id, &format!("the answer of {id}"));
        }
        let debrief = stage.seal(BOT);
        let text = stage.words_of(&debrief);
        (order, debrief, text, stage)
    };
    let (order, debrief, text, mut stage) = play();
    let told: Vec<(TaskId, u32)> = order.iter().map(|id| (*id, 1)).collect();
    assert_eq!(debrief.notices, told);
    let places: Vec<usize> =
        order.iter().map(|id| text.find(&format!(" {id} ")).unwrap()).collect();
    assert!(places.is_sorted(), "told in another order than they ended");
    assert!(text.len() <= 32 << 10);
    stage.answered(debrief.id, "thanks");
    assert_eq!(stage.times_sealed(BOT), 1);
    assert!(!stage.wants_compose(BOT));

    let (_, again, same, _) = play();
    assert_eq!((again.id, again.notices, same), (debrief.id, debrief.notices, text));
}

#[test]
fn n11_twenty_five_ends_during_a_long_turn_are_all_in_one_debrief() {
    let mut stage = Stage::slots(0);
    let all: Vec<TaskId> =
        (0..25).map(|n| stage.launch_running(errand(&n.to_string(), "t1"))).collect();
    stage.turn_ended(BOT, "t1");
    stage.turn_began(BOT, "t2");
    for id in &all {
        stage.advance(20 * SECOND);
        stage.answer(*id, "done");
    }
    stage.advance(10 * MINUTE);
    assert!(!stage.wants_compose(BOT));
    stage.turn_ended(BOT, "t2");
    let debrief = stage.seal(BOT);
    assert_eq!(debrief.notices, all.iter().map(|id| (*id, 1)).collect::<Vec<_>>());
    stage.answered(debrief.id, "ok");
    assert!(all.iter().all(|id| stage.notice_state(*id) == DeliveryState::Settled));
    assert_eq!(stage.times_sealed(BOT), 1);
}

#[test]
fn n11_a_batch_is_told_ten_minutes_after_its_first_end_and_the_rest_goes_to_the_next() {
    let mut stage = Stage::new();
    let [a, b, slow] = ["a", "b", "slow"].map(|name| stage.launch_running(errand(name, "t1")));
    stage.turn_began(BOT, "t2");
    stage.answer(a, "one");
    stage.advance(9 * MINUTE);
    stage.answer(b, "two");
    stage.advance(30 * MINUTE);
    stage.turn_ended(BOT, "t2");
    let first = stage.seal(BOT);
    assert_eq!(first.notices, [(a, 1), (b, 1)]);
    assert!(
        stage.words_of(&first).contains(&format!("Still out:\n- {slow} \"slow\": running since"))
    );
    stage.answer(slow, "three");
    assert!(!stage.wants_compose(BOT), "one in flight per parent");
    stage.answered(first.id, "ok");
    assert_eq!(stage.seal(BOT).notices, [(slow, 1)]);
}

#[test]
fn n12_ends_that_come_close_together_all_arrive() {
    for gap in [5 * SECOND, SECOND, 0] {
        let mut stage = Stage::slots(0);
        let ids: Vec<TaskId> = (0..6)
            .map(|n| stage.launch_running(task(&n.to_string()).parent("inbox:cli")))
            .collect();
        for id in &ids {
            stage.answer(*id, "done");
            stage.advance(gap);
        }
        let mut told = Vec::new();
        while stage.wants_compose("inbox:cli") {
            let debrief = stage.seal("inbox:cli");
            assert_eq!(stage.lease("inbox:cli"), Some(debrief.id));
            assert_eq!(stage.lease("inbox:cli"), None, "one consumer has it");
            stage.ack_debrief(debrief.id);
            told.extend(debrief.notices);
        }
        assert_eq!(told, ids.iter().map(|id| (*id, 1)).collect::<Vec<_>>(), "gap {gap}");
        assert_eq!(stage.world.parent(&parent_ref("inbox:cli")), None);
    }
}

#[test]
fn n14_what_a_parent_owns_is_answered_in_full_from_the_ledger() {
    let mut stage = Stage::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| stage.launch_running(errand(name, "t1")));
    let quiet = stage.launch_running(errand("quiet", "t1").notify(Notify::Inbox));
    stage.turn_ended(BOT, "t1");
    stage.answer(a, "one");
    stage.answer(quiet, "kept");
    stage.restart();
    let parent = stage.world.parent(&parent_ref(BOT)).unwrap();
    assert_eq!(parent.living.iter().copied().collect::<Vec<_>>(), [b, c]);
    assert_eq!(parent.owed_count(), 2, "what is owed is there, what waits to be read too");
    assert_eq!(parent.inbox.iter().map(|(_, id, _)| *id).collect::<Vec<_>>(), [quiet]);
    assert!(!stage.wants_compose(BOT), "what is kept for reading wakes nobody");
    assert_eq!(stage.ack_notice(quiet, 1), Told::Acked { known: true });
    assert_eq!(stage.world.parent(&parent_ref(BOT)).unwrap().owed_count(), 1);
}

#[test]
fn n16_after_an_early_error_and_a_later_answer_the_answer_is_read() {
    let mut stage = Stage::new();
    let id = stage.launch_running(errand("a", "t1"));
    stage.turn_ended(BOT, "t1");
    let error = HostError::new(ErrorClass::Transient, "overloaded", "try again");
    stage.observe(id, Fact::ErrorHint { error });
    assert!(stage.wants_look(id));
    stage.looked(id, open_picture());
    stage.answer(id, "the answer");
    assert_eq!(stage.result(id).as_deref(), Some("the answer"));
    assert_eq!(stage.task(id).error, None);
    let debrief = stage.seal(BOT);
    let text = stage.words_of(&debrief);
    assert!(text.contains("| the answer\n") && !text.contains("overloaded"), "{text}");
}

#[test]
fn n17_an_id_of_something_else_is_told_apart() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a"));
    let why = "ses_1_1".parse::<TaskId>().unwrap_err().to_string();
    assert!(why.contains("\"ses_1_1\" is not a task id") && why.contains("bg_"), "{why}");
    let session = stage.session_of(id).into();
    assert_eq!(
        stage.world.by_session(&"script".into(), &session),
        Some(id),
        "a session leads to its task"
    );

    let never = TaskId::from_bits(999);
    let told = stage.ask(|request| Input::Read { request, task: never });
    assert_eq!(refused(&told), Code::NotFound);
    assert!(refusal(&told).contains(&never.to_string()), "{told:?}");

    stage.answer(id, "done");
    stage.telemetry_taken(id, 1);
    stage.ack_notice(id, 1);
    assert_eq!(
        stage.ask(|request| Input::Cancel {
            request,
            task: id,
            by: Caller::Person,
            text: None,
            quiet: false
        }),
        Told::AlreadyEnded { task: id, state: State::Completed }
    );
    let purge = Purge { tasks: vec![id], ..Purge::default() };
    assert_eq!(stage.ask(|request| Input::Expired { request, purge }), Told::Purged { any: true });
    assert!(stage.world.task(id).is_none());
}

#[test]
fn n20_a_read_whose_reply_was_cut_off_leaves_the_notice_owed() {
    let mut stage = Stage::new();
    let id = stage.launch_running(errand("a", "t1"));
    stage.answer(id, "done");
    let request = stage.read(id);
    assert!(matches!(stage.told(request), Some(Told::ReadNow { .. })));
    assert_eq!(stage.notice_state(id), DeliveryState::Owed, "reading alone settles nothing");
    stage.turn_ended(BOT, "t1");
    let debrief = stage.seal(BOT);
    assert_eq!(debrief.notices, [(id, 1)]);
}

#[test]
fn a_webhook_needs_no_gap_between_turns_and_is_told_each_end_at_once() {
    let mut stage = Stage::new();
    let [a, b] = ["a", "b"].map(|name| stage.launch_running(task(name).parent("webhook:ops")));
    stage.answer(a, "one");
    let first = stage.seal("webhook:ops");
    assert_eq!(first.notices, [(a, 1)]);
    assert!(stage.wants_deliver(first.id));
    stage.answer(b, "two");
    stage.delivery(first.id, DeliveryFact::Shared);
    assert_eq!(stage.notice_state(a), DeliveryState::Settled);
    assert_eq!(stage.seal("webhook:ops").notices, [(b, 1)]);
}

#[test]
fn a_parent_that_was_deleted_gets_nothing_sent_any_more() {
    let (mut stage, id, debrief) = one_sealed();
    stage.parent(BOT, ParentFact::Deleted);
    assert!(!stage.wants_deliver(debrief.id));
    let notice = &stage.notices(id)[0];
    assert_eq!(
        (notice.state, notice.code),
        (DeliveryState::Undeliverable, Some(Code::SessionNotFound))
    );
    stage.ack_notice(id, 1);
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled, "nothing rests for ever");
}
