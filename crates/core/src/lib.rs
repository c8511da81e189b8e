//! Decides. No async, no IO, no clock, no randomness: everything uncertain comes in as an argument.
//!
//! The model in one screen:
//!
//! - A **task** moves through `words::State`s. `rules::rule` says where each judged event leads; the
//!   table is data and is printed to `docs/transitions.md`.
//! - Hosts report **facts** (`fact`), stamped with a fence of attempt and turn. Facts of the latest turn
//!   add up to **evidence** (`evidence`), and evidence allows a verdict. Silence never does.
//! - `decide::decide` reads the **World** (`world`) and an **input** (`input`) and returns a decision:
//!   records for the journal, notes for memory, replies, and what follows.
//! - Records are folded (`fold`) into the World, the only way it changes. So a row is a fold of its
//!   journal, and nothing else.
//! - **Effects** (`effect`) are not part of a decision: they are what the stored state wants done. A
//!   restart derives them again.
//! - Notices, batches, debriefs and posts (`outbox`) are how an outcome comes home: owed in the same
//!   decision as the outcome, sealed before the first send, settled by a receipt.
//!
//! `step::step` runs one input with all that follows.

#![forbid(unsafe_code)]

pub mod bugs;
pub mod calls;
pub mod change;
pub mod compose;
pub mod decide;
pub mod decision;
pub mod effect;
pub mod evidence;
pub mod fact;
pub mod few;
pub mod fold;
pub mod ids;
pub mod index;
pub mod input;
pub mod limits;
pub mod names;
pub mod nearest;
pub mod outbox;
pub mod path;
pub mod payload;
pub mod policy;
pub mod rare;
pub mod reason;
pub mod record;
pub mod refs;
pub mod reply;
pub mod rules;
#[cfg(feature = "schema")]
pub mod schema;
pub mod silence;
pub mod span;
pub mod spec;
pub mod step;
pub mod talk;
pub mod task;
pub mod telemetry;
mod text;
pub mod time;
pub mod view;
pub mod wire;
pub mod words;
pub mod world;
