//! Owns all live state, fully indexed: what decisions read. Changes only by `apply`, one change at a time.
//!
//! Every index is a function of the tasks, debriefs and posts in it: a task is taken out of the indexes,
//! folded, and put back, so no count can drift from what it counts.

mod keys;
mod notes;
mod offers;
mod outbox;
mod parents;
mod restore;
mod timers;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use keys::place;
pub use keys::{Key, Place};
pub use offers::Taker;
use parents::parents_of;
pub use parents::{Batch, BatchKey, Parent, ParentTurn, Ready};
pub use timers::{At, Timer, Who};

use crate::bugs::{Bug, active};
use crate::change::Change;
use crate::fold::{self, Line};
use crate::ids::{AskId, DebriefId, PostId, TaskId};
use crate::index::Index;
use crate::limits::Limits;
use crate::names::Names;
use crate::outbox::{Debrief, Post};
use crate::payload::Digest;
use crate::record::{Record, TaskRecord};
use crate::refs::ParentRef;
use crate::task::Task;
use crate::words::State;

/// The tasks under one root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// Living descendants; the root itself is not counted.
    pub living: u32,
    /// Places held for launches under way.
    pub reserved: u32,
    /// Tasks of this tree that are in memory.
    pub resident: u32,
    /// Living ones, the root included.
    pub alive: u32,
}

impl Tree {
    /// Nobody in it lives, or is about to.
    pub fn is_still(&self) -> bool {
        self.alive == 0 && self.reserved == 0
    }
}

/// A request that waits for a task's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    pub task: TaskId,
    pub until: u64,
    /// The calling task, when it waits for its own descendant and lent its slot.
    pub lender: Option<TaskId>,
}

/// A place under a root, held while a launch is looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    pub root: TaskId,
    pub until: u64,
}

/// Everything decisions need.
#[derive(Debug, Clone, Default)]
pub struct World {
    pub limits: Arc<Limits>,
    /// Number of the last journal line applied.
    pub head: u64,
    pub(crate) tasks: Index<TaskId, Box<Task>>,
    pub(crate) children: Index<TaskId, Vec<TaskId>>,
    pub(crate) trees: Index<TaskId, Tree>,
    pub(crate) keys: BTreeMap<Arc<str>, Key>,
    pub(crate) parents: Index<ParentRef, Parent>,
    pub(crate) debriefs: Index<DebriefId, Debrief>,
    pub(crate) posts: Index<PostId, Post>,
    /// Unfinished posts per room and address, in order.
    pub(crate) rooms: BTreeMap<(Arc<str>, Arc<str>), BTreeMap<u64, PostId>>,
    /// Debriefs that no consumer has, and consumers that have none.
    pub(crate) offers: offers::Offers,
    pub(crate) by_session: Index<(Arc<str>, Arc<str>), TaskId>,
    pub(crate) idempotency: Index<Digest, TaskId>,
    pub(crate) dependants: Index<TaskId, Vec<TaskId>>,
    pub(crate) asks: Index<AskId, TaskId>,
    pub(crate) waits: Index<u64, Wait>,
    pub(crate) reservations: Index<u64, Reservation>,
    pub(crate) timers: timers::Timers,
    names: Names,
    /// What left memory since it was last asked for, as it was then.
    pub(crate) left: Left,
}

/// What left memory, in its last state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    pub tasks: Vec<Box<Task>>,
    pub debriefs: Vec<Debrief>,
    pub posts: Vec<Post>,
}

impl World {
    pub fn new(limits: Limits) -> Self {
        Self { limits: Arc::new(limits), ..Self::default() }
    }

    pub fn task(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(&id).map(|task| &**task)
    }

    pub fn debrief(&self, id: DebriefId) -> Option<&Debrief> {
        self.debriefs.get(&id)
    }

    pub fn post(&self, id: PostId) -> Option<&Post> {
        self.posts.get(&id)
    }

    pub fn parent(&self, parent: &ParentRef) -> Option<&Parent> {
        self.parents.get(parent)
    }

    pub fn key(&self, name: &str) -> Option<&Key> {
        self.keys.get(name)
    }

    /// Every key with a slot held or a task waiting.
    pub fn keys(&self) -> impl Iterator<Item = (&Arc<str>, &Key)> {
        self.keys.iter()
    }

    pub fn ask_owner(&self, ask: AskId) -> Option<TaskId> {
        self.asks.get(&ask).copied()
    }

    pub fn wait(&self, request: u64) -> Option<&Wait> {
        self.waits.get(&request)
    }

    pub fn by_session(&self, host: &Arc<str>, session: &Arc<str>) -> Option<TaskId> {
        self.by_session.get(&(Arc::clone(host), Arc::clone(session))).copied()
    }

    pub fn tree(&self, root: TaskId) -> Option<&Tree> {
        self.trees.get(&root)
    }

    /// A key whose task is past its retention is free again; tells whether it was held by that task.
    pub fn free_key(&mut self, key: Digest, gone: TaskId) -> bool {
        let held = self.idempotency.get(&key) == Some(&gone);
        if held {
            self.idempotency.remove(&key);
        }
        held
    }

    /// How many tasks are in memory.
    pub fn resident(&self) -> usize {
        self.tasks.len()
    }

    /// Tasks launched by this one that are in memory.
    pub fn children(&self, id: TaskId) -> &[TaskId] {
        self.children.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Living tasks below, nearest first.
    pub fn living_below(&self, id: TaskId) -> Vec<TaskId> {
        self.below(id).filter(|id| self.task(*id).is_some_and(Task::is_living)).collect()
    }

    /// Tasks below that are in memory.
    pub fn below(&self, id: TaskId) -> impl Iterator<Item = TaskId> {
        let mut open = vec![self.children(id).iter()];
        std::iter::from_fn(move || {
            while let Some(last) = open.last_mut() {
                if let Some(child) = last.next() {
                    open.push(self.children(*child).iter());
                    return Some(*child);
                }
                open.pop();
            }
            None
        })
    }

    /// Whether `above` launched `below`, directly or through others.
    pub fn is_above(&self, above: TaskId, below: TaskId) -> bool {
        let mut at = self.task(below).and_then(|task| task.launched_by);
        while let Some(id) = at {
            if id == above {
                return true;
            }
            at = self.task(id).and_then(|task| task.launched_by);
        }
        false
    }

    /// Notices that this task, as a parent, has not taken.
    pub fn untaken(&self, id: TaskId) -> u32 {
        self.parents.get(&ParentRef::Task(id)).map_or(0, |parent| {
            parent.owed_count() - (parent.inbox.len() + parent.stranded.len()) as u32
        })
    }

    /// Takes one change in.
    pub fn apply(&mut self, change: &Change, line: Line) {
        match change {
            Change::Record(Record::Task(id, record)) => {
                self.head = line.seq;
                self.apply_task(*id, record, line);
            }
            Change::Record(Record::Outbox(record)) => {
                self.head = line.seq;
                self.apply_outbox(record, line);
            }
            Change::Note(note) => self.note(note, line.stamp.tick),
        }
    }

    fn apply_task(&mut self, id: TaskId, record: &TaskRecord, line: Line) {
        // What only adds to the evidence of a turn touches no index.
        let light = matches!(record, TaskRecord::Seen { fact, .. } if !changes_index(fact));
        if light && let Some(task) = self.tasks.get_mut(&id) {
            let wakes = !only_moves_on(task, record);
            fold::fold(task, record, line);
            if begins_tool(record) {
                self.names.share_tool(task);
            }
            task.live.observed = line.stamp.tick;
            if wakes {
                self.arm(&Who::Task(id));
            }
            return;
        }
        let Some(task) = self.tasks.remove(&id) else {
            if let Some(task) = fold::begin(id, record, line) {
                self.admit(Box::new(task));
            }
            return;
        };
        self.refolded(task, |world, task| {
            fold::fold(task, record, line);
            world.settle_live(task, record, line.stamp.tick);
        });
    }

    /// Takes a task out of the indexes, changes it and puts it back; then lets go of what is idle.
    fn refolded(&mut self, mut task: Box<Task>, change: impl FnOnce(&Self, &mut Task)) {
        let id = task.id;
        let old_key = Arc::clone(&task.key);
        let mut told: Vec<ParentRef> = parents_of(&task).cloned().collect();
        self.unindex(&task);
        change(self, &mut task);
        self.index(&task);
        told.extend(parents_of(&task).cloned());
        let key = Arc::clone(&task.key);
        self.tasks.insert(id, task);
        self.arm(&Who::Task(id));
        self.drop_idle_key(&old_key);
        self.drop_idle_key(&key);
        for parent in &told {
            self.tidy_parent(parent);
        }
    }

    /// What memory holds of a task follows its state.
    fn settle_live(&self, task: &mut Task, record: &TaskRecord, tick: u64) {
        match record {
            TaskRecord::Seen { .. } => task.live.observed = tick,
            TaskRecord::Moved { to, .. } => {
                if *to != State::Running && *to != State::WaitingAsk {
                    task.live.lent = false;
                    task.live.retaking = false;
                }
                if !to.holds_slot() && *to != State::WaitingChildren {
                    task.live.probe = None;
                }
            }
            TaskRecord::AttemptOpened { .. } => {
                task.live.probe = None;
                task.live.observed = 0;
            }
            TaskRecord::Accepted { .. }
            | TaskRecord::DependencyMet { .. }
            | TaskRecord::GenerationOpened { .. }
            | TaskRecord::TurnAsked { .. }
            | TaskRecord::Closed
            | TaskRecord::TurnOpened { .. }
            | TaskRecord::StopTurned { .. }
            | TaskRecord::Stale { .. }
            | TaskRecord::Late { .. }
            | TaskRecord::Result { .. }
            | TaskRecord::AskOpened { .. }
            | TaskRecord::AskMoved { .. }
            | TaskRecord::AskDone { .. }
            | TaskRecord::SendTaken { .. }
            | TaskRecord::NoticeMoved { .. }
            | TaskRecord::NoticeRouted { .. }
            | TaskRecord::ParentMoved { .. }
            | TaskRecord::Reserved { .. }
            | TaskRecord::Refunded { .. }
            | TaskRecord::Charged { .. }
            | TaskRecord::TelemetryTaken { .. }
            | TaskRecord::Rerouted { .. }
            | TaskRecord::OrphanSeen { .. }
            | TaskRecord::OrphanGone { .. } => {}
        }
    }

    /// Puts a task that was just begun, or read from the store, into memory.
    pub(crate) fn admit(&mut self, mut task: Box<Task>) {
        task.live.look = None;
        if let Some(above) = task.launched_by {
            self.children.or_default(above).push(task.id);
        }
        if let Some(key) = task.brief.key {
            self.idempotency.insert(key, task.id);
        }
        self.trees.or_default(task.root).resident += 1;
        self.index(&task);
        for parent in parents_of(&task) {
            self.arm_parent(parent);
        }
        let id = task.id;
        self.tasks.insert(id, task);
        self.arm(&Who::Task(id));
    }

    /// Lets go of an ended task that nobody needs in memory.
    pub(crate) fn evict(&mut self, id: TaskId) {
        self.disarm(&Who::Task(id));
        let Some(task) = self.tasks.remove(&id) else {
            return;
        };
        self.unindex(&task);
        self.drop_idle_key(&task.key);
        for parent in parents_of(&task) {
            self.tidy_parent(parent);
        }
        if let Some(above) = task.launched_by
            && let Some(siblings) = self.children.get_mut(&above)
        {
            siblings.retain(|sibling| *sibling != id);
            if siblings.is_empty() {
                self.children.remove(&above);
            }
        }
        if let Some(tree) = self.trees.get_mut(&task.root) {
            tree.resident -= 1;
            if *tree == Tree::default() {
                self.trees.remove(&task.root);
            }
        }
        if active(Bug::KeyForgotten) {
            task.brief.key.map(|key| self.idempotency.remove(&key));
        }
        self.left.tasks.push(task);
    }

    /// Whether an ended task can leave memory: nothing owed, no living relative, nothing that waits on it.
    pub fn is_evictable(&self, id: TaskId) -> bool {
        self.task(id).is_some_and(|task| {
            !task.is_living()
                && (!task.is_owed() || active(Bug::OwedEvicted))
                && task.live.waiters.is_empty()
                && task.live.readers.is_empty()
                && !self.dependants.contains(&id)
                && self.trees.get(&task.root).is_none_or(Tree::is_still)
                && self.parents.get(&ParentRef::Task(id)).is_none()
        })
    }

    fn index(&mut self, task: &Task) {
        self.index_slot(task, true);
        self.index_kin(task, true);
        self.index_parent(task, true);
    }

    fn unindex(&mut self, task: &Task) {
        self.index_slot(task, false);
        self.index_kin(task, false);
        self.index_parent(task, false);
    }

    fn index_kin(&mut self, task: &Task, add: bool) {
        if task.is_living() {
            let tree = self.trees.or_default(task.root);
            let below = u32::from(task.launched_by.is_some());
            if add {
                tree.living += below;
                tree.alive += 1;
            } else {
                tree.living -= below;
                tree.alive -= 1;
            }
        }
        if let Some(session) = &task.session {
            let place = (Arc::clone(&task.brief.host), Arc::clone(session));
            if add {
                self.by_session.insert(place, task.id);
            } else {
                self.by_session.remove(&place);
            }
        }
        for ask in &task.asks {
            if add {
                self.asks.insert(ask.id, task.id);
            } else {
                self.asks.remove(&ask.id);
            }
        }
        for on in &task.after {
            if add {
                self.dependants.or_default(*on).push(task.id);
            } else if let Some(waiting) = self.dependants.get_mut(on) {
                waiting.retain(|id| *id != task.id);
                if waiting.is_empty() {
                    self.dependants.remove(on);
                }
            }
        }
    }
}

fn begins_tool(record: &TaskRecord) -> bool {
    matches!(record, TaskRecord::Seen { fact: crate::fact::Fact::ToolBegan { .. }, .. })
}

/// Whether a line says no more than that a turn whose end is not seen goes on: no deadline comes closer.
fn only_moves_on(task: &Task, record: &TaskRecord) -> bool {
    use crate::fact::Fact as F;
    matches!(
        record,
        TaskRecord::Seen { fact: F::Active | F::ToolBegan { .. } | F::ToolEnded { .. }, .. }
    ) && task.evidence.end.is_none()
        && !task.activity_wakes()
}

fn changes_index(fact: &crate::fact::Fact) -> bool {
    use crate::fact::Fact as F;
    match fact {
        F::SessionMade { .. }
        | F::PromptTaken
        | F::PromptUnsure { .. }
        | F::Looked { .. }
        | F::Ended { .. }
        | F::Exited { .. }
        | F::Interrupted { .. }
        | F::SessionDeleted
        | F::HostGone { .. } => true,
        F::StartFailed { .. }
        | F::StartUnsure { .. }
        | F::PromptRefused { .. }
        | F::WordsTaken { .. }
        | F::Active
        | F::ToolBegan { .. }
        | F::ToolEnded { .. }
        | F::Spent { .. }
        | F::AskOpened { .. }
        | F::AskClosed { .. }
        | F::Todos { .. }
        | F::EndHint
        | F::ErrorHint { .. }
        | F::ProviderWait { .. }
        | F::OddWord { .. }
        | F::Busy
        | F::Compacted
        | F::LookFailed { .. }
        | F::Stopped
        | F::StopRefused { .. } => false,
    }
}
