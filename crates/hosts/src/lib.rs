//! One folder per host. A driver reports facts and performs orders; it decides nothing.
//!
//! - `process`: a plain command.
//! - `system`: the calls to the operating system, in one place. Linux.

#![forbid(unsafe_code)]

pub mod process;
pub mod system;
