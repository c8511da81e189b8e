//! Breakers, time, budgets: scenarios B.

mod stage;

use homing_core::effect::EffectKey;
use homing_core::fact::{Call, ErrorClass, Fact, HostError, Picture, Presence, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::limits::Limits;
use homing_core::reason::Reason;
use homing_core::reply::Told;
use homing_core::spec::{Budget, Overrides};
use homing_core::task::Answer;
use homing_core::words::{Cause, Code, State, Tri, TurnKind};
use stage::host::{bad, call, error, good, open_picture, spent};
use stage::launch::task;
use stage::{HOUR, MINUTE, SECOND, Stage, refused};

fn running() -> (Stage, TaskId) {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a"));
    stage.advance(SECOND);
    (stage, id)
}

/// The host has neither the session nor the prompt.
fn absent() -> Picture {
    Picture {
        session: Presence::Missing,
        turn: TurnRecord::Absent,
        busy: Tri::No,
        ..open_picture()
    }
}

/// One real call as a host streams it: pending, running, completed.
fn one_call(stage: &mut Stage, id: TaskId, call: &Call) {
    stage.observe(id, Fact::ToolBegan { call: call.clone() });
    stage.observe(id, Fact::ToolBegan { call: call.clone() });
    stage.observe(id, Fact::ToolEnded { id: call.id });
}

#[test]
fn b1_twenty_identical_calls_trip_the_breaker() {
    let (mut stage, a) = running();
    for n in 1..=19 {
        one_call(&mut stage, a, &call(n, "read", Some(7)));
        assert_eq!(stage.state(a), State::Running, "after {n} calls");
    }
    stage.tool_began(a, 20, "read", Some(7));
    assert_eq!((stage.state(a), stage.cause(a)), (State::Stopping, Some(Cause::Breaker)));
    assert!(stage.wants_abort(a), "the child is aborted");
    assert_eq!(stage.times_told(a), 0, "not before it stopped");
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Breaker)));
    let reason = Reason::SameCalls { tool: "read".into(), times: 20 };
    assert_eq!(stage.task(a).reason, Some(reason));
    assert_eq!(stage.times_told(a), 1);
}

#[test]
fn b1_too_many_calls_in_all_trip_it_too() {
    let mut stage = Stage::with(Limits { all_calls: 30, ..Limits::default() });
    let a = stage.launch_running(task("a"));
    for n in 1..=29 {
        one_call(&mut stage, a, &call(n, "read", Some(n)));
    }
    assert_eq!(stage.state(a), State::Running);
    one_call(&mut stage, a, &call(30, "read", Some(30)));
    assert_eq!((stage.state(a), stage.cause(a)), (State::Stopping, Some(Cause::Breaker)));
}

#[test]
fn b1_the_breaker_begins_anew_with_a_resume() {
    let mut stage = Stage::new();
    let over = Overrides { same_calls: Some(2), ..Overrides::default() };
    let a = stage.launch_running(task("a").over(over));
    one_call(&mut stage, a, &call(1, "read", Some(7)));
    one_call(&mut stage, a, &call(2, "read", Some(7)));
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Breaker)));
    stage.resume(a, "another way");
    stage.start(a);
    one_call(&mut stage, a, &call(3, "read", Some(7)));
    assert_eq!(stage.state(a), State::Running);
}

#[test]
fn b2_twenty_different_inputs_do_not_trip() {
    let (mut stage, a) = running();
    for n in 1..=200 {
        one_call(&mut stage, a, &call(n, "read", Some(n)));
    }
    assert_eq!(stage.state(a), State::Running);
    for n in 201..=400 {
        one_call(&mut stage, a, &call(n, "read", None));
    }
    assert_eq!(stage.state(a), State::Running, "unknown inputs never count as equal");
    for n in 401..=420 {
        one_call(&mut stage, a, &call(n, "read", if n == 410 { None } else { Some(7) }));
    }
    assert_eq!(stage.state(a), State::Running, "consecutive means consecutive");
    stage.answer(a, "done");
    assert_eq!(stage.state(a), State::Completed);
}

#[test]
fn b3_one_call_in_three_events_counts_once() {
    let (mut stage, a) = running();
    for _ in 0..30 {
        one_call(&mut stage, a, &call(1, "read", Some(7)));
    }
    assert_eq!(stage.state(a), State::Running);
    let known = stage.task(a);
    assert_eq!((known.breaker.all, known.breaker.same, known.spent.calls), (1, 1, 1));
}

#[test]
fn b4_age_alone_ends_nobody() {
    let (mut stage, a) = running();
    for _ in 0..(5 * 60) {
        stage.advance(MINUTE);
        stage.observe(a, Fact::Active);
    }
    assert_eq!(stage.state(a), State::Running);
    assert_eq!(stage.times_wished(&EffectKey::Look(a, 1)), 0, "it is active: nobody needs to ask");
}

#[test]
fn b5_busy_and_silent_beyond_the_limit_is_asked_about_first_then_ended_and_told() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Active);
    stage.advance(45 * MINUTE - 1);
    assert!(!stage.wants_look(a));
    stage.advance(1);
    assert_eq!(stage.state(a), State::Running, "a deadline never ends a task by itself");
    assert!(stage.wants_look(a));
    stage.shows_nothing_new(a);
    assert_eq!((stage.state(a), stage.cause(a)), (State::Stopping, Some(Cause::Stale)));
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::TimedOut, Some(Cause::Stale)));
    assert_eq!((stage.times_told(a), stage.held()), (1, 0));
}

#[test]
fn b5_a_plain_process_may_be_silent_unless_its_launch_says_otherwise() {
    let mut stage = Stage::new();
    let quiet = stage.launch_running(task("quiet").process());
    let over =
        Overrides { quiet_ms: Some(MINUTE), never_active_ms: Some(MINUTE), ..Default::default() };
    let watched = stage.launch_running(task("watched").process().over(over));
    stage.advance(MINUTE);
    assert!(stage.wants_look(watched));
    stage.shows_nothing_new(watched);
    assert_eq!(stage.state(watched), State::Stopping);
    stage.advance(100 * HOUR);
    assert_eq!(stage.state(quiet), State::Running);
}

#[test]
fn b5_a_host_that_cannot_be_asked_does_not_keep_a_deadline_for_ever() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Active);
    stage.advance(45 * MINUTE + 30 * SECOND);
    assert_eq!(stage.state(a), State::Running, "a look that failed proves nothing");
    stage.advance(10 * MINUTE);
    assert_eq!(stage.path(a).last_chunk::<2>(), Some(&[State::Stopping, State::Lost]));
    assert_eq!(stage.times_told(a), 1);
}

#[test]
fn b5_a_child_that_was_never_active_has_an_hour() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a"));
    stage.advance(SECOND);
    stage.start(a);
    stage.advance(HOUR - SECOND);
    assert!(!stage.wants_look(a), "that the host has the prompt is no activity of the agent");
    assert_eq!(stage.state(a), State::Running);
    stage.advance(SECOND);
    stage.shows_nothing_new(a);
    assert_eq!((stage.state(a), stage.cause(a)), (State::Stopping, Some(Cause::NeverActive)));
}

#[test]
fn b5_an_end_that_was_missed_is_found_by_the_look_before_the_deadline_counts() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Active);
    stage.advance(45 * MINUTE);
    stage.looked(
        a,
        Picture { turn: TurnRecord::Ended(good("long ago")), busy: Tri::No, ..open_picture() },
    );
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
}

#[test]
fn b5_the_stale_clock_stands_still_while_an_ask_is_open() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Active);
    stage.asks_permission(a, "k");
    stage.advance(5 * HOUR);
    assert_eq!(stage.state(a), State::WaitingAsk);
    let ask = stage.open_ask(a);
    stage.answer_ask(ask, Answer::Allow, homing_core::reason::Caller::Person);
    assert_eq!(stage.state(a), State::Running);
    stage.advance(44 * MINUTE);
    assert_eq!(stage.state(a), State::Running, "it has its full time again");
    assert!(!stage.wants_look(a));
    stage.advance(MINUTE);
    assert!(stage.wants_look(a));
}

#[test]
fn b5_waiting_for_a_slot_is_no_silence() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let b = stage.launch(task("b").by(a));
    stage.answer(a, "I wait");
    let other = stage.launch(task("other"));
    stage.start(b);
    stage.answer(b, "found");
    stage.start(other);
    stage.compose();
    for _ in 0..5 {
        stage.advance(HOUR / 2);
        stage.observe(other, Fact::Active);
    }
    assert_eq!(stage.state(a), State::WaitingChildren);
    stage.answer(other, "done");
    assert_eq!(stage.state(a), State::Running);
    stage.prompt_taken(a);
    stage.advance(44 * MINUTE);
    assert_eq!(stage.state(a), State::Running);
    assert!(!stage.wants_look(a));
}

#[test]
fn b6_a_timeout_aborts_the_child_too() {
    let mut stage = Stage::new();
    let over = Overrides { timeout_ms: Some(10 * MINUTE), ..Overrides::default() };
    let a = stage.launch_running(task("a").over(over));
    let b = stage.launch_running(task("b").by(a));
    for _ in 0..9 {
        stage.advance(MINUTE);
        stage.observe(a, Fact::Active);
    }
    assert_eq!(stage.state(a), State::Running);
    stage.advance(MINUTE);
    stage.shows_nothing_new(a);
    assert_eq!((stage.state(a), stage.cause(a)), (State::Stopping, Some(Cause::Timeout)));
    assert!(stage.wants_abort(a));
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::TimedOut, Some(Cause::Timeout)));
    assert_eq!((stage.state(b), stage.cause(b)), (State::Stopping, Some(Cause::ParentEnded)));
    assert!(stage.wants_abort(b), "what it launched is ended with it");
    stage.stopped(b);
    assert_eq!(stage.end(b), (State::Cancelled, Some(Cause::ParentEnded)));
}

#[test]
fn b7_session_gone_and_abort_failing_it_is_finalised_all_the_same() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Active);
    stage.advance(45 * MINUTE);
    stage.shows_nothing_new(a);
    assert_eq!(stage.state(a), State::Stopping);
    stage.observe(a, Fact::StopRefused { why: "no such session".into() });
    assert_eq!(stage.state(a), State::Stopping);
    stage.observe(a, Fact::SessionDeleted);
    assert_eq!(stage.end(a), (State::TimedOut, Some(Cause::Stale)), "what is gone has stopped");
    assert_eq!((stage.times_told(a), stage.held()), (1, 0));
}

#[test]
fn b7_an_abort_that_is_never_confirmed_is_given_up_on_and_says_so() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Active);
    stage.advance(45 * MINUTE);
    stage.shows_nothing_new(a);
    stage.looked(a, absent());
    stage.observe(a, Fact::StopRefused { why: "no".into() });
    stage.advance(30 * SECOND);
    assert_eq!(stage.end(a), (State::Lost, Some(Cause::AbortUnconfirmed)));
    assert_eq!(stage.notices(a)[0].code, Some(Code::AbortUnconfirmed));
    assert_eq!((stage.times_told(a), stage.held()), (1, 0));
    assert_eq!(refused(&stage.resume(a, "go on")), Code::AbortUnconfirmed, "it may still run");
}

#[test]
fn b8_a_running_tool_is_activity() {
    let (mut stage, a) = running();
    stage.tool_began(a, 1, "bash", Some(1));
    for _ in 0..10 {
        stage.advance(45 * MINUTE - 1);
        assert!(!stage.wants_look(a));
        stage.advance(1);
        assert!(stage.wants_look(a), "the host is asked whether it still runs");
        stage.looked(a, Picture { calls: vec![call(1, "bash", Some(1))], ..open_picture() });
        stage.fire();
        assert_eq!(stage.state(a), State::Running);
    }
    stage.tool_ended(a, 1);
    stage.advance(44 * MINUTE);
    assert_eq!(stage.state(a), State::Running);
    stage.advance(MINUTE);
    stage.shows_nothing_new(a);
    assert_eq!((stage.state(a), stage.cause(a)), (State::Stopping, Some(Cause::Stale)));
}

#[test]
fn b8_a_tool_whose_start_was_missed_is_found_by_the_look() {
    let (mut stage, a) = running();
    stage.observe(a, Fact::Active);
    stage.advance(45 * MINUTE);
    stage.looked(a, Picture { calls: vec![call(1, "bash", Some(1))], ..open_picture() });
    stage.advance(44 * MINUTE);
    assert_eq!(stage.state(a), State::Running);
    assert!(!stage.wants_look(a), "it has its full time again");
}

#[test]
fn b8_a_tool_whose_end_was_missed_does_not_run_for_ever() {
    let (mut stage, a) = running();
    stage.tool_began(a, 1, "bash", Some(1));
    stage.advance(45 * MINUTE);
    stage.looked(a, open_picture());
    stage.fire();
    assert_eq!((stage.state(a), stage.cause(a)), (State::Stopping, Some(Cause::Stale)));
}

#[test]
fn b9_a_budget_of_tokens_cost_or_calls_stops_with_the_reason_and_the_partial_result() {
    let budgets = [
        Budget { tokens: Some(100), ..Budget::default() },
        Budget { cost: Some(100), ..Budget::default() },
        Budget { calls: Some(1), ..Budget::default() },
    ];
    for budget in budgets {
        let mut stage = Stage::new();
        let a = stage.launch_running(task("a").budget(budget));
        stage.observe(a, spent(99, 99));
        assert_eq!(stage.state(a), State::Running, "{budget:?}");
        stage.observe(a, spent(100, 100));
        stage.tool_began(a, 1, "bash", Some(1));
        assert_eq!(
            (stage.state(a), stage.cause(a)),
            (State::Stopping, Some(Cause::Budget)),
            "{budget:?}"
        );
        stage.answer(a, "so far");
        stage.stopped(a);
        assert_eq!(stage.end(a), (State::Failed, Some(Cause::Budget)));
        assert_eq!(stage.task(a).reason, Some(Reason::BudgetReached { owner: a }));
        assert_eq!(stage.result(a).as_deref(), Some("so far"));
        assert_eq!(stage.times_told(a), 1);
    }
}

#[test]
fn b9_totals_that_arrive_twice_or_out_of_order_are_counted_once() {
    let mut stage = Stage::new();
    let a =
        stage.launch_running(task("a").budget(Budget { tokens: Some(100), ..Budget::default() }));
    for total in [60, 30, 60, 90, 60] {
        stage.observe(a, spent(total, 0));
    }
    assert_eq!((stage.state(a), stage.task(a).used().tokens), (State::Running, 90));
}

#[test]
fn b9_a_wall_time_budget_stops_too_and_the_smaller_of_two_limits_counts() {
    let mut stage = Stage::new();
    let budget = Budget { wall_ms: Some(MINUTE), ..Budget::default() };
    let over = Overrides { timeout_ms: Some(HOUR), ..Overrides::default() };
    let a = stage.launch_running(task("a").budget(budget).over(over));
    stage.advance(MINUTE);
    stage.shows_nothing_new(a);
    assert_eq!((stage.state(a), stage.cause(a)), (State::Stopping, Some(Cause::Timeout)));
}

#[test]
fn b9_a_tree_that_used_its_budget_up_is_stopped_as_a_whole() {
    let mut stage = Stage::new();
    let root = stage
        .launch_running(task("root").budget(Budget { tokens: Some(100), ..Budget::default() }));
    let [a, b] = ["a", "b"].map(|name| stage.launch_running(task(name).by(root)));
    stage.observe(root, spent(30, 0));
    stage.observe(a, spent(30, 0));
    stage.observe(b, spent(39, 0));
    assert_eq!(stage.states(&[root, a, b]), [State::Running; 3]);
    assert_eq!(stage.task(root).used().tokens, 99);
    stage.observe(b, spent(40, 0));
    assert_eq!((stage.state(root), stage.cause(root)), (State::Stopping, Some(Cause::Budget)));
    stage.stopped(root);
    assert_eq!(stage.end(root), (State::Failed, Some(Cause::Budget)));
    assert_eq!(stage.states(&[a, b]), [State::Stopping; 2]);
}

#[test]
fn b9_one_that_reaches_its_own_budget_leaves_its_siblings_their_share() {
    let mut stage = Stage::new();
    let of = |tokens| Budget { tokens: Some(tokens), ..Budget::default() };
    let root = stage.launch_running(task("root").budget(of(100)));
    let a = stage.launch_running(task("a").by(root).budget(of(40)));
    let b = stage.launch_running(task("b").by(root).budget(of(40)));
    assert_eq!(
        refused(&stage.try_launch(task("c").by(root).budget(of(21)))),
        Code::BudgetUnavailable
    );
    stage.observe(a, spent(40, 0));
    assert_eq!(stage.states(&[root, a, b]), [State::Running, State::Stopping, State::Running]);
    stage.stopped(a);
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Budget)));
    assert_eq!((stage.task(root).used().tokens, stage.task(root).reserved.tokens), (40, 40));
    stage.observe(b, spent(39, 0));
    assert_eq!(stage.state(b), State::Running);
    stage.answer(b, "done");
    assert_eq!((stage.task(root).used().tokens, stage.task(root).reserved.tokens), (79, 0));
}

#[test]
fn b9_a_resumed_task_goes_on_with_its_budget_and_its_tree_pays() {
    let mut stage = Stage::new();
    let of = |tokens| Budget { tokens: Some(tokens), ..Budget::default() };
    let root = stage.launch_running(task("root").budget(of(100)));
    let a = stage.launch_running(task("a").by(root).budget(of(50)));
    stage.observe(a, spent(20, 0));
    stage.answer(a, "done");
    let account = |stage: &Stage| {
        let root = stage.task(root);
        (root.used().tokens, root.reserved.tokens)
    };
    assert_eq!(account(&stage), (20, 0));
    stage.resume(a, "more");
    assert_eq!(account(&stage), (20, 30), "what it may still use is set aside");
    stage.start(a);
    stage.observe(a, spent(10, 0));
    stage.answer(a, "more done");
    assert_eq!(account(&stage), (30, 0), "each token is paid once");
    let b = stage.launch_running(task("b").by(root).budget(of(55)));
    assert_eq!(refused(&stage.resume(a, "and more")), Code::BudgetUnavailable);
    stage.answer(b, "done");
    assert_eq!(stage.resume(a, "and more"), Told::Resumed { task: a, generation: 3 });
}

#[test]
fn b9_one_without_a_budget_that_spends_into_a_siblings_share_is_stopped_alone() {
    let mut stage = Stage::new();
    let of = |tokens| Budget { tokens: Some(tokens), ..Budget::default() };
    let root = stage.launch_running(task("root").budget(of(100)));
    let kept = stage.launch_running(task("kept").by(root).budget(of(60)));
    let greedy = stage.launch_running(task("greedy").by(root));
    stage.observe(greedy, spent(40, 0));
    assert_eq!(stage.states(&[root, kept, greedy]), [State::Running; 3]);
    stage.observe(greedy, spent(41, 0));
    assert_eq!(
        stage.states(&[root, kept, greedy]),
        [State::Running, State::Running, State::Stopping]
    );
    assert_eq!(stage.cause(greedy), Some(Cause::Budget));
    stage.observe(kept, spent(58, 0));
    assert_eq!(stage.state(kept), State::Running, "it has its share");
}

#[test]
fn b10_a_quota_used_up_pauses_without_a_slot_and_the_same_session_goes_on() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let b = stage.launch(task("b"));
    let session = stage.task(a).session;
    let until = stage.now.wall + 3 * HOUR as i64;
    stage.ended(a, bad(HostError { until_wall: Some(until), ..error(ErrorClass::Quota) }));
    assert_eq!(stage.states(&[a, b]), [State::Paused, State::Starting]);
    stage.start(b);
    stage.answer(b, "done");
    assert_eq!(stage.held(), 0);
    stage.advance(3 * HOUR - 1);
    assert_eq!(stage.state(a), State::Paused);
    stage.advance(1);
    assert_eq!((stage.state(a), stage.task(a).attempt), (State::Starting, 2));
    assert_eq!((stage.task(a).session, stage.task(a).turn.kind), (session, TurnKind::GoOn));
    stage.start(a);
    stage.answer(a, "after the pause");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert_eq!(stage.times_told(a), 1);
    assert_eq!(stage.times_wished(&EffectKey::Open(a, 2)), 0);
}

#[test]
fn b10_a_host_that_waits_for_the_quota_itself_is_stopped_first() {
    let (mut stage, a) = running();
    let until = stage.now.wall + HOUR as i64;
    let used_up = HostError { until_wall: Some(until), ..error(ErrorClass::Quota) };
    stage.observe(a, Fact::ProviderWait { error: used_up });
    assert_eq!((stage.state(a), stage.held()), (State::Stopping, 1));
    stage.stopped(a);
    assert_eq!((stage.state(a), stage.held()), (State::Paused, 0));
    stage.advance(HOUR);
    assert_eq!((stage.state(a), stage.task(a).attempt), (State::Starting, 2));
}

#[test]
fn b10_a_paused_task_can_be_cancelled_and_takes_no_words() {
    let (mut stage, a) = running();
    let until = stage.now.wall + HOUR as i64;
    stage.ended(a, bad(HostError { until_wall: Some(until), ..error(ErrorClass::Quota) }));
    assert_eq!(refused(&stage.send(a, "hello")), Code::CannotPrompt);
    let told = stage.cancel(a);
    assert_eq!(told, Told::Cancelling { task: a, state: State::Cancelled, below: Vec::new() });
    stage.advance(2 * HOUR);
    assert_eq!(stage.end(a), (State::Cancelled, Some(Cause::Asked)));
}

#[test]
fn b11_a_wall_clock_that_jumps_expires_nothing() {
    let mut stage = Stage::new();
    let over = Overrides { timeout_ms: Some(HOUR), ..Overrides::default() };
    let a = stage.launch_running(task("a").over(over));
    let b = stage.launch(task("b"));
    let c = stage.launch_running(task("c"));
    stage.asks_permission(c, "k");
    for jump in [10_000 * HOUR as i64, -20_000 * HOUR as i64] {
        stage.jump_wall(jump);
        stage.advance(1);
        assert_eq!(stage.states(&[a, b, c]), [State::Running, State::Starting, State::WaitingAsk]);
        assert!(!stage.wants_look(a) && !stage.wants_look(b));
    }
    stage.observe(a, Fact::Active);
    stage.advance(50 * SECOND);
    assert_eq!(stage.state(b), State::Starting);
    stage.advance(10 * SECOND);
    assert!(stage.wants_look(b));
    stage.looked(b, absent());
    stage.fire();
    assert_eq!(stage.cause(b), Some(Cause::NotStarted), "its own time still counts");
}

#[test]
fn b11_only_a_time_that_a_provider_named_goes_by_the_wall_clock() {
    let (mut stage, a) = running();
    let until = stage.now.wall + 10 * HOUR as i64;
    stage.ended(a, bad(HostError { until_wall: Some(until), ..error(ErrorClass::Quota) }));
    stage.jump_wall(-5 * HOUR as i64);
    stage.advance(10 * HOUR);
    assert_eq!(stage.state(a), State::Paused, "not before the provider's time");
    stage.jump_wall(5 * HOUR as i64);
    assert_eq!(stage.state(a), State::Starting);
}
