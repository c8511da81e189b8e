//! Cancel: of one task with all that lives below it. Wins or loses once.

use std::sync::Arc;

use super::Case;
use super::judge::Ending;
use crate::bugs::{Bug, active};
use crate::ids::TaskId;
use crate::input::{CancelWhy, Request, Then};
use crate::reason::{Caller, Reason};
use crate::record::TaskRecord;
use crate::refs::ParentRef;
use crate::reply::Told;
use crate::rules::{Event, Verdict};
use crate::task::{Stop, Task};
use crate::words::{Cause, State, Target};

impl Case<'_> {
    pub(super) fn cancel(
        &mut self,
        request: Request,
        id: TaskId,
        by: &Caller,
        text: Option<&Arc<str>>,
        quiet: bool,
    ) {
        let Some(task) = self.world.task(id) else {
            return self.not_there(request);
        };
        let state = match self.rule(task.state, Event::Cancel) {
            Verdict::Go(to) => to,
            Verdict::Stay => task.state,
            Verdict::Stale | Verdict::Refuse => {
                let mut state = task.state;
                if active(Bug::LateCancelCounts) {
                    state = State::Cancelled;
                    self.moved(task, state, Reason::Asked { by: by.clone(), text: None });
                }
                return self.out.reply(request, Told::AlreadyEnded { task: id, state });
            }
        };
        if active(Bug::CancelLies) {
            return self
                .out
                .reply(request, Told::AlreadyEnded { task: id, state: State::TimedOut });
        }
        let why = CancelWhy::Asked { by: by.clone(), text: text.cloned() };
        self.out.then(Then::Cancel { task: id, why: why.clone(), quiet });
        let below = self.world.living_below(id);
        for task in &below {
            self.out.then(Then::Cancel { task: *task, why: why.clone(), quiet });
        }
        self.out.reply(request, Told::Cancelling { task: id, state, below });
    }

    pub(super) fn cancel_one(&mut self, id: TaskId, why: &CancelWhy, quiet: bool) {
        let Some(task) = self.world.task(id) else {
            return;
        };
        let (cause, reason) = match why {
            CancelWhy::Asked { by, text } => {
                (Cause::Asked, Reason::Asked { by: by.clone(), text: text.clone() })
            }
            CancelWhy::Ancestor(ancestor) => {
                (Cause::ParentEnded, Reason::AncestorEnded { ancestor: *ancestor })
            }
            CancelWhy::ParentDeleted => (Cause::ParentEnded, Reason::ParentDeleted),
        };
        let stop =
            Stop { target: Target::Cancelled, cause, reason: reason.clone(), next: None, quiet };
        match self.rule(task.state, Event::Cancel) {
            Verdict::Go(State::Stopping) if active(Bug::CancelAtOnce) => {
                let stop = Some(Box::new(stop));
                let (to, cause) = (State::Cancelled, Some(cause));
                let told = Some(((*task.parent).clone(), task.batch.clone()))
                    .filter(|(who, _)| *who != ParentRef::None);
                self.out.task(
                    id,
                    TaskRecord::Moved {
                        to,
                        cause,
                        reason,
                        stop,
                        until: None,
                        flagged: false,
                        told,
                    },
                );
                self.out.then(Then::Ended(id));
            }
            Verdict::Go(State::Stopping) => self.stopping(task, Event::Cancel, stop, reason),
            Verdict::Go(_) => {
                let mut ending = Ending::new(Event::Cancel, cause, reason);
                ending.quiet = quiet;
                self.finish(task, ending);
            }
            Verdict::Stay => self.turn_stop(task, stop),
            Verdict::Stale | Verdict::Refuse => {}
        }
    }

    /// A stop that would have led to another attempt leads to the end now.
    fn turn_stop(&mut self, task: &Task, stop: Stop) {
        let goes_on = task.stop.as_deref().is_some_and(|stop| match stop.target {
            Target::NextAttempt | Target::Paused => true,
            Target::Cancelled | Target::TimedOut | Target::Failed => false,
        });
        if goes_on {
            self.out.task(task.id, TaskRecord::StopTurned { stop: Box::new(stop) });
        }
    }
}
