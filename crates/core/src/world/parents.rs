//! Owns what memory knows of parents: their turns, their batches, what is owed to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Who, World};
use crate::bugs::{Bug, active};
use crate::ids::{DebriefId, TaskId};
use crate::outbox::Debrief;
use crate::refs::{Origin, ParentRef};
use crate::task::{BatchId, Notice, Task};
use crate::time::backoff_ms;
use crate::words::{DeliveryState, Notify, State};

/// A batch is of one turn and of one origin.
pub type BatchKey = (BatchId, Option<Origin>);

/// The tasks of one batch that still matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub living: u32,
    /// Outcomes that wait to be told, by journal number.
    pub owed: BTreeMap<u64, (TaskId, u32, u64)>,
}

/// Where a parent stands between its turns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ParentTurn {
    #[default]
    Unknown,
    Between,
    In {
        turn: Arc<str>,
    },
    /// In a turn that it did not name.
    Busy,
}

/// Whether a debrief may begin now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    Yes,
    No,
    /// Not known: the parent must be asked.
    Ask,
}

/// One parent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parent {
    pub living: BTreeSet<TaskId>,
    pub batches: BTreeMap<BatchKey, Batch>,
    /// Told one by one, by journal number.
    pub each: BTreeMap<u64, (TaskId, u32, BatchKey)>,
    /// Wait to be read; wake nobody.
    pub inbox: BTreeSet<(u64, TaskId, u32)>,
    /// Sealed, by journal number.
    pub sealed: BTreeSet<(u64, TaskId, u32)>,
    /// Said to be undeliverable: visible, and waited for by nobody.
    pub stranded: BTreeSet<(u64, TaskId, u32)>,
    /// The one debrief on its way.
    pub flight: Option<DebriefId>,
    /// Debriefs that rest: a marker was posted in their place, or nobody can be told.
    pub resting: BTreeSet<DebriefId>,
    /// Those of them that are to be sent again, by when somebody asked for it.
    pub again: BTreeSet<(u64, DebriefId)>,
    pub turn: ParentTurn,
    /// Prompts of a person that wait for their turn.
    pub person_waits: u32,
    pub gone: bool,
    /// When its turn last became what it is.
    pub since: u64,
    /// Could not be asked since.
    pub silent: Option<u64>,
    /// Not asked again before this tick.
    pub look_next: u64,
    pub looks: u32,
    /// Batches that fell due by their age until then were looked at.
    pub aged: u64,
}

/// What may go into one debrief: the batch it is of, and its notices in commit order.
pub type Due = (BatchKey, Vec<(TaskId, u32)>);

/// One debrief names at most this many ends; the rest goes to the next.
const NOTICES_MAX: usize = 250;

impl Parent {
    /// Notices without their receipt.
    pub fn owed_count(&self) -> u32 {
        let batched: usize = self.batches.values().map(|batch| batch.owed.len()).sum();
        (batched + self.each.len() + self.inbox.len() + self.sealed.len() + self.stranded.len())
            as u32
    }

    fn is_idle(&self) -> bool {
        self.living.is_empty()
            && self.batches.is_empty()
            && self.each.is_empty()
            && self.inbox.is_empty()
            && self.sealed.is_empty()
            && self.stranded.is_empty()
            && self.flight.is_none()
            && self.resting.is_empty()
            && self.person_waits == 0
    }

    /// What to tell next: the batch with the oldest outcome among those that are due.
    pub fn due(&self, now: u64, batch_ms: u64) -> Option<Due> {
        let youngest = if active(Bug::LastFirst) { self.each.iter().next_back() } else { None };
        let first_each = youngest.or(self.each.iter().next()).map(one);
        let first_batch = self.due_batches(now, batch_ms).min_by_key(|(seq, _)| *seq);
        let next = match (first_each, first_batch) {
            (Some(each), Some(batch)) => Some(if each.0 < batch.0 { each } else { batch }),
            (each, batch) => each.or(batch),
        };
        next.map(|(_, due)| due)
    }

    /// All that is due, oldest outcome first.
    pub fn all_due(&self, now: u64, batch_ms: u64) -> Vec<Due> {
        let mut all: Vec<(u64, Due)> = self.each.iter().map(one).collect();
        all.extend(self.due_batches(now, batch_ms));
        all.sort_by_key(|(seq, _)| *seq);
        all.into_iter().map(|(_, due)| due).collect()
    }

    fn due_batches(&self, now: u64, batch_ms: u64) -> impl Iterator<Item = (u64, Due)> {
        self.batches.iter().filter_map(move |(key, batch)| {
            let (seq, (_, _, at)) = batch.owed.first_key_value()?;
            let due = batch.living == 0 || now >= at.saturating_add(batch_ms);
            due.then(|| {
                let all = batch.owed.values().map(|(task, generation, _)| (*task, *generation));
                (*seq, (key.clone(), all.take(NOTICES_MAX).collect()))
            })
        })
    }

    /// Whether something is owed that it is to be woken for.
    pub fn is_to_be_told(&self) -> bool {
        !self.each.is_empty() || self.batches.values().any(|batch| !batch.owed.is_empty())
    }

    /// When the next batch falls due by its age.
    pub fn next_due(&self, batch_ms: u64) -> Option<u64> {
        self.batches
            .values()
            .filter(|batch| batch.living > 0)
            .filter_map(|batch| batch.owed.first_key_value())
            .map(|(_, (_, _, at))| at.saturating_add(batch_ms))
            .filter(|at| *at > self.aged)
            .min()
    }
}

fn one((seq, (task, generation, batch)): (&u64, &(TaskId, u32, BatchKey))) -> (u64, Due) {
    (*seq, (batch.clone(), vec![(*task, *generation)]))
}

/// Everyone in whose index a task stands.
pub(crate) fn parents_of(task: &Task) -> impl Iterator<Item = &ParentRef> {
    let living = task.is_living() && *task.parent != ParentRef::None;
    living.then_some(&*task.parent).into_iter().chain(task.notices.iter().map(|notice| &notice.to))
}

fn batch_key(task: &Task, batch: &BatchId) -> BatchKey {
    (batch.clone(), task.brief.origin.clone())
}

impl World {
    pub(crate) fn index_parent(&mut self, task: &Task, add: bool) {
        if task.is_living() && *task.parent != ParentRef::None {
            let batched = task.brief.notify == Notify::Debrief;
            let parent = self.parents.or_default((*task.parent).clone());
            if add {
                parent.living.insert(task.id);
            } else {
                parent.living.remove(&task.id);
            }
            if batched {
                let key = batch_key(task, &task.batch);
                let batch = parent.batches.entry(key.clone()).or_default();
                if add {
                    batch.living += 1;
                } else {
                    batch.living -= 1;
                    if *batch == Batch::default() {
                        parent.batches.remove(&key);
                    }
                }
            }
        }
        for notice in &task.notices {
            self.index_notice(task, notice, add);
        }
    }

    fn index_notice(&mut self, task: &Task, notice: &Notice, add: bool) {
        let parent = self.parents.or_default(notice.to.clone());
        let place = (notice.seq, task.id, notice.generation);
        let key = batch_key(task, &notice.batch);
        if notice.state != DeliveryState::Owed {
            let stranded = notice.state == DeliveryState::Undeliverable;
            let set = if stranded { &mut parent.stranded } else { &mut parent.sealed };
            if add {
                set.insert(place);
            } else {
                set.remove(&place);
            }
        } else if notice.inbox {
            if add {
                parent.inbox.insert(place);
            } else {
                parent.inbox.remove(&place);
            }
        } else if notice.each {
            if add {
                parent.each.insert(notice.seq, (task.id, notice.generation, key));
            } else {
                parent.each.remove(&notice.seq);
            }
        } else {
            let batch = parent.batches.entry(key.clone()).or_default();
            if add {
                batch.owed.insert(notice.seq, (task.id, notice.generation, notice.at));
            } else {
                batch.owed.remove(&notice.seq);
                if *batch == Batch::default() {
                    parent.batches.remove(&key);
                }
            }
        }
    }

    pub(crate) fn index_debrief(&mut self, debrief: &Debrief) {
        let parent = self.parents.or_default(debrief.parent.clone());
        if debrief.is_resting() {
            parent.resting.insert(debrief.id);
            parent.again.extend(debrief.again.map(|seq| (seq, debrief.id)));
        } else {
            parent.flight = Some(debrief.id);
            if debrief.lease.is_none() {
                self.offers.add(debrief);
            }
        }
    }

    /// What a debrief tells and has no receipt yet.
    pub fn owed_in(&self, debrief: &Debrief) -> Vec<(TaskId, u32)> {
        let open = |(task, generation): &&(TaskId, u32)| {
            let notice = self.task(*task).and_then(|task| task.notice(*generation));
            notice.is_some_and(|notice| notice.debrief == Some(debrief.id))
        };
        debrief.notices.iter().filter(open).copied().collect()
    }

    pub(crate) fn unindex_debrief(&mut self, debrief: &Debrief) {
        if let Some(parent) = self.parents.get_mut(&debrief.parent) {
            if parent.flight == Some(debrief.id) {
                parent.flight = None;
            }
            parent.resting.remove(&debrief.id);
            parent.again.retain(|(_, id)| *id != debrief.id);
        }
        self.offers.remove(debrief);
    }

    /// A parent in a turn is asked again after a while, less and less often: its end may not be told.
    pub(crate) fn set_parent_turn(&mut self, who: &ParentRef, turn: ParentTurn, tick: u64) {
        let Some(parent) = self.parents.get_mut(who) else {
            return;
        };
        let other = parent.turn != turn;
        if other {
            parent.since = tick;
        }
        let named = |turn: &ParentTurn| matches!(turn, ParentTurn::In { .. });
        if other && (named(&turn) || named(&parent.turn)) {
            parent.looks = 0;
        }
        parent.silent = None;
        match turn {
            ParentTurn::In { .. } | ParentTurn::Busy => {
                let wait =
                    backoff_ms(parent.looks, self.limits.backoff_first_ms, self.limits.wake_ms);
                parent.look_next = tick + wait;
                parent.looks += 1;
            }
            ParentTurn::Between | ParentTurn::Unknown => parent.look_next = 0,
        }
        parent.turn = turn;
        self.rearm_parent(who);
    }

    /// It could not be asked; not before this tick again.
    pub(crate) fn set_parent_look(&mut self, who: &ParentRef, next: u64, tick: u64) {
        if let Some(parent) = self.parents.get_mut(who) {
            parent.look_next = next;
            if next > 0 {
                parent.looks += 1;
                parent.silent = parent.silent.or(Some(tick));
            }
            self.rearm_parent(who);
        }
    }

    /// Its silence was said: the time counts anew.
    pub(crate) fn set_parent_silent(&mut self, who: &ParentRef, tick: u64) {
        if let Some(parent) = self.parents.get_mut(who) {
            parent.silent = Some(tick);
            self.rearm_parent(who);
        }
    }

    pub(crate) fn set_batches_aged(&mut self, who: &ParentRef, tick: u64) {
        if let Some(parent) = self.parents.get_mut(who) {
            parent.aged = tick;
            self.rearm_parent(who);
        }
    }

    fn rearm_parent(&mut self, who: &ParentRef) {
        let flight = self.parents.get(who).and_then(|parent| parent.flight);
        self.tidy_parent(who);
        if let Some(id) = flight {
            self.arm(&Who::Debrief(id));
        }
    }

    pub(crate) fn set_person_waits(&mut self, who: &ParentRef, count: u32) {
        self.parents.or_default(who.clone()).person_waits = count;
        self.tidy_parent(who);
    }

    pub(crate) fn set_parent_gone(&mut self, who: &ParentRef) {
        if let Some(parent) = self.parents.get_mut(who) {
            parent.gone = true;
        }
    }

    /// Lets go of a parent that nothing speaks of any more. Never in the middle of a change: what is
    /// known of its turns would be lost.
    pub(crate) fn tidy_parent(&mut self, who: &ParentRef) {
        if self.parents.get(who).is_some_and(Parent::is_idle) {
            self.parents.remove(who);
            self.disarm(&Who::Parent(Box::new(who.clone())));
        } else {
            self.arm_parent(who);
        }
    }

    /// Whether a debrief to this parent may begin.
    pub fn ready(&self, who: &ParentRef) -> Ready {
        let Some(parent) = self.parents.get(who) else {
            return Ready::No;
        };
        match who {
            ParentRef::None => Ready::No,
            ParentRef::Inbox { .. } | ParentRef::Webhook(_) => Ready::Yes,
            ParentRef::Task(id) => match self.task(*id) {
                Some(task)
                    if task.state == State::WaitingChildren
                        && task.brief.caps.prompts
                        && !task.evidence.is_over()
                        && !task.wants_turn() =>
                {
                    Ready::Yes
                }
                Some(_) | None => Ready::No,
            },
            ParentRef::Conversation(id) => match self.task(id.task()) {
                Some(task) if task.awaits_turn() => Ready::Yes,
                Some(_) | None => Ready::No,
            },
            ParentRef::Session { .. } => match &parent.turn {
                ParentTurn::In { .. } if active(Bug::IntoTurn) => Ready::Yes,
                ParentTurn::In { .. } | ParentTurn::Busy if parent.look_next == 0 => Ready::Ask,
                ParentTurn::In { .. } | ParentTurn::Busy => Ready::No,
                ParentTurn::Between if parent.person_waits > 0 => Ready::No,
                ParentTurn::Between => Ready::Yes,
                ParentTurn::Unknown => Ready::Ask,
            },
        }
    }
}
