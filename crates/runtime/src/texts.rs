//! Puts together what performers need from the store: openings, prompts, debriefs, results.

use std::sync::Arc;

use homing_core::compose::{DebriefFacts, Entry, OpenAsk, Running, compose};
use homing_core::decision::names;
use homing_core::fact::Fact;
use homing_core::ids::{DebriefId, TaskId};
use homing_core::limits::Limits;
use homing_core::payload::Payload;
use homing_core::record::TaskRecord;
use homing_core::refs::{Origin, ParentRef};
use homing_core::spec::Order;
use homing_core::task::Task;
use homing_core::words::TurnKind;
use homing_ports::host::{Opening, Place, Prompting, Wanted};
use homing_ports::store::{Reader, StoreError};

use crate::codec;

/// What a turn that goes on after a pause or an interruption says.
const GO_ON: &str = "Go on with the task from where it stopped.";

pub(crate) fn task_now(
    reader: &dyn Reader,
    id: TaskId,
) -> Result<(Option<Box<Task>>, u64), StoreError> {
    let (row, as_of) = reader.task(id)?;
    Ok((row.map(|row| codec::task(&row)).transpose()?.map(Box::new), as_of))
}

/// None when the attempt is not the current one any more.
pub(crate) fn opening(
    reader: &dyn Reader,
    id: TaskId,
    attempt: u32,
) -> Result<Option<Opening>, StoreError> {
    let (Some(task), _) = task_now(reader, id)? else {
        return Ok(None);
    };
    if task.attempt != attempt {
        return Ok(None);
    }
    let mut wanted = wanted(reader, &task)?;
    // What closed it was said to an attempt before this one, and is said again with all the rest.
    let closed = task.last_send.is_some_and(|last| !task.sends.contains(&last));
    wanted.order.stdin_open &= !closed;
    let prompt = match task.talk {
        Some(_) => words_of_turn(reader, &task)?,
        None => words_of(reader, &task)?,
    };
    Ok(Some(Opening { task: id, attempt, wanted, prompt }))
}

fn wanted(reader: &dyn Reader, task: &Task) -> Result<Wanted, StoreError> {
    let order: Order = match reader.blob(&names::order(task.id))? {
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| StoreError::Damaged {
            path: names::order(task.id),
            what: error.to_string(),
        })?,
        None => Order::default(),
    };
    Ok(Wanted {
        name: task.brief.name.clone(),
        agent: task.brief.agent.clone(),
        model: task.model().cloned(),
        order,
        above: above(reader, task)?,
    })
}

/// The session of its parent, if that lives on the same host.
fn above(reader: &dyn Reader, task: &Task) -> Result<Option<Arc<str>>, StoreError> {
    match &*task.parent {
        ParentRef::Session { host, session, .. } => {
            Ok((*host == task.brief.host).then(|| Arc::clone(session)))
        }
        ParentRef::Task(id) => {
            let (parent, _) = task_now(reader, *id)?;
            let same = parent.filter(|parent| parent.brief.host == task.brief.host);
            Ok(same.and_then(|parent| parent.session.clone()))
        }
        ParentRef::None
        | ParentRef::Inbox { .. }
        | ParentRef::Conversation(_)
        | ParentRef::Webhook(_) => Ok(None),
    }
}

/// None when the turn is not the current one any more.
pub(crate) fn prompting(
    reader: &dyn Reader,
    place: &Place,
) -> Result<Option<Prompting>, StoreError> {
    let (Some(task), _) = task_now(reader, place.task)? else {
        return Ok(None);
    };
    let Some(session) = task.session.clone().filter(|_| task.fence() == place.fence) else {
        return Ok(None);
    };
    let text = words_of_turn(reader, &task)?;
    let wanted = wanted(reader, &task)?;
    let kind = task.turn.kind;
    Ok(Some(Prompting { task: task.id, fence: place.fence, session, kind, wanted, text }))
}

fn words_of_turn(reader: &dyn Reader, task: &Task) -> Result<Vec<u8>, StoreError> {
    match task.turn.kind {
        TurnKind::First => words_of(reader, task),
        TurnKind::Resume => prompt_of(reader, task.id, task.generation),
        TurnKind::GoOn | TurnKind::Foreign => Ok(GO_ON.as_bytes().to_vec()),
        TurnKind::Send => {
            let n = task.turn.send.unwrap_or_default();
            Ok(reader.blob(&names::send(task.id, n))?.unwrap_or_default())
        }
        TurnKind::Debrief => match task.turn.debrief {
            Some(id) => Ok(reader.blob(&names::debrief(id))?.unwrap_or_default()),
            None => Ok(Vec::new()),
        },
    }
}

/// What a new session is told: everything that was said to the task so far, in order, as one text.
fn words_of(reader: &dyn Reader, task: &Task) -> Result<Vec<u8>, StoreError> {
    let mut names = vec![names::prompt(task.id, 1)];
    if task.generation > 1 || task.sends_made > 0 {
        codec::each_record(reader, task.id, |_, record| {
            if let TaskRecord::GenerationOpened { generation, .. } = record {
                names.push(names::prompt(task.id, *generation));
            }
            if let TaskRecord::TurnOpened { send: Some(n), .. }
            | TaskRecord::Seen { fact: Fact::WordsTaken { n }, .. } = record
            {
                names.push(names::send(task.id, *n));
            }
            true
        })?;
    }
    let mut said = Vec::new();
    for name in names {
        // A generation that was retried has no words of its own.
        said.extend(reader.blob(&name)?.filter(|text| !text.is_empty()));
    }
    Ok(said.join(&b"\n\n"[..]))
}

/// The prompt of a generation; one that was retried has the prompt of the one before.
fn prompt_of(reader: &dyn Reader, id: TaskId, generation: u32) -> Result<Vec<u8>, StoreError> {
    for generation in (1..=generation).rev() {
        if let Some(text) = reader.blob(&names::prompt(id, generation))? {
            return Ok(text);
        }
    }
    Ok(Vec::new())
}

/// The stored result of the latest generation.
pub fn result(reader: &dyn Reader, id: TaskId) -> Result<Option<Vec<u8>>, StoreError> {
    match task_now(reader, id)? {
        (Some(task), _) => result_of(reader, &task),
        (None, _) => Ok(None),
    }
}

fn result_of(reader: &dyn Reader, task: &Task) -> Result<Option<Vec<u8>>, StoreError> {
    match task.result {
        Some(text) => reader.blob(&names::text(task.id, text.digest)),
        None => Ok(None),
    }
}

/// What a debrief is to tell.
pub(crate) struct Debriefing {
    pub id: DebriefId,
    pub parent: ParentRef,
    pub origin: Option<Origin>,
    pub notices: Vec<(TaskId, u32)>,
    pub running: Vec<TaskId>,
    pub nonce: Arc<str>,
    pub wall: i64,
}

/// The exact text of a debrief, from what is stored.
pub(crate) fn debrief(
    reader: &dyn Reader,
    about: &Debriefing,
    limits: &Limits,
) -> Result<Payload, StoreError> {
    let mut ended = Vec::new();
    for (id, generation) in &about.notices {
        if let Some(task) = codec::at_end_of(reader, *id, *generation)? {
            let result = result_of(reader, &task)?;
            ended.push((task, result));
        }
    }
    let mut running = Vec::new();
    let mut asks = Vec::new();
    for id in &about.running {
        if let (Some(task), _) = task_now(reader, *id)? {
            asks.extend(OpenAsk::of(&task));
            running.push(Running::of(&task));
        }
    }
    let facts = DebriefFacts {
        id: about.id,
        parent: &about.parent,
        origin: about.origin.as_ref(),
        nonce: &about.nonce,
        at: about.wall,
        entries: ended.iter().map(|(task, result)| Entry::of(task, result.as_deref())).collect(),
        running,
        asks,
    };
    Ok(compose(&facts, limits))
}
