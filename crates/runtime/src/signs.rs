//! What onlookers see of a group that is durable: tasks that start after they have waited, and ends that somebody is told of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use homing_core::ids::TaskId;
use homing_core::record::{Record, TaskRecord};
use homing_core::refs::ParentRef;
use homing_core::task::Task;
use homing_core::words::{Notify, State};
use homing_ports::parent::{Onlooker, Sign};

use crate::engine::Batch;

pub(crate) fn show(batch: &Batch, onlookers: &[Arc<dyn Onlooker>]) {
    if onlookers.is_empty() {
        return;
    }
    for sign in signs(batch) {
        onlookers.iter().for_each(|onlooker| onlooker.see(sign.clone()));
    }
}

fn signs(batch: &Batch) -> Vec<Sign> {
    // What starts with the group in which it was asked for has not waited.
    let mut new: BTreeSet<TaskId> = BTreeSet::new();
    let mut moves = Vec::new();
    for written in &batch.written {
        let Record::Task(id, record) = &written.record else {
            continue;
        };
        if let TaskRecord::Accepted { .. } | TaskRecord::GenerationOpened { .. } = record {
            new.insert(*id);
        } else if let TaskRecord::Moved { to, told, .. } = record {
            let ended = told.as_ref().filter(|_| to.is_terminal()).map(|(parent, _)| parent);
            let began = *to == State::Starting && !new.contains(id);
            if began || ended.is_some() {
                moves.push((*id, *to, ended));
            }
        }
    }
    if moves.is_empty() {
        return Vec::new();
    }
    let tasks: BTreeMap<TaskId, &Task> = batch.tasks.iter().map(|task| (task.id, task)).collect();
    let task = |id: &TaskId| tasks.get(id).copied().filter(|task| task.talk.is_none());
    let seen = moves.iter().filter_map(|(id, to, ended)| match ended {
        Some(parent) => Some(ended_as(task(id)?, *to, parent)),
        None => began(task(id)?),
    });
    seen.collect()
}

fn ended_as(task: &Task, state: State, parent: &ParentRef) -> Sign {
    let ended = task.ended.unwrap_or_default().tick;
    let lasted_ms = task.started.map_or(0, |began| ended.saturating_sub(began.tick));
    Sign { parent: parent.clone(), state, lasted_ms, ..sign(task) }
}

/// Of the first attempt of its first generation: what follows is not a wait of its own. A silent one is not heard of.
fn began(task: &Task) -> Option<Sign> {
    let heard = task.brief.notify != Notify::Silent;
    let began = task.started.filter(|_| heard && task.generation == 1 && task.tries == 1)?;
    let lasted_ms = began.tick.saturating_sub(task.created.tick);
    Some(Sign { lasted_ms, ..sign(task) })
}

fn sign(task: &Task) -> Sign {
    Sign {
        task: task.id,
        name: task.brief.name.clone(),
        parent: (*task.parent).clone(),
        depth: task.depth,
        state: State::Starting,
        lasted_ms: 0,
    }
}
