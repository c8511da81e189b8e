//! What is owed to a parent that cannot be told any more: the nearest living ancestor has it, else one
//! marker in the origin's room, else it stays visible as undeliverable.

use std::collections::BTreeMap;

use super::Case;
use crate::bugs::{Bug, active};
use crate::ids::TaskId;
use crate::input::Then;
use crate::record::{OutboxRecord, TaskRecord};
use crate::refs::{Origin, ParentRef};
use crate::task::{Notice, Task};
use crate::words::{Code, DeliveryState};
use crate::world::Parent;

impl Case<'_> {
    pub(super) fn heirs(&mut self, who: &ParentRef) {
        let Some(parent) = self.world.parent(who).filter(|_| !active(Bug::NoHeirs)) else {
            return;
        };
        let heir = self.heir(who);
        let mut unspoken: BTreeMap<Option<Origin>, Vec<(TaskId, u32)>> = BTreeMap::new();
        for (id, generation) in owed_to(parent) {
            let Some(task) = self.world.task(id) else {
                continue;
            };
            let Some(notice) = task.notice(generation).filter(|notice| !self.is_answered(notice))
            else {
                continue;
            };
            match &heir {
                Some(heir) => self.pass_on(who, task, notice, heir),
                None if is_said(notice.state, notice.code) => {}
                None => {
                    if !self.is_marked(notice) {
                        unspoken
                            .entry(task.brief.origin.clone())
                            .or_default()
                            .push((id, generation));
                    }
                    let code = Some(Code::SessionNotFound);
                    self.move_notice(
                        id,
                        generation,
                        DeliveryState::Undeliverable,
                        notice.debrief,
                        code,
                    );
                }
            }
        }
        for notices in unspoken.values() {
            self.group_marker(notices, Code::SessionNotFound);
        }
        let to =
            if heir.is_some() { DeliveryState::Withdrawn } else { DeliveryState::Undeliverable };
        let known =
            parent.flight.iter().chain(&parent.resting).filter_map(|id| self.world.debrief(*id));
        for debrief in known
            .filter(|debrief| heir.is_some() || !is_said(debrief.state, debrief.code))
            .filter(|debrief| debrief.answer.is_none())
        {
            self.out.outbox(OutboxRecord::DebriefMoved {
                debrief: debrief.id,
                to,
                next: 0,
                lease: None,
                code: Some(Code::SessionNotFound),
                parked: false,
                why: debrief.why.clone(),
            });
            self.out.then(Then::Withdraw(debrief.id));
        }
    }

    fn pass_on(&mut self, from: &ParentRef, task: &Task, notice: &Notice, heir: &ParentRef) {
        let batch = self.open_batch(heir, task.brief.origin.as_ref());
        // A task that ended is no session that was not found.
        let code = match from {
            ParentRef::Task(_) => None,
            ParentRef::None
            | ParentRef::Inbox { .. }
            | ParentRef::Conversation(_)
            | ParentRef::Webhook(_)
            | ParentRef::Session { .. } => Some(Code::SessionNotFound),
        };
        let generation = notice.generation;
        self.out
            .task(task.id, TaskRecord::NoticeRouted { generation, to: heir.clone(), batch, code });
    }

    /// Whether its parent has answered, and that is on its way to the room.
    fn is_answered(&self, notice: &Notice) -> bool {
        let debrief = notice.debrief.and_then(|id| self.world.debrief(id));
        debrief.is_some_and(|debrief| debrief.answer.is_some())
    }

    /// Whether a marker stands in its room already.
    fn is_marked(&self, notice: &Notice) -> bool {
        let parked = notice
            .debrief
            .and_then(|id| self.world.debrief(id))
            .is_some_and(|debrief| debrief.parked);
        parked || notice.state == DeliveryState::Undeliverable
    }

    /// The nearest living one above a parent that is a task, or holds a task's session.
    fn heir(&self, who: &ParentRef) -> Option<ParentRef> {
        let from: TaskId = match who {
            ParentRef::Task(id) => *id,
            ParentRef::Session { host, session, .. } => self.world.by_session(host, session)?,
            ParentRef::None
            | ParentRef::Inbox { .. }
            | ParentRef::Conversation(_)
            | ParentRef::Webhook(_) => {
                return None;
            }
        };
        let mut task = self.world.task(from)?;
        while let Some(above) = task.launched_by.and_then(|id| self.world.task(id)) {
            if above.is_living() {
                return Some(ParentRef::Task(above.id));
            }
            task = above;
        }
        let top = &*task.parent;
        (*top != ParentRef::None && *top != *who && !self.is_unreachable(top)).then(|| top.clone())
    }
}

/// Whether it was said before that nobody can be told.
fn is_said(state: DeliveryState, code: Option<Code>) -> bool {
    state == DeliveryState::Undeliverable && code == Some(Code::SessionNotFound)
}

fn owed_to(parent: &Parent) -> Vec<(TaskId, u32)> {
    let batched = parent.batches.values().flat_map(|batch| batch.owed.iter());
    let mut all: Vec<(u64, TaskId, u32)> =
        batched.map(|(seq, (task, generation, _))| (*seq, *task, *generation)).collect();
    all.extend(parent.each.iter().map(|(seq, (task, generation, _))| (*seq, *task, *generation)));
    all.extend(parent.inbox.iter().chain(&parent.sealed).chain(&parent.stranded).copied());
    all.sort_unstable();
    all.into_iter().map(|(_, task, generation)| (task, generation)).collect()
}
