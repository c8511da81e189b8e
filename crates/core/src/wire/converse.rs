//! Conversations as they go over the socket.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Fields, Words, is_default};
use crate::ids::{AskId, ConversationId, DebriefId, TaskId};
#[cfg(feature = "schema")]
use crate::refs::Origin;
#[cfg(feature = "schema")]
use crate::schema::{Models, Said};
use crate::view::{ErrorView, OriginView, SessionView};

body! {
    /// `POST /v1/conversations`. All of it may be left out.
    Converse {
        host: Option<String>,
        agent: Option<String>,
        name: Option<String>,
        /// `PROVIDER/MODEL`, or several in the order they are tried.
        #[cfg_attr(feature = "schema", schema(value_type = Models))]
        model: Words,
        variant: Option<String>,
        system: Option<String>,
        tools: Vec<String>,
        permissions: Vec<String>,
        cwd: Option<String>,
        /// Where people read what it says about the tasks that it sent out.
        #[cfg_attr(feature = "schema", schema(value_type = Option<Origin>))]
        origin: Option<String>,
        /// The same key again is the same conversation.
        key: Option<String>,
    }
}

body! {
    /// `POST /v1/conversations/{conversation}/turns`.
    Speak {
        #[cfg_attr(feature = "schema", schema(value_type = Said, required))]
        text: String,
        /// The same key again is the same turn.
        key: Option<String>,
    }
}

body! {
    /// `POST /v1/tasks/{task}/reroute`.
    Reroute {
        #[cfg_attr(feature = "schema", schema(value_type = Origin, required))]
        origin: String,
    }
}

/// A conversation was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Opened {
    pub id: ConversationId,
    /// The same key came before.
    pub existing: bool,
    /// What it is called as a parent.
    pub parent: String,
}

/// A person's turn was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Spoken {
    pub id: ConversationId,
    pub turn: u32,
    /// The same key came before.
    pub existing: bool,
}

/// A conversation as every door shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ConversationView {
    pub id: ConversationId,
    pub name: Option<Arc<str>>,
    /// `idle`, `busy` or `closed`.
    pub state: String,
    pub host: Arc<str>,
    pub agent: Option<Arc<str>>,
    /// None before its first turn.
    pub session: Option<SessionView>,
    pub origin: Option<OriginView>,
    /// The task that carries it.
    pub task: TaskId,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub created_at: String,
    /// Turns that wait, oldest first.
    pub waiting: Vec<u32>,
    /// The latest ones, oldest first; with those that wait.
    pub turns: Vec<TurnView>,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TurnView {
    pub turn: u32,
    /// `person`, or `tasks`: what they brought home.
    pub cause: String,
    /// `waiting` for those before it; else as a task stands.
    pub state: String,
    pub debrief: Option<DebriefId>,
    /// What was said in it at the end.
    pub text: Option<String>,
    pub error: Option<ErrorView>,
    /// Why it stands so.
    pub reason: Option<String>,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub began_at: Option<String>,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub ended_at: Option<String>,
}

/// What happens in a turn, in the order of its stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum TurnEvent {
    /// Others go first.
    Waits {
        turn: u32,
        ahead: u32,
    },
    Began {
        turn: u32,
        cause: String,
        debrief: Option<DebriefId>,
    },
    /// More of a part: `text`, `thought` or `tool`; `offset` is the number of its first byte.
    Said {
        turn: u32,
        part: String,
        kind: String,
        offset: u64,
        text: String,
    },
    /// It waits for an answer to this ask.
    Asks {
        turn: u32,
        ask: AskId,
        text: String,
    },
    /// What was told of this part from `offset` on is not there any more; without a part, all that was told of the turn.
    Reset {
        turn: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<String>,
        offset: u64,
    },
    Ended(TurnView),
}

impl TurnEvent {
    pub fn word(&self) -> &'static str {
        match self {
            Self::Waits { .. } => "waits",
            Self::Began { .. } => "began",
            Self::Said { .. } => "said",
            Self::Asks { .. } => "asks",
            Self::Reset { .. } => "reset",
            Self::Ended(_) => "ended",
        }
    }
}
