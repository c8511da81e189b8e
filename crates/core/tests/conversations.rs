//! Conversations: one turn at a time, people first, a debrief in a turn of its own. Scenarios U and G where homing owns the door.

mod stage;

use homing_core::input::ParentFact;
use homing_core::reply::Told;
use homing_core::task::BatchId;
use homing_core::words::{Cause, Code, DeliveryState, Notify, State};
use stage::host::{bad, error};
use stage::launch::task;
use stage::{HOUR, MINUTE, SECOND, Stage};

const GROUP: &str = "group:team/main";

#[test]
fn a_conversation_begins_between_turns_and_each_turn_is_a_run_of_its_own() {
    let mut stage = Stage::new();
    let (chat, _) = stage.converse(task("chat"));
    assert!(!stage.wants_open(chat), "nothing is asked of the host before the first turn");
    assert_eq!(stage.turn(chat, "hello", "hi"), 1);
    let session = stage.task(chat).session.clone();
    assert_eq!(stage.turn(chat, "2+2?", "4"), 2);
    assert_eq!((stage.result(chat), stage.task(chat).session.clone()), (Some("4".into()), session));
    assert!(stage.notices(chat).is_empty() && stage.task(chat).telemetry.is_empty());
    assert_eq!(stage.held(), 0, "it holds no slot between turns");
}

#[test]
fn people_are_answered_one_by_one_in_their_order() {
    let mut stage = Stage::new();
    let (chat, _) = stage.converse(task("chat"));
    stage.turn_runs(chat, "one");
    assert_eq!(stage.speak(chat, "two"), Told::TurnTaken { turn: 2, existing: false });
    assert_eq!(stage.speak(chat, "three"), Told::TurnTaken { turn: 3, existing: false });
    assert_eq!(stage.prompt_of_turn(chat), "one");
    for (text, answer) in [("two", "first"), ("three", "second")] {
        stage.answer(chat, answer);
        stage.start(chat);
        assert_eq!(stage.prompt_of_turn(chat), text);
    }
    stage.answer(chat, "third");
    assert_eq!((stage.task(chat).generation, stage.state(chat)), (3, State::Completed));
}

#[test]
fn the_same_key_is_one_turn_and_other_words_under_it_are_refused() {
    let mut stage = Stage::new();
    let (chat, _) = stage.converse(task("chat"));
    stage.speak_as(chat, "one", Some("k"));
    let again = stage.speak_as(chat, "one", Some("k"));
    assert_eq!(again, Told::TurnTaken { turn: 1, existing: true });
    let other = stage.speak_as(chat, "other", Some("k"));
    assert!(matches!(other, Told::Refused { code: Code::KeyReused, .. }));
    assert_eq!(stage.task(chat).talk.as_ref().unwrap().turns, 1);
}

#[test]
fn u1_what_ends_between_turns_is_told_in_a_turn_of_its_own_and_no_other_holds_it() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat"));
    stage.turn_runs(chat, "look into it");
    let child = stage.launch_running(task("child").by(chat));
    assert_eq!(stage.task(child).parent.to_string(), parent, "told to the conversation");
    assert_eq!(stage.task(child).launched_by, None, "its turns do not wait for it");
    assert_eq!(stage.task(child).batch, BatchId::Turn("1".into()));
    stage.answer(chat, "I have sent somebody");
    assert_eq!(stage.state(chat), State::Completed, "the turn is over while the child works");
    stage.turn_runs(chat, "2+2?");
    stage.answer(child, "found it");
    assert!(!stage.wants_compose(&parent), "nothing is put into a person's turn");
    stage.answer(chat, "4");
    let debrief = stage.seal(&parent);
    stage.start(chat);
    assert!(stage.prompt_of_turn(chat).contains("found it"));
    assert_eq!(stage.task(chat).turn.kind, homing_core::words::TurnKind::Debrief);
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Accepted);
    stage.answer(chat, "it was found");
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
    assert_eq!(stage.times_notice(child, DeliveryState::Settled), 1);
    assert_eq!(stage.turn(chat, "and 3+3?", "6"), 4);
    assert_eq!(stage.times_sealed(&parent), 1);
}

#[test]
fn u3_g19_whoever_speaks_while_a_debrief_is_composed_goes_first() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat"));
    stage.turn_runs(chat, "go");
    let child = stage.launch_running(task("child").by(chat));
    stage.answer(chat, "sent");
    stage.answer(child, "done");
    assert!(stage.wants_compose(&parent));
    stage.speak(chat, "one more thing");
    assert!(!stage.wants_compose(&parent));
    stage.start(chat);
    assert_eq!(stage.prompt_of_turn(chat), "one more thing");
    stage.speak(chat, "and another");
    stage.answer(chat, "yes");
    stage.start(chat);
    assert_eq!(stage.prompt_of_turn(chat), "and another", "all who wait go first");
    stage.answer(chat, "yes");
    assert_eq!(stage.seal(&parent).notices, [(child, 1)]);
}

#[test]
fn u4_what_was_read_in_its_own_turn_is_not_told_again() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat"));
    stage.turn_runs(chat, "go");
    let child = stage.launch_running(task("child").by(chat));
    stage.answer(child, "done");
    stage.ack_notice(child, 1);
    stage.answer(chat, "it is done");
    stage.advance(HOUR);
    assert_eq!(stage.times_sealed(&parent), 0);
    assert!(!stage.wants_compose(&parent));
}

#[test]
fn g1_g14_the_answer_to_a_debrief_goes_to_the_place_that_the_conversation_is_of() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat").origin("thread:team/main#root"));
    stage.turn_runs(chat, "go");
    let child = stage.launch_running(task("child").by(chat));
    let below = stage.launch_running(task("below").by(child));
    stage.answer(chat, "sent");
    assert!(stage.room().is_empty(), "what a person is answered goes to whoever asked");
    stage.answer(below, "deep");
    stage.answer(child, "I wait");
    stage.seal(&format!("task:{child}"));
    stage.prompt_taken(child);
    stage.answer(child, "done");
    let debrief = stage.seal(&parent);
    stage.start(chat);
    stage.answer(chat, "all is well");
    assert!(stage.wants_deliver(debrief.id), "its words are read from the store");
    stage.answered(debrief.id, "all is well");
    let posted = stage.room();
    assert_eq!(posted.len(), 1);
    assert!(posted[0].0.ends_with("main#root") && posted[0].1 == "all is well", "{posted:?}");
}

#[test]
fn g7_a_debrief_that_is_answered_with_nothing_leaves_one_line_in_the_room() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat").origin(GROUP));
    stage.turn_runs(chat, "go");
    let child = stage.launch_running(task("child").by(chat));
    stage.answer(chat, "sent");
    stage.answer(child, "done");
    let debrief = stage.seal(&parent);
    stage.start(chat);
    stage.tool_began(chat, 1, "look", None);
    stage.tool_ended(chat, 1);
    stage.answer(chat, " ");
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
    let posted = stage.room();
    assert_eq!(posted.len(), 1);
    assert!(posted[0].1.contains("E_COMPLETION_TELEMETRY_FALLBACK"), "{posted:?}");
}

#[test]
fn g8_a_debrief_whose_turns_fail_has_them_again_then_one_line_and_stays_owed() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat").origin(GROUP));
    stage.turn_runs(chat, "go");
    let child = stage.launch_running(task("child").by(chat));
    stage.answer(chat, "sent");
    stage.answer(child, "done");
    let debrief = stage.seal(&parent);
    let mut turns = 0;
    for _ in 0..200 {
        if stage.state(chat) == State::Starting {
            stage.start(chat);
            stage.ended(chat, bad(error(homing_core::fact::ErrorClass::Auth)));
            turns += 1;
        }
        stage.advance(10 * SECOND);
    }
    assert!((4..20).contains(&turns), "again, less and less often: {turns}");
    let parked = stage.debrief(debrief.id);
    assert_eq!((parked.code, parked.parked), (Some(Code::HandshakeFailed), true));
    assert_eq!(stage.room().len(), 1, "one line in its place");
    assert_eq!(stage.notice_state(child), DeliveryState::Sealed, "the result is kept and owed");
    // Somebody has mended it, and wants it told after all: it has its turn, and the room is told no second time.
    let what = homing_core::input::Outgoing::Debrief(debrief.id);
    let again = stage.ask(|request| homing_core::input::Input::Redrive { request, what });
    assert_eq!(again, Told::Redriven { waits: false });
    stage.start(chat);
    stage.answer(chat, "at last");
    stage.answered(debrief.id, "at last");
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
    assert_eq!(stage.turn(chat, "are you there?", "yes"), stage.task(chat).generation);
}

#[test]
fn a_turn_that_fails_leaves_the_conversation_as_it_was() {
    let mut stage = Stage::new();
    let (chat, _) = stage.converse(task("chat"));
    stage.turn(chat, "hello", "hi");
    let session = stage.task(chat).session.clone();
    stage.turn_runs(chat, "break");
    stage.speak(chat, "go on");
    stage.ended(chat, bad(error(homing_core::fact::ErrorClass::Auth)));
    stage.start(chat);
    assert_eq!(stage.prompt_of_turn(chat), "go on");
    assert_eq!(stage.task(chat).session.clone(), session);
    stage.answer(chat, "better");
    assert_eq!(stage.end(chat), (State::Completed, Some(Cause::Answered)));
}

#[test]
fn f1_the_next_model_goes_on_in_the_same_session_and_is_not_told_again() {
    let mut stage = Stage::new();
    let (chat, _) = stage.converse(task("chat").models(&["a/one", "b/two"]));
    stage.turn_runs(chat, "hello");
    let session = stage.task(chat).session.clone();
    stage.ended(chat, bad(error(homing_core::fact::ErrorClass::Auth)));
    stage.stopped(chat);
    assert_eq!(stage.state(chat), State::Starting);
    assert_eq!(stage.task(chat).session.clone(), session);
    assert_eq!(stage.task(chat).turn.kind, homing_core::words::TurnKind::GoOn);
    stage.prompt_taken(chat);
    stage.answer(chat, "hi");
    assert_eq!((stage.task(chat).generation, stage.result(chat)), (1, Some("hi".into())));
}

#[test]
fn c1_a_turn_that_a_person_stops_settles_the_debrief_it_carries() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat").origin(GROUP));
    stage.turn_runs(chat, "go");
    let child = stage.launch_running(task("child").by(chat));
    stage.answer(chat, "sent");
    stage.answer(child, "done");
    let debrief = stage.seal(&parent);
    stage.start(chat);
    stage.cancel(chat);
    stage.stopped(chat);
    assert_eq!(stage.state(chat), State::Cancelled);
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
    assert!(stage.room().is_empty());
    assert_eq!(stage.turn(chat, "hello?", "hi"), 3);
}

#[test]
fn g9_a_conversation_whose_session_is_gone_is_closed_and_what_it_is_owed_is_said_once() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat").origin(GROUP));
    stage.turn_runs(chat, "go");
    let child = stage.launch_running(task("child").by(chat));
    stage.observe(chat, homing_core::fact::Fact::SessionDeleted);
    assert_eq!(stage.cause(chat), Some(Cause::SessionDeleted));
    assert!(stage.task(chat).talk.as_ref().unwrap().closed);
    stage.stopped(child);
    assert_eq!(stage.state(child), State::Cancelled);
    assert_eq!(stage.notice_state(child), DeliveryState::Undeliverable);
    assert_eq!(stage.room().len(), 1);
    assert!(stage.room()[0].1.contains("E_SESSION_NOT_FOUND"));
    let told = stage.speak(chat, "do you remember?");
    assert!(matches!(told, Told::Refused { code: Code::Ended, .. }), "{told:?}");
    let late = stage.try_launch(task("late").parent(&parent));
    assert!(matches!(late, Told::Refused { code: Code::Ended, .. }), "{late:?}");
}

#[test]
fn a_conversation_that_is_closed_ends_its_turn_and_its_tasks_and_leaves_memory() {
    let mut stage = Stage::new();
    let (chat, _) = stage.converse(task("chat"));
    stage.turn_runs(chat, "go");
    let child = stage.launch_running(task("child").by(chat).notify(Notify::Silent));
    assert_eq!(stage.close(chat), Told::Closed);
    assert_eq!(stage.states(&[chat, child]), [State::Stopping; 2]);
    stage.stopped(chat);
    stage.stopped(child);
    assert_eq!(stage.world.task(chat), None, "nothing of it is owed");
    assert_eq!(stage.close(chat), Told::Closed, "again is harmless");
    assert!(matches!(stage.speak(chat, "hi"), Told::Refused { code: Code::Ended, .. }));
}

#[test]
fn r1_after_a_restart_it_is_still_there_with_what_waits() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat"));
    stage.restart();
    stage.turn_runs(chat, "one");
    let child = stage.launch_running(task("child").by(chat));
    stage.speak(chat, "two");
    stage.restart();
    stage.answer(child, "done");
    stage.answer(chat, "first");
    stage.start(chat);
    assert_eq!(stage.prompt_of_turn(chat), "two");
    stage.answer(chat, "second");
    stage.restart();
    let debrief = stage.seal(&parent);
    stage.restart();
    stage.start(chat);
    stage.answer(chat, "third");
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
    assert_eq!(stage.times_sealed(&parent), 1);
}

#[test]
fn n10_fifty_that_end_together_are_one_debrief() {
    let mut stage = Stage::slots(0);
    let (chat, parent) = stage.converse(task("chat"));
    stage.turn_runs(chat, "send fifty");
    let all: Vec<_> =
        (0..50).map(|n| stage.launch_running(task(&format!("c{n}")).by(chat))).collect();
    stage.answer(chat, "sent");
    for child in &all {
        stage.answer(*child, "done");
    }
    assert_eq!(stage.seal(&parent).notices.len(), 50);
    stage.start(chat);
    stage.answer(chat, "all fifty are done");
    assert_eq!(stage.times_sealed(&parent), 1);
}

#[test]
fn what_is_done_with_tasks_is_not_done_with_a_conversation() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat"));
    stage.turn(chat, "hello", "hi");
    for told in [stage.resume(chat, "more"), stage.retry(chat), stage.send(chat, "more")] {
        assert!(matches!(told, Told::Refused { code: Code::CannotPrompt, .. }), "{told:?}");
    }
    let plain = task("plain").caps(false, false).converses().into_spec();
    let id = homing_core::ids::TaskId::from_bits(999);
    let told = stage.ask(|request| homing_core::input::Input::Converse {
        request,
        id,
        spec: Box::new(plain),
    });
    assert!(matches!(told, Told::Refused { code: Code::Invalid, .. }), "{told:?}");
    assert!(matches!(stage.speak(id, "hi"), Told::Refused { code: Code::NotFound, .. }));
    // What others say of its turns is not asked for.
    stage.parent(&parent, ParentFact::TurnBegan { turn: "x".into() });
    stage.advance(MINUTE);
    assert_eq!(stage.turn(chat, "hello", "hi"), 2);
}

/// Three tasks of three turns end so far apart, while every debrief takes its time; how often each was told.
fn told_apart(run: u64, gaps: [u64; 2]) -> Vec<usize> {
    let mut stage = Stage::slots(0);
    let (chat, parent) = stage.converse(task("chat").origin(GROUP));
    let mut dice = run;
    let mut roll = |most: u64| {
        dice = homing_core::time::mix(dice.wrapping_add(1));
        dice % most
    };
    let children: Vec<_> = (0..3)
        .map(|n| {
            stage.turn_runs(chat, "go");
            let child = stage.launch_running(task(&format!("c{n}")).by(chat));
            stage.answer(chat, "sent");
            child
        })
        .collect();
    // When each ends, and when the turn that runs does.
    let begun = stage.now.tick + roll(3 * SECOND);
    let ends = [begun, begun + gaps[0], begun + gaps[0] + gaps[1]];
    let mut left: Vec<_> = children.iter().copied().zip(ends).collect();
    let mut turn_ends = None;
    while !left.is_empty() || turn_ends.is_some() || stage.wants_compose(&parent) {
        left.retain(|(child, at)| {
            let due = *at <= stage.now.tick;
            if due {
                stage.answer(*child, "done");
            }
            !due
        });
        if stage.wants_compose(&parent) {
            stage.seal(&parent);
        }
        if stage.state(chat) == State::Starting {
            stage.start(chat);
            turn_ends = Some(stage.now.tick + roll(7 * SECOND));
        }
        if turn_ends.is_some_and(|at| at <= stage.now.tick)
            && let Some(debrief) = stage.task(chat).turn.debrief
        {
            stage.answer(chat, "heard");
            stage.answered(debrief, "heard");
            turn_ends = None;
        }
        stage.advance(250);
    }
    children.iter().map(|child| stage.times_notice(*child, DeliveryState::Settled)).collect()
}

#[test]
fn n3_completions_5_s_1_s_and_0_s_apart_all_arrive_in_100_of_100_runs() {
    for run in 0..100 {
        for gaps in [[5 * SECOND, SECOND], [SECOND, 0], [0, 0], [5 * SECOND, 5 * SECOND]] {
            assert_eq!(told_apart(run, gaps), [1, 1, 1], "run {run}, {gaps:?}");
        }
    }
}

/// A conversation whose task has ended, with the debrief that is to tell of it.
fn owed(
    stage: &mut Stage,
    origin: Option<&str>,
) -> (homing_core::ids::TaskId, homing_core::ids::TaskId, homing_core::outbox::Debrief) {
    let launch = origin.map_or_else(|| task("chat"), |origin| task("chat").origin(origin));
    let (chat, parent) = stage.converse(launch);
    stage.turn_runs(chat, "go");
    let child = stage.launch_running(task("child").by(chat));
    stage.answer(chat, "sent");
    stage.answer(child, "done");
    let debrief = stage.seal(&parent);
    (chat, child, debrief)
}

fn fails(stage: &mut Stage, chat: homing_core::ids::TaskId) {
    stage.start(chat);
    stage.ended(chat, bad(error(homing_core::fact::ErrorClass::Auth)));
}

#[test]
fn g8_where_no_room_can_be_told_a_debrief_whose_turns_fail_rests_and_costs_nothing_more() {
    let mut stage = Stage::new();
    let (chat, child, debrief) = owed(&mut stage, None);
    let mut turns = 0;
    for _ in 0..1_000 {
        if stage.state(chat) == State::Starting {
            fails(&mut stage, chat);
            turns += 1;
        }
        stage.advance(30 * SECOND);
    }
    assert!(turns < 15, "{turns} turns in eight hours");
    assert_eq!(stage.notice_state(child), DeliveryState::Undeliverable);
    assert_eq!(stage.debrief(debrief.id).code, Some(Code::HandshakeFailed));
    let what = homing_core::input::Outgoing::Debrief(debrief.id);
    stage.ask(|request| homing_core::input::Input::Redrive { request, what });
    stage.start(chat);
    stage.answer(chat, "heard");
    assert_eq!(stage.notice_state(child), DeliveryState::Settled);
}

#[test]
fn g8_a_person_who_speaks_for_long_is_no_silence_of_the_parent() {
    let mut stage = Stage::new();
    let (chat, _, debrief) = owed(&mut stage, Some(GROUP));
    fails(&mut stage, chat);
    stage.turn_runs(chat, "let us talk");
    stage.advance(15 * MINUTE);
    stage.answer(chat, "yes");
    stage.start(chat);
    stage.answer(chat, "it is done");
    stage.answered(debrief.id, "it is done");
    let posted = stage.room();
    assert_eq!((posted.len(), posted[0].1.as_str()), (1, "it is done"), "{posted:?}");
}

#[test]
fn u4_what_was_read_while_its_debrief_waits_for_another_turn_is_not_told_again() {
    let mut stage = Stage::new();
    let (chat, child, debrief) = owed(&mut stage, None);
    fails(&mut stage, chat);
    stage.turn_runs(chat, "what came of it?");
    stage.ack_notice(child, 1);
    stage.answer(chat, "it is done");
    stage.advance(HOUR);
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
    assert_eq!(stage.task(chat).generation, 3, "no further turn");
}

#[test]
fn g7_an_answer_without_words_is_one_and_the_room_has_one_line_in_its_place() {
    for origin in [None, Some(GROUP)] {
        let mut stage = Stage::new();
        let (chat, child, debrief) = owed(&mut stage, origin);
        stage.start(chat);
        stage.answer(chat, "");
        assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
        stage.advance(HOUR);
        assert_eq!(stage.task(chat).generation, 2, "it was told, and is not told again");
        let line =
            format!("Background task done: child ({child}) [E_COMPLETION_TELEMETRY_FALLBACK]");
        let lines: Vec<String> = stage.room().into_iter().map(|(_, line)| line).collect();
        assert_eq!(lines, origin.map(|_| line).into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn u3_a_debrief_that_has_its_turn_again_waits_for_all_who_speak() {
    let mut stage = Stage::new();
    let (chat, _, debrief) = owed(&mut stage, None);
    fails(&mut stage, chat);
    stage.turn_runs(chat, "one");
    stage.speak(chat, "two");
    // Its time has come, and both could begin.
    stage.advance(HOUR);
    stage.answer(chat, "yes");
    stage.start(chat);
    assert_eq!(stage.prompt_of_turn(chat), "two", "a person goes first");
    stage.answer(chat, "yes");
    stage.start(chat);
    assert_eq!(stage.task(chat).turn.kind, homing_core::words::TurnKind::Debrief);
    stage.answer(chat, "it is done");
    assert_eq!(stage.debrief_state(debrief.id), DeliveryState::Settled);
}

#[test]
fn whoever_names_the_carrying_task_as_parent_means_the_conversation() {
    let mut stage = Stage::new();
    let (chat, parent) = stage.converse(task("chat"));
    stage.turn_runs(chat, "go");
    let child = stage.launch_running(task("child").parent(&format!("task:{chat}")));
    assert_eq!(stage.task(child).parent.to_string(), parent);
    stage.answer(child, "done");
    stage.answer(chat, "sent");
    assert_eq!(stage.state(chat), State::Completed, "the turn waits for nobody");
    assert_eq!(stage.seal(&parent).notices, [(child, 1)]);
}

#[test]
fn g9_an_answer_that_is_on_its_way_to_the_room_is_not_doubled_by_a_line_when_it_closes() {
    let mut stage = Stage::new();
    let (chat, _, debrief) = owed(&mut stage, Some(GROUP));
    stage.start(chat);
    stage.answer(chat, "it is done");
    assert!(stage.wants_deliver(debrief.id));
    stage.close(chat);
    stage.answered(debrief.id, "it is done");
    assert_eq!(stage.room().len(), 1, "{:?}", stage.room());
}
