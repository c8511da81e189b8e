//! Fallback and retry: scenarios F.

#![expect(clippy::panic, reason = "a test that cannot go on must fail")]

mod stage;

use homing_core::decision::names;
use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{ErrorClass, Fact, Fence, HostError};
use homing_core::ids::TaskId;
use homing_core::limits::Limits;
use homing_core::reply::Told;
use homing_core::spec::Overrides;
use homing_core::task::Until;
use homing_core::words::{Cause, State, TurnKind};
use stage::host::{bad, error};
use stage::launch::{by_model, task};
use stage::{HOUR, SECOND, Stage};

const CHAIN: [&str; 3] = ["p/a", "p/b", "q/c"];

fn fails(stage: &mut Stage, id: TaskId, class: ErrorClass) {
    stage.ended(id, bad(error(class)));
    if stage.state(id) == State::Stopping {
        stage.stopped(id);
    }
}

#[test]
fn f1_a_rate_limit_moves_to_the_next_model_once_with_everything_kept() {
    let mut stage = Stage::new();
    let a = stage.launch_running(by_model("a", &CHAIN).permissions(&["read"]));
    let first = stage.task(a).session;
    stage.ended(a, bad(error(ErrorClass::RateLimited)));
    assert_eq!((stage.state(a), stage.key("model:p/a").held), (State::Stopping, 1));
    let abort = stage.first_wanted(|key| *key == EffectKey::Abort(a, 1));
    let Some(Effect::Abort { session, .. }) = abort else { panic!("{abort:?}") };
    assert_eq!(session, first, "the old session is aborted");
    assert_eq!(
        stage.times_wished(&EffectKey::Open(a, 2)),
        0,
        "no two live sessions serve one task"
    );
    stage.stopped(a);
    assert_eq!(
        (stage.key("model:p/a").held, stage.key("model:p/b").held),
        (0, 1),
        "the slot moved"
    );
    assert_eq!((stage.state(a), stage.task(a).attempt), (State::Starting, 2));
    let open = stage.first_wanted(|key| *key == EffectKey::Open(a, 2));
    assert!(matches!(open, Some(Effect::Open { model: 1, .. })), "{open:?}");
    stage.start(a);
    assert_ne!(stage.task(a).session, first);
    assert_eq!(stage.task(a).turn.kind, TurnKind::First, "it gets the task's own prompt");
    let orders = stage.texts.iter().filter(|text| text.name == names::order(a)).count();
    let prompts = stage.texts.iter().filter(|text| text.name == names::prompt(a, 1)).count();
    assert_eq!((orders, prompts), (1, 1), "prompt and permissions are stored once and read again");
    stage.answer(a, "done");
    assert_eq!(stage.end(a), (State::Completed, Some(Cause::Answered)));
    assert_eq!((stage.task(a).generation, stage.times_told(a)), (1, 1));
}

#[test]
fn f1_the_same_limit_told_twice_makes_one_new_attempt() {
    let mut stage = Stage::new();
    let a = stage.launch_running(by_model("a", &CHAIN));
    let fence = stage.task(a).fence();
    stage.observe(a, Fact::ProviderWait { error: error(ErrorClass::RateLimited) });
    stage.ended(a, bad(error(ErrorClass::RateLimited)));
    stage.stopped(a);
    stage.observe_at(a, fence, Fact::Ended { end: bad(error(ErrorClass::RateLimited)) });
    stage.observe_at(a, Fence { attempt: 1, turn: 0 }, Fact::Stopped);
    assert_eq!((stage.task(a).attempt, stage.task(a).model), (2, 1));
    assert_eq!(stage.count(a, "attempt_opened"), 1);
}

#[test]
fn f1_an_old_attempts_session_that_is_reported_again_is_left_alone() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a"));
    let session = stage.task(a).session.unwrap();
    stage.ended(a, bad(error(ErrorClass::Transient)));
    stage.advance(2 * SECOND);
    stage.start(a);
    assert_eq!((stage.task(a).attempt, stage.task(a).session.clone()), (2, Some(session.clone())));
    stage.observe_at(a, Fence { attempt: 1, turn: 0 }, Fact::SessionMade { session });
    assert!(!stage.wants(&EffectKey::Abort(a, 1)), "it serves the new attempt");
    assert_eq!(stage.state(a), State::Running);
}

#[test]
fn f2_a_used_up_chain_is_one_failure_with_its_timeline() {
    let mut stage = Stage::new();
    let a = stage.launch(by_model("a", &CHAIN));
    stage.observe(a, Fact::StartFailed { error: error(ErrorClass::UnknownModel) });
    assert_eq!((stage.state(a), stage.task(a).attempt), (State::Starting, 2));
    stage.start(a);
    fails(&mut stage, a, ErrorClass::RateLimited);
    stage.start(a);
    assert_eq!(stage.times_told(a), 0);
    fails(&mut stage, a, ErrorClass::RateLimited);
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Exhausted)));
    let known = stage.task(a);
    let timeline: Vec<_> = known
        .past
        .iter()
        .map(|past| (past.attempt, past.model, past.error.as_deref().map(|error| error.class)))
        .collect();
    assert_eq!(
        timeline,
        [(1, 0, Some(ErrorClass::UnknownModel)), (2, 1, Some(ErrorClass::RateLimited))],
        "every attempt with what ended it"
    );
    assert_eq!((known.attempt, known.model), (3, 2));
    assert_eq!(known.error.as_deref().map(|error| error.class), Some(ErrorClass::RateLimited));
    assert_eq!((stage.times_told(a), stage.held()), (1, 0));
}

#[test]
fn f2_attempts_are_bounded() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a"));
    for attempt in 1..=5 {
        assert_eq!((stage.state(a), stage.task(a).attempt), (State::Starting, attempt));
        stage.start(a);
        stage.ended(a, bad(error(ErrorClass::Transient)));
        stage.advance(20 * SECOND);
    }
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Exhausted)));
    assert_eq!((stage.task(a).past.len(), stage.times_told(a)), (4, 1));
    assert_eq!(stage.retry(a), Told::Resumed { task: a, generation: 2 });
    let known = stage.task(a);
    assert_eq!(
        (known.attempt, known.tries, known.past.len()),
        (6, 1, 0),
        "a new generation has its own"
    );
}

#[test]
fn f2_an_attempt_is_in_the_journal_before_its_session_is_asked_for() {
    let mut stage = Stage::new();
    let a = stage.launch_running(by_model("a", &CHAIN));
    fails(&mut stage, a, ErrorClass::RateLimited);
    let opened = stage.lines(a).iter().position(|line| *line == "attempt_opened").unwrap();
    let turn = stage.lines(a).iter().rposition(|line| *line == "turn_opened").unwrap();
    assert!(opened < turn, "{:?}", stage.lines(a));
    assert!(stage.wants_open(a));
}

#[test]
fn f3_the_model_that_failed_is_skipped_in_the_chain() {
    let mut stage = Stage::new();
    let a = stage.launch_running(by_model("a", &["p/a", "p/a", "p/a", "p/b"]));
    fails(&mut stage, a, ErrorClass::RateLimited);
    assert_eq!((stage.task(a).attempt, stage.task(a).model), (2, 3));
    let b = stage.launch_running(by_model("b", &["q/a", "q/a"]));
    fails(&mut stage, b, ErrorClass::RateLimited);
    assert_eq!(stage.end(b), (State::Failed, Some(Cause::Error)), "nothing else is left");
    assert_eq!(stage.task(b).attempt, 1);
}

#[test]
fn f4_errors_that_would_repeat_are_not_retried_on_the_same_model() {
    let classes = [
        ErrorClass::Overflow,
        ErrorClass::Permission,
        ErrorClass::BadRequest,
        ErrorClass::Auth,
        ErrorClass::UnknownModel,
        ErrorClass::Other,
    ];
    for class in classes {
        let mut stage = Stage::new();
        let a = stage.launch_running(by_model("a", &["p/a"]));
        fails(&mut stage, a, class);
        assert_eq!(stage.end(a), (State::Failed, Some(Cause::Error)), "{class}");
        assert_eq!((stage.task(a).attempt, stage.times_told(a)), (1, 1), "{class}");
    }
}

#[test]
fn f4_another_model_may_do_what_this_one_cannot_but_a_refused_permission_is_final() {
    let goes_on = [
        (ErrorClass::Overflow, true),
        (ErrorClass::BadRequest, true),
        (ErrorClass::Auth, true),
        (ErrorClass::UnknownModel, true),
        (ErrorClass::TryNext, true),
        (ErrorClass::Permission, false),
        (ErrorClass::Other, false),
    ];
    for (class, goes_on) in goes_on {
        let mut stage = Stage::new();
        let a = stage.launch_running(by_model("a", &["p/a", "p/b"]));
        fails(&mut stage, a, class);
        let expected = if goes_on { (State::Starting, 2) } else { (State::Failed, 1) };
        assert_eq!((stage.state(a), stage.task(a).attempt), expected, "{class}");
    }
}

#[test]
fn f4_the_words_of_an_error_decide_nothing() {
    let mut stage = Stage::new();
    let a = stage.launch_running(by_model("a", &["p/a", "p/b"]));
    let misleading =
        HostError::new(ErrorClass::Other, "Error", "rate limit, overloaded, 429, try again");
    stage.ended(a, bad(misleading));
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Error)));
}

#[test]
fn f4_a_process_asks_for_the_next_model_by_its_exit_code() {
    let mut stage = Stage::new();
    let a = stage.launch_running(by_model("a", &["p/a", "p/b"]).process());
    stage.exited(a, 75, "");
    assert_eq!(
        (stage.state(a), stage.task(a).attempt, stage.task(a).model),
        (State::Starting, 2, 1)
    );
    stage.start(a);
    stage.exited(a, 1, "boom");
    assert_eq!(stage.end(a), (State::Failed, Some(Cause::Exited)));
    assert_eq!(stage.result(a).as_deref(), Some("boom"));
}

/// How long a task that failed with this retry-after pauses.
fn pause_ms(limits: Limits, retry_after_ms: Option<u64>) -> u64 {
    let mut stage = Stage::with(limits);
    let a = stage.launch_running(task("a"));
    stage.ended(a, bad(HostError { retry_after_ms, ..error(ErrorClass::Transient) }));
    assert_eq!((stage.state(a), stage.held()), (State::Paused, 0));
    let Some(Until::Tick(tick)) = stage.task(a).until else {
        panic!("paused until {:?}", stage.task(a).until);
    };
    tick - stage.now.tick
}

#[test]
fn f5_retry_after_is_honoured_with_jitter_and_a_bound() {
    let waits = pause_ms(Limits::default(), Some(60 * SECOND));
    assert!((60 * SECOND..75 * SECOND).contains(&waits), "{waits}");
    let bound = Limits { pause_most_ms: 10 * SECOND, ..Limits::default() };
    let waits = pause_ms(bound, Some(1_000 * HOUR));
    assert!((10 * SECOND..13 * SECOND).contains(&waits), "{waits}");
    let waits = pause_ms(Limits::default(), None);
    assert!((SECOND..2 * SECOND).contains(&waits), "without a word of the provider: {waits}");
}

#[test]
fn f5_a_rate_limit_without_another_model_waits_as_long_as_it_is_told() {
    let mut stage = Stage::new();
    let a = stage.launch_running(by_model("a", &["p/a"]));
    let session = stage.task(a).session;
    stage.ended(
        a,
        bad(HostError { retry_after_ms: Some(8 * SECOND), ..error(ErrorClass::RateLimited) }),
    );
    assert_eq!(stage.state(a), State::Paused);
    stage.advance(8 * SECOND - 1);
    assert_eq!(stage.state(a), State::Paused, "never earlier than told");
    stage.advance(2 * SECOND + 1);
    assert_eq!((stage.state(a), stage.task(a).turn.kind), (State::Starting, TurnKind::GoOn));
    assert_eq!(stage.task(a).session, session);
}

#[test]
fn f5_waits_grow_with_every_try() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a").over(Overrides { attempts: Some(4), ..Overrides::default() }));
    let mut waits = Vec::new();
    for _ in 0..3 {
        stage.start(a);
        stage.ended(a, bad(error(ErrorClass::Transient)));
        let Some(Until::Tick(tick)) = stage.task(a).until else { panic!("not paused") };
        waits.push(tick - stage.now.tick);
        stage.advance(10 * SECOND);
    }
    for (n, wait) in waits.iter().enumerate() {
        let least = SECOND << n;
        assert!((least..least + least / 4 + 1).contains(wait), "{waits:?}");
    }
}

#[test]
fn f5_a_prompt_that_was_refused_is_given_in_full_to_a_new_session() {
    let mut stage = Stage::new();
    let a = stage.launch(task("a"));
    stage.session_made(a);
    let first = stage.task(a).session;
    stage.observe(a, Fact::PromptRefused { error: error(ErrorClass::Transient) });
    stage.stopped(a);
    assert_eq!((stage.state(a), stage.held()), (State::Paused, 0));
    stage.advance(2 * SECOND);
    stage.start(a);
    assert_eq!(
        stage.task(a).turn.kind,
        TurnKind::First,
        "nothing was taken: there is nothing to go on with"
    );
    assert_ne!(stage.task(a).session, first);
}
