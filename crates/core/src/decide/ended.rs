//! What follows the end of a generation: those below, those above, those that waited for it.

use std::sync::Arc;

use super::Case;
use super::judge::Ending;
use crate::bugs::{Bug, active};
use crate::ids::TaskId;
use crate::input::{CancelWhy, Then};
use crate::reason::Reason;
use crate::record::TaskRecord;
use crate::refs::ParentRef;
use crate::rules::Event;
use crate::spec::Brief;
use crate::task::Task;
use crate::words::{Cause, Notify, State};
use crate::world::Parent;

impl Case<'_> {
    pub(super) fn ended(&mut self, id: TaskId) {
        let Some(task) = self.world.task(id) else {
            return;
        };
        if task.state != State::Completed {
            for below in self.world.living_below(id) {
                let why = CancelWhy::Ancestor(id);
                self.out.then(Then::Cancel { task: below, why, quiet: false });
            }
        }
        self.refund(task);
        self.dependants(task);
        let owed = |parent: &Parent| parent.owed_count() > 0 || parent.flight.is_some();
        if self.world.parent(&ParentRef::Task(id)).is_some_and(owed) {
            self.out.then(Then::Heirs(ParentRef::Task(id)));
        }
        if self.is_unreachable(&task.parent) {
            self.out.then(Then::Heirs((*task.parent).clone()));
        }
        let mut at = task.launched_by;
        while let Some(above) = at.and_then(|up| self.world.task(up)) {
            self.out.then(Then::Judge(above.id));
            at = above.launched_by;
        }
        // Those who wait for it first: a reader takes its lent slot back ahead of the queue.
        self.out.then(Then::Waiters(id));
        if active(Bug::TouchesOthers)
            && let Some((_, other)) =
                self.world.key(&task.key).and_then(|key| key.queue.first_key_value())
        {
            let why = CancelWhy::Asked { by: crate::reason::Caller::Policy, text: None };
            self.out.then(Then::Cancel { task: *other, why, quiet: false });
        }
        let lender = self.lender_above(task);
        if active(Bug::NeverPumped) {
            return;
        }
        self.out.then(Then::Pump { key: Arc::clone(&task.key), lender });
        if task.talk.is_some() {
            self.out.then(Then::TurnOver(id));
        }
        self.out.then(Then::EvictTree(task.root));
    }

    pub(super) fn is_unreachable(&self, parent: &ParentRef) -> bool {
        match parent {
            ParentRef::Task(id) => self.world.task(*id).is_none_or(|task| !task.is_living()),
            ParentRef::None => false,
            ParentRef::Conversation(id) => self.known_conversation(*id).is_err(),
            ParentRef::Inbox { .. } | ParentRef::Webhook(_) | ParentRef::Session { .. } => {
                self.world.parent(parent).is_some_and(|known| known.gone)
            }
        }
    }

    fn dependants(&mut self, task: &Task) {
        let Some(waiting) = self.world.dependants.get(&task.id) else {
            return;
        };
        for id in waiting {
            let Some(dependant) = self.world.task(*id) else {
                continue;
            };
            if active(Bug::DependantForgotten) {
                continue;
            }
            if task.state == State::Completed {
                self.rule(dependant.state, Event::DependencyMet);
                self.out.task(*id, TaskRecord::DependencyMet { on: task.id });
                self.out.then(Then::Pump {
                    key: Arc::clone(&dependant.key),
                    lender: dependant.launched_by,
                });
            } else {
                let reason = Reason::DependencyEnded { on: task.id };
                self.finish(
                    dependant,
                    Ending::new(Event::DependencyFailed, Cause::Dependency, reason),
                );
            }
        }
    }

    /// A task that is accepted to run after one that did not complete ends at once.
    pub(super) fn depends_in_vain(
        &mut self,
        id: TaskId,
        on: TaskId,
        parent: &ParentRef,
        brief: &Arc<Brief>,
    ) {
        let said = brief.notify != Notify::Silent;
        let owes = said && *parent != ParentRef::None;
        let batch = self.batch_for(parent, brief);
        self.out.task(
            id,
            TaskRecord::Moved {
                to: State::Cancelled,
                cause: Some(Cause::Dependency),
                reason: Reason::DependencyEnded { on },
                stop: None,
                until: None,
                flagged: false,
                told: owes.then(|| (parent.clone(), batch)),
            },
        );
        if said && !owes {
            self.out.then(Then::Marker(id));
        }
        self.out.then(Then::Ended(id));
    }
}
