//! The seam to programs that run agent sessions. A driver reports facts and performs orders; it decides
//! nothing.
//!
//! The contract, in short:
//! - `open` looks for the task's marker first: one (task, attempt) has at most one session, whatever
//!   crashes. It may report the prompt as taken when the host takes it with the session.
//! - `prompt` carries a host id that derives from task, attempt and turn: sent twice, it runs once. It is
//!   `PromptTaken` when the host shows it; an acknowledgement that proves nothing is `PromptUnsure`.
//! - `watch` reports until it is unwatched: what happens, not what it means. After a lost connection the
//!   first report is a `Looked`. A second watch of an attempt takes the place of the first. Called within
//!   the async runtime that drives the host.
//! - `Exited` is the end of a plain process. An agent's program that ends without the record of our turn
//!   was `Interrupted`, whatever its exit code.
//! - `look` reads the host's own records. A look that fails says so; it proves nothing.
//! - `abort` answers `Stopped` only when nothing of the attempt runs any more.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use homing_core::fact::{Fact, Fence};
use homing_core::ids::TaskId;
use homing_core::spec::{Caps, Model, Order};
use homing_core::task::Answer;
use homing_core::words::TurnKind;

/// A future that a port returns.
pub type Flight<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a launch asks of its host, whatever is said in the session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    pub name: Option<Arc<str>>,
    pub agent: Option<Arc<str>>,
    pub model: Option<Model>,
    pub order: Order,
    /// The session on the same host that it is to be linked below.
    pub above: Option<Arc<str>>,
}

/// What a new session needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    pub task: TaskId,
    pub attempt: u32,
    pub wanted: Wanted,
    /// The text of the first turn.
    pub prompt: Vec<u8>,
}

/// One prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompting {
    pub task: TaskId,
    pub fence: Fence,
    pub session: Arc<str>,
    pub kind: TurnKind,
    pub wanted: Wanted,
    pub text: Vec<u8>,
}

/// Words for a child whose turn goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saying {
    pub place: Place,
    /// From 1, ascending.
    pub n: u32,
    pub text: Vec<u8>,
    /// Nothing comes after it.
    pub last: bool,
}

/// A session of one attempt, and the turn that is spoken of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub task: TaskId,
    pub fence: Fence,
    /// None: to be found by the marker.
    pub session: Option<Arc<str>>,
}

/// A piece of what an attempt wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// Number of its first byte: what lies before it, and was asked for, is not kept.
    pub first: u64,
    pub bytes: Vec<u8>,
    /// How much was written in all, where that is known.
    pub written: Option<u64>,
}

/// What a part of an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartKind {
    Text,
    /// What the agent thinks, where it tells.
    Thought,
    /// A call of a tool: its name, and what it says of itself.
    Tool,
}

impl PartKind {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thought => "thought",
            Self::Tool => "tool",
        }
    }
}

/// A piece of what is said in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The part of the answer that it is of, as the host calls it.
    pub part: Arc<str>,
    pub kind: PartKind,
    /// Number of its first byte in the part. What was told from there on before counts no more.
    pub from: u64,
    pub text: String,
}

/// Where what is said goes to; false: nobody listens any more.
pub trait Ears: Send + Sync {
    fn hear(&self, said: Said) -> Flight<'_, bool>;
}

/// Where a driver reports to. Bounded: a report waits its turn, it is never dropped.
pub trait Reports: Send + Sync {
    fn report(&self, task: TaskId, fence: Fence, fact: Fact) -> Flight<'_, ()>;
}

/// Which messages of a session, and what of them beside their text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    pub thinking: bool,
    pub tools: bool,
    /// Only those after the one of this id.
    pub since: Option<String>,
    /// Only the last so many.
    pub last: Option<usize>,
}

/// What a host has of a session, message by message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Messages {
    /// Each below its id.
    Apart(String),
    /// There is none of the id after which they were asked for.
    NoSuch,
    /// It keeps none apart.
    Together,
}

/// A host program, as one driver sees it.
pub trait Host: Send + Sync {
    fn name(&self) -> &str;

    fn caps(&self) -> Caps;

    /// Whether the host can do what a launch asks for, and knows what it names; the error says what it does know.
    fn check(&self, wanted: Wanted) -> Flight<'_, Result<(), String>>;

    /// Facts: `SessionMade` (then perhaps `PromptTaken`), `StartFailed`, or `StartUnsure`.
    fn open(&self, opening: Opening) -> Flight<'_, Vec<Fact>>;

    /// Fact: `PromptTaken`, `PromptRefused` or `PromptUnsure`; `SessionDeleted` where the host says that there is none.
    fn prompt(&self, prompting: Prompting) -> Flight<'_, Fact>;

    /// Gives the child words while its turn goes on, for a host whose `caps` say `words`; answers when the child has
    /// them. The same number twice is once.
    fn say(&self, saying: Saying) -> Flight<'_, Result<(), String>> {
        let _ = saying;
        Box::pin(std::future::ready(Err("it takes no words in a turn".to_owned())))
    }

    /// What is said in a turn: all that is stored, each part from its first byte on; and, if that is asked for, what comes
    /// after it, until the turn is over. Parts are named in their order.
    fn hear(
        &self,
        place: Place,
        ears: Arc<dyn Ears>,
        follows: bool,
    ) -> Flight<'_, Result<(), String>> {
        let _ = (place, ears, follows);
        Box::pin(std::future::ready(Err("it does not tell what is said before its end".to_owned())))
    }

    /// Reports until `unwatch`.
    fn watch(&self, place: Place, reports: Arc<dyn Reports>);

    fn unwatch(&self, task: TaskId, attempt: u32);

    /// Fact: `Looked`, `LookFailed`, or one that says more (`Exited`, `Interrupted`, `SessionDeleted`).
    fn look(&self, place: Place) -> Flight<'_, Fact>;

    /// Fact: `Stopped` or `StopRefused`.
    fn abort(&self, place: Place) -> Flight<'_, Fact>;

    /// Whether the host has the answer.
    fn answer<'a>(
        &'a self,
        place: Place,
        key: &'a str,
        answer: &'a Answer,
    ) -> Flight<'a, Result<(), String>>;

    /// What was said, for people.
    fn transcript(&self, place: Place) -> Flight<'_, Result<Vec<u8>, String>>;

    /// The messages of a session, one by one.
    fn messages(&self, place: Place, reading: Reading) -> Flight<'_, Result<Messages, String>> {
        let _ = (place, reading);
        Box::pin(std::future::ready(Ok(Messages::Together)))
    }

    /// What was said and is still kept, from a byte on, at most so much; nothing: that was all. Of a host that
    /// keeps no more than its transcript, that.
    fn piece(&self, place: Place, from: u64, most: usize) -> Flight<'_, Result<Piece, String>> {
        Box::pin(async move {
            let all = self.transcript(place).await?;
            let begin = usize::try_from(from).unwrap_or(usize::MAX).min(all.len());
            let end = begin.saturating_add(most).min(all.len());
            let written = Some(all.len() as u64);
            Ok(Piece { first: from, bytes: all[begin..end].to_vec(), written })
        })
    }

    /// Tasks of which the host keeps files of its own. By default none.
    fn kept(&self) -> Flight<'_, Vec<TaskId>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// The task is past its retention, or never came to be: what is kept of it goes. What still runs stays.
    fn forget(&self, task: TaskId) -> Flight<'_, ()> {
        let _ = task;
        Box::pin(std::future::ready(()))
    }
}
