//! Scripted hosts, models and agents: for tests and the demo only.
//!
//! - `scripted`: a host that obeys scripts, for tests of whatever drives hosts.
//! - `sequences`: what real hosts were seen to do, as data.

#![forbid(unsafe_code)]

pub mod scripted;
pub mod sequences;
