//! The record that a monitor gets of every end, apart from every conversation. Facts and one plain line;
//! nothing that the child said is in it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compose::line;
use crate::fact::ErrorClass;
use crate::ids::TaskId;
use crate::payload::Digest;
use crate::refs::{Origin, ParentRef};
use crate::spec::Model;
use crate::task::Task;
use crate::words::{Cause, Code, State, words};

words! {
    /// What kind of record it is.
    Kind { Completion = "task_completion_telemetry" }
}

/// An error without its words: those may be the child's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Failure {
    pub class: ErrorClass,
    pub name: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// What the result is known by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ResultMark {
    pub bytes: u64,
    pub digest: Digest,
    /// Its length before it was cut to the limit, when it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_bytes: Option<u64>,
}

/// How one generation of one task ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Completion {
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schema(inline))]
    pub kind: Kind,
    pub task: TaskId,
    pub generation: u32,
    pub origin: Option<Origin>,
    pub status: State,
    pub cause: Option<Cause>,
    /// One line: the name as the launcher gave it, how it ended, why.
    pub summary: String,
    /// Milliseconds since the epoch.
    pub at: i64,
    pub parent: ParentRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launched_by: Option<TaskId>,
    pub host: Arc<str>,
    pub session: Option<Arc<str>>,
    pub agent: Option<Arc<str>>,
    pub model: Option<Model>,
    /// Attempts made in this generation.
    pub attempts: u32,
    /// From the first start of the generation to its end; none when it never started.
    pub duration_ms: Option<u64>,
    pub tokens: u64,
    /// In millionths of a unit.
    pub cost: u64,
    pub tool_calls: u64,
    /// Completed with something to look at.
    pub flagged: bool,
    pub error: Option<Failure>,
    pub code: Option<Code>,
    pub result: Option<ResultMark>,
}

impl Completion {
    /// The record of the generation that this task, as it stands, has ended.
    pub fn of(task: &Task) -> Self {
        let brief = &task.brief;
        let spent = task.spent_before.plus(task.spent);
        let ended = task.ended.unwrap_or_default();
        Self {
            kind: Kind::Completion,
            task: task.id,
            generation: task.generation,
            origin: brief.origin.clone(),
            status: task.state,
            cause: task.cause,
            summary: summary(task),
            at: ended.wall,
            parent: (*task.parent).clone(),
            launched_by: task.launched_by,
            host: Arc::clone(&brief.host),
            session: task.session.clone(),
            agent: brief.agent.clone(),
            model: task.model().cloned(),
            attempts: task.tries,
            duration_ms: task.started.map(|began| ended.tick.saturating_sub(began.tick)),
            tokens: spent.tokens,
            cost: spent.cost,
            tool_calls: spent.calls,
            flagged: task.flagged,
            error: task.error.as_ref().map(|error| Failure {
                class: error.class,
                name: line(&error.name, 80).into(),
                status: error.status,
            }),
            code: (task.cause == Some(Cause::AbortUnconfirmed)).then_some(Code::AbortUnconfirmed),
            result: task.result.map(|text| ResultMark {
                bytes: text.bytes,
                digest: text.digest,
                full_bytes: text.full_bytes,
            }),
        }
    }
}

fn summary(task: &Task) -> String {
    let name = line(task.brief.name.as_deref().unwrap_or("unnamed"), 80);
    match task.cause {
        Some(cause) => format!("{name}: {} ({cause})", task.state),
        None => format!("{name}: {}", task.state),
    }
}
