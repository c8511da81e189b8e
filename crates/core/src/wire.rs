//! What goes over the daemon's socket, as both sides read it: bodies of requests, bodies of answers, and
//! problems. Plain data; a task itself is `view::TaskView`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::fact::AskKind;
use crate::ids::{AskId, DebriefId, PostId, TaskId};
use crate::refs::ParentRef;
#[cfg(feature = "schema")]
use crate::schema::{CallerEnv, Env, Models, Said, Span, Stdin};
use crate::telemetry::Completion;
use crate::view::{OriginView, TaskView};
use crate::words::{Cause, Code, DeliveryState, State};
#[cfg(feature = "schema")]
use crate::{refs::Origin, words::Notify};

/// A body whose fields can be named: what is not one of them is refused with the nearest.
pub trait Fields {
    const FIELDS: &'static [&'static str];
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A body in which every field may be left out, and no other field may be.
macro_rules! body {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $kind:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $($(#[$fdoc])* #[serde(skip_serializing_if = "is_default")] pub $field: $kind),*
        }

        impl Fields for $name {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
        }

        impl $name {
            /// What is not said here is taken from there.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($field: if is_default(&self.$field) { other.$field } else { self.$field }),* }
            }
        }
    };
}

mod adopt;
mod converse;
mod query;
pub use adopt::*;
pub use converse::*;
pub use query::*;

/// One word, or several.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "OneOrMany", into = "OneOrMany")]
pub struct Words(pub Vec<String>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Words {
    fn from(given: OneOrMany) -> Self {
        match given {
            OneOrMany::One(word) => Self(vec![word]),
            OneOrMany::Many(words) => Self(words),
        }
    }
}

impl From<Words> for OneOrMany {
    fn from(words: Words) -> Self {
        Self::Many(words.0)
    }
}

body! {
    /// What a task and all below it may use.
    Budget {
        calls: Option<u64>,
        tokens: Option<u64>,
        /// In millionths of a unit.
        cost: Option<u64>,
        /// With its unit: `30m`.
        #[cfg_attr(feature = "schema", schema(value_type = Option<Span>))]
        wall: Option<String>,
    }
}

body! {
    /// A task's own values over `[limits]` of `homing.toml`, by the same names. Times have a unit: `90s`.
    Limits {
        #[cfg_attr(feature = "schema", schema(value_type = Option<Span>))]
        start: Option<String>,
        #[cfg_attr(feature = "schema", schema(value_type = Option<Span>))]
        stale: Option<String>,
        #[cfg_attr(feature = "schema", schema(value_type = Option<Span>))]
        never_active: Option<String>,
        #[cfg_attr(feature = "schema", schema(value_type = Option<Span>))]
        stopping: Option<String>,
        #[cfg_attr(feature = "schema", schema(value_type = Option<Span>))]
        ask: Option<String>,
        identical_calls: Option<u32>,
        calls: Option<u32>,
        attempts: Option<u32>,
        retry_interrupted: Option<u32>,
    }
}

body! {
    /// `POST /v1/tasks`. A prompt or a command; everything else may be left out.
    Launch {
        host: Option<String>,
        agent: Option<String>,
        /// A launch in `homing.toml`; what is said here goes over it.
        preset: Option<String>,
        prompt: Option<String>,
        command: Vec<String>,
        name: Option<String>,
        /// `PROVIDER/MODEL`, or several in the order they are tried.
        #[cfg_attr(feature = "schema", schema(value_type = Models))]
        model: Words,
        variant: Option<String>,
        system: Option<String>,
        tools: Vec<String>,
        permissions: Vec<String>,
        /// The child may delegate.
        delegate: bool,
        #[cfg_attr(feature = "schema", schema(value_type = Option<ParentRef>))]
        parent: Option<String>,
        #[cfg_attr(feature = "schema", schema(value_type = Option<Origin>))]
        origin: Option<String>,
        #[cfg_attr(feature = "schema", schema(value_type = Option<Notify>))]
        notify: Option<String>,
        batch: Option<String>,
        /// The same key again gives the same task. The header `Idempotency-Key` says the same.
        #[cfg_attr(feature = "schema", schema(min_length = 1, max_length = 512))]
        key: Option<String>,
        cwd: Option<String>,
        /// `open` keeps a command's standard input for `send`; `eof`, as it is else, ends it after the prompt.
        #[cfg_attr(feature = "schema", schema(value_type = Option<Stdin>))]
        stdin: Option<String>,
        /// Values that the child gets; kept in a file for its owner alone until the task ends.
        #[cfg_attr(feature = "schema", schema(value_type = Env))]
        env: BTreeMap<String, String>,
        /// The caller's `PATH` and locale.
        #[cfg_attr(feature = "schema", schema(value_type = CallerEnv))]
        caller_env: BTreeMap<String, String>,
        /// With its unit: `30m`.
        #[cfg_attr(feature = "schema", schema(value_type = Option<Span>))]
        timeout: Option<String>,
        budget: Budget,
        limits: Limits,
        priority: i32,
        /// Ids, beginnings of them, or names: it runs once these have completed.
        after: Words,
        /// How often an interrupted turn is tried again; `limits` says the same.
        retry_interrupted: Option<u32>,
    }
}

body! {
    /// `POST /v1/tasks/{ref}/cancel`.
    Cancel { reason: Option<String>, quiet: bool }
}

body! {
    /// `POST /v1/tasks/{ref}/resume`.
    Resume {
        #[cfg_attr(feature = "schema", schema(value_type = Said, required))]
        prompt: String,
        #[cfg_attr(feature = "schema", schema(value_type = Option<ParentRef>))]
        parent: Option<String>,
    }
}

body! {
    /// `POST /v1/tasks/{ref}/send`.
    Send {
        #[cfg_attr(feature = "schema", schema(value_type = Said, required))]
        text: String,
        /// Closes the standard input of a command that was launched with `stdin` `open`; the text may be empty then.
        last: bool,
    }
}

body! {
    /// `POST /v1/asks/{id}/answer`: one of the first three.
    AnswerBody {
        allow: bool,
        deny: bool,
        text: Option<String>,
        /// An agent answers, for this parent; left out: a person does.
        parent: Option<String>,
    }
}

body! {
    /// `POST /v1/stop`.
    Stop {
        /// Cancels every living task first, and waits until they have ended.
        children: bool
    }
}

/// Where there is nothing to say: a retry, an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Nothing {}

impl Fields for Nothing {
    const FIELDS: &'static [&'static str] = &[];
}

/// A launch was accepted: the task is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Accepted {
    pub id: TaskId,
    /// The same key came before: this is the task of then.
    pub existing: bool,
    pub parent: ParentRef,
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Page {
    pub tasks: Vec<TaskView>,
    /// The cursor of the next page; none on the last one.
    pub next: Option<String>,
}

/// What waiting came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Waited {
    /// As it was asked for, with its unit.
    pub asked: String,
    pub asked_ms: u64,
    /// False: the time was up; the task goes on.
    pub ended: bool,
}

/// A task with its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Output {
    pub task: TaskView,
    /// None when nobody asked to wait.
    pub wait: Option<Waited>,
    /// Whether the host could be asked, where it had to be.
    pub fresh: bool,
    /// What to acknowledge once this is known to have arrived.
    pub ack: Option<String>,
}

/// What came of a cancel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Cancelled {
    pub id: TaskId,
    /// Where it stands now.
    pub state: State,
    /// It had ended before; nothing changed.
    pub already_ended: bool,
    /// What is cancelled with it.
    pub below: Vec<TaskId>,
}

/// A new generation was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Resumed {
    pub id: TaskId,
    pub generation: u32,
}

/// Words were taken for a living task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Sent {
    pub id: TaskId,
}

/// One open ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AskView {
    pub id: AskId,
    pub task: TaskId,
    pub name: Option<Arc<str>>,
    pub host: Arc<str>,
    pub attempt: u32,
    pub kind: AskKind,
    pub text: Arc<str>,
    pub options: Vec<Arc<str>>,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub asked_at: String,
    /// Denied then, when nobody answered.
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub deadline: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Asks {
    pub asks: Vec<AskView>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Answered {
    pub id: AskId,
}

/// Whether what was acknowledged was owed; not known or repeated is harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Acked {
    pub key: String,
    pub known: bool,
}

/// One notice that is owed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NoticeView {
    pub task: TaskId,
    pub name: Option<Arc<str>>,
    pub generation: u32,
    pub outcome: State,
    pub cause: Option<Cause>,
    pub state: DeliveryState,
    pub code: Option<Code>,
    /// The debrief it is in.
    pub debrief: Option<DebriefId>,
    /// What acknowledges it alone.
    pub key: String,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub ended_at: Option<String>,
    /// Why its debrief's last send came to nothing.
    pub why: Option<Arc<str>>,
}

/// What a parent is owed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Inbox {
    pub parent: ParentRef,
    pub notices: Vec<NoticeView>,
}

/// The body of a request to a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Hook {
    Debrief(Delivered),
    Message(Posting),
}

/// What was asked for again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Redriven {
    pub key: String,
    /// Something else is on its way to the same parent, and goes first.
    pub waits: bool,
}

/// One message on its way to a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posting {
    pub key: PostId,
    pub origin: OriginView,
    /// What is not text in it is replaced.
    pub text: String,
}

/// Ends, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Telemetry {
    pub records: Vec<Completion>,
    /// The cursor for what comes after.
    pub next: u64,
}

/// One debrief on its way to a consumer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Delivered {
    pub key: DebriefId,
    pub parent: Option<ParentRef>,
    /// Task and generation.
    pub notices: Vec<(TaskId, u32)>,
    /// What is not text in it is replaced.
    pub text: String,
}

/// One line of a task's journal, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WhyLine {
    pub seq: u64,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub at: String,
    /// After the task was accepted.
    pub after_ms: u64,
    pub kind: String,
    pub words: String,
}

/// What comes next, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WhyNext {
    pub words: String,
    /// The timer that fires then, unless something is heard before.
    pub timer: Option<String>,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub at: Option<String>,
}

/// Why a task stands where it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Why {
    pub id: TaskId,
    pub name: Option<Arc<str>>,
    pub state: State,
    pub cause: Option<Cause>,
    pub chain: Vec<WhyLine>,
    pub known: Vec<String>,
    pub missing: Option<String>,
    pub next: WhyNext,
}

/// Who serves the socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Status {
    pub pid: u32,
    pub version: String,
    pub home: String,
    pub socket: String,
    /// Where it listens on TCP.
    #[serde(default)]
    pub http: Option<String>,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub since: String,
    pub hosts: Vec<String>,
    /// Launches that `homing.toml` has names for.
    #[serde(default)]
    pub presets: Vec<String>,
    /// Number of the last journal line.
    pub head: u64,
}

/// The daemon ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Stopping {
    pub pid: u32,
    /// Tasks that were cancelled before.
    pub cancelled: u64,
    /// Of these, tasks that have not ended yet.
    pub left: Vec<TaskId>,
}

/// Why something was not done: `application/problem+json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Problem {
    pub status: u16,
    /// A stable word.
    pub code: String,
    pub title: String,
    pub detail: String,
    /// What to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
