//! Why a task stands where it does: its journal in words, what is known, what is missing, what comes next
//! and when. Reads only.

mod missing;
mod next;
mod told;

use homing_core::compose::{iso, lasting};
use homing_core::evidence::Doubt;
use homing_core::record::Record;
use homing_core::task::Task;
use homing_core::time::Stamp;
use homing_core::view::evidence;
use homing_core::wire::{Why, WhyLine};
use homing_core::words::State;
use homing_ports::store::{Reader, StoreError};

use crate::around::Around;
use crate::chain::{self, count};
use crate::codec;
use crate::shown::find_debrief;

pub use told::told;

const PAGE: usize = 500;
/// More lines are not told; the first and the last ones are.
const LINES_MAX: usize = 5_000;

/// All there is to tell. `around` is what memory adds, if the task is in it; `now` is a moment on the ledger's
/// clock with its time of day.
pub fn why(
    reader: &dyn Reader,
    task: &Task,
    around: Option<&Around>,
    now: Stamp,
) -> Result<Why, StoreError> {
    let (chain, heard) = chain(reader, task)?;
    let heard = heard.max(around.map(|around| around.heard).filter(|heard| *heard > 0));
    let key = task.notices.last().and_then(|notice| notice.debrief);
    let debrief = key.map(|key| find_debrief(reader, key)).transpose()?.flatten();
    Ok(Why {
        id: task.id,
        name: task.brief.name.clone(),
        state: task.state,
        cause: task.cause,
        chain,
        known: known(task, heard, now),
        missing: missing::missing(reader, task, around, debrief.as_ref())?,
        next: next::next(task, around, debrief.as_ref(), now),
    })
}

/// The lines, and the tick at which the host's last word was written down.
fn chain(reader: &dyn Reader, task: &Task) -> Result<(Vec<WhyLine>, Option<u64>), StoreError> {
    let mut lines = Vec::new();
    let mut heard = None;
    let mut after = 0;
    loop {
        let rows = reader.task_journal(task.id, after, PAGE)?;
        for row in &rows {
            let Record::Task(_, record) = codec::record(row)? else {
                continue;
            };
            if chain::is_heard(&record) {
                heard = Some(row.tick);
            }
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
            Some(_) | None => return Ok((lines, heard)),
        }
    }
}

fn known(task: &Task, heard: Option<u64>, now: Stamp) -> Vec<String> {
    let mut known = evidence(task);
    known.retain(|each| !each.starts_with("missing: "));
    if task.unconfirmed {
        known.push("an attempt was given up on and may still run; no new one is begun".to_owned());
    }
    let in_turn = matches!(task.state, State::Running | State::WaitingAsk | State::Starting);
    let doubted = task.evidence.doubt != Doubt::None || task.evidence.missing.is_some();
    if in_turn && doubted {
        known.push(
            "unknown: whether its turn still runs; nothing is concluded from that".to_owned(),
        );
    }
    if let Some(heard) = heard.filter(|_| task.is_living()) {
        let ago = lasting(now.tick.saturating_sub(heard));
        known.push(format!("the host's last word came {ago} ago"));
    }
    known
}
