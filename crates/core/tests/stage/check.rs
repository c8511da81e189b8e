//! A second opinion: folds the journal by itself and recounts everything that the World counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use homing_core::effect::{Effect, EffectKey};
use homing_core::fold;
use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_core::record::{OutboxRecord, Record, TaskRecord};
use homing_core::refs::ParentRef;
use homing_core::step::{Touched, Written, wants};
use homing_core::task::{Live, Task};
use homing_core::time::Moment;
use homing_core::words::State;
use homing_core::world::{Key, World};

/// What the journal says, folded without the World.
#[derive(Default)]
pub struct Ledger {
    head: u64,
    rows: BTreeMap<TaskId, Task>,
    /// Generations that ended, and with a notice.
    ended: BTreeSet<(TaskId, u32)>,
    seen: Touched,
}

impl Ledger {
    /// The row of a task, as a store would have it.
    pub fn row(&self, id: TaskId) -> Option<Task> {
        self.rows.get(&id).cloned()
    }

    /// The task of a session, as a store would find it.
    pub fn of_session(&self, host: &str, session: &str) -> Option<TaskId> {
        let of =
            |task: &&Task| *task.brief.host == *host && task.session.as_deref() == Some(session);
        self.rows.values().find(of).map(|task| task.id)
    }

    pub fn posts(&self) -> Vec<PostId> {
        self.seen.posts.iter().copied().collect()
    }

    pub fn take(&mut self, written: &[Written]) {
        for one in written {
            self.head += 1;
            assert_eq!(one.line.seq, self.head, "the journal has a gap");
            match &one.record {
                Record::Task(id, record) => self.take_task(*id, record, one),
                Record::Outbox(record) => self.take_outbox(record),
            }
        }
    }

    fn take_task(&mut self, id: TaskId, record: &TaskRecord, written: &Written) {
        if let TaskRecord::Moved { to, .. } = record {
            self.watch_end(id, *to);
        }
        match self.rows.get_mut(&id) {
            Some(row) => fold::fold(row, record, written.line),
            None => {
                let row = fold::begin(id, record, written.line);
                self.rows.insert(id, row.unwrap_or_else(|| panic!("{id} begins with {record:?}")));
            }
        }
        let row = &self.rows[&id];
        assert_eq!(written.task_seq, row.seq, "the numbers of {id} have a gap");
        self.seen.tasks.insert(id);
        self.seen.parents.insert((*row.parent).clone());
        self.seen.parents.insert(ParentRef::Task(id));
        self.seen.parents.extend(row.conversation().map(ParentRef::Conversation));
        self.seen.parents.extend(row.notices.iter().map(|notice| notice.to.clone()));
    }

    /// A generation ends once, and a terminal state is left only by a new generation.
    fn watch_end(&mut self, id: TaskId, to: State) {
        let generation = self.rows.get(&id).map_or(0, |row| row.generation);
        let over = self.ended.contains(&(id, generation));
        assert!(!over, "{id} moved to {to} after generation {generation} had ended");
        if to.is_terminal() {
            self.ended.insert((id, generation));
        }
    }

    fn take_outbox(&mut self, record: &OutboxRecord) {
        match record {
            OutboxRecord::Sealed { debrief } => {
                self.seen.debriefs.insert(debrief.id);
                self.seen.parents.insert(debrief.parent.clone());
            }
            OutboxRecord::PostSealed { post } => drop(self.seen.posts.insert(post.id)),
            OutboxRecord::DebriefMoved { .. }
            | OutboxRecord::DebriefAnswered { .. }
            | OutboxRecord::DebriefAgain { .. }
            | OutboxRecord::PostMoved { .. }
            | OutboxRecord::PostAgain { .. } => {}
        }
    }

    /// Everything that is wanted now, by a look at everything there is.
    pub fn wanted(&self, world: &World, now: Moment) -> BTreeMap<EffectKey, Effect> {
        wants(world, &self.seen, now).into_iter().map(|effect| (effect.key(), effect)).collect()
    }

    pub fn check(&self, world: &World) {
        assert_eq!(world.head, self.head, "the World is not at the journal's head");
        let mut resident = 0;
        for (id, row) in &self.rows {
            if let Some(task) = world.task(*id) {
                resident += 1;
                let bare = Task { live: Live::default(), ..task.clone() };
                assert_eq!(bare, *row, "the row of {id} is not the fold of its journal");
            } else {
                assert!(row.state.is_terminal(), "{id} lives and is not in memory");
                assert!(!row.is_owed(), "{id} left memory with something owed");
            }
        }
        assert_eq!(world.resident(), resident, "the World has tasks without a journal");
        self.check_slots(world);
        self.check_trees(world);
        self.check_parents(world);
    }

    fn resident<'w>(&self, world: &'w World) -> Vec<&'w Task> {
        self.rows.keys().filter_map(|id| world.task(*id)).collect()
    }

    fn check_slots(&self, world: &World) {
        let mut keys: BTreeMap<Arc<str>, Key> = BTreeMap::new();
        for task in self.resident(world) {
            let lends = task.live.lent || task.state == State::WaitingChildren;
            let holds = task.state.holds_slot() && !task.live.lent;
            let queued = task.state == State::Queued && task.after.is_empty();
            let retakes = task.wants_turn() || task.live.retaking;
            if !(lends || holds || queued || retakes) {
                continue;
            }
            let key = keys.entry(Arc::clone(&task.key)).or_default();
            key.held += u32::from(holds);
            key.lent += u32::from(lends);
            if queued {
                key.queue.insert((std::cmp::Reverse(task.brief.priority), task.arrival), task.id);
            }
            if retakes {
                key.retake.insert(task.arrival, task.id);
            }
        }
        let known: BTreeMap<Arc<str>, Key> =
            world.keys().map(|(name, key)| (Arc::clone(name), key.clone())).collect();
        assert_eq!(known, keys, "slots are miscounted");
    }

    fn check_trees(&self, world: &World) {
        let mut living: BTreeMap<TaskId, (u32, u32)> = BTreeMap::new();
        for task in self.resident(world) {
            let tree = living.entry(task.root).or_default();
            tree.0 += u32::from(task.is_living() && task.launched_by.is_some());
            tree.1 += u32::from(task.is_living());
        }
        for (root, count) in living {
            let tree = world.tree(root).cloned().unwrap_or_default();
            assert_eq!((tree.living, tree.alive), count, "the tree of {root} is miscounted");
        }
    }

    fn check_parents(&self, world: &World) {
        let mut living: BTreeMap<ParentRef, BTreeSet<TaskId>> = BTreeMap::new();
        let mut owed: BTreeMap<ParentRef, u32> = BTreeMap::new();
        for task in self.resident(world) {
            if task.is_living() && *task.parent != ParentRef::None {
                living.entry((*task.parent).clone()).or_default().insert(task.id);
            }
            for notice in &task.notices {
                *owed.entry(notice.to.clone()).or_default() += 1;
            }
        }
        for who in &self.seen.parents {
            let known = world.parent(who).cloned().unwrap_or_default();
            assert_eq!(known.living, living.remove(who).unwrap_or_default(), "who lives for {who}");
            assert_eq!(
                known.owed_count(),
                owed.remove(who).unwrap_or_default(),
                "what is owed to {who}"
            );
            let flight = known.flight.filter(|id: &DebriefId| world.debrief(*id).is_none());
            assert_eq!(flight, None, "{who} has a debrief in flight that is not there");
        }
    }
}
