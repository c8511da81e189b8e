//! The fact that a task waits for, in each state: what would have to be seen, said or freed for it to go on.

use homing_core::ids::TaskId;
use homing_core::outbox::Debrief;
use homing_core::task::{Notice, Task};
use homing_core::view;
use homing_core::words::{DeliveryState, Phase, State};
use homing_ports::store::{Reader, StoreError};

use super::count;
use crate::around::{Around, Slots};
use crate::texts::task_now;

/// So many others are named; the rest is counted.
const NAMED_MAX: usize = 5;

pub(super) fn missing(
    reader: &dyn Reader,
    task: &Task,
    around: Option<&Around>,
    debrief: Option<&Debrief>,
) -> Result<Option<String>, StoreError> {
    Ok(match task.state {
        State::Queued if !task.after.is_empty() => {
            Some(format!("the completion of {}", named(reader, task.after.iter().copied())?))
        }
        State::Queued => Some(slot(&task.key, around.map(|around| around.slots))),
        State::Starting => Some(start(task)),
        State::Running => running(task, around),
        State::WaitingAsk => {
            let asks = task.open_asks().map(|ask| {
                let id = ask.id;
                format!(
                    "an answer to {id}: {} (homing answer {id} --allow, --deny or TEXT)",
                    ask.seen.text
                )
            });
            Some(asks.collect::<Vec<_>>().join("; "))
        }
        State::WaitingChildren => Some(children(reader, task, around)?),
        State::Paused => Some("the end of its pause; its slot is free for others".to_owned()),
        State::Stopping => {
            Some("the host's confirmation that nothing of it runs any more".to_owned())
        }
        State::Completed | State::Failed | State::Cancelled | State::TimedOut | State::Lost => {
            task.notices.last().map(|notice| receipt(notice, debrief))
        }
    })
}

/// Who has not confirmed what. A debrief knows how far it has come; the notice in it does not.
fn receipt(notice: &Notice, debrief: Option<&Debrief>) -> String {
    let debrief = debrief.filter(|debrief| Some(debrief.id) == notice.debrief);
    let state = debrief.map_or(notice.state, |debrief| debrief.state);
    let code = notice.code.or_else(|| debrief.and_then(|debrief| debrief.code));
    let code = code.map_or_else(String::new, |code| format!(" [{code}]"));
    let to = &notice.to;
    match state {
        DeliveryState::Undeliverable => {
            format!("somebody to tell: {to} cannot be told any more{code}")
        }
        DeliveryState::Owed
        | DeliveryState::Sealed
        | DeliveryState::Sent
        | DeliveryState::Accepted
        | DeliveryState::Settled
        | DeliveryState::Withdrawn => format!("the receipt of {to}: its notice is {state}{code}"),
    }
}

fn slot(key: &str, slots: Option<Slots>) -> String {
    let Some(slots) = slots else {
        return format!("a free slot of {key}");
    };
    let Slots { limit, held, lent, debt, ahead, .. } = slots;
    let mut words = if debt > 0 {
        format!(
            "a free slot of {key}, which is {debt} in debt: {held} held, its limit is {limit}; \
             nothing starts on it before it is under its limit"
        )
    } else if limit == 0 {
        format!("a slot of {key}, which has no limit")
    } else {
        format!("a free slot of {key}: {held} of {limit} held")
    };
    if lent > 0 {
        words.push_str(&format!("; {lent} lent by tasks that wait for their own"));
    }
    if ahead > 0 {
        words.push_str(&format!("; {} ahead of it", count(ahead as u64, "task")));
    }
    words
}

fn start(task: &Task) -> String {
    match (&task.session, task.turn.phase) {
        (None, _) => "the host's word that its session was made",
        (Some(_), Phase::Unsure) => {
            "the host's word whether it has the prompt: its reply was cut off, and a prompt is never \
             sent twice"
        }
        (Some(_), Phase::Unsent | Phase::Taken | Phase::Ended) => {
            "the host's word that it has the prompt"
        }
    }
    .to_owned()
}

fn running(task: &Task, around: Option<&Around>) -> Option<String> {
    let lends = around.is_some_and(|around| around.slots.lends);
    let also = if lends { "; its slot is lent while it waits for tasks of its own" } else { "" };
    let open = task.evidence.todos;
    let seen = view::missing(task).or_else(|| {
        (open > 0).then(|| {
            format!("the end of {} after its final answer", count(u64::from(open), "open to-do"))
        })
    });
    seen.map(|seen| format!("{seen}{also}"))
}

fn children(
    reader: &dyn Reader,
    task: &Task,
    around: Option<&Around>,
) -> Result<String, StoreError> {
    let Some(around) = around else {
        return Ok("the end of the tasks below it, and their results".to_owned());
    };
    let mut parts = Vec::new();
    if !around.below.is_empty() {
        parts.push(format!("the end of {}", named(reader, around.below.iter().copied())?));
    }
    if around.untaken > 0 {
        let results = count(u64::from(around.untaken), "result");
        parts.push(format!("{results} of tasks below it that it has not taken yet"));
    }
    if task.wants_turn() {
        parts.push(slot(&task.key, Some(around.slots)));
    }
    if parts.is_empty() {
        parts.push("nothing: it is about to go on".to_owned());
    }
    Ok(parts.join("; "))
}

/// `bg_… (a name), which is running, and 3 more`.
fn named(
    reader: &dyn Reader,
    ids: impl ExactSizeIterator<Item = TaskId>,
) -> Result<String, StoreError> {
    let all = ids.len();
    let mut words = Vec::new();
    for id in ids.take(NAMED_MAX) {
        words.push(match task_now(reader, id)?.0 {
            Some(task) => {
                let name = task.brief.name.as_deref();
                let name = name.map_or_else(String::new, |name| format!(" ({name})"));
                format!("{id}{name}, which is {}", task.state)
            }
            None => id.to_string(),
        });
    }
    if all > NAMED_MAX {
        words.push(format!("{} more", all - NAMED_MAX));
    }
    Ok(words.join(", and "))
}
