//! Why a task stands where it does: its journal in words, what is known, what is missing, what comes next
//! and when. Reads only.

use homing_core::compose::iso;
use homing_core::limits::Limits;
use homing_core::record::Record;
use homing_core::task::{Task, Until};
use homing_core::time::Stamp;
use homing_core::view::{evidence, missing};
use homing_core::wire::{Why, WhyLine, WhyNext};
use homing_core::words::State;
use homing_core::world::{At, Timer, Who, World};
use homing_ports::store::{Reader, StoreError};

use crate::chain;
use crate::codec;

const PAGE: usize = 500;
/// More lines are not told; the first and the last ones are.
const LINES_MAX: usize = 5_000;

/// All there is to tell. `now` is a moment on the ledger's clock with its time of day; none: that of the last line.
pub fn why(
    reader: &dyn Reader,
    task: &Task,
    limits: &Limits,
    now: Option<Stamp>,
) -> Result<Why, StoreError> {
    let mut lines = Vec::new();
    let mut last = task.created;
    let mut after = 0;
    loop {
        let rows = reader.task_journal(task.id, after, PAGE)?;
        for row in &rows {
            last = Stamp { tick: row.tick, wall: row.wall };
            let Record::Task(_, record) = codec::record(row)? else {
                continue;
            };
            if let Some(words) = chain::words(&record) {
                lines.push(WhyLine {
                    seq: row.seq,
                    at: iso(row.wall),
                    after_ms: row.tick.saturating_sub(task.created.tick),
                    kind: row.kind.clone(),
                    words,
                });
            }
        }
        if lines.len() > LINES_MAX {
            lines.drain(PAGE..lines.len() - PAGE);
        }
        match rows.last().and_then(|row| row.task) {
            Some((_, number)) if rows.len() == PAGE => after = number,
            Some(_) | None => break,
        }
    }
    let mut known = evidence(task);
    known.retain(|each| !each.starts_with("missing: "));
    Ok(Why {
        id: task.id,
        name: task.brief.name.clone(),
        state: task.state,
        cause: task.cause,
        chain: lines,
        known,
        missing: missing(task),
        next: next(task, limits, now.unwrap_or(last)),
    })
}

fn next(task: &Task, limits: &Limits, now: Stamp) -> WhyNext {
    let plain = |words: String| WhyNext { words, timer: None, at: None };
    if !task.is_living() {
        return plain(match task.notices.last() {
            Some(notice) => format!("{} is still owed its notice ({})", notice.to, notice.state),
            None => "nothing: it has ended, and nothing is owed about it".to_owned(),
        });
    }
    if task.state == State::Queued {
        return plain(match task.after.first() {
            Some(first) => format!("it waits for {first} to complete"),
            None => format!("it starts when a slot of {} is free", task.key),
        });
    }
    if let (State::Paused, Some(Until::Wall(at))) = (task.state, task.until) {
        let words = format!("at {}, the time that the provider named, it goes on", iso(at));
        return WhyNext { words, timer: Some(Timer::Pause.to_string()), at: Some(iso(at)) };
    }
    match deadline(task, limits, now) {
        Some((due, timer)) => WhyNext {
            words: format!("at {}, unless something is heard before: {timer}", iso(due)),
            timer: Some(timer.to_string()),
            at: Some(iso(due)),
        },
        None => plain("nothing by itself: it waits to be told something".to_owned()),
    }
}

fn deadline(task: &Task, limits: &Limits, now: Stamp) -> Option<(i64, Timer)> {
    let task = vec![Box::new(task.clone())];
    let id = task.first()?.id;
    let world = World::restore(limits.clone(), task, Vec::new(), Vec::new(), Vec::new(), 0);
    let at = |at: At| match at {
        At::Tick(due) => now.wall.saturating_add_unsigned(due.saturating_sub(now.tick)),
        At::Wall(due) => due,
    };
    world.deadlines(&Who::Task(id)).into_iter().map(|(timer, due)| (at(due), timer)).min()
}
