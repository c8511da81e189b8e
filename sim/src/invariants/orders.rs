//! Promise 10 at the end: what still runs when all is at rest was told to stop, or was visibly given up on while it
//! could not be told.

use std::collections::BTreeSet;

use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{Fact, Fence};
use homing_core::ids::TaskId;

use super::{Check, Checker};
use crate::host::Host;

/// What hosts were ordered.
#[derive(Debug, Default)]
pub struct Orders {
    /// Turns that the journal knows to have been taken.
    taken: BTreeSet<(TaskId, Fence)>,
    /// Attempts that were ordered to stop.
    stops: BTreeSet<(TaskId, u32)>,
    /// Orders to begin of which nothing is heard yet: an abort waits for them.
    air: BTreeSet<EffectKey>,
}

fn begins(key: &EffectKey) -> Option<(TaskId, u32)> {
    if let EffectKey::Open(task, attempt) | EffectKey::Prompt(task, attempt, _) = key {
        return Some((*task, *attempt));
    }
    None
}

impl Orders {
    pub fn ordered(&mut self, effect: &Effect) {
        let key = effect.key();
        if let Effect::Abort { task, attempt, .. } = effect {
            self.stops.insert((*task, *attempt));
        } else if begins(&key).is_some() {
            self.air.insert(key);
        }
    }

    pub fn landed(&mut self, key: &EffectKey) {
        self.air.remove(key);
    }

    /// Nothing is on its way for an engine that has just begun.
    pub fn restarted(&mut self) {
        self.air.clear();
    }

    pub(super) fn knows(&mut self, id: TaskId, fence: Fence, fact: &Fact) {
        if *fact == Fact::PromptTaken {
            self.taken.insert((id, fence));
        }
    }

    /// The ledger says that it may run on. What is heard of it from now on is told to stop.
    pub(super) fn given_up(&mut self, id: TaskId, attempt: u32) {
        if self.air.iter().any(|key| begins(key) == Some((id, attempt))) {
            self.taken.retain(|(task, fence)| (*task, fence.attempt) != (id, attempt));
        }
    }
}

impl Checker {
    pub(super) fn none_forgotten(&self, host: &Host) -> Check {
        for ((task, attempt), session) in &host.sessions {
            let turn = session.turns.last().map_or(0, |turn| turn.n);
            let fence = Fence { attempt: *attempt, turn };
            let known = self.orders.taken.contains(&(*task, fence)) && session.is_running();
            self.hold(10, !known || self.orders.stops.contains(&(*task, *attempt)), || {
                format!("{task}: attempt {attempt} runs for ever, and nobody told it to stop")
            })?;
        }
        Ok(())
    }
}
