//! Scripted hosts, models and agents: for tests and the demo only.
//!
//! - `between`: stands before a server, and loses or holds its replies.
//! - `gate`: what a command waits at until a test lets it through.
//! - `model`: a model on loopback that obeys its prompt, as two APIs.
//! - `npm`, `pypi`, `debian`: real programs, installed at fixed versions.
//! - `opencode`: a real OpenCode, kept apart from the user's.
//! - `receiver`: a program elsewhere that is told by requests.
//! - `scripted`: a host that obeys scripts, for tests of whatever drives hosts.
//! - `sequences`: what real hosts were seen to do, as data.
//! - `synapse`: a real Matrix homeserver.

#![forbid(unsafe_code)]

pub mod between;
pub mod debian;
pub mod gate;
pub mod model;
pub mod npm;
pub mod opencode;
pub mod pypi;
pub mod receiver;
pub mod scripted;
pub mod sequences;
pub mod synapse;
