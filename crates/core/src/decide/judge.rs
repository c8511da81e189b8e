//! The verdict: what the evidence of the latest turn means for the task. The only place that completes one.

use std::sync::Arc;

use super::Case;
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::evidence::{Missing, Verdict};
use crate::fact::{Finish, HostError};
use crate::ids::TaskId;
use crate::input::Then;
use crate::payload::TextRef;
use crate::reason::Reason;
use crate::record::TaskRecord;
use crate::refs::ParentRef;
use crate::rules::Event;
use crate::task::{Stop, Task};
use crate::words::{Cause, Notify, Phase, State, Target, TurnKind};

/// How a generation ends.
pub(super) struct Ending {
    pub event: Event,
    pub cause: Cause,
    pub reason: Reason,
    pub text: Option<TextRef>,
    pub error: Option<Box<HostError>>,
    pub flagged: bool,
    pub quiet: bool,
}

impl Ending {
    pub(super) fn new(event: Event, cause: Cause, reason: Reason) -> Self {
        Self { event, cause, reason, text: None, error: None, flagged: false, quiet: false }
    }
}

impl Case<'_> {
    pub(super) fn judge(&mut self, id: TaskId) {
        let Some(task) = self.world.task(id) else {
            return;
        };
        match task.state {
            State::Starting | State::Running | State::WaitingAsk | State::WaitingChildren => {
                self.weigh(task)
            }
            State::Stopping if task.evidence.is_over() => self.stopped(task),
            State::Stopping
            | State::Queued
            | State::Paused
            | State::Completed
            | State::Failed
            | State::Cancelled
            | State::TimedOut
            | State::Lost => {}
        }
    }

    fn weigh(&mut self, task: &Task) {
        if self.asks(task) {
            return;
        }
        if task.turn.phase == Phase::Unsure
            && task.live.probe.is_none()
            && task.live.probed < task.turn.at
        {
            self.out.note(Note::ProbeAsked(task.id));
        }
        match task.evidence.verdict() {
            Verdict::NotYet(_) | Verdict::ProviderWaits(_) if self.is_missing(task) => {
                self.gone(task, Cause::SessionDeleted, task.evidence.missing_ms());
            }
            Verdict::NotYet(missing) => self.not_yet(task, missing),
            Verdict::Gone(cause) => self.gone(task, cause, 0),
            Verdict::Bad(Cause::Interrupted) => self.interrupted(task),
            Verdict::Bad(cause) => {
                let mut ending = Ending::new(Event::EndedBadly, cause, Reason::EndedWith { cause });
                ending.text = end_text(task);
                self.finish(task, ending);
            }
            Verdict::Errored(_) if self.waits_for_children(task) => {}
            Verdict::Errored(error) => self.errored(task, &error),
            Verdict::ProviderWaits(error) => {
                self.took(task);
                self.provider_waits(task, &error);
            }
            Verdict::OpenTodos => self.open_todos(task),
            Verdict::Good(cause) => self.ended_well(task, cause, false),
        }
    }

    fn not_yet(&mut self, task: &Task, missing: Missing) {
        self.took(task);
        if matches!(missing, Missing::ToolRuns | Missing::StillBusy) {
            self.contradicted(task);
        }
    }

    /// The host has the first prompt and the turn goes on.
    fn took(&mut self, task: &Task) {
        let taken = matches!(task.turn.phase, Phase::Taken | Phase::Ended);
        if taken {
            self.debrief_accepted(task);
        }
        if task.state == State::Starting
            && taken
            && let Some(to) = self.leads(task, Event::TurnTaken)
        {
            self.moved(task, to, Reason::HostTook { turn: task.turn.n });
        }
    }

    /// The end is there and something contradicts it: only a look can tell.
    fn contradicted(&mut self, task: &Task) {
        if task.live.probed < ended_at(task) {
            self.out.note(Note::ProbeAsked(task.id));
        }
    }

    /// Whether the session was not there in any look for so long that it is gone for good.
    fn is_missing(&self, task: &Task) -> bool {
        task.evidence.missing.is_some()
            && task.session.is_some()
            && task.evidence.missing_ms() >= self.world.limits.gone_ms
    }

    /// The breaker: the same call again and again, or too many in all.
    pub(super) fn breaker(&mut self, id: TaskId) {
        let running = |task: &&Task| task.is_living() && task.state != State::Stopping;
        let Some(task) = self.world.task(id).filter(running) else {
            return;
        };
        let limits = &self.world.limits;
        let breaker = &task.breaker;
        let reason = if breaker.same >= limits.same_calls(&task.brief) {
            let tool = task.tool.clone().unwrap_or_else(|| Arc::from("a tool"));
            Reason::SameCalls { tool, times: breaker.same }
        } else if breaker.all >= limits.all_calls(&task.brief) {
            Reason::AllCalls { times: breaker.all }
        } else {
            return;
        };
        self.stop(task, Target::Failed, Cause::Breaker, reason);
    }

    /// Whether an ask decides where the task stands.
    fn asks(&mut self, task: &Task) -> bool {
        let open = task.open_asks().next();
        match (open, task.state) {
            (Some(ask), State::Starting | State::Running) => {
                let reason = Reason::AskOpened { ask: ask.id };
                if let Some(to) = self.leads(task, Event::AskOpened) {
                    self.moved(task, to, reason);
                }
                true
            }
            (Some(_), State::WaitingAsk) => self.ask_holds(task),
            (Some(_), _) => false,
            (None, State::WaitingAsk) => {
                if let Some(to) = self.leads(task, Event::AsksClosed) {
                    self.moved(task, to, Reason::AsksClosed);
                    self.out.then(Then::Judge(task.id));
                }
                true
            }
            (None, _) => false,
        }
    }

    /// An open ask stands against success, not against failure.
    fn ask_holds(&mut self, task: &Task) -> bool {
        match task.evidence.verdict() {
            Verdict::NotYet(_) => !self.is_missing(task),
            Verdict::ProviderWaits(_) => true,
            Verdict::Good(_) | Verdict::OpenTodos => {
                self.contradicted(task);
                true
            }
            Verdict::Bad(_) | Verdict::Errored(_) | Verdict::Gone(_) => false,
        }
    }

    /// To-dos left open hold an answer back for a while, but never the slot that descendants wait for.
    fn open_todos(&mut self, task: &Task) {
        let waited = self.now.tick >= ended_at(task) + self.world.limits.todos_ms;
        let waits =
            task.state == State::WaitingChildren || !self.world.living_below(task.id).is_empty();
        if waited || waits {
            self.ended_well(task, Cause::Answered, true);
        } else {
            self.took(task);
        }
    }

    /// An exited process waits for what it launched, whatever its exit was.
    fn waits_for_children(&mut self, task: &Task) -> bool {
        if task.evidence.exit.is_none() || self.can_go_on(task) {
            return false;
        }
        let living = self.world.living_below(task.id).len() as u32;
        if living == 0 {
            return false;
        }
        self.wait_for_children(task, living, 0);
        true
    }

    fn wait_for_children(&mut self, task: &Task, living: u32, untaken: u32) {
        if let Some(to) = self.leads(task, Event::EndedOpen) {
            self.moved(task, to, Reason::SubtreeOpen { living, untaken });
            self.out.then(Then::Pump { key: Arc::clone(&task.key), lender: Some(task.id) });
        }
    }

    fn ended_well(&mut self, task: &Task, cause: Cause, flagged: bool) {
        // What a conversation answers is seen to when its turn is over.
        let own = task.talk.is_none() && task.turn.debrief.is_some();
        if task.turn.phase == Phase::Ended && own {
            self.debrief_answered(task);
        }
        if !task.sends.is_empty() && task.evidence.exit.is_none() {
            return self.next_send(task);
        }
        let living = self.world.living_below(task.id).len() as u32;
        // What cannot be told by a turn is not waited for: it goes to an heir.
        let deaf = task.evidence.exit.is_some() || !task.brief.caps.prompts;
        let untaken = if deaf { 0 } else { self.untaken_after(task) };
        if living > 0 || untaken > 0 {
            self.wait_for_children(task, living, untaken);
            // One that has exited is given no turn any more.
            if !deaf {
                self.debrief_again(task);
            }
            return;
        }
        let reason = match (&task.evidence.end, flagged) {
            (_, true) => Reason::TodosLeft { open: task.evidence.todos },
            (Some(_), false) if task.state == State::WaitingChildren => Reason::SubtreeSettled,
            (Some(end), false) => Reason::HostEnded { turn: task.turn.n, finish: end.finish },
            (None, false) => return,
        };
        let mut ending = Ending::new(Event::EndedWell, cause, reason);
        ending.text = end_text(task);
        ending.flagged = flagged || cause == Cause::NoText;
        self.finish(task, ending);
    }

    /// What this task has not taken, less what the turn that just ended answered.
    fn untaken_after(&self, task: &Task) -> u32 {
        let answered = task
            .turn
            .debrief
            .filter(|_| task.turn.phase == Phase::Ended)
            .and_then(|id| self.world.debrief(id))
            .map_or(0, |debrief| self.world.owed_in(debrief).len() as u32);
        self.world.untaken(task.id).saturating_sub(answered)
    }

    fn next_send(&mut self, task: &Task) {
        match task.state {
            State::Running => self.open_send(task),
            State::Starting => {
                if let Some(to) = self.leads(task, Event::TurnTaken) {
                    self.moved(task, to, Reason::HostTook { turn: task.turn.n });
                    self.open_send(task);
                }
            }
            State::WaitingChildren => {
                self.out.then(Then::Pump { key: Arc::clone(&task.key), lender: Some(task.id) });
            }
            State::WaitingAsk
            | State::Queued
            | State::Paused
            | State::Stopping
            | State::Completed
            | State::Failed
            | State::Cancelled
            | State::TimedOut
            | State::Lost => {}
        }
    }

    /// A debrief that an earlier attempt did not answer has its turn again.
    fn debrief_again(&mut self, task: &Task) {
        let flight = self.world.parent(&ParentRef::Task(task.id)).and_then(|parent| parent.flight);
        let Some(id) = flight else {
            return;
        };
        let answered = task.turn.debrief == Some(id) && task.turn.phase == Phase::Ended;
        if task.state == State::WaitingChildren && !answered && task.brief.caps.prompts {
            self.out.task(
                task.id,
                TaskRecord::TurnOpened {
                    turn: task.turn.n + 1,
                    kind: TurnKind::Debrief,
                    debrief: Some(id),
                    send: None,
                },
            );
            self.out.then(Then::Pump { key: Arc::clone(&task.key), lender: Some(task.id) });
        } else if task.state != State::WaitingChildren {
            self.out.then(Then::Judge(task.id));
        }
    }

    pub(super) fn gone(&mut self, task: &Task, cause: Cause, for_ms: u64) {
        let reason = Reason::SessionGone { cause, for_ms };
        self.finish(task, Ending::new(Event::Gone, cause, reason));
    }

    /// Ends the generation: outcome, notice and freed slot in one decision.
    pub(super) fn finish(&mut self, task: &Task, ending: Ending) {
        let Some(to) = self.leads(task, ending.event) else {
            return;
        };
        if !to.is_terminal() {
            return;
        }
        if ending.text.is_some() || ending.error.is_some() {
            self.out.task(task.id, TaskRecord::Result { text: ending.text, error: ending.error });
        }
        let said = task.brief.notify != Notify::Silent && !ending.quiet;
        let good = task
            .evidence
            .end
            .as_ref()
            .is_some_and(|end| end.error.is_none() && end.finish == Finish::Stop);
        let loses = active(Bug::CancelLoses) && ending.cause == Cause::Asked && good;
        let to = if loses { State::Completed } else { to };
        let forgets = active(Bug::NoNotice) && to == State::Completed;
        let owes = said && *task.parent != ParentRef::None && !forgets;
        self.out.task(
            task.id,
            TaskRecord::Moved {
                to,
                cause: Some(ending.cause),
                reason: ending.reason,
                stop: None,
                until: None,
                flagged: ending.flagged,
                told: owes.then(|| ((*task.parent).clone(), task.batch.clone())),
            },
        );
        if said && !owes {
            self.out.then(Then::Marker(task.id));
        }
        self.out.then(Then::Ended(task.id));
    }

    /// Begins to stop a task for a limit of ours.
    pub(super) fn stop(&mut self, task: &Task, target: Target, cause: Cause, reason: Reason) {
        let stop = Stop { target, cause, reason: reason.clone(), next: None, quiet: false };
        self.stopping(task, Event::Stop, stop, reason);
    }

    pub(super) fn stopping(&mut self, task: &Task, event: Event, stop: Stop, reason: Reason) {
        if let Some(to) = self.leads(task, event) {
            self.out.task(
                task.id,
                TaskRecord::Moved {
                    to,
                    cause: Some(stop.cause),
                    reason,
                    stop: Some(Box::new(stop)),
                    until: None,
                    flagged: false,
                    told: None,
                },
            );
            if task.evidence.is_over() {
                self.out.then(Then::Judge(task.id));
            }
        }
    }

    /// The stop is confirmed: on to its target.
    pub(super) fn stopped(&mut self, task: &Task) {
        let Some(stop) = task.stop.as_deref().filter(|_| task.state == State::Stopping) else {
            return;
        };
        let event = match stop.target {
            Target::Cancelled => Event::StoppedCancelled,
            Target::TimedOut => Event::StoppedTimedOut,
            Target::Failed => Event::StoppedFailed,
            Target::NextAttempt => return self.next_attempt(task, Event::StoppedNext, stop),
            Target::Paused => return self.pause(task, Event::StoppedPaused, stop),
        };
        let mut ending = Ending::new(event, stop.cause, stop.reason.clone());
        ending.text = end_text(task);
        ending.error = super::fallback::why(stop);
        ending.quiet = stop.quiet;
        self.finish(task, ending);
    }
}

pub(super) fn end_text(task: &Task) -> Option<TextRef> {
    task.evidence.end.as_ref().and_then(|end| end.text)
}

fn ended_at(task: &Task) -> u64 {
    task.evidence.end.as_ref().map_or(0, |end| end.tick)
}
