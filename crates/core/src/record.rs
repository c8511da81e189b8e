//! Owns the lines of the journal. State is a fold of these and nothing else; `fold` is that fold.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fact::{Fact, Fence, HostError};
use crate::ids::{AskId, DebriefId, PostId, TaskId};
use crate::outbox::{Debrief, Post};
use crate::payload::{Digest, TextRef};
use crate::reason::{Caller, Reason};
use crate::refs::{Origin, ParentRef};
use crate::spec::{Brief, Spend};
use crate::task::{Answer, AskState, BatchId, Stop, Until};
use crate::words::{Cause, Code, DeliveryState, State, TurnKind};

/// A line about one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum TaskRecord {
    Accepted {
        brief: Arc<Brief>,
        parent: ParentRef,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        launched_by: Option<TaskId>,
        root: TaskId,
        depth: u32,
        batch: BatchId,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        after: Vec<TaskId>,
        key: Arc<str>,
        /// The session it was adopted with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        adopted: Option<Arc<str>>,
    },
    DependencyMet {
        on: TaskId,
    },
    /// Written before its session starts.
    AttemptOpened {
        attempt: u32,
        model: u8,
        key: Arc<str>,
        keep_session: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Box<HostError>>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
    },
    GenerationOpened {
        generation: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<(ParentRef, BatchId)>,
        /// What is set aside for it on the account above.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        aside: Option<Spend>,
        /// Of a conversation: the debrief that this turn carries.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        debrief: Option<DebriefId>,
    },
    /// A person's turn of a conversation waits to be taken.
    TurnAsked {
        turn: u32,
        text: TextRef,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Digest>,
    },
    /// A conversation takes no further turn.
    Closed,
    /// Written before its prompt is sent.
    TurnOpened {
        turn: u32,
        kind: TurnKind,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        debrief: Option<DebriefId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        send: Option<u32>,
    },
    /// The one line that changes a state.
    Moved {
        to: State,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        reason: Reason,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<Box<Stop>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Until>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        flagged: bool,
        /// Who is owed a notice of this end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<(ParentRef, BatchId)>,
    },
    /// A stop that is under way leads elsewhere now.
    StopTurned {
        stop: Box<Stop>,
    },
    Seen {
        fence: Fence,
        fact: Fact,
    },
    /// A fact of another run, or one that came too late: kept, without effect.
    Stale {
        fence: Fence,
        fact: Fact,
    },
    /// An answer that came after the end.
    Late {
        text: TextRef,
    },
    /// What the end left behind.
    Result {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<TextRef>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Box<HostError>>,
    },
    AskOpened {
        ask: AskId,
        seen: crate::fact::AskSeen,
    },
    AskMoved {
        ask: AskId,
        to: AskState,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Answer>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Caller>,
    },
    /// The host has the answer, or needs none any more.
    AskDone {
        ask: AskId,
    },
    SendTaken {
        n: u32,
        text: TextRef,
        /// Nothing comes after it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        last: bool,
    },
    NoticeMoved {
        generation: u32,
        to: DeliveryState,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        debrief: Option<DebriefId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
    /// What is owed goes to somebody else.
    NoticeRouted {
        generation: u32,
        to: ParentRef,
        batch: BatchId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
    },
    ParentMoved {
        to: ParentRef,
        batch: BatchId,
    },
    /// A budget below is set aside.
    Reserved {
        child: TaskId,
        amount: Spend,
    },
    /// A task below ended: what was set aside comes back, less what it used.
    Refunded {
        child: TaskId,
        amount: Spend,
        used: Spend,
    },
    /// A task below, without a budget of its own, used this.
    Charged {
        child: TaskId,
        used: Spend,
    },
    TelemetryTaken {
        generation: u32,
    },
    /// An operator had the end of a generation told at another place.
    Rerouted {
        generation: u32,
        origin: Box<Origin>,
    },
    OrphanSeen {
        attempt: u32,
        session: Option<Arc<str>>,
    },
    OrphanGone {
        attempt: u32,
        confirmed: bool,
    },
}

/// A line about something that is not one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum OutboxRecord {
    Sealed {
        debrief: Box<Debrief>,
    },
    DebriefMoved {
        debrief: DebriefId,
        to: DeliveryState,
        next: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease: Option<(Arc<str>, u64)>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        parked: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Arc<str>>,
    },
    /// A turn of a conversation answered it; what it said goes to the room that the request came from.
    DebriefAnswered {
        debrief: DebriefId,
        task: TaskId,
        text: TextRef,
    },
    /// One that rests is to be sent again: now, or once nothing else is on its way to its parent.
    DebriefAgain {
        debrief: DebriefId,
        waits: bool,
    },
    PostSealed {
        post: Box<Post>,
    },
    PostMoved {
        post: PostId,
        to: DeliveryState,
        next: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<Code>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<Arc<str>>,
    },
    /// One that its room would not take is to be posted again; at another place, where an operator names one.
    PostAgain {
        post: PostId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Box<Origin>>,
    },
}

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    Task(TaskId, TaskRecord),
    Outbox(OutboxRecord),
}

impl TaskRecord {
    /// The kind, as `events` prints it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Accepted { .. } => "accepted",
            Self::DependencyMet { .. } => "dependency_met",
            Self::AttemptOpened { .. } => "attempt_opened",
            Self::GenerationOpened { .. } => "generation_opened",
            Self::TurnAsked { .. } => "turn_asked",
            Self::Closed => "closed",
            Self::TurnOpened { .. } => "turn_opened",
            Self::Moved { .. } => "moved",
            Self::StopTurned { .. } => "stop_turned",
            Self::Seen { .. } => "seen",
            Self::Stale { .. } => "stale",
            Self::Late { .. } => "late",
            Self::Result { .. } => "result",
            Self::AskOpened { .. } => "ask_opened",
            Self::AskMoved { .. } => "ask_moved",
            Self::AskDone { .. } => "ask_done",
            Self::SendTaken { .. } => "send_taken",
            Self::NoticeMoved { .. } => "notice_moved",
            Self::NoticeRouted { .. } => "notice_routed",
            Self::ParentMoved { .. } => "parent_moved",
            Self::Reserved { .. } => "reserved",
            Self::Refunded { .. } => "refunded",
            Self::Charged { .. } => "charged",
            Self::TelemetryTaken { .. } => "telemetry_taken",
            Self::Rerouted { .. } => "rerouted",
            Self::OrphanSeen { .. } => "orphan_seen",
            Self::OrphanGone { .. } => "orphan_gone",
        }
    }
}

impl OutboxRecord {
    /// The key of what it speaks of.
    pub fn key(&self) -> String {
        match self {
            Self::Sealed { debrief } => debrief.id.to_string(),
            Self::DebriefMoved { debrief, .. }
            | Self::DebriefAnswered { debrief, .. }
            | Self::DebriefAgain { debrief, .. } => debrief.to_string(),
            Self::PostSealed { post } => post.id.to_string(),
            Self::PostMoved { post, .. } | Self::PostAgain { post, .. } => post.to_string(),
        }
    }

    pub fn word(&self) -> &'static str {
        match self {
            Self::Sealed { .. } => "sealed",
            Self::DebriefMoved { .. } => "debrief_moved",
            Self::DebriefAnswered { .. } => "debrief_answered",
            Self::DebriefAgain { .. } => "debrief_again",
            Self::PostSealed { .. } => "post_sealed",
            Self::PostMoved { .. } => "post_moved",
            Self::PostAgain { .. } => "post_again",
        }
    }
}
