//! The engine by itself: what waits for what, and who hears what when something fails.

use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{Fact, Fence};
use homing_core::ids::TaskId;
use homing_core::input::{Input, Purge};
use homing_core::limits::Limits;
use homing_core::payload::Digest;
use homing_core::reason::Caller;
use homing_core::reply::{Reply, Told};
use homing_core::spec::{Brief, Budget, Caps, Order, Overrides, Spec};
use homing_core::task::Task;
use homing_core::time::Moment;
use homing_core::words::{Code, Notify, State};
use homing_ports::store::{Kept, Recovered};
use homing_runtime::ParentRef;
use homing_runtime::codec;
use homing_runtime::engine::{Engine, Memory, Release};

const TURN: Fence = Fence { attempt: 1, turn: 1 };
const SESSION: Fence = Fence { attempt: 1, turn: 0 };

fn now() -> Moment {
    Moment { tick: 1, wall: 1, dice: 1 }
}

fn id() -> TaskId {
    TaskId::from_bits(7)
}

fn spec() -> Box<Spec> {
    Box::new(Spec {
        brief: Brief {
            host: "host".into(),
            agent: None,
            name: None,
            models: [].into(),
            origin: None,
            notify: Notify::Each,
            key: None,
            request: Digest::of(b""),
            priority: 0,
            budget: Budget::default().into(),
            over: Overrides::default().into(),
            caps: Caps { prompts: true, goes_on: true, ..Caps::default() },
            parent_turn: None,
            batch: None,
            converses: false,
        },
        order: Order { prompt: "Count.".to_owned(), ..Order::default() },
        parent: ParentRef::None,
        launched_by: None,
        after: Vec::new(),
    })
}

/// Commits what is open, and collects what that brings about.
fn commit(engine: &mut Engine) -> Release {
    let mut all = Release::default();
    while engine.has_open() {
        if let Some(batch) = engine.close() {
            engine.committed(batch.no);
        }
    }
    while let Some(release) = engine.release() {
        all.effects.extend(release.effects);
        all.replies.extend(release.replies);
    }
    all
}

fn keys(release: &Release) -> Vec<EffectKey> {
    release.effects.iter().map(Effect::key).collect()
}

fn observe(engine: &mut Engine, fence: Fence, fact: Fact) {
    let task = id();
    engine.take(Input::Observed { task, fence, fact }, now());
}

/// A task whose session is being opened.
fn opening() -> Engine {
    let mut engine = Engine::start(Memory::default(), Limits::default(), now());
    let launch = Input::Launch { request: 1, id: id(), spec: spec(), reservation: None };
    engine.take(launch, now());
    assert_eq!(keys(&commit(&mut engine)), [EffectKey::Open(id(), 1)]);
    engine
}

fn made() -> Fact {
    Fact::SessionMade { session: "ses_1".into() }
}

#[test]
fn an_opening_that_brings_the_prompt_itself_is_not_overtaken_by_another() {
    let mut engine = opening();
    observe(&mut engine, SESSION, made());
    assert_eq!(keys(&commit(&mut engine)), [EffectKey::Watch(id(), 1)]);
    observe(&mut engine, TURN, Fact::PromptTaken);
    engine.flew(&EffectKey::Open(id(), 1), true, now());
    assert_eq!(keys(&commit(&mut engine)), []);
}

#[test]
fn a_session_that_is_opened_without_its_prompt_is_prompted_next() {
    let mut engine = opening();
    observe(&mut engine, SESSION, made());
    commit(&mut engine);
    engine.flew(&EffectKey::Open(id(), 1), true, now());
    assert_eq!(keys(&commit(&mut engine)), [EffectKey::Prompt(id(), 1, 1)]);
}

#[test]
fn an_abort_that_waited_for_a_prompt_goes_once_that_has_landed_well_or_not() {
    for ok in [true, false] {
        let mut engine = opening();
        observe(&mut engine, SESSION, made());
        engine.flew(&EffectKey::Open(id(), 1), true, now());
        commit(&mut engine);
        let cancel =
            Input::Cancel { request: 2, task: id(), by: Caller::Person, text: None, quiet: false };
        engine.take(cancel, now());
        assert_eq!(keys(&commit(&mut engine)), []);
        engine.flew(&EffectKey::Prompt(id(), 1, 1), ok, now());
        let abort = [EffectKey::Abort(id(), 1)];
        assert_eq!(keys(&commit(&mut engine)), abort, "{ok}");
    }
}

#[test]
fn an_abort_that_waited_for_a_prompt_goes_when_that_is_not_sent_after_all() {
    let mut engine = opening();
    observe(&mut engine, SESSION, made());
    engine.flew(&EffectKey::Open(id(), 1), true, now());
    // Before the prompt's group is durable it is not wanted any more.
    let cancel =
        Input::Cancel { request: 2, task: id(), by: Caller::Person, text: None, quiet: false };
    engine.take(cancel, now());
    let first = keys(&commit(&mut engine));
    assert!(!first.contains(&EffectKey::Prompt(id(), 1, 1)), "{first:?}");
    assert_eq!(keys(&commit(&mut engine)), [EffectKey::Abort(id(), 1)]);
}

fn away() -> Told {
    Told::Refused { code: Code::Unavailable, why: "away".into() }
}

#[test]
fn those_who_wait_when_memory_is_rebuilt_hear_so_before_anything_is_committed() {
    let mut engine = opening();
    let wait = Input::Wait { request: 2, task: id(), ms: 1_000, by: Caller::Person };
    engine.take(wait, now());
    engine.rebuild(Memory::default(), &away(), now());
    let told = engine.release().map(|release| release.replies);
    let expected = Reply { request: 2, answer: away() };
    assert_eq!(told, Some(vec![expected]));
}

#[test]
fn whoever_asks_for_a_task_that_cannot_be_read_hears_so_at_once() {
    let mut engine = Engine::start(Memory::default(), Limits::default(), now());
    let load = EffectKey::Load(id());
    for request in 1..3 {
        engine.take(Input::Read { request, task: id() }, now());
        assert_eq!(keys(&commit(&mut engine)), std::slice::from_ref(&load), "{request}");
        engine.flew(&load, false, now());
        let replies = commit(&mut engine).replies;
        let [Reply { answer, .. }] = replies.as_slice() else {
            panic!("one reply, not {replies:?}");
        };
        let Told::Refused { code, .. } = answer else {
            panic!("a refusal, not {answer:?}");
        };
        assert_eq!(*code, Code::Unavailable);
    }
    observe(&mut engine, TURN, Fact::Active);
    commit(&mut engine);
    engine.flew(&load, false, now());
    assert_eq!(keys(&commit(&mut engine)), [], "what was reported waits a while");
    let (due, _) = engine.next_look();
    let later = Moment { tick: due.unwrap(), ..now() };
    engine.fire(later);
    assert_eq!(keys(&commit(&mut engine)), [load]);
}

/// Whether retention takes the task.
fn is_taken(engine: &mut Engine, request: u64) -> bool {
    let purge = Purge { tasks: vec![id()], ..Purge::default() };
    engine.take(Input::Expired { request, purge }, now());
    match commit(engine).replies.as_slice() {
        [Reply { answer: Told::Purged { any }, .. }] => *any,
        replies => panic!("one reply, not {replies:?}"),
    }
}

#[test]
fn retention_takes_no_task_that_may_still_begin_to_run_or_is_just_heard_of() {
    let mut engine = opening();
    let cancel =
        Input::Cancel { request: 2, task: id(), by: Caller::Person, text: None, quiet: false };
    engine.take(cancel, now());
    commit(&mut engine);
    engine.fire(Moment { tick: 60_000, ..now() });
    assert_eq!(keys(&commit(&mut engine)), [EffectKey::Emit(id(), 1)]);
    let ended = engine.world().task(id()).unwrap().clone();
    assert_eq!(ended.state, State::Lost, "its stop was given up on");
    engine.take(Input::TelemetryTaken { task: id(), generation: 1 }, now());
    commit(&mut engine);
    assert!(engine.world().task(id()).is_none(), "nothing is owed");
    assert!(!is_taken(&mut engine, 3), "its opening is under way");
    observe(&mut engine, SESSION, made());
    engine.flew(&EffectKey::Open(id(), 1), true, now());
    assert!(!is_taken(&mut engine, 4), "what came of it is not told yet");
    let head = engine.world().head;
    engine.loaded(id(), Some(Box::new(ended)), head, now());
    let wanted = keys(&commit(&mut engine));
    assert!(wanted.contains(&EffectKey::Abort(id(), 1)), "{wanted:?}");
}

/// Somebody who reads a task again and again does not keep it for ever.
#[test]
fn retention_takes_a_task_that_is_only_asked_for() {
    let mut engine = Engine::start(Memory::default(), Limits::default(), now());
    engine.take(Input::Read { request: 1, task: id() }, now());
    assert_eq!(keys(&commit(&mut engine)), [EffectKey::Load(id())], "it is being read");
    assert!(is_taken(&mut engine, 2), "past its retention, and nobody reports anything of it");
    engine.loaded(id(), None, engine.world().head, now());
    // It may have been read before it went: it is read once more.
    engine.loaded(id(), None, engine.world().head, now());
    let told = commit(&mut engine).replies;
    assert!(matches!(told.as_slice(), [Reply { answer: Told::Refused { .. }, .. }]), "{told:?}");
}

#[test]
fn r1_a_command_that_a_reboot_caught_while_it_was_started_is_not_started_again() {
    for (plain, rebooted, opens) in [(true, true, false), (true, false, true), (false, true, true)]
    {
        let mut spec = spec();
        spec.brief.caps.plain = plain;
        let mut engine = Engine::start(Memory::default(), Limits::default(), now());
        engine.take(Input::Launch { request: 1, id: id(), spec, reservation: None }, now());
        commit(&mut engine);
        let tasks = vec![Box::new(engine.world().task(id()).unwrap().clone())];
        let memory = Memory { tasks, head: engine.world().head, rebooted, ..Memory::default() };
        let mut engine = Engine::start(memory, Limits::default(), now());
        let wanted = keys(&commit(&mut engine));
        let opened = wanted.iter().any(|key| matches!(key, EffectKey::Open(..)));
        assert_eq!(opened, opens, "{plain} {rebooted}: {wanted:?}");
        let state = engine.world().task(id()).unwrap().state;
        assert_eq!(state == State::Failed, !opens, "{state}");
    }
}

/// Rows as a start reads them.
fn rows() -> Recovered {
    let mut engine = Engine::start(Memory::default(), Limits::default(), now());
    engine.take(Input::Launch { request: 1, id: id(), spec: spec(), reservation: None }, now());
    let task = engine.close().unwrap().tasks.pop().unwrap();
    let row = |n: u64| Task { id: TaskId::from_bits(n), ..task.clone() };
    let row = |n: u64| Kept::from(&codec::task_row(&row(n)));
    Recovered { tasks: (0..20).map(row).collect(), ..Recovered::default() }
}

#[test]
fn r1_rows_come_back_in_their_order() {
    let memory = codec::decode(rows()).unwrap();
    let ids = memory.tasks.iter().map(|task| task.id);
    assert!(ids.eq((0..20).map(TaskId::from_bits)));
}

#[test]
fn r6_of_all_rows_the_one_that_cannot_be_read_is_named() {
    for at in [0, 6, 19] {
        let mut rows = rows();
        rows.tasks[at].body[10] = 0;
        let told = codec::decode(rows).unwrap_err().to_string();
        assert!(told.contains(&TaskId::from_bits(at as u64).to_string()), "{told}");
    }
}
