//! Which effects are under way: one per key, across rebuilds. An effect that could not be performed cools
//! down before it is tried again.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use homing_core::bugs::{Bug, active};
use homing_core::effect::{Effect, EffectKey};
use homing_core::ids::TaskId;
use homing_core::limits::Limits;
use homing_core::step::Touched;
use homing_core::time::{Moment, backoff_ms};
use homing_core::world::World;

/// How far an effect has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flight {
    /// In a group that is not durable yet.
    Pending,
    /// Performed by somebody now.
    Released,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flights {
    pub(super) air: BTreeMap<EffectKey, Flight>,
    pub(super) watching: BTreeMap<TaskId, (u32, Arc<str>)>,
    pub(super) cooling: BTreeMap<EffectKey, (u64, u32)>,
}

impl Flights {
    /// Adds an effect to a group, unless it is under way, cools down, or must wait for another.
    pub(super) fn want(&mut self, effect: Effect, out: &mut Vec<Effect>) {
        let key = effect.key();
        let cools = self.cooling.get(&key).is_some_and(|(until, _)| *until > 0);
        if cools || self.comes_too_early(&effect) {
            return;
        }
        if let Entry::Vacant(free) = self.air.entry(key) {
            free.insert(Flight::Pending);
            out.push(effect);
        }
    }

    /// An abort must not overtake what it is to end; an opening may bring the first prompt itself.
    fn comes_too_early(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Abort { task, attempt, .. } => self.is_starting(*task, *attempt),
            Effect::Prompt { task, attempt, .. } => {
                self.air.contains_key(&EffectKey::Open(*task, *attempt))
            }
            Effect::Open { task, attempt, .. } => self.is_starting_earlier(*task, *attempt),
            Effect::Watch { .. }
            | Effect::Unwatch { .. }
            | Effect::Look { .. }
            | Effect::Answer { .. }
            | Effect::Say { .. }
            | Effect::Compose { .. }
            | Effect::LookParent { .. }
            | Effect::Deliver { .. }
            | Effect::Post { .. }
            | Effect::Emit { .. }
            | Effect::Load { .. } => false,
        }
    }

    /// Whether something is on its way that would begin to run after an abort that overtook it.
    fn is_starting(&self, task: TaskId, attempt: u32) -> bool {
        if active(Bug::AbortOvertakes) {
            return false;
        }
        let prompts =
            EffectKey::Prompt(task, attempt, 0)..=EffectKey::Prompt(task, attempt, u32::MAX);
        self.air.contains_key(&EffectKey::Open(task, attempt))
            || self.air.range(prompts).next().is_some()
    }

    /// Whether an earlier attempt of the task may still begin to run: an order of it is on its way.
    fn is_starting_earlier(&self, task: TaskId, attempt: u32) -> bool {
        let opens = EffectKey::Open(task, 0)..EffectKey::Open(task, attempt);
        let prompts = EffectKey::Prompt(task, 0, 0)..EffectKey::Prompt(task, attempt, 0);
        self.air.range(opens).next().is_some() || self.air.range(prompts).next().is_some()
    }

    /// Whether any attempt of the task may still begin to run.
    pub(super) fn is_starting_any(&self, task: TaskId) -> bool {
        self.is_starting_earlier(task, u32::MAX)
    }

    /// A watch is wanted as long as its session matters; one that is not wanted any more is ended.
    pub(super) fn rewatch(
        &mut self,
        touched: &BTreeSet<TaskId>,
        wanted: &[Effect],
        world: &World,
        out: &mut Vec<Effect>,
    ) {
        let mut watches: BTreeMap<TaskId, (u32, Arc<str>)> =
            wanted.iter().filter_map(watch_of).collect();
        for id in touched {
            let now = watches.remove(id);
            if let Some((attempt, host)) = self.watching.get(id).cloned()
                && now.as_ref().is_none_or(|(wanted, _)| *wanted != attempt)
            {
                self.watching.remove(id);
                self.air.remove(&EffectKey::Watch(*id, attempt));
                out.push(Effect::Unwatch { task: *id, attempt, host });
            }
            if let Some(now) = now
                && world.task(*id).is_some()
            {
                self.watching.insert(*id, now);
            }
        }
    }

    /// Tasks that are being read from the store.
    pub(super) fn loads(&self) -> impl Iterator<Item = TaskId> {
        self.air.keys().filter_map(|key| match key {
            EffectKey::Load(id) => Some(*id),
            EffectKey::Open(..)
            | EffectKey::Prompt(..)
            | EffectKey::Watch(..)
            | EffectKey::Look(..)
            | EffectKey::Abort(..)
            | EffectKey::Answer(..)
            | EffectKey::Say(..)
            | EffectKey::Compose(_)
            | EffectKey::LookParent(_)
            | EffectKey::Deliver(_)
            | EffectKey::Post(_)
            | EffectKey::Emit(..) => None,
        })
    }

    pub(super) fn has(&self, key: &EffectKey) -> bool {
        self.air.contains_key(key)
    }

    pub(super) fn released(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Some(flight) = self.air.get_mut(&effect.key()) {
                *flight = Flight::Released;
            }
        }
    }

    pub(super) fn land(&mut self, key: &EffectKey) {
        self.air.remove(key);
    }

    /// Tried again later: each time after twice as long.
    pub(super) fn cool(&mut self, key: EffectKey, limits: &Limits, now: Moment) {
        let (_, tries) = self.cooling.get(&key).copied().unwrap_or_default();
        let wait = backoff_ms(tries, limits.backoff_first_ms, limits.backoff_most_ms);
        self.cooling.insert(key, (now.tick + now.jitter(wait), tries + 1));
    }

    /// It went well, or is not wanted any more: the next failure is the first.
    pub(super) fn forget_failure(&mut self, key: &EffectKey) {
        self.cooling.remove(key);
    }

    /// Those that have cooled down by now.
    pub(super) fn cooled(&mut self, tick: u64) -> Vec<EffectKey> {
        let ready: Vec<EffectKey> = self
            .cooling
            .iter()
            .filter(|(_, (until, _))| *until > 0 && *until <= tick)
            .map(|(key, _)| key.clone())
            .collect();
        for key in &ready {
            if let Some((until, _)) = self.cooling.get_mut(key) {
                *until = 0;
            }
        }
        ready
    }

    pub(super) fn next_cooled(&self) -> Option<u64> {
        self.cooling.values().map(|(until, _)| *until).filter(|until| *until > 0).min()
    }

    /// Nothing that was not released will be: its group is gone. What cooled starts afresh.
    pub(super) fn forget_pending(&mut self) {
        self.air.retain(|_, flight| *flight == Flight::Released);
        self.cooling.clear();
        self.watching
            .retain(|id, (attempt, _)| self.air.contains_key(&EffectKey::Watch(*id, *attempt)));
    }
}

/// The attempt and the host of a watch that is wanted for this task.
fn watch_of(effect: &Effect) -> Option<(TaskId, (u32, Arc<str>))> {
    if let Effect::Watch { task, attempt, host, .. } = effect {
        Some((*task, (*attempt, host.clone())))
    } else {
        None
    }
}

/// What an effect speaks of.
pub(super) fn touched_by(key: &EffectKey) -> Touched {
    let mut touched = Touched::default();
    match key {
        EffectKey::Open(task, _)
        | EffectKey::Prompt(task, _, _)
        | EffectKey::Watch(task, _)
        | EffectKey::Look(task, _)
        | EffectKey::Abort(task, _)
        | EffectKey::Answer(task, _)
        | EffectKey::Say(task, _, _)
        | EffectKey::Emit(task, _)
        | EffectKey::Load(task) => drop(touched.tasks.insert(*task)),
        EffectKey::Compose(parent) | EffectKey::LookParent(parent) => {
            touched.parents.insert((**parent).clone());
        }
        EffectKey::Deliver(debrief) => drop(touched.debriefs.insert(*debrief)),
        EffectKey::Post(post) => drop(touched.posts.insert(*post)),
    }
    touched
}
