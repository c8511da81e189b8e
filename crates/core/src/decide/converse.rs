//! Conversations: one turn at a time, people's first and in their order, a debrief as a turn of its own. A turn is a
//! generation of the task that carries the conversation, so what holds for a task's truth holds for it.

use std::sync::Arc;

use super::Case;
use super::launch::{PROMPT_MAX, Refusal};
use crate::bugs::{Bug, active};
use crate::decision::names;
use crate::ids::{ConversationId, DebriefId, TaskId};
use crate::input::{CancelWhy, DeliveryFact, Request, Then};
use crate::outbox::Debrief;
use crate::payload::{Digest, Payload};
use crate::reason::{Caller, Reason};
use crate::record::{OutboxRecord, TaskRecord};
use crate::refs::ParentRef;
use crate::reply::Told;
use crate::rules::{Event, Verdict};
use crate::spec::Spec;
use crate::talk::Talk;
use crate::task::{BatchId, Task};
use crate::words::{Cause, Code, DeliveryState, State, TurnKind};

/// As many people's turns may wait in one conversation.
const WAITING_MAX: usize = 256;

impl<'w> Case<'w> {
    fn talking(&self, id: TaskId) -> Option<(&'w Task, &'w Talk)> {
        let task = self.world.task(id)?;
        Some((task, task.talk.as_deref()?))
    }

    /// Opens one: between turns, and without a session until its first.
    pub(super) fn converse(&mut self, request: Request, id: TaskId, spec: &Spec) {
        if let Some(known) = spec.brief.key.and_then(|key| self.world.idempotency.get(&key)) {
            return self.same_key(request, *known, spec);
        }
        if self.world.task(id).is_some() {
            return self.out.refuse(request, Code::Invalid, "id: it is taken");
        }
        if !(spec.brief.caps.prompts && spec.brief.caps.goes_on) {
            let why =
                "host: it takes no further prompts in a session; use one that does, as opencode";
            return self.out.refuse(request, Code::Invalid, why);
        }
        let brief = Arc::new(spec.brief.clone());
        let (key, _) = self.world.limits.key(&brief, brief.models.first());
        let accepted = TaskRecord::Accepted {
            brief,
            parent: ParentRef::None,
            launched_by: None,
            root: id,
            depth: 0,
            batch: BatchId::Open(0),
            after: Vec::new(),
            key,
            adopted: None,
        };
        self.out.task(id, accepted);
        self.order(id, spec);
        self.out.reply(request, Told::Accepted { task: id, existing: false });
    }

    /// A person's turn: it waits until those before it are over.
    pub(super) fn turn(
        &mut self,
        request: Request,
        id: TaskId,
        text: &Payload,
        key: Option<Digest>,
    ) {
        let Some((task, talk)) = self.talking(id) else {
            return self.no_conversation(request);
        };
        if let Some((turn, said)) = key.and_then(|key| talk.known(key)) {
            return if said == text.text.digest {
                self.out.reply(request, Told::TurnTaken { turn, existing: true });
            } else {
                let why =
                    format!("this idempotency key was used for turn {turn}, with other words");
                self.out.refuse(request, Code::KeyReused, why);
            };
        }
        let refusal = if talk.closed {
            let why = match task.cause {
                Some(Cause::SessionDeleted) => "its session was deleted",
                Some(_) | None if task.unconfirmed => "an earlier turn of it may still run",
                Some(_) | None => "it is closed",
            };
            Some((Code::Ended, format!("{why}; open another conversation")))
        } else if text.text.blank {
            Some((Code::Invalid, "text: it is empty; say something".to_owned()))
        } else if text.bytes.len() > PROMPT_MAX {
            Some((Code::Invalid, "text: it is longer than 1 MiB".to_owned()))
        } else if talk.waiting.len() >= WAITING_MAX {
            let why = format!("{WAITING_MAX} turns wait already; try again when some are over");
            Some((Code::OnItsWay, why))
        } else {
            None
        };
        if let Some((code, why)) = refusal {
            return self.out.refuse(request, code, why);
        }
        let turn = talk.turns + 1;
        self.out.text(names::prompt(id, turn), Some(id), text);
        self.out.task(id, TaskRecord::TurnAsked { turn, text: text.text, key });
        self.out.then(Then::NextTurn(id));
        self.out.reply(request, Told::TurnTaken { turn, existing: false });
    }

    /// No further turn; what it has out is cancelled, and what it is owed goes elsewhere.
    pub(super) fn close(&mut self, request: Request, id: TaskId) {
        let Some((task, talk)) = self.talking(id) else {
            return self.no_conversation(request);
        };
        if !talk.closed {
            if task.is_living() {
                let why = CancelWhy::Asked { by: Caller::Person, text: None };
                self.out.then(Then::Cancel { task: id, why, quiet: true });
            }
            self.closed(task);
        }
        self.out.reply(request, Told::Closed);
    }

    fn closed(&mut self, task: &Task) {
        self.out.task(task.id, TaskRecord::Closed);
        self.parent_deleted(&ParentRef::Conversation(task.id.conversation()));
        self.out.then(Then::Evict(task.id));
    }

    fn no_conversation(&mut self, request: Request) {
        self.out.refuse(
            request,
            Code::NotFound,
            "no such conversation: it was never opened here, or is past its retention",
        );
    }

    /// What is done with a task is not done with one that carries a conversation.
    pub(super) fn is_no_task(&mut self, request: Request, task: &Task) -> bool {
        if let Some(id) = task.conversation() {
            let why = format!("it carries the conversation {id}; ask for a turn of that instead");
            self.out.refuse(request, Code::CannotPrompt, why);
        }
        task.talk.is_some()
    }

    /// Between turns: the first person that waits, else a debrief that is to be told.
    pub(super) fn next_turn(&mut self, id: TaskId) {
        let Some((task, talk)) = self.talking(id) else {
            return;
        };
        if task.is_living() || talk.closed || !task.orphans.is_empty() {
            return;
        }
        if task.unconfirmed {
            // What may still run there would be spoken into.
            return self.closed(task);
        }
        let person = talk.waiting.first().copied().filter(|_| !active(Bug::PersonLast));
        let debrief = self.debrief_of(id).filter(|debrief| debrief.is_to_be_sent());
        match (person, debrief) {
            (Some(turn), _) => self.open_turn(task, turn, None),
            (None, Some(debrief)) => self.open_turn(task, talk.turns + 1, Some(debrief.id)),
            (None, None) => {}
        }
    }

    /// The debrief that is on its way to a conversation and not answered.
    fn debrief_of(&self, id: TaskId) -> Option<&'w Debrief> {
        let parent = self.world.parent(&ParentRef::Conversation(id.conversation()))?;
        let debrief = self.world.debrief(parent.flight?)?;
        (debrief.answer.is_none() && !debrief.is_resting()).then_some(debrief)
    }

    fn open_turn(&mut self, task: &Task, turn: u32, debrief: Option<DebriefId>) {
        let Verdict::Go(to) = self.rule(task.state, Event::Resume) else {
            return;
        };
        let generation = turn;
        let opened =
            TaskRecord::GenerationOpened { generation, parent: None, aside: None, debrief };
        self.out.task(task.id, opened);
        let (key, _) = self.world.limits.key(&task.brief, task.brief.models.first());
        self.out.task(
            task.id,
            TaskRecord::AttemptOpened {
                attempt: task.attempt + 1,
                model: 0,
                key: Arc::clone(&key),
                keep_session: task.session.is_some(),
                after: None,
                interrupted: false,
            },
        );
        let kind = if debrief.is_some() { TurnKind::Debrief } else { TurnKind::Resume };
        self.moved(task, to, Reason::TurnFor { kind, debrief });
        self.out.then(Then::Pump { key, lender: None });
    }

    /// A turn of a conversation has ended, somehow.
    pub(super) fn turn_over(&mut self, id: TaskId) {
        let Some((task, talk)) = self.talking(id) else {
            return;
        };
        if talk.closed {
            // What it was owed went elsewhere then.
            return self.out.then(Then::Evict(id));
        }
        let debrief = talk.debrief.and_then(|id| self.world.debrief(id));
        if let Some(debrief) = debrief.filter(|debrief| debrief.answer.is_none()) {
            match task.state {
                State::Completed => self.answered(task, debrief),
                // It heard it, and had nothing to say.
                State::Failed if task.cause == Some(Cause::Empty) => self.answered(task, debrief),
                // Whoever stopped it has seen it.
                State::Cancelled if task.cause == Some(Cause::Asked) => self.settle(debrief),
                State::Cancelled
                | State::Failed
                | State::TimedOut
                | State::Lost
                | State::Queued
                | State::Starting
                | State::Running
                | State::WaitingAsk
                | State::WaitingChildren
                | State::Paused
                | State::Stopping => self.unanswered(task, debrief),
            }
        }
        if task.cause == Some(Cause::SessionDeleted) {
            return self.closed(task);
        }
        self.out.then(Then::NextTurn(id));
    }

    /// That its turns fail was said, and no room has a line in its place: it is told when somebody asks for it.
    fn rests(&mut self, debrief: &Debrief) {
        let (to, code) = (DeliveryState::Undeliverable, Some(Code::HandshakeFailed));
        self.move_debrief(debrief, to, 0, code);
        for (task, generation) in self.world.owed_in(debrief) {
            self.move_notice(task, generation, to, Some(debrief.id), code);
        }
        self.out.then(Then::Withdraw(debrief.id));
        self.makes_way(&debrief.parent);
    }

    /// Whether a debrief has no turn of its conversation now.
    pub(super) fn waits_for_turn(&self, debrief: &Debrief) -> bool {
        let ParentRef::Conversation(told) = &debrief.parent else {
            return false;
        };
        let Some((task, talk)) = self.talking(told.task()) else {
            return false;
        };
        debrief.answer.is_none() && !(task.is_living() && talk.debrief == Some(debrief.id))
    }

    fn answered(&mut self, task: &Task, debrief: &Debrief) {
        match task.result.filter(|text| !text.blank && debrief.origin.is_some()) {
            Some(text) => {
                let (debrief, task) = (debrief.id, task.id);
                self.out.outbox(OutboxRecord::DebriefAnswered { debrief, task, text });
            }
            None => self.delivered(debrief.id, &DeliveryFact::Answered { text: None }),
        }
    }

    /// It has its turn again, after a while.
    fn unanswered(&mut self, task: &Task, debrief: &Debrief) {
        if debrief.is_resting() || active(Bug::TurnOnce) {
            return;
        }
        if debrief.code == Some(Code::HandshakeFailed) {
            return self.rests(debrief);
        }
        let why: Option<Arc<str>> = task.reason.as_ref().map(|reason| reason.to_string().into());
        self.try_later(debrief, None, why.as_ref());
    }

    /// Whether a conversation can be told, now or later.
    pub(super) fn known_conversation(&self, id: ConversationId) -> Result<(), Refusal> {
        match self.talking(id.task()) {
            Some((_, talk)) if !talk.closed => Ok(()),
            Some(_) => Err((Code::Ended, format!("{id} is closed and cannot be told"))),
            None => Err((Code::LineageUnknown, format!("{id}, which is to be told, is not known"))),
        }
    }

    /// The conversation that is told, also where it is called by the task that carries it.
    fn named(&self, parent: &ParentRef) -> Option<ConversationId> {
        match parent {
            ParentRef::Conversation(id) => Some(*id),
            ParentRef::Task(told) => self.talking(*told).map(|_| told.conversation()),
            ParentRef::None
            | ParentRef::Inbox { .. }
            | ParentRef::Webhook(_)
            | ParentRef::Session { .. } => None,
        }
    }

    /// Who is told, by the name that it has.
    pub(super) fn told_as(&self, parent: &ParentRef) -> ParentRef {
        self.named(parent).map_or_else(|| parent.clone(), ParentRef::Conversation)
    }

    /// What is launched from inside a conversation is the conversation's: it is told, in a turn of its own, and its turns do
    /// not wait for it. The turn and the place that it speaks in are known here.
    pub(super) fn of_conversation(&self, spec: &Spec) -> Option<Spec> {
        let caller = spec.launched_by.filter(|id| self.talking(*id).is_some());
        let named = self.named(&spec.parent);
        if named.is_none() && caller.is_none() {
            return None;
        }
        let mut spec = spec.clone();
        spec.launched_by = spec.launched_by.filter(|_| caller.is_none());
        if let Some((task, _)) = named.and_then(|id| self.talking(id.task())) {
            spec.parent = ParentRef::Conversation(task.id.conversation());
            if task.is_living() && spec.brief.parent_turn.is_none() {
                spec.brief.parent_turn = Some(task.generation.to_string().into());
            }
            spec.brief.origin = spec.brief.origin.or_else(|| task.brief.origin.clone());
        }
        Some(spec)
    }
}
