//! The decider: `decide(&World, Input, now) → Decision`. Pure: the same arguments, the same decision.
//!
//! A decision is small: it speaks of one thing. What follows from it (`then`) is decided next, on the
//! World as it is by then, within the same commit. One file per subject; this one only sends on.

mod adopt;
mod ask;
mod budget;
mod cancel;
mod converse;
mod deliver;
mod ended;
mod fallback;
mod heirs;
mod judge;
mod launch;
mod lease;
mod observe;
mod parent;
mod queue;
mod read;
mod redrive;
mod resume;
mod room;
mod timer;

use crate::bugs::{Bug, active};
use crate::decision::Decision;
use crate::ids::TaskId;
use crate::input::{Input, Purge, Request, Then};
use crate::record::TaskRecord;
use crate::reply::Told;
use crate::rules::{Event, Verdict, rule};
use crate::task::Task;
use crate::time::Moment;
use crate::words::{Code, State};
use crate::world::{Tree, World};

/// One input under decision.
pub(crate) struct Case<'w> {
    pub world: &'w World,
    pub now: Moment,
    pub out: Decision,
}

/// What an input means for the World as it is.
pub fn decide(world: &World, input: &Input, now: Moment) -> Decision {
    let mut case = Case { world, now, out: Decision::default() };
    if let Some(id) = input.needs()
        && world.task(id).is_none()
    {
        case.out.load = Some(id);
        return case.out;
    }
    case.send_on(input);
    case.out
}

/// What an input means when the store does not have the task it speaks of.
pub fn decide_absent(world: &World, input: &Input, absent: TaskId, now: Moment) -> Decision {
    let mut case = Case { world, now, out: Decision::default() };
    let Some(request) = input.request() else {
        return case.out;
    };
    let (code, why) = match input {
        Input::Launch { spec, .. } if spec.after.contains(&absent) => {
            (Code::NotAfter, format!("after: {absent} is not known"))
        }
        Input::Launch { .. } | Input::Adopt { .. } | Input::Reserve { .. } => {
            (Code::LineageUnknown, format!("{absent}, which this launch names, is not known"))
        }
        Input::Release { .. }
        | Input::Cancel { .. }
        | Input::Resume { .. }
        | Input::Retry { .. }
        | Input::Send { .. }
        | Input::Answer { .. }
        | Input::Read { .. }
        | Input::Wait { .. }
        | Input::Turn { .. }
        | Input::Close { .. }
        | Input::Converse { .. }
        | Input::Forget { .. }
        | Input::Reroute { .. }
        | Input::Redrive { .. }
        | Input::Lease { .. }
        | Input::LetGo(_)
        | Input::Ack { .. }
        | Input::Observed { .. }
        | Input::Parent { .. }
        | Input::Composed { .. }
        | Input::Delivery { .. }
        | Input::Posted { .. }
        | Input::AnswerTaken { .. }
        | Input::TelemetryTaken { .. }
        | Input::Loaded { .. }
        | Input::Expired { .. }
        | Input::Timer { .. }
        | Input::Then(_) => (
            Code::NotFound,
            format!("no task {absent}: never accepted here, or past its retention"),
        ),
    };
    case.out.refuse(request, code, why);
    case.out
}

impl Case<'_> {
    fn send_on(&mut self, input: &Input) {
        match input {
            Input::Reserve { request, root } => self.reserve(*request, *root),
            Input::Release { reservation } => self.release(*reservation),
            Input::Launch { request, id, spec, reservation } => {
                self.launch(*request, *id, spec, *reservation);
            }
            Input::Adopt { request, id, spec, session, known } => {
                self.adopt(*request, *id, spec, session, *known);
            }
            Input::Cancel { request, task, by, text, quiet } => {
                self.cancel(*request, *task, by, text.as_ref(), *quiet);
            }
            Input::Resume { request, task, prompt, parent, by } => {
                self.resume(*request, *task, prompt, parent.as_ref(), by);
            }
            Input::Retry { request, task, by } => self.retry(*request, *task, by),
            Input::Send { request, task, text, last } => self.send(*request, *task, text, *last),
            Input::Answer { request, ask, answer, by } => self.answer(*request, *ask, answer, by),
            Input::Read { request, task } => self.read(*request, *task),
            Input::Wait { request, task, ms, by } => self.wait(*request, *task, *ms, by),
            Input::Converse { request, id, spec } => self.converse(*request, *id, spec),
            Input::Turn { request, task, text, key } => self.turn(*request, *task, text, *key),
            Input::Close { request, task } => self.close(*request, *task),
            Input::Forget { request } => self.forget(*request),
            Input::Reroute { request, task, origin, post } => {
                self.reroute(*request, *task, origin, *post);
            }
            Input::Redrive { request, what } => self.redrive(*request, *what),
            Input::Lease { request, consumer, parent, stays } => {
                self.lease(*request, consumer, parent, *stays);
            }
            Input::LetGo(lease) => self.let_go(*lease),
            Input::Ack { request, receipt } => self.ack(*request, receipt),
            Input::Observed { task, fence, fact } => self.observed(*task, *fence, fact),
            Input::Parent { parent, fact } => self.parent_shows(parent, fact),
            Input::Composed { parent, batch, notices, id, nonce, text } => {
                self.composed(parent, batch, notices, *id, nonce, text);
            }
            Input::Delivery { debrief, fact } => self.delivered(*debrief, fact),
            Input::Posted { post, fact } => self.posted(*post, fact),
            Input::AnswerTaken { ask } => self.answer_taken(*ask),
            Input::TelemetryTaken { task, generation } => self.telemetry_taken(*task, *generation),
            Input::Loaded { task, .. } => {
                if let Some(task) = task {
                    self.out.note(crate::change::Note::Loaded(task.clone()));
                }
            }
            Input::Expired { request, purge } => self.expired(*request, purge),
            Input::Timer { who, timer } => self.timer(who, *timer),
            Input::Then(then) => self.follow(then),
        }
    }

    fn follow(&mut self, then: &Then) {
        match then {
            Then::Judge(id) => self.judge(*id),
            Then::Breaker(id) => self.breaker(*id),
            Then::Pump { key, lender } => self.pump(key, *lender),
            Then::Ended(id) => self.ended(*id),
            Then::Cancel { task, why, quiet } => self.cancel_one(*task, why, *quiet),
            Then::Marker(id) => self.marker_without_parent(*id),
            Then::Heirs(parent) => self.heirs(parent),
            Then::Offer(id) => self.offer(*id),
            Then::Again(parent) => self.send_waiting(parent),
            Then::Withdraw(id) => self.withdraw(*id),
            Then::NextTurn(id) => self.next_turn(*id),
            Then::TurnOver(id) => self.turn_over(*id),
            Then::Waiters(id) => self.waiters(*id),
            Then::Evict(id) => self.evict(*id),
            Then::EvictTree(root) => self.evict_tree(*root),
            Then::Budget { owner, spender } => self.budget(*owner, *spender),
        }
    }

    /// Asks the table, and keeps in mind that it was asked.
    pub(crate) fn rule(&mut self, state: State, event: Event) -> Verdict {
        self.out.asked.push((state, event));
        rule(state, event)
    }

    /// The state an event leads to, if it leads anywhere.
    pub(crate) fn leads(&mut self, task: &Task, event: Event) -> Option<State> {
        match self.rule(task.state, event) {
            Verdict::Go(to) => Some(to),
            Verdict::Stay | Verdict::Stale | Verdict::Refuse => None,
        }
    }

    fn telemetry_taken(&mut self, id: TaskId, generation: u32) {
        if self.world.task(id).is_some_and(|task| task.telemetry.contains(&generation)) {
            self.out.task(id, TaskRecord::TelemetryTaken { generation });
            self.out.then(Then::Evict(id));
        }
    }

    fn evict(&mut self, id: TaskId) {
        if self.world.is_evictable(id) {
            self.out.note(crate::change::Note::Evicted(id));
        }
    }

    /// With the last living one of a tree, those that ended before it can leave, too.
    fn evict_tree(&mut self, root: TaskId) {
        if self.world.tree(root).is_some_and(Tree::is_still) {
            for id in std::iter::once(root).chain(self.world.below(root)) {
                self.evict(id);
            }
        }
    }

    /// What came back to life meanwhile stays.
    fn expired(&mut self, request: Request, purge: &Purge) {
        let world = self.world;
        let free = |id: &TaskId| {
            let idle = world.task(*id).is_none() || world.is_evictable(*id);
            idle || active(Bug::RevivedTaken)
        };
        let mut taken = purge.clone();
        taken.tasks.retain(free);
        taken.debriefs.retain(|id| world.debrief(*id).is_none());
        taken.posts.retain(|id| world.post(*id).is_none());
        let any = !taken.is_empty();
        if any {
            self.out.note(crate::change::Note::Purged(Box::new(taken)));
        }
        self.out.reply(request, Told::Purged { any });
    }

    pub(crate) fn not_there(&mut self, request: u64) {
        self.out.reply(request, Told::Refused { code: Code::NotFound, why: "no such task".into() });
    }
}
