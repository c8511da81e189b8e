//! The shim: one small process per local child, so that the child outlives the daemon and nothing of how it
//! ended is lost. It knows no task and no ledger; a run's directory is all it has.
//!
//! ```text
//! spec      what to run; read once, overwritten when the claim is taken (it holds the environment)
//! claim     who supervises: linked once, locked as long as that process lives; then the child, and its pipes
//! out.N     standard output from byte N on; err.N likewise
//! in        input, in numbered frames
//! ctl       a socket: how to reach the shim
//! exit      how it ended; there once nothing of it runs
//! log       what the shim itself had to say
//! ```
//!
//! Whoever asks the nursery for a shim reads one line: `started`, `taken`, `failed` (the exit record
//! says why), or why there is no shim.

#![deny(unsafe_code)]

pub mod claim;
pub mod frames;
pub mod lean;
pub mod nursery;
pub mod processes;
mod reaper;
pub mod record;
pub mod run_dir;
pub mod spec;
pub mod spool;
mod streams;
mod supervise;
pub mod talk;

use supervise::supervise;
