//! A task as people and scripts see it: one shape for every door. Facts only; decides nothing.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compose::iso;
use crate::evidence::Verdict;
use crate::fact::ErrorClass;
use crate::ids::{ConversationId, DebriefId, PostId, TaskId};
use crate::outbox::{Debrief, Post};
use crate::refs::{Origin, ParentRef};
#[cfg(feature = "schema")]
use crate::schema::Reached;
use crate::task::{BatchId, Task};
use crate::time::Stamp;
use crate::words::{Cause, Code, DeliveryState, Notify, State, Tri};

/// Everything that is known beside the task's own row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// The stored result's bytes, where they are wanted.
    pub result: Option<&'a [u8]>,
    /// The debrief that its latest notice is in.
    pub debrief: Option<&'a Debrief>,
    pub children: &'a [TaskId],
    /// The message to its origin's room.
    pub post: Option<&'a Post>,
    /// What the view is worth: when the task was last heard of.
    pub as_of: Stamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct TaskView {
    pub id: TaskId,
    pub name: Option<Arc<str>>,
    pub state: State,
    pub cause: Option<Cause>,
    pub generation: u32,
    pub attempt: u32,
    pub host: Arc<str>,
    pub agent: Option<Arc<str>>,
    pub model: Option<String>,
    pub session: Option<SessionView>,
    pub parent: ParentRef,
    pub origin: Option<OriginView>,
    pub batch: String,
    pub depth: u32,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub created_at: String,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub started_at: Option<String>,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub ended_at: Option<String>,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub as_of: String,
    pub evidence: Vec<String>,
    pub reason: Option<String>,
    pub result: Option<ResultView>,
    pub error: Option<ErrorView>,
    pub progress: Progress,
    pub delivery: DeliveryView,
    pub room: RoomView,
    pub launched_by: Option<TaskId>,
    pub attempts: Vec<AttemptView>,
    pub children: Vec<TaskId>,
    /// Completed with something to look at.
    pub flagged: bool,
    /// The conversation whose turns it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SessionView {
    pub host: Arc<str>,
    pub id: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct OriginView {
    pub kind: String,
    pub room: Arc<str>,
    pub address: Arc<str>,
    pub thread: Option<Arc<str>>,
}

impl OriginView {
    pub fn of(origin: &Origin) -> Self {
        Self {
            kind: origin.kind.word().to_owned(),
            room: Arc::clone(&origin.room),
            address: Arc::clone(&origin.address),
            thread: origin.thread.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ResultView {
    /// What is not text in it is replaced; none when only the reference is given.
    pub text: Option<String>,
    pub bytes: u64,
    /// It was longer than what is kept.
    pub truncated: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ErrorView {
    /// The kind of error, told by structure.
    pub code: ErrorClass,
    pub message: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Progress {
    pub tool_calls: u64,
    pub last_tool: Option<Arc<str>>,
    #[cfg_attr(feature = "schema", schema(format = DateTime))]
    pub last_activity_at: Option<String>,
    pub tokens: u64,
    /// In millionths of a unit.
    pub cost: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DeliveryView {
    /// `none` where nothing is owed, else how far the latest notice has come.
    #[cfg_attr(feature = "schema", schema(value_type = Reached))]
    pub state: String,
    pub key: Option<DebriefId>,
    pub code: Option<Code>,
    pub attempts: u32,
    /// Why the last send came to nothing, while it has not arrived.
    pub why: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RoomView {
    /// `none` where nothing was sealed for a room, else how far it has come.
    #[cfg_attr(feature = "schema", schema(value_type = Reached))]
    pub state: String,
    pub key: Option<PostId>,
    pub code: Option<Code>,
    pub why: Option<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AttemptView {
    pub attempt: u32,
    pub model: Option<String>,
    pub session: Option<Arc<str>>,
    pub error: Option<ErrorView>,
}

impl TaskView {
    pub fn of(task: &Task, beside: &Beside<'_>) -> Self {
        let brief = &task.brief;
        let used = task.used();
        let session =
            |id: &Arc<str>| SessionView { host: Arc::clone(&brief.host), id: Arc::clone(id) };
        Self {
            id: task.id,
            name: brief.name.clone(),
            state: task.state,
            cause: task.cause,
            generation: task.generation,
            attempt: task.attempt,
            host: Arc::clone(&brief.host),
            agent: brief.agent.clone(),
            model: task.model().map(ToString::to_string),
            session: task.session.as_ref().map(session),
            parent: (*task.parent).clone(),
            origin: brief.origin.as_ref().map(OriginView::of),
            batch: batch(&task.batch),
            depth: task.depth,
            created_at: iso(task.created.wall),
            started_at: task.started.map(|at| iso(at.wall)),
            ended_at: task.ended.map(|at| iso(at.wall)),
            as_of: iso(beside.as_of.wall),
            evidence: evidence(task),
            reason: task.reason.as_ref().map(ToString::to_string),
            result: result(task, beside.result),
            error: task.error.as_deref().map(ErrorView::of),
            progress: Progress {
                tool_calls: used.calls,
                last_tool: task.tool.clone(),
                last_activity_at: task
                    .started
                    .map(|_| iso(wall_of(task.last_active(), beside.as_of))),
                tokens: used.tokens,
                cost: used.cost,
            },
            delivery: delivery(task, beside.debrief),
            room: room(beside.post),
            launched_by: task.launched_by,
            attempts: attempts(task),
            children: beside.children.to_vec(),
            flagged: task.flagged,
            conversation: task.conversation(),
        }
    }
}

/// What is known of the latest turn, and what is missing, in words.
pub fn evidence(task: &Task) -> Vec<String> {
    let seen = &task.evidence;
    let mut all = Vec::new();
    if let Some(exit) = seen.exit {
        all.push(match (exit.code, exit.signal) {
            (Some(code), _) => format!("the process ended with exit code {code}"),
            (None, Some(signal)) => format!("the process was ended by signal {signal}"),
            (None, None) => "the process ended".to_owned(),
        });
    } else if let Some(end) = &seen.end {
        all.push(format!(
            "the host's record of turn {} shows its end, finish {}",
            task.turn.n, end.finish
        ));
    }
    if let Some(cause) = seen.gone {
        all.push(format!("the host says {cause}"));
    }
    if seen.interrupted {
        all.push("the program that ran the turn is gone".to_owned());
    }
    if !seen.calls.is_empty() {
        all.push(match seen.calls.len() {
            1 => "1 tool was seen to begin and not to end".to_owned(),
            many => format!("{many} tools were seen to begin and not to end"),
        });
    }
    if !task.state.is_terminal() {
        match seen.busy {
            Tri::Yes => all.push("the host says the session is busy".to_owned()),
            Tri::No => all.push("the host says the session is not busy".to_owned()),
            Tri::Unknown => {}
        }
        all.extend(missing(task).map(|missing| format!("missing: {missing}")));
    }
    all
}

/// What would have to be seen for the latest turn to count as ended; none when it has.
pub fn missing(task: &Task) -> Option<String> {
    match task.evidence.verdict() {
        Verdict::NotYet(missing) if !task.state.is_terminal() => Some(missing.to_string()),
        Verdict::NotYet(_)
        | Verdict::Good(_)
        | Verdict::OpenTodos
        | Verdict::Bad(_)
        | Verdict::Errored(_)
        | Verdict::ProviderWaits(_)
        | Verdict::Gone(_) => None,
    }
}

/// The time of day of a tick, by a stamp that has both.
fn wall_of(tick: u64, known: Stamp) -> i64 {
    let ms = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
    let before = ms(known.tick.saturating_sub(tick));
    known.wall.saturating_sub(before).saturating_add(ms(tick.saturating_sub(known.tick)))
}

fn room(post: Option<&Post>) -> RoomView {
    RoomView {
        state: post.map_or("none", |post| post.state.word()).to_owned(),
        key: post.map(|post| post.id),
        code: post.and_then(|post| post.code),
        why: post.filter(|post| !post.state.is_over()).and_then(|post| post.why.clone()),
    }
}

fn batch(batch: &BatchId) -> String {
    match batch {
        BatchId::Named(name) => format!("name:{name}"),
        BatchId::Turn(turn) => format!("turn:{turn}"),
        BatchId::Open(count) => format!("open:{count}"),
    }
}

fn result(task: &Task, bytes: Option<&[u8]>) -> Option<ResultView> {
    task.result.map(|stored| ResultView {
        text: bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()),
        bytes: stored.bytes,
        truncated: stored.full_bytes.is_some(),
    })
}

impl ErrorView {
    pub fn of(error: &crate::fact::HostError) -> Self {
        Self { code: error.class, message: format!("{}: {}", error.name, error.message) }
    }
}

fn delivery(task: &Task, debrief: Option<&Debrief>) -> DeliveryView {
    let silent = task.brief.notify == Notify::Silent || *task.parent == ParentRef::None;
    let (state, key, code) = match task.notices.last() {
        Some(notice) => (Some(notice.state), notice.debrief, notice.code),
        None if task.is_living() || silent => (None, None, None),
        None => (Some(DeliveryState::Settled), None, None),
    };
    let debrief = debrief.filter(|debrief| Some(debrief.id) == key);
    // Its debrief knows how far it has come; the notice only that it is in it.
    let state = debrief.map(|debrief| debrief.state).or(state);
    DeliveryView {
        state: state.map_or("none", DeliveryState::word).to_owned(),
        key,
        code: code.or_else(|| debrief.and_then(|debrief| debrief.code)),
        attempts: debrief.map_or(0, |debrief| debrief.tries),
        why: debrief.filter(|debrief| !debrief.state.is_over()).and_then(|open| open.why.clone()),
    }
}

fn attempts(task: &Task) -> Vec<AttemptView> {
    let model = |at: u8| task.brief.models.get(usize::from(at)).map(ToString::to_string);
    let past = task.past.iter().map(|past| AttemptView {
        attempt: past.attempt,
        model: model(past.model),
        session: past.session.clone(),
        error: past.error.as_deref().map(ErrorView::of),
    });
    let now = AttemptView {
        attempt: task.attempt,
        model: model(task.model),
        session: task.session.clone(),
        error: task.error.as_deref().map(ErrorView::of),
    };
    past.chain([now]).collect()
}
