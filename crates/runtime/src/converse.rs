//! Conversations at the library's door: opened, spoken to, shown, closed. What they are is decided elsewhere.

use homing_core::compose::iso;
use homing_core::decision::names;
use homing_core::ids::{ConversationId, TaskId};
use homing_core::input::Input;
use homing_core::payload::{Digest, Payload};
use homing_core::refs::ParentRef;
use homing_core::reply::Told;
use homing_core::task::Task;
use homing_core::view::{ErrorView, OriginView, SessionView};
use homing_core::wire::{ConversationView, TurnView};
use homing_core::words::Code;
use homing_ports::store::{Reader, StoreError};

use crate::answers::Refused;
use crate::codec;
use crate::homing::{Homing, the_answer};
use crate::launch::Launch;
use crate::texts;

/// As many turns are shown with a conversation.
const SHOWN: u32 = 20;

impl Homing {
    /// Opens a conversation on a host. `existing`: the same key came before.
    pub async fn converse(&self, launch: Launch) -> Result<(ConversationId, bool), Refused> {
        let (id, spec) = (self.mint(), self.admitted(launch.conversing()).await?);
        let told = self.ask(|request| Input::Converse { request, id, spec }).await?;
        the_answer!(told, Told::Accepted { task, existing } => (task.conversation(), existing))
    }

    /// A person's turn: its number. `existing`: the same key came before.
    pub async fn speak(
        &self,
        id: ConversationId,
        text: &str,
        key: Option<&str>,
    ) -> Result<(u32, bool), Refused> {
        let (task, text) = (id.task(), Payload::from(text));
        let key = key.map(|key| Digest::of(key.as_bytes()));
        let told = self.ask(|request| Input::Turn { request, task, text, key }).await?;
        the_answer!(told, Told::TurnTaken { turn, existing } => (turn, existing))
    }

    /// No further turn; what it has out is cancelled.
    pub async fn close(&self, id: ConversationId) -> Result<(), Refused> {
        let told = self.ask(|request| Input::Close { request, task: id.task() }).await?;
        the_answer!(told, Told::Closed => ())
    }

    /// A conversation with its latest turns, as last committed.
    pub async fn conversation(&self, id: ConversationId) -> Result<ConversationView, Refused> {
        let found = self.read(move |reader| view(reader, id.task())).await?;
        found.ok_or_else(|| unknown(id))
    }

    /// Who is told of what a task launches: the task, or the conversation that it carries.
    pub async fn caller_as_parent(&self, task: TaskId) -> Result<ParentRef, Refused> {
        let talks = self.read(move |reader| carrying(reader, task)).await?.is_some();
        Ok(if talks { ParentRef::Conversation(task.conversation()) } else { ParentRef::Task(task) })
    }

    /// One turn, as last committed.
    pub async fn turn(&self, id: ConversationId, turn: u32) -> Result<TurnView, Refused> {
        let found = self.read(move |reader| turn_now(reader, id.task(), turn)).await?;
        found.map(|(view, _)| view).ok_or_else(|| no_turn(id, turn))
    }
}

fn unknown(id: ConversationId) -> Refused {
    Refused::because(Code::NotFound, format!("no conversation {id}"))
}

pub(crate) fn no_turn(id: ConversationId, turn: u32) -> Refused {
    Refused::because(Code::NotFound, format!("{id} has no turn {turn}"))
}

/// How many go first.
pub(crate) fn ahead(reader: &dyn Reader, id: TaskId, turn: u32) -> Result<u32, StoreError> {
    let task = carrying(reader, id)?;
    let running = task.as_ref().is_some_and(|task| task.is_living());
    let waiting = task.and_then(|task| task.talk.clone()).unwrap_or_default().waiting;
    let before = waiting.iter().filter(|other| **other < turn).count();
    Ok(before as u32 + u32::from(running))
}

fn carrying(reader: &dyn Reader, id: TaskId) -> Result<Option<Box<Task>>, StoreError> {
    Ok(texts::task_now(reader, id)?.0.filter(|task| task.talk.is_some()))
}

fn view(reader: &dyn Reader, id: TaskId) -> Result<Option<ConversationView>, StoreError> {
    let Some(task) = carrying(reader, id)? else {
        return Ok(None);
    };
    let talk = task.talk.clone().unwrap_or_default();
    let first = talk.turns.saturating_sub(SHOWN - 1).max(1);
    let mut ended = Vec::new();
    codec::each_end(reader, id, |task| {
        ended.extend((task.generation >= first).then(|| task.clone()));
        true
    })?;
    let turns: Result<Vec<TurnView>, _> = ended.iter().map(|task| begun(reader, task)).collect();
    let mut turns = turns?;
    if task.is_living() {
        turns.push(begun(reader, &task)?);
    }
    turns.extend(talk.waiting.iter().map(|turn| unbegun(*turn, "waiting")));
    let state = match (talk.closed, task.is_living()) {
        (true, _) => "closed",
        (false, true) => "busy",
        (false, false) => "idle",
    };
    let host = task.brief.host.clone();
    let session = task.session.clone().map(|id| SessionView { host: host.clone(), id });
    Ok(Some(ConversationView {
        id: id.conversation(),
        name: task.brief.name.clone(),
        state: state.to_owned(),
        host,
        agent: task.brief.agent.clone(),
        session,
        origin: task.brief.origin.as_ref().map(OriginView::of),
        task: id,
        created_at: iso(task.created.wall),
        waiting: talk.waiting.to_vec(),
        turns,
    }))
}

/// A turn, and the task as it stands in it, once it has begun.
pub(crate) type TurnNow = (TurnView, Option<Box<Task>>);

/// None: there was never one of this number.
pub(crate) fn turn_now(
    reader: &dyn Reader,
    id: TaskId,
    turn: u32,
) -> Result<Option<TurnNow>, StoreError> {
    let Some(task) = carrying(reader, id)? else {
        return Ok(None);
    };
    let talk = task.talk.clone().unwrap_or_default();
    if turn == 0 || turn > talk.turns {
        return Ok(None);
    }
    if talk.waiting.contains(&turn) {
        return Ok(Some((unbegun(turn, "waiting"), None)));
    }
    if talk.closed && (task.generation + 1..=talk.turns).contains(&turn) {
        let view = TurnView {
            reason: Some("the conversation was closed before it began".to_owned()),
            ended_at: task.ended.map(|at| iso(at.wall)),
            ..unbegun(turn, "withdrawn")
        };
        return Ok(Some((view, None)));
    }
    let task = if turn == task.generation {
        Some(task)
    } else {
        codec::at_end_of(reader, id, turn)?.map(Box::new)
    };
    match task {
        Some(task) => Ok(Some((begun(reader, &task)?, Some(task)))),
        None => Ok(None),
    }
}

fn unbegun(turn: u32, state: &str) -> TurnView {
    TurnView {
        turn,
        cause: PERSON.to_owned(),
        state: state.to_owned(),
        debrief: None,
        text: None,
        error: None,
        reason: None,
        began_at: None,
        ended_at: None,
    }
}

const PERSON: &str = "person";

fn begun(reader: &dyn Reader, task: &Task) -> Result<TurnView, StoreError> {
    let debrief = task.talk.as_ref().and_then(|talk| talk.debrief);
    let over = !task.is_living();
    let text = match task.result.filter(|_| over) {
        Some(text) => reader.blob(&names::text(task.id, text.digest))?,
        None => None,
    };
    let error = task.error.as_deref().filter(|_| over).map(ErrorView::of);
    Ok(TurnView {
        turn: task.generation,
        cause: if debrief.is_some() { "tasks" } else { PERSON }.to_owned(),
        state: task.state.to_string(),
        debrief,
        text: text.map(|text| String::from_utf8_lossy(&text).into_owned()),
        error,
        reason: task.reason.as_ref().map(ToString::to_string),
        began_at: task.started.map(|at| iso(at.wall)),
        ended_at: task.ended.filter(|_| over).map(|at| iso(at.wall)),
    })
}
