//! Owns what a door is told in return. Released only after the commit.

use std::sync::Arc;

use crate::ids::{AskId, DebriefId, TaskId};
use crate::input::Request;
use crate::payload::Digest;
use crate::words::{Code, State};

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    pub request: Request,
    pub answer: Told,
}

/// A debrief as one consumer has it: a later lease of it is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    pub debrief: DebriefId,
    /// The tick that it ends at, if nothing is heard before.
    pub until: u64,
    /// Of the text that was sealed.
    pub digest: Digest,
}

/// What is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Reserved,
    /// The task's id; `existing` when the same key came before.
    Accepted {
        task: TaskId,
        existing: bool,
    },
    /// Cancel is under way or done; `state` is where the task stands now.
    /// `below` names what is cancelled with it: a cascade is complete once all of these have ended.
    Cancelling {
        task: TaskId,
        state: State,
        below: Vec<TaskId>,
    },
    /// It had ended before; nothing changed.
    AlreadyEnded {
        task: TaskId,
        state: State,
    },
    Resumed {
        task: TaskId,
        generation: u32,
    },
    SendTaken {
        task: TaskId,
        n: u32,
    },
    Answered {
        ask: AskId,
    },
    /// A turn of a conversation; `existing` when the same key came before.
    TurnTaken {
        turn: u32,
        existing: bool,
    },
    Closed,
    /// Read the task now: it is as fresh as it gets. `fresh` tells whether the host could be asked, where it had to be.
    ReadNow {
        task: TaskId,
        as_of: u64,
        fresh: bool,
    },
    /// A wait is over: the task ended, or the time is up.
    WaitOver {
        task: TaskId,
        ended: bool,
    },
    Leased {
        lease: Option<Lease>,
    },
    Acked {
        known: bool,
    },
    /// Whether retention took something.
    Purged {
        any: bool,
    },
    Rerouted {
        task: TaskId,
    },
    /// It is sent again: now, or once what is on its way to the same parent has arrived.
    Redriven {
        waits: bool,
    },
    /// Nothing was changed.
    Refused {
        code: Code,
        why: Arc<str>,
    },
}
