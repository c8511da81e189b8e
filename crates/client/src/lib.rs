//! A typed client of the daemon's door, over its unix socket. Requests that follow each other share a connection;
//! streams hold theirs.
//!
//! Everything that is sent and received is a type of `homing_core`. A refusal is `Error::Problem`, with the code
//! that the daemon gave; a daemon that cannot be reached is `Error::Unreachable`.

#![forbid(unsafe_code)]

mod connection;
mod events;
pub mod verbs;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_core::wire::Problem;
use homing_core::words::Code;

use connection::Connection;
pub use events::{Event, Events, Parts};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody answers at the socket.
    #[error("no daemon answers at {socket}: {why}")]
    Unreachable { socket: String, why: String },
    /// The connection ended before the answer did: whether it was done is not known.
    #[error("the daemon went away before it answered: {why}")]
    CutOff { why: String },
    /// The daemon refused.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// What was answered is not what this release knows.
    #[error("the daemon answered something else than was expected: {why}")]
    Odd { why: String },
}

impl Error {
    /// The code of a refusal, where it is one that the core knows.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Problem(problem) => {
                Code::ALL.iter().copied().find(|code| code.word() == problem.code)
            }
            Self::Unreachable { .. } | Self::CutOff { .. } | Self::Odd { .. } => None,
        }
    }
}

/// Speaks with the daemon at one socket. Cheap to clone; clones share what is connected.
#[derive(Debug, Clone)]
pub struct Client {
    socket: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Client {
    /// Connects to nothing yet.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into(), idle: Arc::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }
}
