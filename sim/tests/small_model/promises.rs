//! What must hold: always, at rest, in the end; and what must have been met for that to mean anything.

use homing_core::ids::TaskId;
use homing_core::task::Task;
use homing_core::words::State;
use stateright::Property;

use crate::model::Small;
use crate::world::{Cancel, IDS, Scene, Turn};

pub const ACCEPTED: &str = "accepted means durable, whatever crashes";
pub const ONE_KEY: &str = "one key, one task";
pub const ONE_END: &str = "one terminal state per generation";
pub const TRUE_SUCCESS: &str = "completed only when the host shows it";
pub const ONE_NOTICE: &str = "one notice per generation";
pub const DURABLE_FIRST: &str = "no notice before its commit";
pub const ONE_LIVE: &str = "at most one live session per task";
pub const ENDED_RUNS_NOT: &str = "what has ended does not run";
pub const ONE_SLOT: &str = "one slot: one turn at the host";
pub const CANCEL_WINS: &str = "an acknowledged cancel never completes";
pub const CANCEL_LOSES: &str = "a cancel that lost says how it ended";
pub const AT_REST: &str = "at rest everything is settled";
pub const ALL_END: &str = "every task ends";
pub const ALL_TOLD: &str = "every notice has its receipt";
pub const SLOT_FREE: &str = "the slot is free at the end";

/// What holds in every state.
pub fn safety() -> Vec<Property<Small>> {
    vec![
        Property::always(ACCEPTED, |_, scene: &Scene| {
            let promised = scene.launches.iter().filter_map(|launch| launch.promised);
            let rows = &scene.store.tasks;
            promised.into_iter().all(|id| rows.contains_key(&id))
        }),
        Property::always(ONE_KEY, |_, scene: &Scene| {
            let there = |id: &&TaskId| scene.store.tasks.contains_key(id);
            IDS.iter().all(|ids| ids.iter().filter(there).count() <= 1)
        }),
        Property::always(ONE_END, |_, scene: &Scene| scene.ends.values().all(|n| *n <= 1)),
        Property::always(TRUE_SUCCESS, |_, scene: &Scene| {
            let mut rows = scene.store.tasks.values();
            rows.all(|row| {
                let session = scene.host.get(&(row.id, row.attempt));
                let ended = session.is_some_and(|session| session.turn == Turn::Ended);
                row.state != State::Completed || ended
            })
        }),
        Property::always(ONE_NOTICE, |_, scene: &Scene| {
            scene.store.tasks.values().all(|row| scene.copies(row.id) <= 1)
        }),
        Property::always(DURABLE_FIRST, |_, scene: &Scene| scene.broken != Some(DURABLE_FIRST)),
        Property::always(ONE_LIVE, |_, scene: &Scene| {
            IDS.iter().all(|ids| scene.running(|id| ids.contains(&id)) <= 1)
        }),
        Property::always(ENDED_RUNS_NOT, |_, scene: &Scene| {
            scene.running(|id| {
                scene.store.tasks.get(&id).is_some_and(|row| !row.is_living())
                    && !scene.given_up(id)
            }) == 0
        }),
        Property::always(ONE_SLOT, |_, scene: &Scene| {
            scene.running(|id| !scene.given_up(id)) <= 1 && scene.held() <= 1
        }),
        Property::always(CANCEL_WINS, |_, scene: &Scene| match scene.cancel {
            Cancel::Said(id) => {
                scene.store.tasks.get(&id).is_none_or(|row| row.state != State::Completed)
            }
            Cancel::Not | Cancel::Asked(_) | Cancel::Over => true,
        }),
        Property::always(CANCEL_LOSES, |_, scene: &Scene| scene.broken != Some(CANCEL_LOSES)),
    ]
}

/// What holds where nothing is to come any more, and what every path comes to.
pub fn rest() -> Vec<Property<Small>> {
    vec![
        Property::always(AT_REST, |small: &Small, scene: &Scene| {
            let mut actions = Vec::new();
            small.must(scene, &mut actions);
            !actions.is_empty() || scene.is_settled()
        }),
        Property::eventually(ALL_END, |_, scene: &Scene| scene.all_ended()),
        Property::eventually(ALL_TOLD, |_, scene: &Scene| scene.all_told()),
        Property::eventually(SLOT_FREE, |_, scene: &Scene| {
            scene.all_ended() && scene.held() == 0 && scene.running(|_| true) == 0
        }),
    ]
}

/// What is met on the way.
pub fn reached() -> Vec<Property<Small>> {
    vec![
        Property::sometimes("a crash is recovered from, and both complete", |_, scene: &Scene| {
            scene.faults > 0
                && scene.is_settled()
                && scene.rows().all(|row| row.state == State::Completed)
        }),
        Property::sometimes("a recovery crashes, too", |_, scene: &Scene| scene.faults == 2),
        Property::sometimes("a cancel stops a turn", |_, scene: &Scene| {
            let aborted = |id| scene.host.get(&(id, 1)).is_some_and(|at| at.turn == Turn::Aborted);
            matches!(scene.cancel, Cancel::Said(id) if aborted(id)) && scene.is_settled()
        }),
        Property::sometimes("a cancel comes too late", |_, scene: &Scene| {
            scene.cancel == Cancel::Over && scene.faults == 0
        }),
        Property::sometimes("a stop is given up on", |_, scene: &Scene| {
            scene.rows().any(|row| row.unconfirmed)
        }),
        Property::sometimes("an answer comes too late", |_, scene: &Scene| {
            scene.rows().any(|row| row.late.is_some())
        }),
        Property::sometimes("a caller asks again", |_, scene: &Scene| {
            scene.launches.iter().zip(IDS).any(|(launch, ids)| launch.promised == Some(ids[1]))
        }),
        Property::sometimes("two ends are told together", |_, scene: &Scene| {
            scene.received.values().any(|notices| notices.len() == 2)
        }),
        Property::sometimes("a task is read back", |_, scene: &Scene| {
            scene.mail.iter().any(|mail| mail.is_read())
        }),
    ]
}

impl Scene {
    fn running(&self, counts: impl Fn(TaskId) -> bool) -> usize {
        let runs = self.host.iter().filter(|(_, session)| session.turn == Turn::Running);
        runs.filter(|((id, _), _)| counts(*id)).count()
    }

    /// A stop that was not confirmed in time: what it was to end may still run, and is said to.
    fn given_up(&self, id: TaskId) -> bool {
        let memory = self.engine.as_ref().and_then(|engine| engine.world().task(id));
        let rows = [memory, self.store.tasks.get(&id)];
        rows.into_iter().flatten().any(|row| row.unconfirmed)
    }

    fn held(&self) -> u32 {
        let key = self.engine.as_ref().and_then(|engine| engine.world().key("agent:agent"));
        key.map_or(0, |key| key.held)
    }

    /// How many deliveries tell the parent of this task.
    fn copies(&self, id: TaskId) -> usize {
        let told = |notices: &&Vec<(TaskId, u32)>| notices.contains(&(id, 1));
        self.received.values().filter(told).count()
    }

    fn rows(&self) -> impl Iterator<Item = &Task> {
        let promised = self.launches.iter().filter_map(|launch| launch.promised);
        promised.filter_map(|id| self.store.tasks.get(&id))
    }

    pub fn all_ended(&self) -> bool {
        self.rows().filter(|row| !row.is_living()).count() == 2
    }

    pub fn all_told(&self) -> bool {
        self.all_ended()
            && self.rows().all(|row| row.notices.is_empty() && self.copies(row.id) == 1)
            && self.store.debriefs.values().all(|debrief| debrief.state.is_over())
    }

    /// Ended, told, handed to telemetry, stopped, out of memory.
    pub fn is_settled(&self) -> bool {
        self.all_told()
            && self.rows().all(|row| !row.is_owed() && self.emitted.contains(&row.id))
            && self.held() == 0
            && self.running(|_| true) == 0
            && self.engine.as_ref().is_some_and(|engine| engine.world().resident() == 0)
    }
}
