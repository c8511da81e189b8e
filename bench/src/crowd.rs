//! Many living tasks, made by the core itself.

use std::sync::Arc;

use homing_core::fact::{Call, Fact, Fence};
use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::limits::Limits;
use homing_core::payload::Digest;
use homing_core::refs::ParentRef;
use homing_core::spec::{Brief, Budget, Caps, Model, Order, Overrides, Spec};
use homing_core::time::{Moment, mix};
use homing_core::words::Notify;
use homing_runtime::engine::{Batch, Engine, Memory};

/// No limit on slots: all of them run.
pub fn limits() -> Limits {
    Limits { default: 0, ..Limits::default() }
}

pub fn id(n: u64) -> TaskId {
    TaskId::from_bits(mix(n))
}

pub fn moment(tick: u64) -> Moment {
    Moment { tick, wall: 1_700_000_000_000 + tick as i64, dice: tick }
}

/// A launch as an agent's parent would make it.
pub fn spec(n: u64) -> Box<Spec> {
    let brief = Brief {
        host: "opencode".into(),
        agent: Some("build".into()),
        name: Some(format!("task number {n}").into()),
        models: [Model { provider: "provider".into(), id: "model".into(), variant: None }].into(),
        origin: None,
        notify: Notify::Debrief,
        key: Some(Digest::of(&n.to_be_bytes())),
        request: Digest::of(&n.to_le_bytes()),
        priority: 0,
        budget: Budget::default().into(),
        over: Overrides::default().into(),
        caps: Caps { prompts: true, goes_on: true, ..Caps::default() },
        parent_turn: None,
        batch: None,
        converses: false,
    };
    let session: Arc<str> = format!("ses_parent_{}", n / 20).into();
    let parent = ParentRef::Session { host: "opencode".into(), instance: None, session };
    let order =
        Order { prompt: "look into it and tell what you find".to_owned(), ..Order::default() };
    Box::new(Spec { brief, order, parent, launched_by: None, after: Vec::new() })
}

/// What brings task `n` to run.
pub fn start(engine: &mut Engine, n: u64, now: Moment) {
    let task = id(n);
    engine.take(Input::Launch { request: n, id: task, spec: spec(n), reservation: None }, now);
    let session = format!("ses_{n:020}").into();
    let whole = Fence { attempt: 1, turn: 0 };
    engine.take(Input::Observed { task, fence: whole, fact: Fact::SessionMade { session } }, now);
    let turn = Fence { attempt: 1, turn: 1 };
    engine.take(Input::Observed { task, fence: turn, fact: Fact::PromptTaken }, now);
}

/// An engine with `count` running tasks; each group goes to `keep` before it counts as durable.
pub fn running(count: u64, mut keep: impl FnMut(&Batch)) -> Engine {
    let mut engine = Engine::start(Memory::default(), limits(), moment(1));
    for n in 0..count {
        start(&mut engine, n, moment(2 + n / 100));
        if n % 500 == 499 || n + 1 == count {
            drain(&mut engine, &mut keep);
        }
    }
    engine
}

/// Closes, keeps and releases all that is open.
pub fn drain(engine: &mut Engine, keep: &mut impl FnMut(&Batch)) {
    while engine.has_open() {
        if let Some(batch) = engine.close() {
            keep(&batch);
            engine.committed(batch.no);
        }
        while engine.release().is_some() {}
    }
}

/// One journaled event of a random task.
pub fn tool_event(count: u64, n: u64) -> Input {
    let task = id(mix(n) % count);
    let fence = Fence { attempt: 1, turn: 1 };
    // Calls come in pairs of begin and end; the breaker sees different inputs.
    let call = n / 2;
    let fact = if n.is_multiple_of(2) {
        Fact::ToolBegan { call: Call { id: call, tool: "read".into(), input: Some(mix(call)) } }
    } else {
        Fact::ToolEnded { id: call }
    };
    Input::Observed { task, fence, fact }
}

/// A fact of the running turn of task `n`.
pub fn of_turn(n: u64, fact: Fact) -> Input {
    Input::Observed { task: id(n), fence: Fence { attempt: 1, turn: 1 }, fact }
}
