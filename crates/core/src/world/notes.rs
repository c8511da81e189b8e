//! What memory alone keeps, applied: nothing here is written down, and nothing here changes a row.

use super::{Tree, Wait, Who, World};
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::ids::TaskId;
use crate::task::{Live, Task};

impl World {
    pub(super) fn note(&mut self, note: &Note, tick: u64) {
        match note {
            Note::Loaded(task) => {
                if !self.tasks.contains(&task.id) {
                    self.admit(task.clone());
                }
            }
            Note::Evicted(id) => self.evict(*id),
            Note::Purged(taken) => taken.tasks.iter().for_each(|id| self.evict(*id)),
            Note::Active(id, _) if active(Bug::NoteIsWritten) => {
                self.reindexed(*id, |task| task.active = tick)
            }
            Note::Active(id, wakes) => self.active(*id, *wakes, tick),
            Note::Observed(id) => {
                if let Some(task) = self.tasks.get_mut(id) {
                    task.live.observed = tick;
                }
            }
            Note::ProbeAsked(id) => {
                self.with_live(*id, |live| live.probe = live.probe.or(Some(tick)))
            }
            Note::ProbeDone(id, answered) => self.with_live(*id, |live| {
                live.probe = None;
                live.probed = tick;
                if *answered {
                    live.answered = tick;
                }
            }),
            Note::ReaderCame(id, request) => {
                self.with_live(*id, |live| live.readers.push(*request))
            }
            Note::ReadersWent(id) => self.with_live(*id, |live| live.readers.clear()),
            Note::WaitCame(request, wait) => self.wait_came(*request, wait),
            Note::WaitWent(request) => {
                if let Some(wait) = self.waits.remove(request) {
                    self.with_live(wait.task, |live| live.waiters.retain(|known| known != request));
                    if let Some(lender) = wait.lender {
                        self.with_live(lender, |live| {
                            live.lends_for.retain(|known| known != request)
                        });
                    }
                    self.disarm(&Who::Wait(*request));
                }
            }
            Note::TakerCame(request, taker) => self.offers.taker_came(*request, taker),
            Note::TakerWent(request) => self.offers.taker_went(*request),
            Note::Lent { task, lent, retaking } => self.reindexed(*task, |known| {
                known.live.lent = *lent;
                known.live.retaking = *retaking;
            }),
            Note::ParentTurn(parent, turn) => self.set_parent_turn(parent, turn.clone(), tick),
            Note::ParentLook(parent, next) => self.set_parent_look(parent, *next, tick),
            Note::ParentSilent(parent) => self.set_parent_silent(parent, tick),
            Note::BatchesAged(parent) => self.set_batches_aged(parent, tick),
            Note::PersonWaits(parent, count) => self.set_person_waits(parent, *count),
            Note::ParentGone(parent) => self.set_parent_gone(parent),
            Note::Reserved(id, reservation) => {
                self.trees.or_default(reservation.root).reserved += 1;
                self.reservations.insert(*id, reservation.clone());
                self.arm(&Who::Reservation(*id));
            }
            Note::Released(id) => self.release(*id),
        }
    }

    fn wait_came(&mut self, request: u64, wait: &Wait) {
        self.with_live(wait.task, |live| live.waiters.push(request));
        if let Some(lender) = wait.lender {
            self.with_live(lender, |live| live.lends_for.push(request));
        }
        self.waits.insert(request, wait.clone());
        self.arm(&Who::Wait(request));
    }

    fn release(&mut self, id: u64) {
        let Some(reservation) = self.reservations.remove(&id) else {
            return;
        };
        if let Some(tree) = self.trees.get_mut(&reservation.root) {
            tree.reserved -= 1;
            if *tree == Tree::default() {
                self.trees.remove(&reservation.root);
            }
        }
        self.disarm(&Who::Reservation(id));
    }

    fn active(&mut self, id: TaskId, wakes: bool, tick: u64) {
        if let Some(task) = self.tasks.get_mut(&id) {
            task.live.active = tick;
            task.live.observed = tick;
            if wakes {
                self.arm(&Who::Task(id));
            }
        }
    }

    fn with_live(&mut self, id: TaskId, change: impl FnOnce(&mut Live)) {
        if let Some(task) = self.tasks.get_mut(&id) {
            change(&mut task.live);
            self.arm(&Who::Task(id));
        }
    }

    fn reindexed(&mut self, id: TaskId, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.tasks.remove(&id) {
            self.refolded(task, |_, task| change(task));
        }
    }
}
