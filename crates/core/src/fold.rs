//! The fold: the one function that changes a task, one journal line at a time. The same lines in the same
//! order always give the same row.

use std::sync::Arc;

use crate::bugs::{Bug, active};
use crate::evidence::Evidence;
use crate::fact::{Call, Fact, Picture, Presence, TurnRecord};
use crate::few::Few;
use crate::ids::{AskId, TaskId};
use crate::record::TaskRecord;
use crate::refs::ParentRef;
use crate::spec::Spend;
use crate::task::{Ask, AskState, BatchId, Breaker, Notice, Orphan, Past, Task, Turn};
use crate::time::Stamp;
use crate::words::{Cause, Code, DeliveryState, Notify, Phase, State, TurnKind};

/// As many asks that are over are remembered.
const ASKS_DONE_MAX: usize = 16;

/// Where and when a line stands in the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// Its global number.
    pub seq: u64,
    pub stamp: Stamp,
}

/// Begins a task from its first line; none if the line is another.
pub fn begin(id: TaskId, record: &TaskRecord, line: Line) -> Option<Task> {
    let TaskRecord::Accepted { brief, parent, key, root, batch, .. } = record else {
        return None;
    };
    let mut task = Task::new(id, brief, parent, key, *root, batch, line.stamp);
    let TaskRecord::Accepted { launched_by, depth, after, adopted, .. } = record else {
        return None;
    };
    task.arrival = line.seq;
    task.launched_by = *launched_by;
    task.depth = *depth;
    let seldom = task.seldom.change();
    seldom.after = after.clone().into();
    seldom.aside =
        launched_by.filter(|_| brief.budget.counts()).map(|_| Box::new(brief.budget.as_spend()));
    task.seldom.settle();
    if brief.converses {
        // It begins between two turns: nothing was asked of it yet.
        (task.state, task.generation, task.attempt, task.tries) = (State::Completed, 0, 0, 0);
        let seldom = task.seldom.change();
        (seldom.talk, seldom.ended) = (Some(Box::default()), Some(line.stamp));
    }
    if let Some(session) = adopted {
        task.adopted = true;
        task.state = State::Running;
        task.session = Some(Arc::clone(session));
        task.started = Some(line.stamp);
        let (kind, phase, at) = (TurnKind::Foreign, Phase::Taken, line.stamp.tick);
        task.turn = Turn { n: 1, kind, phase, at, ..Turn::default() };
    }
    Some(task)
}

/// Takes the next line in. Numbers the line within its task.
pub fn fold(task: &mut Task, record: &TaskRecord, line: Line) {
    task.seq += 1;
    let tick = line.stamp.tick;
    match record {
        TaskRecord::Accepted { .. } | TaskRecord::Stale { .. } | TaskRecord::Rerouted { .. } => {}
        TaskRecord::DependencyMet { on } => task.seldom.change().after.retain(|waits| waits != on),
        TaskRecord::AttemptOpened { .. } => attempt_opened(task, record),
        TaskRecord::GenerationOpened { .. } => generation_opened(task, record),
        TaskRecord::TurnAsked { .. } => talked(task, record),
        TaskRecord::Closed => closed(task, line),
        TaskRecord::TurnOpened { turn, kind, debrief, send } => {
            let phase = Phase::Unsent;
            let (n, kind, debrief, send) = (*turn, *kind, *debrief, *send);
            task.turn = Turn { n, kind, phase, debrief, send, at: tick };
            task.evidence = Evidence::default();
            task.seldom.change().sends.retain(|n| Some(*n) != send);
        }
        TaskRecord::Moved { .. } => moved(task, record, line),
        TaskRecord::StopTurned { stop } => task.seldom.change().stop = Some(stop.clone()),
        TaskRecord::Seen { fact, .. } => {
            seen(task, fact, tick);
            talked(task, record);
        }
        TaskRecord::Late { text } => task.seldom.change().late = Some(*text),
        TaskRecord::Result { text, error } => {
            let seldom = task.seldom.change();
            seldom.result = *text;
            seldom.error = error.clone();
        }
        TaskRecord::AskOpened { ask, seen } => {
            let (id, attempt, seen, state) = (*ask, task.attempt, seen.clone(), AskState::Open);
            let ask = Ask { id, attempt, seen, state, at: tick, answer: None, by: None };
            task.seldom.change().asks.push(ask);
        }
        TaskRecord::AskMoved { ask, to, answer, by } => {
            let mut asks = task.seldom.change().asks.iter_mut();
            if let Some(known) = asks.find(|known| known.id == *ask) {
                known.state = *to;
                known.answer = answer.clone();
                known.by = by.clone();
            }
        }
        TaskRecord::AskDone { ask } => ask_done(task, *ask),
        TaskRecord::SendTaken { n, last, .. } => send_taken(task, *n, *last),
        TaskRecord::NoticeMoved { .. } | TaskRecord::NoticeRouted { .. } => {
            notice(task, record, tick)
        }
        TaskRecord::ParentMoved { to, batch } => told(task, to, batch),
        TaskRecord::Reserved { amount, .. } => {
            let seldom = task.seldom.change();
            seldom.reserved = seldom.reserved.plus(*amount).into();
        }
        TaskRecord::Refunded { amount, used, .. } => charged(task, *amount, *used),
        TaskRecord::Charged { used, .. } => charged(task, Spend::default(), *used),
        TaskRecord::TelemetryTaken { generation } => {
            task.seldom.change().telemetry.retain(|owed| owed != generation)
        }
        TaskRecord::OrphanSeen { attempt, session } => {
            let (attempt, session) = (*attempt, session.clone());
            task.seldom.change().orphans.push(Orphan { attempt, session, since: tick });
        }
        TaskRecord::OrphanGone { attempt, confirmed } => {
            task.seldom.change().orphans.retain(|orphan| orphan.attempt != *attempt);
            let other = task.unconfirmed && *attempt != task.attempt;
            task.unconfirmed = other || !confirmed;
        }
    }
    task.seldom.settle();
}

/// It is kept from now on as long as anything that ended now.
fn closed(task: &mut Task, line: Line) {
    talked(task, &TaskRecord::Closed);
    task.seldom.change().ended = task.state.is_terminal().then_some(line.stamp);
}

/// What a line means to a conversation; a task that carries none has nothing of it.
fn talked(task: &mut Task, record: &TaskRecord) {
    if task.talk.is_none() {
        return;
    }
    let taken = task.turn.phase >= Phase::Taken;
    let seen = matches!(record, TaskRecord::Seen { .. });
    let Some(talk) = &mut task.seldom.change().talk else {
        return;
    };
    if let TaskRecord::GenerationOpened { generation, debrief, .. } = record {
        talk.began(*generation, *debrief);
    } else if let TaskRecord::TurnAsked { turn, key, text } = record {
        talk.asked(*turn, text.digest, *key);
    } else if *record == TaskRecord::Closed {
        (talk.closed, talk.waiting) = (true, Few::NONE);
    } else {
        talk.taken |= seen && taken;
    }
}

fn send_taken(task: &mut Task, n: u32, last: bool) {
    let seldom = task.seldom.change();
    seldom.sends.push(n);
    seldom.last_send = seldom.last_send.or(last.then_some(n));
    task.sends_made = n;
}

fn generation_opened(task: &mut Task, record: &TaskRecord) {
    let TaskRecord::GenerationOpened { generation, parent: to, aside, .. } = record else {
        return;
    };
    talked(task, record);
    let used = task.used();
    task.generation = *generation;
    task.tries = 0;
    task.interruptions = 0;
    task.started = None;
    task.flagged = false;
    task.breaker = Breaker::default();
    let seldom = task.seldom.change();
    seldom.aside = aside.map(Box::new);
    seldom.used_before = used.into();
    seldom.result = None;
    seldom.late = None;
    seldom.error = None;
    seldom.ended = None;
    seldom.past.clear();
    if let Some((parent, batch)) = to {
        told(task, parent, batch);
    }
}

/// From now on somebody else is told.
fn told(task: &mut Task, parent: &ParentRef, batch: &BatchId) {
    task.parent = Arc::new(parent.clone());
    task.batch = batch.clone();
}

/// What was used below; what was set aside for it is given back.
fn charged(task: &mut Task, back: Spend, used: Spend) {
    let seldom = task.seldom.change();
    seldom.reserved = seldom.reserved.minus(back).into();
    seldom.spent_below = seldom.spent_below.plus(used).into();
}

fn ask_done(task: &mut Task, id: AskId) {
    let Some(done) = task.asks.iter().find(|known| known.id == id) else {
        return;
    };
    let key = Arc::clone(&done.seen.key);
    let seldom = task.seldom.change();
    seldom.asks.retain(|known| known.id != id);
    if seldom.asks_done.len() >= ASKS_DONE_MAX {
        seldom.asks_done.drop_first();
    }
    seldom.asks_done.push(key);
}

fn attempt_opened(task: &mut Task, record: &TaskRecord) {
    let TaskRecord::AttemptOpened { attempt, model, key, keep_session, after, interrupted } =
        record
    else {
        return;
    };
    if task.tries > 0 {
        let (attempt, model, session) = (task.attempt, task.model, task.session.clone());
        let past = Past { attempt, model, session, error: after.clone() };
        task.seldom.change().past.push(past);
    }
    task.attempt = *attempt;
    task.tries += 1;
    task.interruptions += u32::from(*interrupted);
    task.model = *model;
    task.key = Arc::clone(key);
    if !keep_session {
        task.session = None;
        if let Some(talk) = &mut task.seldom.change().talk {
            talk.taken = false;
        }
    }
    task.turn = Turn::default();
    task.evidence = Evidence::default();
    let seldom = task.seldom.change();
    seldom.asks.clear();
    seldom.asks_done.clear();
    seldom.spent_before = seldom.spent_before.plus(task.spent).into();
    task.spent = Spend::default();
}

/// The state changes here and nowhere else.
fn moved(task: &mut Task, record: &TaskRecord, line: Line) {
    let TaskRecord::Moved { to, cause, reason, stop, until, flagged, told } = record else {
        return;
    };
    task.state = *to;
    task.cause = *cause;
    task.reason = Some(reason.clone());
    task.flagged |= *flagged;
    task.entered = line.stamp.tick;
    task.unconfirmed |= *cause == Some(Cause::AbortUnconfirmed);
    if *to == State::Starting && task.started.is_none() {
        task.started = Some(line.stamp);
    }
    let seldom = task.seldom.change();
    seldom.stop = stop.clone();
    seldom.landed = None;
    seldom.until = *until;
    if !to.is_terminal() {
        return;
    }
    seldom.ended = Some(line.stamp);
    seldom.asks.clear();
    seldom.sends.clear();
    seldom.last_send = None;
    seldom.after.clear();
    if !active(Bug::NoTelemetry) && !task.brief.converses {
        seldom.telemetry.push(task.generation);
    }
    if let Some((parent, batch)) = told {
        seldom.notices.push(Notice {
            generation: task.generation,
            to: parent.clone(),
            batch: batch.clone(),
            seq: line.seq,
            state: DeliveryState::Owed,
            outcome: *to,
            debrief: None,
            seals: 0,
            each: task.brief.notify == Notify::Each,
            inbox: task.brief.notify == Notify::Inbox,
            code: (*cause == Some(Cause::AbortUnconfirmed)).then_some(Code::AbortUnconfirmed),
            at: line.stamp.tick,
        });
    }
}

/// Whether an order that was under way is heard of for the first time.
fn lands(task: &Task, fact: &Fact) -> bool {
    let made = matches!(fact, Fact::SessionMade { .. }) && task.session.is_none();
    let taken = *fact == Fact::PromptTaken && task.turn.phase < Phase::Taken;
    made || taken
}

fn seen(task: &mut Task, fact: &Fact, tick: u64) {
    task.evidence.see(fact, tick);
    if task.state == State::Stopping && lands(task, fact) {
        task.seldom.change().landed = Some(tick);
    }
    match fact {
        Fact::SessionMade { session } => task.session = Some(Arc::clone(session)),
        // A phase only moves on: what was taken or has ended is not undone by a reply that was late.
        Fact::PromptTaken => task.turn.phase = task.turn.phase.max(Phase::Taken),
        Fact::WordsTaken { n } => task.seldom.change().sends.retain(|waits| waits != n),
        Fact::PromptUnsure { .. } => task.turn.phase = task.turn.phase.max(Phase::Unsure),
        Fact::Active | Fact::ToolEnded { .. } | Fact::Compacted => task.active = tick,
        Fact::ToolBegan { call } => {
            task.active = tick;
            task.tool = Some(Arc::clone(&call.tool));
            count(task, call);
        }
        Fact::Spent { total } => task.spent = task.spent.most(*total),
        Fact::Ended { .. } | Fact::Exited { .. } => {
            task.active = tick;
            if task.evidence.end.is_some() {
                task.turn.phase = Phase::Ended;
            }
        }
        // A tool that the host shows to run is activity, however quiet it is.
        Fact::Looked { picture } if !picture.calls.is_empty() => {
            task.active = tick;
            task.turn.phase = shown_phase(task, picture);
        }
        Fact::Looked { picture } => task.turn.phase = shown_phase(task, picture),
        Fact::StartFailed { .. }
        | Fact::StartUnsure { .. }
        | Fact::PromptRefused { .. }
        | Fact::AskOpened { .. }
        | Fact::AskClosed { .. }
        | Fact::Todos { .. }
        | Fact::EndHint
        | Fact::ErrorHint { .. }
        | Fact::ProviderWait { .. }
        | Fact::OddWord { .. }
        | Fact::Busy
        | Fact::LookFailed { .. }
        | Fact::Interrupted { .. }
        | Fact::SessionDeleted
        | Fact::HostGone { .. }
        | Fact::Stopped
        | Fact::StopRefused { .. } => {}
    }
}

/// How far the turn has come, by what the host's records show of it.
fn shown_phase(task: &Task, picture: &Picture) -> Phase {
    match (&picture.turn, task.turn.phase) {
        (TurnRecord::Absent, Phase::Unsure) => Phase::Unsent,
        // It was taken and is not there: lost before it was stored. Nothing of it may have been seen.
        (TurnRecord::Absent, Phase::Taken)
            if picture.session == Presence::Present && !task.evidence.tools_ran =>
        {
            Phase::Unsent
        }
        (TurnRecord::Open, Phase::Unsent | Phase::Unsure) => Phase::Taken,
        (TurnRecord::Ended(_), _) if task.evidence.end.is_some() => Phase::Ended,
        (
            TurnRecord::Absent | TurnRecord::Open | TurnRecord::Ended(_) | TurnRecord::Unreadable,
            phase,
        ) => phase,
    }
}

/// How many calls are remembered so that none is counted twice.
const CALLS_REMEMBERED: usize = 32;

fn count(task: &mut Task, call: &Call) {
    let breaker = &mut task.breaker;
    if breaker.seen.contains(&call.id) {
        return;
    }
    if breaker.seen.len() == CALLS_REMEMBERED {
        breaker.seen.drop_first();
    }
    breaker.seen.push(call.id);
    breaker.all += 1;
    task.spent.calls += 1;
    match call.input {
        Some(input) if breaker.last == Some(input) => breaker.same += 1,
        Some(input) => {
            breaker.last = Some(input);
            breaker.same = 1;
        }
        None => {
            breaker.last = None;
            breaker.same = 0;
        }
    }
}

fn notice(task: &mut Task, record: &TaskRecord, tick: u64) {
    match record {
        TaskRecord::NoticeMoved { generation, to, debrief, code } => {
            if to.is_over() {
                task.seldom.change().notices.retain(|notice| notice.generation != *generation);
                return;
            }
            let Some(notice) =
                task.seldom.change().notices.iter_mut().find(|n| n.generation == *generation)
            else {
                return;
            };
            notice.seals += u32::from(*to == DeliveryState::Sealed);
            notice.state = *to;
            notice.debrief = *debrief;
            notice.code = code.or(notice.code);
        }
        TaskRecord::NoticeRouted { generation, to, batch, code } => {
            let Some(notice) =
                task.seldom.change().notices.iter_mut().find(|n| n.generation == *generation)
            else {
                return;
            };
            notice.to = to.clone();
            notice.batch = batch.clone();
            notice.state = DeliveryState::Owed;
            notice.debrief = None;
            notice.code = code.or(notice.code);
            notice.at = tick;
        }
        TaskRecord::Accepted { .. }
        | TaskRecord::DependencyMet { .. }
        | TaskRecord::AttemptOpened { .. }
        | TaskRecord::GenerationOpened { .. }
        | TaskRecord::TurnAsked { .. }
        | TaskRecord::Closed
        | TaskRecord::TurnOpened { .. }
        | TaskRecord::Moved { .. }
        | TaskRecord::StopTurned { .. }
        | TaskRecord::Seen { .. }
        | TaskRecord::Stale { .. }
        | TaskRecord::Late { .. }
        | TaskRecord::Result { .. }
        | TaskRecord::AskOpened { .. }
        | TaskRecord::AskMoved { .. }
        | TaskRecord::AskDone { .. }
        | TaskRecord::SendTaken { .. }
        | TaskRecord::ParentMoved { .. }
        | TaskRecord::Reserved { .. }
        | TaskRecord::Refunded { .. }
        | TaskRecord::Charged { .. }
        | TaskRecord::TelemetryTaken { .. }
        | TaskRecord::Rerouted { .. }
        | TaskRecord::OrphanSeen { .. }
        | TaskRecord::OrphanGone { .. } => {}
    }
}
