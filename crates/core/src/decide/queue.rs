//! Who gets a free slot: those who lent theirs, then a lender's descendants, then the queue in order.

use std::sync::Arc;

use super::Case;
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::ids::TaskId;
use crate::input::Then;
use crate::reason::Reason;
use crate::record::TaskRecord;
use crate::rules::Event;
use crate::task::Task;
use crate::words::{Phase, State, TurnKind};
use crate::world::Key;

impl<'w> Case<'w> {
    pub(super) fn pump(&mut self, name: &Arc<str>, lender: Option<TaskId>) {
        let Some(key) = self.world.key(name) else {
            return;
        };
        let Some(task) = self.next_in_line(key, lender) else {
            return;
        };
        if !key.has_room(self.world.limit_of(task)) {
            return;
        }
        match task.state {
            State::Queued => self.start(task),
            State::WaitingChildren => self.retake(task),
            State::Running | State::WaitingAsk => self.give_back(task),
            State::Starting
            | State::Paused
            | State::Stopping
            | State::Completed
            | State::Failed
            | State::Cancelled
            | State::TimedOut
            | State::Lost => return,
        }
        self.out.then(Then::Pump { key: Arc::clone(name), lender });
    }

    fn next_in_line(&self, key: &Key, lender: Option<TaskId>) -> Option<&'w Task> {
        if let Some((_, id)) = key.retake.first_key_value().filter(|_| !active(Bug::LenderStarves))
        {
            return self.world.task(*id);
        }
        let (_, first) = key.queue.first_key_value()?;
        let own = lender.and_then(|lender| self.first_below(key, lender));
        self.world.task(own.unwrap_or(*first))
    }

    /// The first of a lender's queued descendants, while it lends.
    fn first_below(&self, key: &Key, lender: TaskId) -> Option<TaskId> {
        let task = self.world.task(lender)?;
        if !(task.live.lent || task.state == State::WaitingChildren) {
            return None;
        }
        self.world
            .living_below(lender)
            .into_iter()
            .filter_map(|id| self.world.task(id))
            .filter(|below| key.queue.get(&crate::world::place(below)) == Some(&below.id))
            .min_by_key(|below| crate::world::place(below))
            .map(|below| below.id)
    }

    fn start(&mut self, task: &Task) {
        let Some(to) = self.leads(task, Event::SlotGranted) else {
            return;
        };
        let debrief = task.talk.as_ref().and_then(|talk| talk.debrief);
        let kind = match (&task.talk, &task.session, task.tries) {
            (Some(talk), ..) if talk.taken => TurnKind::GoOn,
            (Some(_), ..) if debrief.is_some() => TurnKind::Debrief,
            (Some(_), ..) => TurnKind::Resume,
            (None, None, _) => TurnKind::First,
            (None, Some(_), 1) => TurnKind::Resume,
            (None, Some(_), _) => TurnKind::GoOn,
        };
        self.out.task(
            task.id,
            TaskRecord::TurnOpened { turn: task.turn.n + 1, kind, debrief, send: None },
        );
        self.moved(task, to, Reason::SlotFree { key: Arc::clone(&task.key) });
    }

    /// A task that waited for its children has its next turn.
    fn retake(&mut self, task: &Task) {
        let Some(to) = self.leads(task, Event::SlotRetaken) else {
            return;
        };
        if task.turn.phase == Phase::Ended {
            self.open_send(task);
        }
        self.moved(task, to, Reason::SlotRetaken { key: Arc::clone(&task.key) });
    }

    /// A blocking read is over and the reader has its slot back.
    fn give_back(&mut self, task: &Task) {
        self.out.note(Note::Lent { task: task.id, lent: false, retaking: false });
        for request in &task.live.lends_for {
            if let Some(wait) = self.world.wait(*request)
                && self.world.task(wait.task).is_none_or(|waited| !waited.is_living())
            {
                self.wait_over(*request, wait.task, true);
            }
        }
    }

    /// Opens the turn of the oldest send that waits.
    pub(super) fn open_send(&mut self, task: &Task) {
        let send = task.sends.first().copied();
        let record = TaskRecord::TurnOpened {
            turn: task.turn.n + 1,
            kind: TurnKind::Send,
            debrief: None,
            send,
        };
        self.out.task(task.id, record);
    }

    /// A plain move without a cause.
    pub(super) fn moved(&mut self, task: &Task, to: State, reason: Reason) {
        self.out.task(
            task.id,
            TaskRecord::Moved {
                to,
                cause: None,
                reason,
                stop: None,
                until: None,
                flagged: false,
                told: None,
            },
        );
    }

    /// The nearest task above that lends a slot of this key.
    pub(super) fn lender_above(&self, task: &Task) -> Option<TaskId> {
        let mut at = task.launched_by;
        while let Some(above) = at.and_then(|id| self.world.task(id)) {
            let lends = above.live.lent || above.state == State::WaitingChildren;
            if lends && above.key == task.key {
                return Some(above.id);
            }
            at = above.launched_by;
        }
        None
    }
}
