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
//! This crate knows no concrete store, host or room.

#![forbid(unsafe_code)]

pub mod codec;
mod committer;
mod decider;
pub mod engine;
mod homing;
mod launch;
mod perform;
mod readers;
mod replies;
mod runtime;
mod texts;
mod time;

pub use homing::{Homing, Refused, Seen};
pub use launch::Launch;
pub use runtime::Runtime;
pub use time::Timekeeper;
