//! A typed client of the daemon's door, over its unix socket, or over TCP with the home's token. Requests that follow
//! each other share a connection; streams hold theirs.
//!
//! Everything that is sent and received is a type of `homing_core`. A refusal is `Error::Problem`, with the code
//! that the daemon gave; a daemon that cannot be reached is `Error::Unreachable`.

#![forbid(unsafe_code)]

mod connection;
mod events;
pub mod verbs;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_core::wire::Problem;
use homing_core::words::Code;
use tokio::io::DuplexStream;

use connection::Connection;
pub use events::{Event, Events, Parts};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody answers there.
    #[error("no daemon answers at {place}: {why}")]
    Unreachable { place: String, why: String },
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

impl Error {
    /// What may pass by itself: after how long the same can be asked again, of the daemon that is there by then.
    pub fn passes(&self) -> Option<Duration> {
        match (self, self.code()) {
            (Self::Unreachable { .. } | Self::CutOff { .. }, _) => Some(Duration::ZERO),
            (_, Some(Code::Unavailable | Code::Unsure)) => Some(PAUSE),
            (Self::Problem(_) | Self::Odd { .. }, _) => None,
        }
    }
}

/// Until a store that failed is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// Where a daemon is reached.
#[derive(Clone)]
enum Place {
    Socket(PathBuf),
    Tcp { address: String, token: String },
    Within(Within),
}

/// Makes a connection within this process.
#[derive(Clone)]
struct Within(Arc<dyn Fn() -> DuplexStream + Send + Sync>);

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(out),
            Self::Tcp { address, .. } => out.write_str(address),
            Self::Within(_) => out.write_str("this process"),
        }
    }
}

/// A token is shown to nobody.
impl fmt::Debug for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

/// Speaks with one daemon. Cheap to clone; clones share what is connected.
#[derive(Debug, Clone)]
pub struct Client {
    place: Arc<Place>,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Client {
    /// Of the daemon at this socket. Connects to nothing yet.
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self::at(Place::Socket(socket.into()))
    }

    /// Of the daemon that listens at `127.0.0.1:7117`, say; the token is what `homing token` prints.
    pub fn over_tcp(address: impl Into<String>, token: impl Into<String>) -> Self {
        Self::at(Place::Tcp { address: address.into(), token: token.into() })
    }

    /// Of a door in this very process: whoever makes the connection says who calls.
    pub fn within(connect: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Self {
        Self::at(Place::Within(Within(Arc::new(connect))))
    }

    fn at(place: Place) -> Self {
        Self { place: Arc::new(place), idle: Arc::default() }
    }

    /// Of the same daemon, with connections of its own.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { place: Arc::clone(&self.place), idle: Arc::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
