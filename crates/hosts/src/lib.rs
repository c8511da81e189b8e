//! One folder per host. A driver reports facts and performs orders; it decides nothing.
//!
//! - `process`: a plain command.
//! - `opencode`: sessions of OpenCode.
//! - `nursery`: who makes the shims that local programs run under.
//! - `system`: the calls to the operating system, in one place. Linux.

#![forbid(unsafe_code)]

mod nursery;
pub mod opencode;
pub mod process;
pub mod system;
