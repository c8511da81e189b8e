//! Owns the facts that hosts report: what was seen, never what it means.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::payload::Payload;
use crate::spec::Spend;
use crate::words::{Tri, words};

/// Which run of a task a fact belongs to. A turn of 0 speaks of the session as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fence {
    pub attempt: u32,
    pub turn: u32,
}

words! {
    /// How the host says a turn ended.
    Finish {
        Stop = "stop",
        Length = "length",
        /// Refused, or taken by a content filter.
        Refusal = "refusal",
        /// Aborted by somebody.
        Cancelled = "cancelled",
        /// Tools are called next: the turn goes on.
        ToolCalls = "tool_calls",
        /// A word we have never seen, or none.
        Unknown = "unknown",
    }
}

words! {
    /// What kind of error it is, told by structure: status code, error name.
    ErrorClass {
        RateLimited = "rate_limited",
        /// Used up until a time.
        Quota = "quota",
        /// 5xx, network, overload: the same may work soon.
        Transient = "transient",
        Overflow = "overflow",
        Permission = "permission",
        BadRequest = "bad_request",
        Auth = "auth",
        UnknownModel = "unknown_model",
        /// The child itself asks for the next model (exit 75).
        TryNext = "try_next",
        Other = "other",
    }
}

/// An error as a host reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostError {
    pub class: ErrorClass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    pub name: Arc<str>,
    pub message: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Milliseconds since the epoch, as the provider named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_wall: Option<i64>,
}

impl HostError {
    pub fn new(class: ErrorClass, name: &str, message: &str) -> Self {
        let class_of = class;
        Self {
            class: class_of,
            status: None,
            name: name.into(),
            message: message.into(),
            retry_after_ms: None,
            until_wall: None,
        }
    }
}

/// The host's own record of a turn's end, read after that end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    pub finish: Finish,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<HostError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Payload>,
    /// Whether the turn used a tool.
    pub tools_ran: bool,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
}

/// What the stored record of our turn looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnRecord {
    /// The host does not have our prompt.
    Absent,
    /// The prompt is there, no end.
    Open,
    Ended(End),
    Unreadable,
}

words! {
    /// Whether the session is there.
    Presence { Present = "present", Missing = "missing", Unsure = "unsure" }
}

words! {
    /// What a child waits on.
    AskKind { Permission = "permission", Question = "question" }
}

/// A permission or question as the host shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskSeen {
    /// The host's own name for it.
    pub key: Arc<str>,
    pub kind: AskKind,
    pub text: Arc<str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Arc<str>>,
}

/// A call of a tool that runs. Identities are digests that the driver makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Of the host's call id: the same for every event of one real call.
    pub id: u64,
    pub tool: Arc<str>,
    /// Of tool and input; unknown inputs have none and never count as equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
}

/// One look at a session: everything that the host's records say now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    pub turn: TurnRecord,
    pub busy: Tri,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Call>,
    /// Open asks; none when the host cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asks: Option<Vec<AskSeen>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todos: Option<u32>,
    pub session: Presence,
    /// Whether the program that serves the session is the one that took the turn.
    pub same_host: Tri,
}

/// One observation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    SessionMade {
        session: Arc<str>,
    },
    StartFailed {
        error: HostError,
    },
    /// Whether the session was made is not known; it is looked for by its marker.
    StartUnsure {
        why: Arc<str>,
    },
    PromptTaken,
    PromptRefused {
        error: HostError,
    },
    /// The reply to the prompt was cut off.
    PromptUnsure {
        why: Arc<str>,
    },
    /// The child has the words of this send, while its turn goes on.
    WordsTaken {
        n: u32,
    },
    /// Something moved: text, reasoning, a step.
    Active,
    ToolBegan {
        call: Call,
    },
    ToolEnded {
        id: u64,
    },
    /// Totals of this attempt so far.
    Spent {
        total: Spend,
    },
    AskOpened {
        ask: AskSeen,
    },
    AskClosed {
        key: Arc<str>,
    },
    Todos {
        open: u32,
    },
    /// The host's record of the end, read after it.
    Ended {
        end: End,
    },
    /// An idle or end word without the record: a reason to look.
    EndHint,
    /// An error that may not be the end: a reason to look.
    ErrorHint {
        error: HostError,
    },
    /// The host itself waits for the provider, until a time.
    ProviderWait {
        error: HostError,
    },
    /// A status word never seen before.
    OddWord {
        word: Arc<str>,
    },
    Busy,
    /// The context was compacted; the turn goes on.
    Compacted,
    Exited {
        exit: Exit,
        text: Option<Payload>,
    },
    Looked {
        picture: Picture,
    },
    LookFailed {
        why: Arc<str>,
    },
    /// The turn was cut off and will not go on: the program that ran it is gone.
    Interrupted {
        why: Arc<str>,
    },
    SessionDeleted,
    HostGone {
        why: Arc<str>,
    },
    /// The abort is confirmed: nothing of this attempt runs.
    Stopped,
    StopRefused {
        why: Arc<str>,
    },
}

impl Fact {
    /// What a look says that had no session's name to go by: one that found none says nothing of a session
    /// that was made since.
    pub fn without_name(mut self) -> Self {
        if let Self::Looked { picture } = &mut self
            && picture.session == Presence::Missing
        {
            picture.session = Presence::Unsure;
        }
        self
    }

    pub fn word(&self) -> &'static str {
        match self {
            Self::SessionMade { .. } => "session_made",
            Self::StartFailed { .. } => "start_failed",
            Self::StartUnsure { .. } => "start_unsure",
            Self::PromptTaken => "prompt_taken",
            Self::PromptRefused { .. } => "prompt_refused",
            Self::PromptUnsure { .. } => "prompt_unsure",
            Self::WordsTaken { .. } => "words_taken",
            Self::Active => "active",
            Self::ToolBegan { .. } => "tool_began",
            Self::ToolEnded { .. } => "tool_ended",
            Self::Spent { .. } => "spent",
            Self::AskOpened { .. } => "ask_opened",
            Self::AskClosed { .. } => "ask_closed",
            Self::Todos { .. } => "todos",
            Self::Ended { .. } => "ended",
            Self::EndHint => "end_hint",
            Self::ErrorHint { .. } => "error_hint",
            Self::ProviderWait { .. } => "provider_wait",
            Self::OddWord { .. } => "odd_word",
            Self::Busy => "busy",
            Self::Compacted => "compacted",
            Self::Exited { .. } => "exited",
            Self::Looked { .. } => "looked",
            Self::LookFailed { .. } => "look_failed",
            Self::Interrupted { .. } => "interrupted",
            Self::SessionDeleted => "session_deleted",
            Self::HostGone { .. } => "host_gone",
            Self::Stopped => "stopped",
            Self::StopRefused { .. } => "stop_refused",
        }
    }

    /// Whether it speaks of one turn and has to name it.
    pub fn is_of_a_turn(&self) -> bool {
        matches!(
            self,
            Self::PromptTaken
                | Self::PromptRefused { .. }
                | Self::PromptUnsure { .. }
                | Self::Ended { .. }
        )
    }

    /// Whether it is only activity: kept in memory, journaled now and then.
    pub fn is_light(&self) -> bool {
        matches!(self, Self::Active | Self::Busy | Self::LookFailed { .. })
    }

    /// The text that goes to the store with it.
    pub fn text(&self) -> Option<&Payload> {
        match self {
            Self::Ended { end } => end.text.as_ref(),
            Self::Exited { text, .. } => text.as_ref(),
            Self::Looked { picture } => match &picture.turn {
                TurnRecord::Ended(end) => end.text.as_ref(),
                TurnRecord::Absent | TurnRecord::Open | TurnRecord::Unreadable => None,
            },
            Self::SessionMade { .. }
            | Self::StartFailed { .. }
            | Self::StartUnsure { .. }
            | Self::PromptTaken
            | Self::PromptRefused { .. }
            | Self::PromptUnsure { .. }
            | Self::WordsTaken { .. }
            | Self::Active
            | Self::ToolBegan { .. }
            | Self::ToolEnded { .. }
            | Self::Spent { .. }
            | Self::AskOpened { .. }
            | Self::AskClosed { .. }
            | Self::Todos { .. }
            | Self::EndHint
            | Self::ErrorHint { .. }
            | Self::ProviderWait { .. }
            | Self::OddWord { .. }
            | Self::Busy
            | Self::Compacted
            | Self::LookFailed { .. }
            | Self::Interrupted { .. }
            | Self::SessionDeleted
            | Self::HostGone { .. }
            | Self::Stopped
            | Self::StopRefused { .. } => None,
        }
    }
}
