//! The seams to those who are told: parents, rooms and telemetry; and to those who only see.

use std::sync::Arc;

use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_core::input::{DeliveryFact, ParentFact, PostFact};
use homing_core::refs::{Origin, ParentRef};
use homing_core::telemetry::Completion;
use homing_core::words::State;

use crate::host::Flight;

/// One sealed debrief on its way. `key` is the idempotency key; the bytes never change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub key: DebriefId,
    pub parent: ParentRef,
    /// Task and generation of each end that it tells, in its order.
    pub notices: Vec<(TaskId, u32)>,
    pub text: Vec<u8>,
    /// When it was sealed, by the wall clock, where that is known.
    pub sealed: Option<i64>,
    /// Sends before this one. Above 0, the parent is asked first whether it has the key.
    pub tries: u32,
}

/// Someone who delegates and is told.
pub trait Parent: Send + Sync {
    /// Whether there is one of this name, as far as that is known beforehand; else why not.
    fn check(&self, parent: &ParentRef) -> Result<(), String> {
        let _ = parent;
        Ok(())
    }

    /// Whether it is between turns: `Between`, `TurnBegan`, `Unreachable` or `Deleted`.
    fn look(&self, parent: ParentRef) -> Flight<'_, ParentFact>;

    /// Brings a debrief, once per key. Answers when it is known what became of it: `Accepted` at least;
    /// `Answered` where the answer is awaited here.
    fn deliver(&self, delivery: Delivery) -> Flight<'_, DeliveryFact>;
}

/// One message to a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub key: PostId,
    pub origin: Origin,
    pub text: Vec<u8>,
    pub tries: u32,
}

/// Where people read. The same key twice is one message.
pub trait Room: Send + Sync {
    /// Whether such a place can be in it, as far as that is known beforehand; else why not.
    fn check(&self, origin: &Origin) -> Result<(), String> {
        let _ = origin;
        Ok(())
    }

    fn post(&self, message: Message) -> Flight<'_, PostFact>;
}

/// A stream of completion records, apart from every conversation. The same (task, generation) twice is
/// one record.
pub trait Telemetry: Send + Sync {
    fn emit(&self, record: Completion) -> Flight<'_, Result<(), String>>;
}

/// How far a task has come, for people who look on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sign {
    pub task: TaskId,
    pub name: Option<Arc<str>>,
    /// Who sent it out, or is told of its end.
    pub parent: ParentRef,
    /// How many tasks it is below.
    pub depth: u32,
    /// `starting` once it has waited for a slot, or how it ended.
    pub state: State,
    /// How long it waited, or took.
    pub lasted_ms: u64,
}

/// Someone who sees tasks start and end. Nothing is owed to it: what it misses is not told again.
pub trait Onlooker: Send + Sync {
    /// Called when it is durable, by those who make it so: it does not wait for anything.
    fn see(&self, sign: Sign);
}
