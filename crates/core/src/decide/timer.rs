//! Every timer that fires, in one match. A deadline that ends a task asks the host first.

use super::Case;
use super::judge::Ending;
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::ids::TaskId;
use crate::input::Then;
use crate::reason::Reason;
use crate::record::TaskRecord;
use crate::rules::Event;
use crate::task::Task;
use crate::words::{Cause, State, Target};
use crate::world::{Timer, Who};

impl Case<'_> {
    pub(super) fn timer(&mut self, who: &Who, timer: Timer) {
        let due = self
            .world
            .deadlines(who)
            .into_iter()
            .any(|(known, at)| known == timer && at.is_due(self.now));
        if !due {
            return;
        }
        match who {
            Who::Task(id) => self.task_timer(*id, timer),
            Who::Parent(parent) => {
                if timer == Timer::ParentLook {
                    self.out.note(Note::ParentLook((**parent).clone(), 0));
                } else if timer == Timer::BatchAge {
                    self.out.note(Note::BatchesAged((**parent).clone()));
                } else if timer == Timer::Handshake {
                    self.parent_silent(parent);
                }
            }
            Who::Debrief(id) => match timer {
                Timer::Send => self.send_again(*id),
                Timer::Wake => self.wake(*id),
                Timer::Lease => self.lease_over(*id),
                Timer::Handshake => self.handshake_failed(*id),
                Timer::Start
                | Timer::Quiet
                | Timer::NeverActive
                | Timer::Timeout
                | Timer::Probe
                | Timer::Reprobe
                | Timer::Todos
                | Timer::Ask
                | Timer::StopGivesUp
                | Timer::Pause
                | Timer::Orphan
                | Timer::BatchAge
                | Timer::ParentLook
                | Timer::Post
                | Timer::WaitOver
                | Timer::Reservation => {}
            },
            Who::Post(id) => self.post_again(*id),
            Who::Wait(request) => self.wait_timed_out(*request),
            Who::Reservation(id) => self.release(*id),
        }
    }

    fn task_timer(&mut self, id: TaskId, timer: Timer) {
        let Some(task) = self.world.task(id) else {
            return;
        };
        match timer {
            Timer::Start => self.asked_first(
                task,
                timer,
                task.entered + self.world.limits.start_ms(&task.brief),
            ),
            Timer::Quiet | Timer::NeverActive => {
                let (timer, at) = self.world.silence(task);
                self.asked_first(task, timer, at);
            }
            Timer::Timeout => self.asked_first(task, timer, task.time_up().unwrap_or(u64::MAX)),
            Timer::Probe => {
                self.look_over(task, false);
                self.out.then(Then::Judge(id));
            }
            Timer::Reprobe => self.out.note(Note::ProbeAsked(id)),
            Timer::Todos => self.out.then(Then::Judge(id)),
            Timer::Ask => {
                let limit = self.world.limits.ask_ms(&task.brief);
                if let Some(ask) = task.open_asks().find(|ask| ask.at + limit <= self.now.tick) {
                    self.ask_expired(id, ask);
                }
            }
            Timer::StopGivesUp => self.stop_given_up(task),
            Timer::Pause => self.pause_over(task),
            Timer::Orphan => {
                if let Some(orphan) = task.orphans.first() {
                    let record =
                        TaskRecord::OrphanGone { attempt: orphan.attempt, confirmed: false };
                    self.out.task(id, record);
                    self.out.then(Then::NextTurn(id));
                    self.out.then(Then::Evict(id));
                }
            }
            Timer::BatchAge
            | Timer::ParentLook
            | Timer::Send
            | Timer::Handshake
            | Timer::Wake
            | Timer::Lease
            | Timer::Post
            | Timer::WaitOver
            | Timer::Reservation => {}
        }
    }

    /// Acts only when the host was asked after the deadline had passed.
    fn asked_first(&mut self, task: &Task, timer: Timer, deadline: u64) {
        let given_up = self.now.tick >= deadline.saturating_add(self.world.limits.backoff_most_ms);
        if task.live.answered < deadline && !(given_up && task.live.probed >= deadline) {
            return self.out.note(Note::ProbeAsked(task.id));
        }
        if active(Bug::SilenceIsGood) && matches!(timer, Timer::Quiet | Timer::NeverActive) {
            let reason = Reason::Quiet { for_ms: 0 };
            return self.finish(task, Ending::new(Event::EndedWell, Cause::Answered, reason));
        }
        let after = |since: u64| self.now.tick.saturating_sub(since);
        let (target, cause, reason) = match timer {
            Timer::Start => {
                let after_ms = after(task.entered);
                (Target::Failed, Cause::NotStarted, Reason::StartedTooLate { after_ms })
            }
            Timer::Quiet => {
                let for_ms = after(task.last_active().max(task.entered));
                (Target::TimedOut, Cause::Stale, Reason::Quiet { for_ms })
            }
            Timer::NeverActive => {
                let for_ms = after(task.turn.at.max(task.entered));
                (Target::TimedOut, Cause::NeverActive, Reason::NeverActive { for_ms })
            }
            Timer::Timeout
            | Timer::Probe
            | Timer::Reprobe
            | Timer::Todos
            | Timer::Ask
            | Timer::StopGivesUp
            | Timer::Pause
            | Timer::Orphan
            | Timer::BatchAge
            | Timer::ParentLook
            | Timer::Send
            | Timer::Handshake
            | Timer::Wake
            | Timer::Lease
            | Timer::Post
            | Timer::WaitOver
            | Timer::Reservation => {
                let after_ms = after(task.started.map_or(0, |started| started.tick));
                (Target::TimedOut, Cause::Timeout, Reason::TimeUp { after_ms })
            }
        };
        self.stop(task, target, cause, reason);
    }

    fn stop_given_up(&mut self, task: &Task) {
        if task.state != State::Stopping {
            return;
        }
        let reason =
            Reason::StopUnconfirmed { after_ms: self.now.tick.saturating_sub(task.entered) };
        let mut ending = Ending::new(Event::StopGivenUp, Cause::AbortUnconfirmed, reason);
        ending.text = super::judge::end_text(task);
        ending.quiet = task.stop.as_deref().is_some_and(|stop| stop.quiet);
        self.finish(task, ending);
    }
}
