//! Facts come in here: the fence first, then the table, then the evidence. Nothing is judged here that
//! the evidence must be weighed for; `judge` does that, once the fact is part of it.

use std::sync::Arc;

use super::Case;
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::decision::names;
use crate::evidence::Doubt;
use crate::fact::{AskSeen, Fact, Fence, Picture, Presence, TurnRecord};
use crate::ids::{AskId, TaskId};
use crate::input::Then;
use crate::reason::{Caller, Reason};
use crate::record::TaskRecord;
use crate::rules::{Event, Verdict};
use crate::task::{AskState, Task};
use crate::time::mix;
use crate::words::{Cause, State, Target, Tri};

impl Case<'_> {
    pub(super) fn observed(&mut self, id: TaskId, fence: Fence, fact: &Fact) {
        let Some(task) = self.world.task(id) else {
            return;
        };
        let attempt = fence.attempt == task.attempt || active(Bug::AttemptUnfenced);
        let whole = fence.turn == 0 && !fact.is_of_a_turn();
        let turn = whole || fence.turn == task.turn.n || active(Bug::TurnUnfenced);
        let current = attempt && turn;
        // Asked here, where the fence is read, too: memory is slow, and answers both at once.
        let wakes = task.activity_wakes();
        if !current {
            return self.stale(task, fence, fact);
        }
        match self.rule(task.state, Event::Seen) {
            Verdict::Stay => self.current(task, fence, fact, wakes),
            Verdict::Stale | Verdict::Refuse | Verdict::Go(_) => self.stale(task, fence, fact),
        }
    }

    /// Kept in the journal, without effect on the task; what it left running is ended.
    fn stale(&mut self, task: &Task, fence: Fence, fact: &Fact) {
        if fact.is_light() {
            return;
        }
        if active(Bug::StaleCounts) {
            return self.current(task, fence, fact, task.activity_wakes());
        }
        self.out.task(task.id, TaskRecord::Stale { fence, fact: fact.clone() });
        if active(Bug::StaleIsActive) {
            self.out.note(Note::Active(task.id, true));
        }
        self.late(task, fence, fact);
        let attempt = fence.attempt;
        let left = left_running(task, fence, fact).filter(|_| !active(Bug::OrphanIgnored));
        if let Some(session) = left {
            let session = session.cloned();
            self.out.task(task.id, TaskRecord::OrphanSeen { attempt, session });
        } else if matches!(fact, Fact::Stopped | Fact::Exited { .. })
            && self.confirms_orphan(task, fence)
        {
            self.out.task(task.id, TaskRecord::OrphanGone { attempt, confirmed: true });
            self.out.then(Then::NextTurn(task.id));
            self.out.then(Then::Evict(task.id));
        }
    }

    fn confirms_orphan(&self, task: &Task, fence: Fence) -> bool {
        let known = task.orphans.iter().any(|orphan| orphan.attempt == fence.attempt);
        known || (task.unconfirmed && fence.attempt == task.attempt && !task.is_living())
    }

    /// An answer that came after the end of its own generation is stored, and told nobody.
    fn late(&mut self, task: &Task, fence: Fence, fact: &Fact) {
        if task.is_living() || fence.attempt != task.attempt || task.state == State::Completed {
            return;
        }
        if let Some(text) = fact.text()
            && task.late.is_none_or(|known| known.digest != text.text.digest)
        {
            self.out.text(names::text(task.id, text.text.digest), Some(task.id), text);
            self.out.task(task.id, TaskRecord::Late { text: text.text });
        }
    }

    fn current(&mut self, task: &Task, fence: Fence, fact: &Fact, wakes: bool) {
        if self.only_activity(task, fact) {
            return self.activity(task, fence, fact, wakes);
        }
        self.out.task(task.id, TaskRecord::Seen { fence, fact: fact.clone() });
        if let Some(text) = fact.text() {
            self.out.text(names::text(task.id, text.text.digest), Some(task.id), text);
        }
        self.react(task, fact);
        self.out.then(Then::Judge(task.id));
    }

    /// Whether a fact changes nothing that is written down.
    fn only_activity(&self, task: &Task, fact: &Fact) -> bool {
        let known = &task.evidence;
        let moves =
            *fact == Fact::Active && known.provider_wait.is_none() && known.missing.is_none();
        let busy = *fact == Fact::Busy && known.busy == Tri::Yes;
        let fails = matches!(fact, Fact::LookFailed { .. }) && known.doubt == Doubt::LookFailed;
        moves || busy || fails
    }

    fn activity(&mut self, task: &Task, fence: Fence, fact: &Fact, wakes: bool) {
        if matches!(fact, Fact::LookFailed { .. }) {
            self.look_over(task, false);
        } else if *fact != Fact::Active {
            self.out.note(Note::Observed(task.id));
        } else if self.now.tick.saturating_sub(task.active) >= self.world.limits.activity_ms {
            self.out.task(task.id, TaskRecord::Seen { fence, fact: fact.clone() });
        } else {
            self.out.note(Note::Active(task.id, wakes));
        }
        if active(Bug::NeighbourActive) {
            let next = self.world.key(&task.key).and_then(|key| key.queue.first_key_value());
            next.into_iter().for_each(|(_, other)| self.out.note(Note::Active(*other, true)));
        }
    }

    /// What a fact asks for besides being weighed.
    fn react(&mut self, task: &Task, fact: &Fact) {
        let says_all = matches!(
            fact,
            Fact::Exited { .. }
                | Fact::Interrupted { .. }
                | Fact::SessionDeleted
                | Fact::HostGone { .. }
        );
        if says_all && task.live.probe.is_some() {
            self.look_over(task, true);
        }
        match fact {
            Fact::Looked { picture } => {
                let hidden = picture.session == Presence::Missing && task.session.is_some();
                self.look_over(task, !hidden && picture.turn != TurnRecord::Unreadable);
                self.reconcile_asks(task, picture);
            }
            Fact::LookFailed { .. } => {
                self.look_over(task, false);
                if active(Bug::FailedLookStops) {
                    let reason = Reason::EndedWith { cause: Cause::HostGone };
                    self.stop(task, Target::Failed, Cause::HostGone, reason);
                }
            }
            Fact::EndHint
            | Fact::ErrorHint { .. }
            | Fact::OddWord { .. }
            | Fact::PromptUnsure { .. } => {
                self.out.note(Note::ProbeAsked(task.id));
            }
            Fact::AskOpened { ask } => self.open_ask(task, ask, 0),
            Fact::AskClosed { key } => self.close_ask(task, key),
            Fact::ToolBegan { call } if !task.breaker.seen.contains(&call.id) => {
                self.charge(task, crate::spec::Spend { calls: 1, ..Default::default() });
                self.out.then(Then::Breaker(task.id));
            }
            Fact::Spent { total } => {
                self.charge(task, task.spent.most(*total).minus(task.spent));
            }
            Fact::PromptTaken => self.debrief_accepted(task),
            Fact::Stopped => self.stopped(task),
            Fact::StartFailed { error } => self.start_failed(task, error),
            Fact::PromptRefused { error } => self.prompt_refused(task, error),
            Fact::Exited { .. } => self.asks_over(task),
            Fact::SessionMade { .. }
            | Fact::StartUnsure { .. }
            | Fact::WordsTaken { .. }
            | Fact::Active
            | Fact::ToolBegan { .. }
            | Fact::ToolEnded { .. }
            | Fact::Todos { .. }
            | Fact::Ended { .. }
            | Fact::ProviderWait { .. }
            | Fact::Busy
            | Fact::Compacted
            | Fact::Interrupted { .. }
            | Fact::SessionDeleted
            | Fact::HostGone { .. }
            | Fact::StopRefused { .. } => {}
        }
    }

    /// A process that has ended waits for no answer.
    fn asks_over(&mut self, task: &Task) {
        for ask in task.open_asks() {
            self.close_ask(task, &ask.seen.key);
        }
    }

    /// A look at the host came to an end; those who waited for it are answered.
    pub(super) fn look_over(&mut self, task: &Task, answered: bool) {
        self.out.note(Note::ProbeDone(task.id, answered));
        if task.live.readers.is_empty() || active(Bug::ReadersForgotten) {
            return;
        }
        self.out.note(Note::ReadersWent(task.id));
        // What the host said was true when it was asked; how long the answer took is not known.
        let asked = task.live.probe.unwrap_or(self.now.tick);
        let as_of = if answered { asked } else { task.live.observed };
        for request in &task.live.readers {
            self.read_now(*request, task.id, as_of, answered);
        }
    }

    /// Asks that were missed are opened; those that the host no longer shows are withdrawn.
    fn reconcile_asks(&mut self, task: &Task, picture: &Picture) {
        let Some(shown) = &picture.asks else {
            return;
        };
        for (n, ask) in shown.iter().enumerate() {
            self.open_ask(task, ask, n as u64);
        }
        for known in task.open_asks() {
            if shown.iter().all(|ask| ask.key != known.seen.key) {
                self.close_ask(task, &known.seen.key);
            }
        }
    }

    fn open_ask(&mut self, task: &Task, seen: &AskSeen, n: u64) {
        let known = task.asks.iter().map(|known| &known.seen.key).chain(&task.asks_done);
        if known.into_iter().any(|key| *key == seen.key) {
            return;
        }
        let ask = AskId::from_bits(mix(self.now.dice.wrapping_add(n)));
        self.out.task(task.id, TaskRecord::AskOpened { ask, seen: seen.clone() });
    }

    fn close_ask(&mut self, task: &Task, key: &str) {
        let Some(known) = task.asks.iter().find(|known| &*known.seen.key == key) else {
            return;
        };
        if known.state == AskState::Open {
            let record = TaskRecord::AskMoved {
                ask: known.id,
                to: AskState::Withdrawn,
                answer: None,
                by: Some(Caller::Policy),
            };
            self.out.task(task.id, record);
        }
        self.out.task(task.id, TaskRecord::AskDone { ask: known.id });
    }
}

/// The session that an order of an attempt which is over has set going after all; it may not be known by name.
fn left_running<'a>(task: &'a Task, fence: Fence, fact: &'a Fact) -> Option<Option<&'a Arc<str>>> {
    if task.orphans.iter().any(|orphan| orphan.attempt == fence.attempt) {
        return None;
    }
    if let Fact::SessionMade { session } = fact {
        return Some(Some(session)).filter(|_| !knows(task, session));
    }
    let given_up = task.unconfirmed && fence.attempt == task.attempt && !task.is_living();
    let ordered =
        matches!(fact, Fact::StartUnsure { .. } | Fact::PromptTaken | Fact::PromptUnsure { .. });
    (given_up && ordered).then_some(task.session.as_ref())
}

/// Whether a session is the task's own, now or in an earlier attempt: it needs no abort of its own.
fn knows(task: &Task, session: &Arc<str>) -> bool {
    let past = task.past.iter().filter_map(|past| past.session.as_ref());
    task.session.iter().chain(past).any(|known| known == session)
}
