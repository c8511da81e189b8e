//! Reads that never lie, and waits that lend a slot.

use std::sync::Arc;

use super::Case;
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::ids::TaskId;
use crate::input::{Request, Then};
use crate::reason::Caller;
use crate::reply::Told;
use crate::task::Task;
use crate::words::State;
use crate::world::Wait;

impl Case<'_> {
    /// Asks the host first when what is known is old.
    pub(super) fn read(&mut self, request: Request, id: TaskId) {
        let Some(task) = self.world.task(id) else {
            return self.not_there(request);
        };
        let askable = task.session.is_some()
            && (task.state.holds_slot() || task.state == State::WaitingChildren);
        let age = self.now.tick.saturating_sub(task.live.observed);
        if !askable || age <= self.world.limits.fresh_ms {
            let as_of = if askable { task.live.observed } else { self.now.tick };
            return self.read_now(request, id, as_of, true);
        }
        self.out.note(Note::ReaderCame(id, request));
        self.out.note(Note::ProbeAsked(id));
    }

    pub(super) fn read_now(&mut self, request: Request, task: TaskId, as_of: u64, fresh: bool) {
        self.out.reply(request, Told::ReadNow { task, as_of, fresh });
    }

    /// Answers at the task's end or when the time is up. A task that waits for its own descendant lends
    /// its slot meanwhile.
    pub(super) fn wait(&mut self, request: Request, id: TaskId, ms: u64, by: &Caller) {
        let Some(task) = self.world.task(id) else {
            return self.not_there(request);
        };
        if !task.is_living() {
            return self.out.reply(request, Told::WaitOver { task: id, ended: true });
        }
        let lender = match by {
            Caller::Task(caller) => self.world.task(*caller).filter(|above| {
                matches!(above.state, State::Running | State::WaitingAsk)
                    && self.world.is_above(above.id, id)
            }),
            Caller::Person | Caller::Agent(_) | Caller::Policy => None,
        };
        let until = self.now.tick.saturating_add(ms);
        let wait = Wait { task: id, until, lender: lender.map(|above| above.id) };
        self.out.note(Note::WaitCame(request, wait));
        if let Some(above) = lender {
            self.out.note(Note::Lent { task: above.id, lent: true, retaking: false });
            self.out.then(Then::Pump { key: Arc::clone(&above.key), lender: Some(above.id) });
        }
    }

    pub(super) fn forget(&mut self, request: Request) {
        if let Some(wait) = self.world.wait(request) {
            let lender = wait.lender;
            self.out.note(Note::WaitWent(request));
            self.take_back(lender, request);
        } else if self.world.taker(request).is_some() {
            self.out.note(Note::TakerWent(request));
        }
    }

    pub(super) fn wait_timed_out(&mut self, request: Request) {
        if let Some(wait) = self.world.wait(request) {
            let ended = self.world.task(wait.task).is_none_or(|task| !task.is_living());
            let lender = wait.lender;
            self.wait_over(request, wait.task, ended);
            self.take_back(lender, request);
        }
    }

    pub(super) fn wait_over(&mut self, request: Request, task: TaskId, ended: bool) {
        self.out.note(Note::WaitWent(request));
        self.out.reply(request, Told::WaitOver { task, ended });
        self.out.then(Then::Evict(task));
    }

    /// The reader goes on, with a slot or without one: then its key is in debt, visibly.
    fn take_back(&mut self, lender: Option<TaskId>, request: Request) {
        if let Some(above) = lender.and_then(|id| self.world.task(id))
            && above.live.lent
            && above.live.lends_for.iter().all(|other| *other == request)
        {
            self.out.note(Note::Lent { task: above.id, lent: false, retaking: false });
        }
    }

    /// The task ended: those who waited are told, a lender once it has its slot back.
    pub(super) fn waiters(&mut self, id: TaskId) {
        let Some(task) = self.world.task(id) else {
            return;
        };
        if !task.live.readers.is_empty() && !active(Bug::ReadersForgotten) {
            self.out.note(Note::ReadersWent(id));
            for request in &task.live.readers {
                self.read_now(*request, id, self.now.tick, true);
            }
        }
        for request in task.live.waiters.iter().filter(|_| !active(Bug::WaitersForgotten)) {
            let lender = self.world.wait(*request).and_then(|wait| wait.lender);
            match lender.and_then(|above| self.world.task(above)).filter(|above| above.live.lent) {
                Some(above) => self.retake_slot(above),
                None => self.wait_over(*request, id, true),
            }
        }
    }

    fn retake_slot(&mut self, above: &Task) {
        self.out.note(Note::Lent { task: above.id, lent: true, retaking: true });
        self.out.then(Then::Pump { key: Arc::clone(&above.key), lender: None });
    }
}
