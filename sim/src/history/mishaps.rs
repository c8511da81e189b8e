//! What befalls a host by itself: its program restarts, sessions are deleted, turns end before their time,
//! records change.

use homing_core::fact::{ErrorClass, Fact, Fence};
use homing_core::ids::TaskId;

use super::History;
use crate::host::end_record;
use crate::plan::End;

impl History<'_> {
    /// The program dies and is there again. Whoever watched may hear of it, for each session it ran.
    pub(super) fn restart_host(&mut self) {
        let mut cut_off = Vec::new();
        for ((task, attempt), session) in &mut self.host.sessions {
            if session.exit.is_some() || session.deleted {
                continue;
            }
            if let Some(turn) = session.turns.last_mut() {
                cut_off.push((*task, Fence { attempt: *attempt, turn: turn.n }));
                if turn.end.is_none() {
                    turn.ghost = true;
                    turn.calls.clear();
                    turn.ask = None;
                }
            }
        }
        for (task, fence) in cut_off {
            if self.rng.chance(50) {
                self.report(task, fence, Fact::Interrupted { why: "the program died".into() });
            }
        }
        for session in self.host.sessions.values_mut() {
            session.watched = None;
        }
    }

    /// The last attempt that has a session which is still there.
    fn last_session(&self, task: TaskId) -> Option<u32> {
        let of_task = self.host.sessions.range((task, 0)..=(task, u32::MAX));
        let there = |session: &crate::host::Session| !session.deleted && session.exit.is_none();
        of_task.filter(|(_, session)| there(session)).map(|((_, attempt), _)| *attempt).next_back()
    }

    pub(super) fn delete_session(&mut self, task: TaskId) {
        let prompts = self.job(task).is_some_and(|job| job.prompts);
        let Some(attempt) = self.last_session(task).filter(|_| prompts) else {
            return;
        };
        let name = self.host.sessions[&(task, attempt)].name.clone();
        for session in self.host.sessions.values_mut().filter(|session| session.name == name) {
            session.deleted = true;
        }
        self.report(task, Fence { attempt, turn: 0 }, Fact::SessionDeleted);
    }

    /// The turn that is under way ends now, an ask or a read of its own notwithstanding.
    pub(super) fn end_early(&mut self, task: TaskId, end: End) {
        let running = |attempt: &u32| self.host.sessions[&(task, *attempt)].is_running();
        let Some(attempt) = self.last_session(task).filter(running) else {
            return;
        };
        let Some(turn) = self.host.sessions[&(task, attempt)].turns.last().map(|turn| turn.n)
        else {
            return;
        };
        let fence = Fence { attempt, turn };
        if let Some(turn) = self.turn_mut(task, fence) {
            turn.ask = None;
            turn.blocked = false;
        }
        self.end_turn(task, fence, end);
    }

    /// The record of a turn that had ended well shows an error.
    pub(super) fn recant(&mut self, task: TaskId, class: ErrorClass) {
        let Some(attempt) = self.last_session(task) else {
            return;
        };
        let (wall, tick) = (self.now.wall, self.now.tick);
        let session = self.host.sessions.get_mut(&(task, attempt));
        let Some(turn) = session.and_then(|session| session.turns.last_mut()) else {
            return;
        };
        let fence = Fence { attempt, turn: turn.n };
        let record = end_record(End::Error(class), (task, attempt, turn.n), wall);
        if let Some(end) = record.filter(|_| turn.well) {
            turn.ends(end.clone(), tick);
            self.report(task, fence, Fact::Ended { end });
        }
    }
}
