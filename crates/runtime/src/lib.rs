//! The loop: decide, commit, then act. The library people embed.
//!
//! ```text
//!   doors ──┐                    ┌─ committer thread ─ store
//!   facts ──┼─▶ decider thread ──┤
//!   timers ─┘   (engine)         └─ after the commit: effects ─▶ performers ─▶ hosts, parents, rooms
//! ```
//!
//! `Engine` is the rule of it: one struct that is stepped by its caller. The threads here and the
//! simulation drive the same struct. `Runtime` sets the threads up; `Homing` is the handle.
//!
//! What happens is told as `tracing` events; this crate listens to none of them.
//!
//! This crate knows no concrete store, host or room.

#![forbid(unsafe_code)]

mod answers;
pub mod around;
pub mod chain;
pub mod codec;
mod committer;
mod consume;
mod converse;
mod decider;
pub mod engine;
pub mod figures;
pub mod find;
mod follow;
mod fresh;
mod homing;
mod launch;
mod logged;
mod perform;
mod read;
mod readers;
mod replies;
mod retention;
mod runtime;
pub mod shown;
mod signs;
pub mod slots;
mod tally;
pub mod texts;
mod time;
pub mod why;

pub use answers::{Cancelled, Debrief, Launched, Refused, Seen, Waited};
pub use follow::Cursor;
pub use homing::Homing;
pub use launch::Launch;
pub use runtime::Runtime;
pub use time::Timekeeper;

pub use homing_core::ids::{AskId, ConversationId, DebriefId, TaskId};
pub use homing_core::input::Receipt;
pub use homing_core::limits::Limits;
pub use homing_core::reason::Caller;
pub use homing_core::refs::{Origin, ParentRef};
pub use homing_core::spec::Model;
pub use homing_core::task::Task;
pub use homing_core::words::{Cause, Code, Notify, State};
