//! A new generation of an ended task, and words to a living one.

use super::Case;
use crate::bugs::{Bug, active};
use crate::decision::names;
use crate::ids::TaskId;
use crate::input::{Request, Then};
use crate::payload::Payload;
use crate::reason::{Caller, Reason};
use crate::record::TaskRecord;
use crate::refs::ParentRef;
use crate::reply::Told;
use crate::rules::{Event, Verdict};
use crate::spec::Spend;
use crate::task::Task;
use crate::words::{Cause, Code, State};

impl Case<'_> {
    pub(super) fn resume(
        &mut self,
        request: Request,
        id: TaskId,
        prompt: &Payload,
        parent: Option<&ParentRef>,
        by: &Caller,
    ) {
        let Some(task) = self.world.task(id) else {
            return self.not_there(request);
        };
        if self.is_no_task(request, task) {
            return;
        }
        if let Some(missing) = parent.and_then(|parent| self.missing(id, parent, &[])) {
            self.out.load = Some(missing);
            return;
        }
        let parent = parent.map(|parent| self.told_as(parent));
        let parent = parent.as_ref();
        if prompt.text.blank {
            return self.out.refuse(request, Code::Invalid, "prompt: it is empty");
        }
        let lasting = task.session.is_some() && task.brief.caps.goes_on && !gone(task);
        if !task.is_living() && !lasting {
            let why = "its session cannot be gone on with; use retry to run it anew";
            return self.out.refuse(request, Code::CannotPrompt, why);
        }
        if self.again(request, task, Event::Resume, parent, by, true) {
            self.out.text(names::prompt(id, task.generation + 1), Some(id), prompt);
        }
    }

    pub(super) fn retry(&mut self, request: Request, id: TaskId, by: &Caller) {
        let Some(task) = self.world.task(id) else {
            return self.not_there(request);
        };
        if self.is_no_task(request, task) {
            return;
        }
        self.again(request, task, Event::Retry, None, by, false);
    }

    fn again(
        &mut self,
        request: Request,
        task: &Task,
        event: Event,
        parent: Option<&ParentRef>,
        by: &Caller,
        keep_session: bool,
    ) -> bool {
        let to = match self.rule(task.state, event) {
            Verdict::Go(to) => to,
            Verdict::Stay | Verdict::Stale | Verdict::Refuse => {
                let why =
                    format!("it is {}; use send to speak to it, or cancel it first", task.state);
                self.out.refuse(request, Code::NotEnded, why);
                return false;
            }
        };
        let unsafe_yet = task.unconfirmed || !task.orphans.is_empty();
        if unsafe_yet && !active(Bug::RetryUnconfirmed) {
            let why = "an earlier attempt was not confirmed to have stopped and may still run";
            self.out.refuse(request, Code::AbortUnconfirmed, why);
            return false;
        }
        let told = parent.unwrap_or(&task.parent);
        if parent.is_some()
            && let Err((code, why)) = self.known_parent(task.id, told)
        {
            self.out.refuse(request, code, why);
            return false;
        }
        let tree = self.world.tree(task.root).cloned().unwrap_or_default();
        if task.launched_by.is_some() && tree.living + tree.reserved >= self.world.limits.living_max
        {
            self.out.refuse(request, Code::LivingLimit, "too many tasks live under its root");
            return false;
        }
        let aside = match self.set_aside(task) {
            Ok(aside) => aside,
            Err((code, why)) => {
                self.out.refuse(request, code, why);
                return false;
            }
        };
        self.open_generation(task, told, keep_session, aside);
        self.moved(task, to, Reason::Asked { by: by.clone(), text: None });
        self.out.reply(request, Told::Resumed { task: task.id, generation: task.generation + 1 });
        let model = if keep_session { task.model } else { 0 };
        let (key, _) =
            self.world.limits.key(&task.brief, task.brief.models.get(usize::from(model)));
        self.out.then(Then::Pump { key, lender: task.launched_by });
        true
    }

    fn open_generation(
        &mut self,
        task: &Task,
        told: &ParentRef,
        keep_session: bool,
        aside: Option<Spend>,
    ) {
        let batch = self.open_batch(told, task.brief.origin.as_ref());
        let generation = task.generation + u32::from(!active(Bug::SameGeneration));
        self.out.task(
            task.id,
            TaskRecord::GenerationOpened {
                generation,
                parent: Some((told.clone(), batch)),
                aside,
                debrief: None,
            },
        );
        let model = if keep_session { task.model } else { 0 };
        let (key, _) =
            self.world.limits.key(&task.brief, task.brief.models.get(usize::from(model)));
        self.out.task(
            task.id,
            TaskRecord::AttemptOpened {
                attempt: task.attempt + 1,
                model,
                key,
                keep_session,
                after: None,
                interrupted: false,
            },
        );
    }

    pub(super) fn send(&mut self, request: Request, id: TaskId, text: &Payload, last: bool) {
        let Some(task) = self.world.task(id) else {
            return self.not_there(request);
        };
        if self.is_no_task(request, task) {
            return;
        }
        if text.text.blank && !last {
            return self.out.refuse(request, Code::Invalid, "text: it is empty");
        }
        let verdict = self.rule(task.state, Event::Send);
        if verdict != Verdict::Stay {
            let (code, hint) = match task.state {
                State::Stopping => (Code::Stopping, "wait for its end, then use resume"),
                State::Completed
                | State::Failed
                | State::Cancelled
                | State::TimedOut
                | State::Lost => (Code::Ended, "use resume"),
                State::Queued
                | State::Starting
                | State::Running
                | State::WaitingAsk
                | State::WaitingChildren
                | State::Paused => (Code::CannotPrompt, "send it again once it runs"),
            };
            return self.out.refuse(request, code, format!("it is {}: {hint}", task.state));
        }
        let caps = task.brief.caps;
        let why = if task.evidence.is_over() || !(caps.prompts || caps.words) {
            Some("its host takes no further words for it")
        } else if task.last_send.is_some() {
            Some("its standard input was closed by an earlier send")
        } else if last && !caps.words {
            Some("it has no standard input to close")
        } else {
            None
        };
        if let Some(why) = why {
            return self.out.refuse(request, Code::CannotPrompt, why);
        }
        let n = task.sends_made + 1;
        self.out.text(names::send(id, n), Some(id), text);
        self.out.task(id, TaskRecord::SendTaken { n, text: text.text, last });
        self.out.then(Then::Judge(id));
        self.out.reply(request, Told::SendTaken { task: id, n });
    }
}

fn gone(task: &Task) -> bool {
    matches!(task.cause, Some(Cause::SessionDeleted | Cause::HostGone))
}
