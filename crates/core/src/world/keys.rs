//! Owns the slots: how many turns run per key, who waits, who wants a lent slot back.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::World;
use crate::bugs::{Bug, active};
use crate::ids::TaskId;
use crate::task::Task;
use crate::words::State;

/// Priority first, then arrival.
pub type Place = (Reverse<i32>, u64);

/// The slots of one model, provider or agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Key {
    /// Turns that can call the model, adopted ones included.
    pub held: u32,
    /// Ready to start, in order.
    pub queue: BTreeMap<Place, TaskId>,
    /// Want their lent slot back: ahead of the queue, by arrival.
    pub retake: BTreeMap<u64, TaskId>,
    /// Slots lent by tasks that wait for their own descendants.
    pub lent: u32,
}

impl Key {
    /// Whether more runs than the limit allows: visible, and nothing new starts.
    pub fn debt(&self, limit: u32) -> u32 {
        if limit == 0 { 0 } else { self.held.saturating_sub(limit) }
    }

    pub fn has_room(&self, limit: u32) -> bool {
        limit == 0 || self.held < limit + u32::from(active(Bug::OneTooMany))
    }

    fn is_idle(&self) -> bool {
        self.held == 0 && self.lent == 0 && self.queue.is_empty() && self.retake.is_empty()
    }
}

pub(crate) fn place(task: &Task) -> Place {
    (Reverse(task.brief.priority), task.arrival)
}

impl World {
    /// The limit of a task's key, by the settings as they are now.
    pub fn limit_of(&self, task: &Task) -> u32 {
        self.limits.key(&task.brief, task.model()).1
    }

    pub(crate) fn index_slot(&mut self, task: &Task, add: bool) {
        let queued = task.state == State::Queued && task.after.is_empty();
        let lends = task.live.lent || task.state == State::WaitingChildren;
        let paused = active(Bug::PauseHolds) && task.state == State::Paused;
        let holds = (task.state.holds_slot() && !task.live.lent) || paused;
        let retakes = task.wants_turn() || task.live.retaking;
        if !(queued || lends || holds || retakes) {
            return;
        }
        let key = self.keys.entry(Arc::clone(&task.key)).or_default();
        let step = |count: &mut u32| if add { *count += 1 } else { *count -= 1 };
        if holds {
            step(&mut key.held);
        }
        if lends {
            step(&mut key.lent);
        }
        if queued {
            if add {
                key.queue.insert(place(task), task.id);
            } else {
                key.queue.remove(&place(task));
            }
        }
        if retakes {
            if add {
                key.retake.insert(task.arrival, task.id);
            } else {
                key.retake.remove(&task.arrival);
            }
        }
    }

    pub(crate) fn drop_idle_key(&mut self, name: &Arc<str>) {
        if self.keys.get(name).is_some_and(Key::is_idle) {
            self.keys.remove(name);
        }
    }
}
