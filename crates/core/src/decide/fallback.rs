//! What follows an error: another model, the same again after a while, or the end. By structure, not by words.

use std::sync::Arc;

use super::Case;
use super::judge::{Ending, end_text};
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::fact::{ErrorClass, HostError};
use crate::reason::Reason;
use crate::record::TaskRecord;
use crate::rules::Event;
use crate::task::{Next, Stop, Task, Until};
use crate::time::backoff_ms;
use crate::words::{Cause, Phase, State, Target};

/// What an error leads to.
enum Plan {
    /// Another model, in a session of its own.
    Model(u8),
    /// The same again, not before.
    Again(Until, u64),
    Over,
}

impl Case<'_> {
    pub(super) fn errored(&mut self, task: &Task, error: &HostError) {
        let over = task.session.is_none() || task.evidence.is_over() || active(Bug::OldSessionRuns);
        let ended = task.evidence.end.is_some() || over;
        match self.plan(task, error) {
            Plan::Over => self.used_up(task, error, ended),
            Plan::Model(model) => {
                let name = task.brief.models.get(usize::from(model)).map(ToString::to_string);
                let reason = Reason::NextModel {
                    error: Box::new(error.clone()),
                    model: name.unwrap_or_default().into(),
                };
                let next = Next { model, keep_session: false, until: None };
                let stop = stop(Target::NextAttempt, reason.clone(), next);
                if over {
                    self.next_attempt(task, Event::TryNext, &stop);
                } else {
                    self.stopping(task, Event::StopForNext, stop, reason);
                }
            }
            Plan::Again(until, wait_ms) => {
                let reason = Reason::SameAgain { error: Box::new(error.clone()), wait_ms };
                let keep_session = task.brief.caps.goes_on && !over && was_taken(task);
                let next = Next { model: task.model, keep_session, until: Some(until) };
                let stop = stop(Target::Paused, reason.clone(), next);
                if ended {
                    self.pause(task, Event::Pause, &stop);
                } else {
                    self.stopping(task, Event::StopForPause, stop, reason);
                }
            }
        }
    }

    pub(super) fn start_failed(&mut self, task: &Task, error: &HostError) {
        match (&task.session, task.state) {
            (None, State::Starting) => {}
            (None, State::Stopping) => return self.stopped(task),
            (None | Some(_), _) => return self.disbelieved(task),
        }
        match self.plan(task, error) {
            Plan::Over => {
                let mut ending = Ending::new(
                    Event::StartFailed,
                    Cause::Error,
                    Reason::Failed { error: Box::new(error.clone()) },
                );
                ending.error = Some(Box::new(error.clone()));
                self.finish(task, ending);
            }
            Plan::Model(_) | Plan::Again(..) => self.errored(task, error),
        }
    }

    /// A prompt that is known to have been taken was not refused.
    pub(super) fn prompt_refused(&mut self, task: &Task, error: &HostError) {
        let in_turn = matches!(task.state, State::Starting | State::Running);
        if in_turn && !was_taken(task) { self.errored(task, error) } else { self.disbelieved(task) }
    }

    /// What is known says otherwise: only a look can tell.
    fn disbelieved(&mut self, task: &Task) {
        if task.state.holds_slot() && task.state != State::Stopping {
            self.out.note(Note::ProbeAsked(task.id));
        }
    }

    /// The host itself waits for the provider: a quota or another model is ours to act on. Only a turn that
    /// was sent can wait so.
    pub(super) fn provider_waits(&mut self, task: &Task, error: &HostError) {
        if !matches!(task.state, State::Starting | State::Running) {
            return;
        }
        match error.class {
            ErrorClass::Quota => self.errored(task, error),
            ErrorClass::RateLimited if self.next_model(task).is_some() => self.errored(task, error),
            ErrorClass::RateLimited
            | ErrorClass::Transient
            | ErrorClass::Overflow
            | ErrorClass::Permission
            | ErrorClass::BadRequest
            | ErrorClass::Auth
            | ErrorClass::UnknownModel
            | ErrorClass::TryNext
            | ErrorClass::Other => {}
        }
    }

    pub(super) fn interrupted(&mut self, task: &Task) {
        let allowed = self.world.limits.retry_interrupted(&task.brief);
        if task.interruptions < allowed && self.attempts_left(task) {
            let keep_session =
                task.brief.caps.goes_on && task.evidence.exit.is_none() && was_taken(task);
            let next = Next { model: task.model, keep_session, until: None };
            let mut stop = stop(Target::NextAttempt, Reason::InterruptedAgain, next);
            stop.cause = Cause::Interrupted;
            return self.next_attempt(task, Event::TryNext, &stop);
        }
        let reason = Reason::EndedWith { cause: Cause::Interrupted };
        let mut ending = Ending::new(Event::EndedBadly, Cause::Interrupted, reason);
        ending.text = end_text(task);
        self.finish(task, ending);
    }

    /// Whether an exited process would be tried again.
    pub(super) fn can_go_on(&self, task: &Task) -> bool {
        let error = task.evidence.end.as_ref().and_then(|end| end.error.as_deref());
        error.is_some_and(|error| !matches!(self.plan(task, error), Plan::Over))
    }

    fn plan(&self, task: &Task, error: &HostError) -> Plan {
        if !self.attempts_left(task) {
            return Plan::Over;
        }
        match error.class {
            ErrorClass::Quota => match error.until_wall {
                Some(wall) => Plan::Again(Until::Wall(wall), 0),
                None => self.other_model(task),
            },
            ErrorClass::RateLimited => match (self.next_model(task), error.retry_after_ms) {
                (Some(model), _) => Plan::Model(model),
                (None, Some(ms)) => self.same_after(ms),
                (None, None) => Plan::Over,
            },
            ErrorClass::Transient => {
                let limits = &self.world.limits;
                let ms = backoff_ms(
                    task.tries.saturating_sub(1),
                    limits.backoff_first_ms,
                    limits.backoff_most_ms,
                );
                self.same_after(error.retry_after_ms.unwrap_or(ms))
            }
            ErrorClass::Overflow
            | ErrorClass::BadRequest
            | ErrorClass::Auth
            | ErrorClass::UnknownModel
            | ErrorClass::TryNext => self.other_model(task),
            ErrorClass::Permission | ErrorClass::Other => Plan::Over,
        }
    }

    fn other_model(&self, task: &Task) -> Plan {
        self.next_model(task).map_or(Plan::Over, Plan::Model)
    }

    fn same_after(&self, ms: u64) -> Plan {
        let wait = self.now.jitter(ms.min(self.world.limits.pause_most_ms));
        Plan::Again(Until::Tick(self.now.tick + wait), wait)
    }

    fn attempts_left(&self, task: &Task) -> bool {
        active(Bug::EndlessAttempts) || task.tries < self.world.limits.attempts(&task.brief)
    }

    /// The next entry of the chain that is not the model that just failed.
    fn next_model(&self, task: &Task) -> Option<u8> {
        let failed = task.model();
        let from = usize::from(task.model) + 1;
        let rest = task.brief.models.iter().enumerate().skip(from);
        rest.filter(|(_, model)| Some(*model) != failed).map(|(at, _)| at as u8).next()
    }

    /// Nothing is left to try. A turn that the host still holds open is stopped first.
    fn used_up(&mut self, task: &Task, error: &HostError, ended: bool) {
        let tried = task.tries > 1;
        let cause = match (tried, task.evidence.exit) {
            (_, Some(_)) if error.class == ErrorClass::Other => Cause::Exited,
            (true, _) => Cause::Exhausted,
            (false, _) => Cause::Error,
        };
        let reason = if tried {
            Reason::ChainUsedUp { error: Box::new(error.clone()), attempts: task.tries }
        } else {
            Reason::Failed { error: Box::new(error.clone()) }
        };
        if !ended {
            return self.stop(task, Target::Failed, cause, reason);
        }
        let mut ending = Ending::new(Event::EndedBadly, cause, reason);
        ending.text = end_text(task);
        ending.error = Some(Box::new(error.clone()));
        self.finish(task, ending);
    }

    /// A new attempt, back in the queue of its key.
    pub(super) fn next_attempt(&mut self, task: &Task, event: Event, stop: &Stop) {
        let (Some(to), Some(next)) = (self.leads(task, event), &stop.next) else {
            return;
        };
        self.open_attempt(task, next, stop);
        self.moved(task, to, stop.reason.clone());
        self.pump_both(task, next.model);
    }

    pub(super) fn pause(&mut self, task: &Task, event: Event, stop: &Stop) {
        let (Some(to), Some(next)) = (self.leads(task, event), &stop.next) else {
            return;
        };
        self.out.task(
            task.id,
            TaskRecord::Moved {
                to,
                cause: None,
                reason: stop.reason.clone(),
                stop: Some(Box::new(stop.clone())),
                until: next.until,
                flagged: false,
                told: None,
            },
        );
        self.pump_both(task, task.model);
    }

    pub(super) fn pause_over(&mut self, task: &Task) {
        let Some((stop, next)) =
            task.stop.as_deref().and_then(|stop| Some((stop, stop.next.as_ref()?)))
        else {
            return;
        };
        if let Some(to) = self.leads(task, Event::PauseOver) {
            self.open_attempt(task, next, stop);
            self.moved(task, to, Reason::PauseOver);
            self.pump_both(task, next.model);
        }
    }

    /// A conversation stays in its session whatever happens to one of its turns.
    fn open_attempt(&mut self, task: &Task, next: &Next, stop: &Stop) {
        let model = task.brief.models.get(usize::from(next.model));
        let (key, _) = self.world.limits.key(&task.brief, model);
        self.out.task(
            task.id,
            TaskRecord::AttemptOpened {
                attempt: task.attempt + 1,
                model: next.model,
                key,
                keep_session: next.keep_session || (task.talk.is_some() && task.session.is_some()),
                after: why(stop),
                interrupted: stop.cause == Cause::Interrupted,
            },
        );
    }

    fn pump_both(&mut self, task: &Task, model: u8) {
        use crate::input::Then;
        let lender = self.lender_above(task);
        self.out.then(Then::Pump { key: Arc::clone(&task.key), lender });
        let (key, _) =
            self.world.limits.key(&task.brief, task.brief.models.get(usize::from(model)));
        if key != task.key {
            self.out.then(Then::Pump { key, lender });
        }
    }
}

/// Whether the session has the prompt, so that it can be told to go on.
fn was_taken(task: &Task) -> bool {
    matches!(task.turn.phase, Phase::Taken | Phase::Ended)
}

fn stop(target: Target, reason: Reason, next: Next) -> Stop {
    Stop { target, cause: Cause::Error, reason, next: Some(next), quiet: false }
}

/// The error that a stop was begun for.
pub(super) fn why(stop: &Stop) -> Option<Box<HostError>> {
    if let Reason::NextModel { error, .. }
    | Reason::SameAgain { error, .. }
    | Reason::Failed { error }
    | Reason::ChainUsedUp { error, .. } = &stop.reason
    {
        Some(error.clone())
    } else {
        None
    }
}
