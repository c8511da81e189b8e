//! One folder per host. A driver reports facts and performs orders; it decides nothing.
//!
//! - `process`: a plain command.
//! - `opencode`: sessions of OpenCode.
//! - `listens`: where programs that serve many tasks can be reached.
//! - `marks`: by which those are known who run below a session.
//! - `nursery`: who makes the shims that local programs run under.
//! - `system`: the calls to the operating system, in one place. Linux.

#![forbid(unsafe_code)]

mod listens;
mod marks;
mod nursery;
pub mod opencode;
pub mod process;
pub mod system;
