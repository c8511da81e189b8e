//! Puts together what doors show, from the store: tasks with what stands beside them, journal lines, asks,
//! what is owed, completion records. Reads only.

use homing_core::compose::iso;
use homing_core::fold;
use homing_core::ids::{DebriefId, TaskId};
use homing_core::limits::Limits;
use homing_core::outbox::{Debrief, Post, answer_id, marker_id, reroute_id};
use homing_core::record::{Record, TaskRecord};
use homing_core::refs::ParentRef;
use homing_core::task::{Notice, Task};
use homing_core::telemetry::Completion;
use homing_core::time::Stamp;
use homing_core::view::{Beside, TaskView};
use homing_core::wire::{AskView, NoticeView};
use homing_ports::store::{JournalRow, Reader, StoreError, TaskQuery};
use serde_json::{Value, json};

use crate::codec;
use crate::texts;

const PAGE: usize = 500;

/// A task in the shape of every door. `as_of` is what it is worth; none: as last committed.
pub fn view(
    reader: &dyn Reader,
    task: &Task,
    result: Option<&[u8]>,
    as_of: Option<Stamp>,
) -> Result<TaskView, StoreError> {
    let debrief = match task.notices.last().and_then(|notice| notice.debrief) {
        Some(key) => find_debrief(reader, key)?,
        None => None,
    };
    let post = post(reader, task)?;
    let children = children(reader, task)?;
    let as_of = match as_of {
        Some(as_of) => as_of,
        None => last_line(reader, task)?,
    };
    let beside = Beside {
        result,
        debrief: debrief.as_ref(),
        children: &children,
        post: post.as_ref(),
        as_of,
    };
    Ok(TaskView::of(task, &beside))
}

/// When something was last committed of it.
pub(crate) fn last_line(reader: &dyn Reader, task: &Task) -> Result<Stamp, StoreError> {
    let last = reader.task_journal(task.id, task.seq.saturating_sub(1), 1)?;
    Ok(last.first().map_or(task.created, |row| Stamp { tick: row.tick, wall: row.wall }))
}

/// The debrief of a key, while it is kept.
pub fn find_debrief(reader: &dyn Reader, key: DebriefId) -> Result<Option<Debrief>, StoreError> {
    reader.outbox(&key.to_string())?.as_ref().map(codec::debrief).transpose()
}

/// The last message about a task, while it is kept.
pub(crate) fn last_post(reader: &dyn Reader, id: TaskId) -> Result<Option<Post>, StoreError> {
    let (Some(task), _) = texts::task_now(reader, id)? else {
        return Ok(None);
    };
    post(reader, &task)
}

/// The last message about the task's latest generation that was sealed for a room.
fn post(reader: &dyn Reader, task: &Task) -> Result<Option<Post>, StoreError> {
    if task.is_living() {
        return Ok(None);
    }
    let (mut answer, mut elsewhere) = (None, None);
    codec::each_record(reader, task.id, |_, record| {
        if let TaskRecord::NoticeMoved { debrief: Some(key), .. } = record {
            answer = Some(answer_id(*key));
        } else if let TaskRecord::Rerouted { generation, origin } = record {
            elsewhere = Some(reroute_id(task.id, *generation, origin))
                .filter(|_| *generation == task.generation);
        }
        true
    })?;
    let marker = marker_id(task.id, task.generation);
    for key in elsewhere.into_iter().chain(answer).chain([marker]) {
        if let Some(row) = reader.outbox(&key.to_string())? {
            return codec::post(&row).map(Some);
        }
    }
    Ok(None)
}

fn children(reader: &dyn Reader, task: &Task) -> Result<Vec<TaskId>, StoreError> {
    let mut query = TaskQuery { root: Some(task.root), limit: PAGE, ..TaskQuery::default() };
    let mut found = Vec::new();
    loop {
        let rows = reader.tasks(&query)?;
        for row in &rows {
            let other = codec::task(row)?;
            if other.launched_by == Some(task.id) {
                found.push(other.id);
            }
        }
        query.before = rows.last().map(|row| (row.created_wall, row.id));
        if rows.len() < PAGE {
            return Ok(found);
        }
    }
}

/// A line of the journal, as `events` prints it.
pub fn event(row: &JournalRow) -> Value {
    let text = || Value::String(String::from_utf8_lossy(&row.body).into_owned());
    let body: Value = serde_json::from_slice(&row.body).unwrap_or_else(|_| text());
    json!({
        "seq": row.seq,
        "at": iso(row.wall),
        "wall_ms": row.wall,
        "tick_ms": row.tick,
        "task": row.task.map(|(id, _)| id),
        "task_seq": row.task.map(|(_, number)| number),
        "kind": row.kind,
        "body": body,
    })
}

/// The record of the end that a line tells of; none when it tells of none.
pub fn completion(reader: &dyn Reader, row: &JournalRow) -> Result<Option<Completion>, StoreError> {
    let (Some((id, number)), "moved") = (row.task, row.kind.as_str()) else {
        return Ok(None);
    };
    match codec::record(row)? {
        Record::Task(_, TaskRecord::Moved { to, .. }) if to.is_terminal() => {}
        Record::Task(..) | Record::Outbox(_) => return Ok(None),
    }
    let mut folded: Option<Task> = None;
    codec::each_record(reader, id, |line, record| {
        match &mut folded {
            None => folded = fold::begin(id, record, line),
            Some(task) => fold::fold(task, record, line),
        }
        folded.as_ref().is_some_and(|task| task.seq < number)
    })?;
    Ok(folded.as_ref().map(Completion::of))
}

/// Every ask that waits for somebody, oldest first.
pub fn asks(reader: &dyn Reader, limits: &Limits, now: Stamp) -> Result<Vec<AskView>, StoreError> {
    let mut found = Vec::new();
    each_task(reader, TaskQuery { living: Some(true), ..TaskQuery::default() }, |task| {
        for ask in task.open_asks() {
            let due = ask.at.saturating_add(limits.ask_ms(&task.brief));
            let wall = |tick: u64| {
                let past = now.wall.saturating_sub_unsigned(now.tick.saturating_sub(tick));
                past.saturating_add_unsigned(tick.saturating_sub(now.tick))
            };
            found.push((
                ask.at,
                AskView {
                    id: ask.id,
                    task: task.id,
                    name: task.brief.name.clone(),
                    host: task.brief.host.clone(),
                    attempt: ask.attempt,
                    kind: ask.seen.kind,
                    text: ask.seen.text.clone(),
                    options: ask.seen.options.clone(),
                    asked_at: iso(wall(ask.at)),
                    deadline: iso(wall(due)),
                },
            ));
        }
    })?;
    found.sort_by_key(|(at, ask)| (*at, ask.id));
    Ok(found.into_iter().map(|(_, ask)| ask).collect())
}

/// What a parent is owed, in the order of delivery; an inbox's keys are counted with it.
pub fn owed(reader: &dyn Reader, parent: &ParentRef) -> Result<Vec<NoticeView>, StoreError> {
    let mut found = Vec::new();
    each_task(reader, TaskQuery { owed: Some(true), ..TaskQuery::default() }, |task| {
        for notice in task.notices.iter().filter(|notice| belongs(&notice.to, parent)) {
            found.push((notice.seq, notice_view(task, notice)));
        }
    })?;
    found.sort_by_key(|(seq, _)| *seq);
    let mut found: Vec<NoticeView> = found.into_iter().map(|(_, notice)| notice).collect();
    if parent.is_pushed_to() {
        let mut last: Option<Debrief> = None;
        for notice in &mut found {
            if last.as_ref().map(|known| known.id) != notice.debrief {
                last = notice.debrief.map(|key| find_debrief(reader, key)).transpose()?.flatten();
            }
            notice.why = last.as_ref().and_then(|known| known.why.clone());
        }
    }
    Ok(found)
}

/// Whoever drains an inbox without naming a key drains them all.
fn belongs(to: &ParentRef, parent: &ParentRef) -> bool {
    match (to, parent) {
        (ParentRef::Inbox { name, .. }, ParentRef::Inbox { name: asked, key: None }) => {
            name == asked
        }
        (to, parent) => to == parent,
    }
}

fn notice_view(task: &Task, notice: &Notice) -> NoticeView {
    let latest = notice.generation == task.generation;
    NoticeView {
        task: task.id,
        name: task.brief.name.clone(),
        generation: notice.generation,
        outcome: notice.outcome,
        cause: task.cause.filter(|_| latest),
        state: notice.state,
        code: notice.code,
        debrief: notice.debrief,
        key: format!("{}/{}", task.id, notice.generation),
        ended_at: task.ended.filter(|_| latest).map(|at| iso(at.wall)),
        why: None,
    }
}

fn each_task(
    reader: &dyn Reader,
    query: TaskQuery,
    mut see: impl FnMut(&Task),
) -> Result<(), StoreError> {
    let mut query = TaskQuery { limit: PAGE, ..query };
    loop {
        let rows = reader.tasks(&query)?;
        for row in &rows {
            see(&codec::task(row)?);
        }
        query.before = rows.last().map(|row| (row.created_wall, row.id));
        if rows.len() < PAGE {
            return Ok(());
        }
    }
}
