//! Truth of completion: scenarios T.

mod stage;

use homing_core::effect::EffectKey;
use homing_core::fact::{
    AskKind, End, ErrorClass, Fact, Fence, Finish, Picture, Presence, TurnRecord,
};
use homing_core::ids::TaskId;
use homing_core::payload::Payload;
use homing_core::record::TaskRecord;
use homing_core::reply::Told;
use homing_core::spec::Overrides;
use homing_core::words::{Cause, Notify, State, Tri, TurnKind};
use stage::host::{ask, bad, call, error, good, open_picture};
use stage::launch::task;
use stage::{HOUR, MINUTE, SECOND, Stage};

/// The session is not listed, and nothing else is known.
fn unlisted() -> Picture {
    Picture {
        busy: Tri::Unknown,
        session: Presence::Missing,
        same_host: Tri::Unknown,
        asks: None,
        ..open_picture()
    }
}

fn ended_picture(end: End) -> Picture {
    Picture { turn: TurnRecord::Ended(end), busy: Tri::No, ..open_picture() }
}

fn running() -> (Stage, TaskId) {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a"));
    stage.advance(SECOND);
    (stage, id)
}

#[test]
fn t1_a_final_answer_completes_though_the_session_is_no_longer_listed() {
    let (mut stage, a) = running();
    stage.looked(a, Picture { turn: TurnRecord::Ended(good("42")), ..unlisted() });
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert_eq!(stage.result(a).as_deref(), Some("42"));
}

#[test]
fn t2_one_listing_without_the_child_ends_nothing_while_its_tool_runs() {
    let (mut stage, a) = running();
    stage.tool_began(a, 1, "bash", Some(1));
    stage.looked(a, Picture { calls: vec![call(1, "bash", Some(1))], ..unlisted() });
    assert_eq!(stage.state(a), State::Running);
    stage.advance(5 * SECOND);
    assert!(stage.wants_look(a), "it is looked for again");
    stage.looked(a, Picture { calls: vec![call(1, "bash", Some(1))], ..open_picture() });
    stage.advance(10 * MINUTE);
    assert_eq!(
        stage.state(a),
        State::Running,
        "it was seen again: the count of its absence is over"
    );
    stage.tool_ended(a, 1);
    stage.answer(a, "done");
    assert_eq!(stage.state(a), State::Completed);
}

#[test]
fn t2_looks_that_fail_do_not_confirm_an_absence() {
    let (mut stage, a) = running();
    stage.looked(a, unlisted());
    for _ in 0..100 {
        stage.advance(5 * SECOND);
        stage.look_failed(a);
    }
    assert_eq!(stage.state(a), State::Running);
    stage.observe(a, Fact::Active);
    stage.looked(a, unlisted());
    assert_eq!(stage.state(a), State::Running, "what moves is there: the count begins anew");
}

#[test]
fn t3_messages_that_cannot_be_read_complete_nothing_and_are_asked_for_again() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::EndHint);
    stage.looked(a, Picture { turn: TurnRecord::Unreadable, busy: Tri::No, ..open_picture() });
    assert_eq!(stage.state(a), State::Running);
    assert_eq!(stage.task(a).evidence.doubt.word(), "unreadable", "it says what is unknown");
    stage.advance(5 * SECOND);
    assert!(stage.wants_look(a));
    stage.looked(a, ended_picture(good("42")));
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
}

#[test]
fn t4_a_prompt_alone_is_no_answer_however_idle_the_session_is() {
    let (mut stage, a) = running();
    for _ in 0..20 {
        stage.observe(a, Fact::EndHint);
        stage.looked(a, Picture { busy: Tri::No, ..open_picture() });
        stage.advance(MINUTE);
        assert_eq!(stage.state(a), State::Running);
    }
    stage.advance(2 * HOUR);
    assert_eq!((stage.state(a), stage.cause(a)), (State::Lost, Some(Cause::AbortUnconfirmed)));
    assert_eq!(stage.path(a).last_chunk::<2>(), Some(&[State::Stopping, State::Lost]));
}

#[test]
fn t5_interrupted_by_a_person_is_no_success() {
    let (mut stage, a) = running();
    stage.ended(a, End { finish: Finish::Cancelled, ..good("half an ans") });
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Interrupted)));
    assert_eq!(stage.result(a).as_deref(), Some("half an ans"));
    assert_eq!(stage.times_told(a), 1);
}

#[test]
fn t6_a_status_word_never_seen_before_is_no_success() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::OddWord { word: "meditating".into() });
    assert_eq!(stage.state(a), State::Running);
    assert!(stage.wants_look(a), "a reason to look");
    stage.looked(a, ended_picture(End { finish: Finish::Unknown, ..good("42") }));
    assert_eq!(stage.state(a), State::Running, "an unknown finish is no end");
    stage.ended(a, End { finish: Finish::Unknown, ..good("42") });
    assert_eq!((stage.state(a), stage.task(a).evidence.end), (State::Running, None));
    stage.advance(10 * MINUTE);
    assert_eq!(stage.state(a), State::Running);
    stage.answer(a, "42");
    assert_eq!(stage.state(a), State::Completed);
}

#[test]
fn t7_nothing_said_and_nothing_done_is_failed_as_empty() {
    for text in [None, Some(""), Some(" \n\t ")] {
        let (mut stage, a) = running();
        stage.observe(a, Fact::Active);
        stage.ended(a, End { text: text.map(Payload::from), ..good("") });
        assert_eq!(stage.end(a), (State::Failed, Some(Cause::Empty)), "{text:?}");
        assert_eq!(stage.times_told(a), 1);
    }
}

#[test]
fn t7_tools_and_a_clean_end_without_text_is_completed_and_flagged() {
    let (mut stage, a) = running();
    stage.tool_began(a, 1, "write", Some(1));
    stage.tool_ended(a, 1);
    stage.ended(a, good(""));
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::NoText)));
    assert!(stage.task(a).flagged);
    let (mut stage, b) = running();
    stage.ended(b, End { tools_ran: true, text: None, ..good("") });
    assert_eq!(
        stage.end(b),
        (State::Completed, Some(Cause::NoText)),
        "as the host's record has it"
    );
    assert!(stage.task(b).flagged);
}

#[test]
fn t8_an_error_after_partial_text_is_failed_and_the_text_is_kept() {
    let (mut stage, a) = running();
    stage.ended(a, End { text: Some(Payload::from("so far")), ..bad(error(ErrorClass::Other)) });
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Error)));
    assert_eq!(stage.result(a).as_deref(), Some("so far"));
    assert_eq!(stage.task(a).error.as_deref(), Some(&error(ErrorClass::Other)));
}

#[test]
fn t9_a_child_with_living_children_of_its_own_is_not_complete() {
    let (mut stage, a) = running();
    let b = stage.launch_running(task("b").by(a));
    let c = stage.launch_running(task("c").by(b));
    stage.answer(b, "waiting");
    stage.answer(a, "waiting too");
    assert_eq!(
        stage.states(&[a, b, c]),
        [State::WaitingChildren, State::WaitingChildren, State::Running]
    );
    stage.advance(3 * HOUR / 4);
    stage.answer(c, "deep result");
    assert_eq!(stage.states(&[a, b]), [State::WaitingChildren; 2], "settled, but not taken");
    let taken = stage.compose();
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].notices, [(c, 1)]);
    assert_eq!((stage.state(b), stage.task(b).turn.kind), (State::Running, TurnKind::Debrief));
    stage.prompt_taken(b);
    stage.answer(b, "b with c");
    assert_eq!(stage.end(b), (State::Completed, Some(Cause::Answered)));
    assert!(stage.notices(c).is_empty(), "the turn that answered it is its receipt");
    assert_eq!(stage.state(a), State::WaitingChildren);
    stage.compose();
    stage.prompt_taken(a);
    assert_eq!(stage.state(a), State::Running);
    stage.answer(a, "a with b");
    assert_eq!(stage.result(a).as_deref(), Some("a with b"));
    assert_eq!(stage.states(&[a, b, c]), [State::Completed; 3]);
    stage.assert_at_rest();
}

#[test]
fn t9_results_taken_by_a_read_in_its_own_turn_need_no_further_turn() {
    let (mut stage, a) = running();
    let b = stage.launch_running(task("b").by(a));
    stage.answer(b, "found");
    stage.ack_notice(b, 1);
    stage.answer(a, "done");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert_eq!(stage.task(a).turn.n, 1);
}

#[test]
fn t9_an_exited_process_waits_for_its_descendants_and_ends_by_its_exit_alone() {
    let mut stage = Stage::new();
    let top = stage.launch_running(task("top"));
    let a = stage.launch_running(task("a").process().by(top));
    let b = stage.launch_running(task("b").by(a));
    stage.exited(a, 0, "bye");
    assert_eq!(stage.state(a), State::WaitingChildren);
    stage.answer(b, "found");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Exited)));
    let owed: Vec<_> = stage.notices(b).iter().map(|notice| notice.to.to_string()).collect();
    assert_eq!(
        owed,
        [format!("task:{top}")],
        "what it did not read goes to the nearest living above"
    );
}

#[test]
fn t9_a_process_that_takes_prompts_is_not_prompted_after_its_exit() {
    let (mut stage, a) = running();
    let [b, c] = ["b", "c"].map(|name| stage.launch_running(task(name).by(a).notify(Notify::Each)));
    stage.exited(a, 3, "bye");
    assert_eq!(stage.state(a), State::WaitingChildren, "whatever its exit was");
    stage.answer(b, "found");
    assert_eq!(stage.state(a), State::WaitingChildren);
    assert!(!stage.wants_compose(&format!("task:{a}")));
    stage.answer(c, "found");
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Exited)));
}

#[test]
fn t10_an_open_to_do_after_the_answer_delays_it_for_a_bounded_time() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Todos { open: 1 });
    stage.answer(a, "done, but for one");
    assert_eq!(stage.state(a), State::Running);
    stage.advance(29 * SECOND);
    assert_eq!(stage.state(a), State::Running);
    stage.advance(SECOND);
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert!(stage.task(a).flagged);
    assert_eq!(stage.result(a).as_deref(), Some("done, but for one"));
}

#[test]
fn t10_a_to_do_that_is_closed_meanwhile_flags_nothing() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Todos { open: 1 });
    stage.answer(a, "done");
    stage.observe(a, Fact::Todos { open: 0 });
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert!(!stage.task(a).flagged);
}

#[test]
fn t10_an_answer_with_a_to_do_before_the_prompt_was_confirmed_waits_as_long() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a"));
    stage.session_made(a);
    stage.looked(a, Picture { todos: Some(2), ..ended_picture(good("quick")) });
    assert_eq!(stage.state(a), State::Running);
    stage.advance(30 * SECOND);
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert!(stage.task(a).flagged);
}

#[test]
fn t10_a_to_do_does_not_hurry_an_end_that_something_contradicts() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Todos { open: 1 });
    stage.tool_began(a, 1, "bash", Some(1));
    stage.answer(a, "almost");
    for _ in 0..4 {
        stage.advance(10 * SECOND);
        if stage.wants_look(a) {
            stage.look_failed(a);
        }
    }
    assert_eq!(stage.state(a), State::Running);
    stage.tool_ended(a, 1);
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert!(stage.task(a).flagged);
}

#[test]
fn t10_an_open_to_do_keeps_no_slot_from_descendants() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let b = stage.launch(task("b").by(a).notify(Notify::Silent));
    stage.observe(a, Fact::Todos { open: 1 });
    stage.answer(a, "b does the rest");
    assert_eq!(stage.states(&[a, b]), [State::WaitingChildren, State::Starting]);
    stage.start(b);
    stage.answer(b, "done");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert!(stage.task(a).flagged);
}

#[test]
fn t11_a_quick_answer_completes_at_once_and_once() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a"));
    stage.session_made(a);
    stage.answer(a, "4");
    assert_eq!(stage.path(a), [State::Queued, State::Starting, State::Completed]);
    stage.observe(a, Fact::PromptTaken);
    stage.answer(a, "4");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert_eq!((stage.times_told(a), stage.task(a).telemetry.len()), (1, 1));
    stage.assert_at_rest();
}

#[test]
fn t12_a_host_that_cannot_be_asked_completes_nothing() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::EndHint);
    for _ in 0..12 {
        assert!(stage.wants_look(a));
        stage.look_failed(a);
        assert_eq!(stage.state(a), State::Running);
        while !stage.wants_look(a) {
            stage.advance(5 * SECOND);
        }
    }
    assert_eq!(stage.task(a).evidence.doubt.word(), "look_failed");
    stage.looked(a, ended_picture(good("42")));
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
}

#[test]
fn t12_a_host_that_says_nothing_is_asked_again() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::EndHint);
    stage.advance(2 * SECOND);
    assert!(!stage.wants_look(a), "given up on");
    assert_eq!(stage.state(a), State::Running);
    stage.observe(a, Fact::EndHint);
    assert!(stage.wants_look(a));
    stage.looked(a, ended_picture(good("42")));
    assert_eq!(stage.state(a), State::Completed);
}

#[test]
fn t13_a_session_gone_for_good_is_lost_and_told() {
    let (mut stage, a) = running();
    let mut looks = 0;
    stage.observe(a, Fact::EndHint);
    while stage.state(a) == State::Running {
        if stage.wants_look(a) {
            stage.looked(a, Picture { turn: TurnRecord::Absent, ..unlisted() });
            looks += 1;
        }
        stage.advance(SECOND);
        assert!(looks < 100);
    }
    assert!(looks > 2, "confirmed over a minute, not by one look");
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::SessionDeleted)));
    assert_eq!(stage.times_told(a), 1);
    assert_eq!(stage.held(), 0);
}

#[test]
fn t13_a_session_that_the_host_says_is_deleted_is_lost_at_once() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::SessionDeleted);
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::SessionDeleted)));
    let (mut stage, b) = running();
    stage.observe(b, Fact::HostGone { why: "left".into() });
    assert_eq!(stage.end(b), (State::Lost, Some(Cause::HostGone)));
    assert_eq!(stage.times_told(b), 1);
}

#[test]
fn t14_a_passing_error_and_then_an_answer_is_completed() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::ErrorHint { error: error(ErrorClass::Transient) });
    assert_eq!(stage.state(a), State::Running);
    assert!(stage.wants_look(a));
    stage.looked(a, open_picture());
    stage.observe(a, Fact::ProviderWait { error: error(ErrorClass::Transient) });
    stage.observe(a, Fact::Active);
    stage.answer(a, "after all");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert_eq!(stage.task(a).attempt, 1);
    assert_eq!(stage.task(a).error, None);
}

#[test]
fn t15_a_fatal_provider_error_fails_at_once() {
    let (mut stage, a) = running();
    stage.ended(a, bad(error(ErrorClass::Auth)));
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Error)));
    assert_eq!(stage.task(a).error.as_deref().map(|known| known.class), Some(ErrorClass::Auth));
    assert_eq!((stage.held(), stage.times_told(a)), (0, 1));
}

#[test]
fn t16_an_event_after_the_end_changes_nothing_and_is_kept_as_stale() {
    let (mut stage, a) = running();
    stage.answer(a, "42");
    let before = stage.task(a);
    let late = [
        Fact::Ended { end: bad(error(ErrorClass::Other)) },
        Fact::Ended { end: good("43") },
        Fact::ToolBegan { call: call(9, "bash", Some(9)) },
        Fact::SessionDeleted,
        Fact::EndHint,
    ];
    let many = late.len();
    for fact in late {
        stage.observe(a, fact);
    }
    let after = stage.task(a);
    assert_eq!(
        (after.state, after.cause, after.result),
        (before.state, before.cause, before.result)
    );
    assert_eq!(after.evidence, before.evidence);
    assert_eq!(stage.count(a, "stale"), many);
    assert_eq!(after.seq, before.seq + many as u64, "nothing else was written");
    assert_eq!(stage.times_told(a), 1);
}

#[test]
fn t17_an_event_of_a_superseded_attempt_changes_nothing_and_is_kept_as_stale() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a").models(&["p/a", "p/b"]));
    let old = stage.task(a).fence();
    stage.ended(a, bad(error(ErrorClass::RateLimited)));
    stage.stopped(a);
    stage.start(a);
    assert_eq!(stage.task(a).attempt, 2);
    let seen = stage.count(a, "seen");
    stage.observe_at(a, old, Fact::Ended { end: good("of the old one") });
    stage.observe_at(a, Fence { attempt: 1, turn: 0 }, Fact::SessionDeleted);
    stage.observe_at(a, Fence { attempt: 3, turn: 1 }, Fact::Ended { end: good("of the future") });
    assert_eq!(stage.state(a), State::Running);
    assert_eq!((stage.count(a, "stale"), stage.count(a, "seen")), (3, seen));
    stage.answer(a, "of the new one");
    assert_eq!(stage.result(a).as_deref(), Some("of the new one"));
}

#[test]
fn t17_an_event_of_an_earlier_turn_of_the_same_attempt_is_stale() {
    let (mut stage, a) = running();
    let first = stage.task(a).fence();
    stage.send(a, "and another thing");
    stage.answer(a, "first");
    assert_eq!((stage.state(a), stage.task(a).turn.kind), (State::Running, TurnKind::Send));
    stage.prompt_taken(a);
    let unnamed = Fence { turn: 0, ..first };
    for fence in [first, unnamed] {
        stage.observe_at(a, fence, Fact::Ended { end: good("first") });
    }
    assert_eq!(stage.state(a), State::Running, "an end that names no turn is of none");
    assert_eq!(stage.count(a, "stale"), 2);
    stage.answer(a, "second");
    assert_eq!(stage.result(a).as_deref(), Some("second"));
}

#[test]
fn t18_cut_short_refused_or_cancelled_is_no_plain_success() {
    let cases = [
        (Finish::Length, Cause::Truncated),
        (Finish::Refusal, Cause::Refused),
        (Finish::Cancelled, Cause::Interrupted),
    ];
    for (finish, cause) in cases {
        let (mut stage, a) = running();
        stage.ended(a, End { finish, ..good("this much") });
        assert_eq!(stage.end(a), (State::Failed, Some(cause)));
        assert_eq!(stage.result(a).as_deref(), Some("this much"));
    }
}

#[test]
fn t18_a_finish_that_calls_tools_is_no_end() {
    let (mut stage, a) = running();
    stage.ended(a, End { finish: Finish::ToolCalls, ..good("let me see") });
    assert_eq!(stage.state(a), State::Running);
    stage.answer(a, "seen");
    assert_eq!(stage.result(a).as_deref(), Some("seen"));
}

#[test]
fn t19_text_that_arrives_just_after_the_end_was_reported_is_in_the_result() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::EndHint);
    assert_eq!(stage.state(a), State::Running, "an end word is a reason to look, not an end");
    stage.observe(a, Fact::Active);
    stage.looked(a, ended_picture(good("the whole text")));
    assert_eq!(stage.result(a).as_deref(), Some("the whole text"));
}

#[test]
fn t19_a_record_that_is_read_again_while_something_contradicts_replaces_the_first() {
    let (mut stage, a) = running();
    stage.tool_began(a, 1, "bash", Some(1));
    stage.answer(a, "the wh");
    assert_eq!(stage.state(a), State::Running);
    assert!(stage.wants_look(a));
    stage.looked(a, ended_picture(good("the whole text")));
    assert_eq!(stage.result(a).as_deref(), Some("the whole text"));
}

#[test]
fn t20_words_that_promise_more_are_not_evidence() {
    for words in ["I will continue shortly.", "Ich mache gleich weiter …", "続きます", "DONE"]
    {
        let (mut stage, a) = running();
        stage.observe(a, Fact::Active);
        assert_eq!(stage.state(a), State::Running);
        stage.answer(a, words);
        assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)), "{words}");
    }
    let (mut stage, a) = running();
    stage.tool_began(a, 1, "bash", Some(1));
    stage.answer(a, "DONE. All finished.");
    assert_eq!(stage.state(a), State::Running, "a running tool contradicts, whatever is said");
}

#[test]
fn t20_a_busy_session_or_an_open_ask_contradicts_an_end() {
    let (mut stage, a) = running();
    stage.looked(a, Picture { busy: Tri::Yes, ..ended_picture(good("42")) });
    assert_eq!(stage.state(a), State::Running);
    stage.advance(5 * SECOND);
    assert!(stage.wants_look(a));
    stage.looked(a, ended_picture(good("42")));
    assert_eq!(stage.state(a), State::Completed);
    let (mut stage, b) = running();
    stage.asks_permission(b, "k");
    stage.answer(b, "42");
    assert_eq!(stage.state(b), State::WaitingAsk);
    assert!(stage.wants_look(b));
    stage.looked(
        b,
        Picture { asks: Some(vec![ask("k", AskKind::Permission)]), ..ended_picture(good("42")) },
    );
    assert_eq!(stage.state(b), State::WaitingAsk);
    stage.advance(5 * SECOND);
    stage.looked(b, ended_picture(good("42")));
    assert_eq!(stage.end(b), (State::Completed, Some(Cause::Answered)));
}

#[test]
fn t21_a_read_of_an_old_observation_asks_the_host_first() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Active);
    let fresh = stage.read(a);
    let as_of = stage.now.tick;
    assert_eq!(stage.told(fresh), Some(&Told::ReadNow { task: a, as_of, fresh: true }));
    assert!(!stage.wants_look(a));
    stage.advance(SECOND);
    let [one, two] = [stage.read(a), stage.read(a)];
    assert!(stage.told(one).is_none() && stage.wants_look(a));
    assert_eq!(stage.times_wished(&EffectKey::Look(a, 1)), 1, "one flight for both");
    stage.looked(a, ended_picture(good("42")));
    let as_of = stage.now.tick;
    for request in [one, two] {
        assert_eq!(stage.told(request), Some(&Told::ReadNow { task: a, as_of, fresh: true }));
    }
    assert_eq!(stage.state(a), State::Completed, "the read finds it ended");
}

#[test]
fn t21_a_host_that_does_not_answer_a_read_in_time_is_said_to_be_silent() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Active);
    let seen = stage.now.tick;
    stage.advance(MINUTE);
    let read = stage.read(a);
    stage.advance(2 * SECOND);
    assert_eq!(stage.told(read), Some(&Told::ReadNow { task: a, as_of: seen, fresh: false }));
    assert_eq!(stage.state(a), State::Running);
}

#[test]
fn t22_compaction_is_not_the_end() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Compacted);
    stage.observe(a, Fact::EndHint);
    stage.looked(a, open_picture());
    assert_eq!(stage.state(a), State::Running);
    stage.answer(a, "intact");
    assert_eq!(stage.result(a).as_deref(), Some("intact"));
}

#[test]
fn t23_a_host_restarted_in_mid_turn_leaves_it_interrupted_and_never_completed() {
    let (mut stage, a) = running();
    stage.tool_began(a, 1, "bash", Some(1));
    stage.looked(a, Picture { busy: Tri::No, same_host: Tri::No, ..open_picture() });
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Interrupted)));
    assert_eq!(stage.times_told(a), 1);
}

#[test]
fn t23_an_interrupted_turn_is_tried_again_where_policy_says_so() {
    let mut stage = Stage::new();
    let over = Overrides { retry_interrupted: Some(1), ..Overrides::default() };
    let a = stage.launch_running(task("a").over(over));
    let session = stage.task(a).session;
    stage.observe(a, Fact::Interrupted { why: "the server restarted".into() });
    assert_eq!((stage.state(a), stage.task(a).attempt), (State::Starting, 2));
    assert_eq!((stage.task(a).session, stage.task(a).turn.kind), (session, TurnKind::GoOn));
    stage.start(a);
    stage.observe(a, Fact::Interrupted { why: "again".into() });
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Interrupted)));
    assert_eq!(stage.task(a).attempt, 2);
}

#[test]
fn t25_one_end_told_three_ways_is_one_transition_and_one_notice() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::EndHint);
    let fence = stage.task(a).fence();
    let ways = [
        Fact::Ended { end: good("42") },
        Fact::Looked { picture: ended_picture(good("42")) },
        Fact::Ended { end: good("42") },
    ];
    for fact in ways {
        stage.observe_at(a, fence, fact);
    }
    let ends =
        |record: &&TaskRecord| matches!(record, TaskRecord::Moved { to, .. } if to.is_terminal());
    assert_eq!(stage.records(a).filter(ends).count(), 1);
    assert_eq!((stage.times_told(a), stage.notices(a).len()), (1, 1));
    assert_eq!(stage.late(a), None);
}

#[test]
fn t25_the_order_of_the_same_facts_does_not_change_the_end() {
    let facts = [
        Fact::PromptTaken,
        Fact::ToolBegan { call: call(1, "bash", Some(1)) },
        Fact::ToolEnded { id: 1 },
        Fact::Looked { picture: ended_picture(good("42")) },
    ];
    for turn in 0..facts.len() {
        let mut stage = Stage::new();
        let a = stage.launch(task("a"));
        stage.session_made(a);
        let fence = stage.task(a).fence();
        for n in 0..facts.len() {
            stage.observe_at(a, fence, facts[(turn + n) % facts.len()].clone());
        }
        stage.looked(a, ended_picture(good("42")));
        assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)), "begun with {turn}");
        assert_eq!(stage.times_told(a), 1);
    }
}

#[test]
fn t25_a_reply_to_the_prompt_that_is_late_or_cut_off_undoes_nothing() {
    for late in [Fact::PromptTaken, Fact::PromptUnsure { why: "cut off".into() }] {
        let (mut stage, a) = running();
        let b = stage.launch_running(task("b").by(a).notify(Notify::Silent));
        stage.answer(a, "waiting");
        stage.observe(a, late);
        stage.launch(task("c"));
        assert_eq!(stage.state(a), State::WaitingChildren, "its turn has ended and stays so");
        assert!(!stage.wants_prompt(a));
        stage.answer(b, "done");
        assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    }
}

#[test]
fn activity_is_written_down_at_most_every_five_seconds_however_often_it_is_seen() {
    let (mut stage, a) = running();
    let written = |stage: &Stage| {
        let active =
            |record: &&TaskRecord| matches!(record, TaskRecord::Seen { fact: Fact::Active, .. });
        stage.records(a).filter(active).count()
    };
    let before = written(&stage);
    for _ in 0..600 {
        stage.observe(a, Fact::Active);
        stage.advance(SECOND / 10);
    }
    let lines = written(&stage) - before;
    assert!((10..=12).contains(&lines), "{lines} lines of 600 in a minute");
    assert_eq!(stage.state(a), State::Running);
}
