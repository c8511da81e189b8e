//! Between what the engine holds and what the store keeps: typed on one side, rows on the other.

use std::fmt::Display;

use homing_core::fold;
use homing_core::ids::TaskId;
use homing_core::input;
use homing_core::names::Names;
use homing_core::outbox::{Debrief, Post};
use homing_core::payload::Digest;
use homing_core::record::{OutboxRecord, Record, TaskRecord};
use homing_core::step::Written;
use homing_core::task::Task;
use homing_ports::store::{
    Blob, ClockMark, Group, JournalRow, OutboxKind, OutboxRow, Purge, Recovered, StoreError,
    TaskRow,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::engine::{Batch, Memory};

/// The rows of a group.
pub fn encode(batch: &Batch, clock: ClockMark) -> Group {
    Group {
        journal: batch.written.iter().map(journal_row).collect(),
        tasks: batch.tasks.iter().map(task_row).collect(),
        outbox: batch
            .debriefs
            .iter()
            .map(debrief_row)
            .chain(batch.posts.iter().map(post_row))
            .collect(),
        blobs: batch
            .texts
            .iter()
            .map(|text| Blob {
                name: text.name.clone(),
                task: text.task,
                bytes: text.bytes.clone(),
            })
            .collect(),
        purge: purge(&batch.purge),
        clock,
    }
}

fn purge(taken: &input::Purge) -> Purge {
    let debriefs = taken.debriefs.iter().map(ToString::to_string);
    let outbox = debriefs.chain(taken.posts.iter().map(ToString::to_string)).collect();
    Purge { tasks: taken.tasks.clone(), outbox }
}

/// What the store sees as past its retention, typed; a key that is none of ours is left alone.
pub fn expired(found: Purge) -> input::Purge {
    let debriefs = found.outbox.iter().filter_map(|key| key.parse().ok()).collect();
    let posts = found.outbox.iter().filter_map(|key| key.parse().ok()).collect();
    input::Purge { tasks: found.tasks, debriefs, posts }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    // Plain data with text keys: it always has a form as JSON.
    serde_json::to_vec(value).unwrap_or_default()
}

fn journal_row(written: &Written) -> JournalRow {
    let (task, outbox, kind, body) = match &written.record {
        Record::Task(id, record) => {
            (Some((*id, written.task_seq)), None, record.word(), json(record))
        }
        Record::Outbox(record) => (None, Some(record.key()), record.word(), json(record)),
    };
    let stamp = written.line.stamp;
    JournalRow {
        seq: written.line.seq,
        task,
        outbox,
        kind: kind.to_owned(),
        tick: stamp.tick,
        wall: stamp.wall,
        body,
    }
}

/// The row of a task.
pub fn task_row(task: &Task) -> TaskRow {
    TaskRow {
        id: task.id,
        task_seq: task.seq,
        state: task.state.word().to_owned(),
        living: task.is_living(),
        owed: task.is_owed(),
        parent: task.parent.to_string(),
        root: task.root,
        session: task.session.as_ref().map(|session| format!("{}:{session}", task.brief.host)),
        name: task.brief.name.as_deref().map(str::to_owned),
        key: task.brief.key.map(|key| key.0),
        created_wall: task.created.wall,
        ended_wall: task.ended.map(|ended| ended.wall),
        body: json(task),
    }
}

fn debrief_row(debrief: &Debrief) -> OutboxRow {
    OutboxRow {
        key: debrief.id.to_string(),
        kind: OutboxKind::Debrief,
        parent: debrief.parent.to_string(),
        closed_wall: debrief.closed,
        body: json(debrief),
    }
}

fn post_row(post: &Post) -> OutboxRow {
    OutboxRow {
        key: post.id.to_string(),
        kind: OutboxKind::Post,
        parent: post.origin.to_string(),
        closed_wall: post.closed,
        body: json(post),
    }
}

/// What a start needs, typed. Takes the rows, and lets go of each as it goes along.
pub fn decode(recovered: Recovered) -> Result<Memory, StoreError> {
    let mut memory = Memory { head: recovered.head, ..Memory::default() };
    let mut names = Names::default();
    memory.tasks.reserve_exact(recovered.tasks.len());
    for row in recovered.tasks {
        let mut task: Box<Task> = parse(row.id, &row.body)?;
        names.share(&mut task);
        memory.tasks.push(task);
    }
    for row in &recovered.outbox {
        match row.kind {
            OutboxKind::Debrief => memory.debriefs.push(parse(&row.key, &row.body)?),
            OutboxKind::Post => memory.posts.push(parse(&row.key, &row.body)?),
        }
    }
    memory.keys = recovered.keys.iter().map(|(digest, id)| (Digest(*digest), *id)).collect();
    Ok(memory)
}

/// The task of a row.
pub fn task(row: &TaskRow) -> Result<Task, StoreError> {
    parse(row.id, &row.body)
}

/// The debrief of an outbox row.
pub fn debrief(row: &OutboxRow) -> Result<Debrief, StoreError> {
    parse(&row.key, &row.body)
}

/// The post of an outbox row.
pub fn post(row: &OutboxRow) -> Result<Post, StoreError> {
    parse(&row.key, &row.body)
}

/// The record of a journal row.
pub fn record(row: &JournalRow) -> Result<Record, StoreError> {
    let place = format_args!("journal line {}", row.seq);
    Ok(match row.task {
        Some((id, _)) => Record::Task(id, parse::<TaskRecord>(place, &row.body)?),
        None => Record::Outbox(parse::<OutboxRecord>(place, &row.body)?),
    })
}

fn parse<T: DeserializeOwned>(place: impl Display, body: &[u8]) -> Result<T, StoreError> {
    let unknown = |error: &dyn Display| StoreError::Damaged {
        path: place.to_string(),
        what: format!("its row holds something that is not known here: {error}"),
    };
    // Looked at once for the whole: each of its texts needs no look of its own.
    let text = std::str::from_utf8(body).map_err(|error| unknown(&error))?;
    serde_json::from_str(text).map_err(|error| unknown(&error))
}

/// The task as it stood when a generation ended: what a debrief and a telemetry record speak of.
pub fn at_end_of(
    reader: &dyn homing_ports::store::Reader,
    id: TaskId,
    generation: u32,
) -> Result<Option<Task>, StoreError> {
    let (row, _) = reader.task(id)?;
    let Some(row) = row else {
        return Ok(None);
    };
    let now = task(&row)?;
    if now.generation == generation {
        return Ok(Some(now));
    }
    let mut found = None;
    each_end(reader, id, |task| {
        found = (task.generation == generation).then(|| task.clone());
        found.is_none()
    })?;
    Ok(found)
}

/// Walks a task's ends in order, as long as `more` says so.
pub(crate) fn each_end(
    reader: &dyn homing_ports::store::Reader,
    id: TaskId,
    mut more: impl FnMut(&Task) -> bool,
) -> Result<(), StoreError> {
    let mut folded: Option<Task> = None;
    each_record(reader, id, |line, record| {
        match &mut folded {
            None => folded = fold::begin(id, record, line),
            Some(task) => fold::fold(task, record, line),
        }
        let ended = matches!(record, TaskRecord::Moved { to, .. } if to.is_terminal());
        folded.as_ref().filter(|_| ended).is_none_or(&mut more)
    })
}

/// Walks a task's lines in order, as long as `more` says so.
pub(crate) fn each_record(
    reader: &dyn homing_ports::store::Reader,
    id: TaskId,
    mut more: impl FnMut(fold::Line, &TaskRecord) -> bool,
) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let rows = reader.task_journal(id, after, 500)?;
        let Some(last) = rows.last().and_then(|row| row.task) else {
            return Ok(());
        };
        after = last.1;
        for row in rows {
            let stamp = homing_core::time::Stamp { tick: row.tick, wall: row.wall };
            let line = fold::Line { seq: row.seq, stamp };
            if let Record::Task(_, record) = record(&row)?
                && !more(line, &record)
            {
                return Ok(());
            }
        }
    }
}
