//! What the library's door answers with. Plain values; asks nobody.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use homing_core::compose::lasting;
use homing_core::ids::{DebriefId, TaskId};
use homing_core::refs::ParentRef;
use homing_core::reply::Lease;
use homing_core::task::Task;
use homing_core::time::Stamp;
use homing_core::words::{Code, State};
use homing_ports::store::StoreError;

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("{why} [{code}]")]
    Because { code: Code, why: Arc<str> },
    #[error("the runtime has stopped")]
    Stopped,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Refused {
    pub fn because(code: Code, why: impl Into<Arc<str>>) -> Self {
        let why = why.into();
        Self::Because { code, why }
    }

    pub fn code(&self) -> Code {
        match self {
            Self::Because { code, .. } => *code,
            Self::Stopped | Self::Store(_) => Code::Unavailable,
        }
    }
}

/// What a launch came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launched {
    pub task: TaskId,
    /// The same key came before: this is the task of then.
    pub existing: bool,
}

/// What a cancel came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancelled {
    /// Where the task stands now.
    pub state: State,
    /// It had ended before; nothing changed.
    pub already_ended: bool,
    /// What is cancelled with it.
    pub below: Vec<TaskId>,
}

/// A task as it was read, and how much that is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub task: Task,
    /// When its host last said something of it, or now where nothing can change any more.
    pub as_of: Stamp,
    /// Whether the host could be asked, where it had to be.
    pub fresh: bool,
}

/// What a bounded wait came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    Ended,
    /// The task goes on; the time, as it was asked for, is up.
    TimeUp {
        after: Duration,
    },
}

impl fmt::Display for Waited {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => out.write_str("ended"),
            Self::TimeUp { after } => {
                let ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
                write!(out, "not ended within {}", lasting(ms))
            }
        }
    }
}

/// One debrief as it is handed over: acknowledge it by its key once it is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Debrief {
    pub key: DebriefId,
    /// How it is let go of unacknowledged.
    pub lease: Lease,
    /// None when it was settled and taken away meanwhile.
    pub parent: Option<ParentRef>,
    /// Task and generation, in commit order.
    pub notices: Vec<(TaskId, u32)>,
    pub text: Vec<u8>,
}

impl fmt::Display for Debrief {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&String::from_utf8_lossy(&self.text))
    }
}
