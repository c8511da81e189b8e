//! Every reason to wake, in one place. A deadline is computed from what is stored; the timer index only
//! says when to look, never later than the deadline, so moving a deadline back costs nothing.

use std::collections::BTreeSet;

use super::{ParentTurn, World};
use crate::bugs::{Bug, active};
use crate::evidence::Verdict;
use crate::ids::{DebriefId, PostId, TaskId};
use crate::index::Index;
use crate::outbox::Debrief;
use crate::refs::ParentRef;
use crate::task::{AskState, Task, Until};
use crate::time::{Moment, backoff_ms};
use crate::words::{Code, DeliveryState, Phase, State, Tri, words};

/// What a timer belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    Task(TaskId),
    Parent(Box<ParentRef>),
    Debrief(DebriefId),
    Post(PostId),
    Wait(u64),
    Reservation(u64),
}

words! {
    /// Why something is looked at again.
    Timer {
        Start = "start",
        Quiet = "quiet",
        NeverActive = "never_active",
        Timeout = "timeout",
        /// The host was asked and said nothing.
        Probe = "probe",
        /// Something is unsure: the host is asked again.
        Reprobe = "reprobe",
        Todos = "todos",
        Ask = "ask",
        StopGivesUp = "stop_gives_up",
        Pause = "pause",
        Orphan = "orphan",
        BatchAge = "batch_age",
        ParentLook = "parent_look",
        Send = "send",
        Handshake = "handshake",
        Wake = "wake",
        Lease = "lease",
        Post = "post",
        WaitOver = "wait_over",
        Reservation = "reservation",
    }
}

/// When to look at what. Two clocks: the ledger's, and the wall for times that a provider named.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timers {
    ticks: BTreeSet<(u64, Who)>,
    walls: BTreeSet<(i64, Who)>,
    /// Where each stands in `ticks`; a task knows its own (`Live::look`).
    ticking: Index<Who, u64>,
    /// Where each stands in `walls`.
    walling: Index<Who, i64>,
}

/// A deadline on one of the two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Tick(u64),
    Wall(i64),
}

impl At {
    pub fn is_due(self, now: Moment) -> bool {
        match self {
            Self::Tick(tick) => tick <= now.tick,
            Self::Wall(wall) => wall <= now.wall,
        }
    }
}

impl World {
    /// The earliest look on each clock.
    pub fn next_look(&self) -> (Option<u64>, Option<i64>) {
        (
            self.timers.ticks.first().map(|(tick, _)| *tick),
            self.timers.walls.first().map(|(wall, _)| *wall),
        )
    }

    /// The next thing whose deadline has passed; looks that came too early are put back.
    pub fn next_due(&mut self, now: Moment) -> Option<(Who, Timer)> {
        loop {
            let ticked = self.timers.ticks.first().filter(|(tick, _)| *tick <= now.tick);
            let walled = self.timers.walls.first().filter(|(wall, _)| *wall <= now.wall);
            let who = match (ticked, walled) {
                (Some((_, who)), _) | (None, Some((_, who))) => who.clone(),
                (None, None) => return None,
            };
            self.disarm(&who);
            let mut due = None;
            self.each_deadline(&who, &mut |timer, at| {
                if due.is_none() && at.is_due(now) {
                    due = Some(timer);
                }
            });
            if let Some(timer) = due {
                return Some((who, timer));
            }
            self.arm(&who);
        }
    }

    /// Sees to it that `who` is looked at no later than its earliest deadline.
    pub(crate) fn arm(&mut self, who: &Who) {
        let (mut tick, mut wall) = (None, None);
        self.each_deadline(who, &mut |_, at| match at {
            At::Tick(t) => tick = Some(tick.map_or(t, |known: u64| known.min(t))),
            At::Wall(w) => wall = Some(wall.map_or(w, |known: i64| known.min(w))),
        });
        if let Some(tick) = tick {
            self.arm_tick(who, tick);
        }
        if let Some(wall) = wall {
            let old = self.timers.walling.insert(who.clone(), wall);
            if let Some(old) = old.filter(|old| *old != wall) {
                self.timers.walls.remove(&(old, who.clone()));
            }
            self.timers.walls.insert((wall, who.clone()));
        }
    }

    /// The same for a parent; most have nothing that is due.
    pub(crate) fn arm_parent(&mut self, who: &ParentRef) {
        let mut any = false;
        self.parent_deadlines(who, &mut |_, _| any = true);
        if any {
            self.arm(&Who::Parent(Box::new(who.clone())));
        }
    }

    /// A look that is set stays where it is unless this one is earlier.
    fn arm_tick(&mut self, who: &Who, tick: u64) {
        let old = match who {
            Who::Task(id) => self.task(*id).and_then(|task| task.live.look),
            Who::Parent(_)
            | Who::Debrief(_)
            | Who::Post(_)
            | Who::Wait(_)
            | Who::Reservation(_) => self.timers.ticking.get(who).copied(),
        };
        if old.is_some_and(|old| old <= tick) {
            return;
        }
        if let Some(old) = old {
            self.timers.ticks.remove(&(old, who.clone()));
        }
        self.timers.ticks.insert((tick, who.clone()));
        if let Who::Task(id) = who {
            if let Some(task) = self.tasks.get_mut(id) {
                task.live.look = Some(tick);
            }
        } else {
            self.timers.ticking.insert(who.clone(), tick);
        }
    }

    /// Call it for a task while it is there.
    pub(crate) fn disarm(&mut self, who: &Who) {
        let tick = if let Who::Task(id) = who {
            self.tasks.get_mut(id).and_then(|task| task.live.look.take())
        } else {
            self.timers.ticking.remove(who)
        };
        if let Some(tick) = tick {
            self.timers.ticks.remove(&(tick, who.clone()));
        }
        if let Some(wall) = self.timers.walling.remove(who) {
            self.timers.walls.remove(&(wall, who.clone()));
        }
    }

    /// Every deadline that runs for `who` now.
    pub fn deadlines(&self, who: &Who) -> Vec<(Timer, At)> {
        let mut all = Vec::new();
        self.each_deadline(who, &mut |timer, at| all.push((timer, at)));
        all
    }

    fn each_deadline(&self, who: &Who, see: &mut impl FnMut(Timer, At)) {
        match who {
            Who::Task(id) => {
                if let Some(task) = self.task(*id) {
                    self.task_deadlines(task, see);
                }
            }
            Who::Parent(parent) => self.parent_deadlines(parent, see),
            Who::Debrief(id) => self.debrief_deadlines(*id, see),
            Who::Post(id) => {
                if let Some(post) = self.posts.get(id)
                    && post.state != DeliveryState::Undeliverable
                    && post.next > 0
                {
                    see(Timer::Post, At::Tick(post.next));
                }
            }
            Who::Wait(request) => {
                if let Some(wait) = self.waits.get(request) {
                    see(Timer::WaitOver, At::Tick(wait.until));
                }
            }
            Who::Reservation(id) => {
                if let Some(held) = self.reservations.get(id) {
                    see(Timer::Reservation, At::Tick(held.until));
                }
            }
        }
    }

    fn task_deadlines(&self, task: &Task, see: &mut impl FnMut(Timer, At)) {
        if let Some(asked) = task.live.probe {
            see(Timer::Probe, At::Tick(asked + self.limits.probe_ms));
        }
        if let Some(orphan) = task.orphans.first() {
            see(Timer::Orphan, At::Tick(orphan.since + self.limits.stop_ms(&task.brief)));
        }
        match task.state {
            State::Queued
            | State::Completed
            | State::Failed
            | State::Cancelled
            | State::TimedOut
            | State::Lost => {}
            State::Paused if active(Bug::PauseForever) => {}
            State::Paused => match task.until {
                Some(Until::Tick(tick)) => see(Timer::Pause, At::Tick(tick)),
                Some(Until::Wall(wall)) => see(Timer::Pause, At::Wall(wall)),
                None => {}
            },
            State::Stopping => {
                let since = task.landed.unwrap_or(task.entered);
                let at = since + self.limits.stop_ms(&task.brief);
                see(Timer::StopGivesUp, At::Tick(at));
            }
            State::Starting => {
                let at = task.entered + self.limits.start_ms(&task.brief);
                self.asked_first(task, Timer::Start, at, see);
                self.unsure(task, see);
            }
            State::Running | State::WaitingAsk | State::WaitingChildren => {
                self.turn_deadlines(task, see)
            }
        }
    }

    fn turn_deadlines(&self, task: &Task, see: &mut impl FnMut(Timer, At)) {
        if let Some(at) = task.time_up() {
            self.asked_first(task, Timer::Timeout, at, see);
        }
        for ask in
            task.asks.iter().filter(|ask| ask.state == AskState::Open && !active(Bug::AskForever))
        {
            see(Timer::Ask, At::Tick(ask.at + self.limits.ask_ms(&task.brief)));
        }
        if task.state == State::Running {
            if let Some(end) = &task.evidence.end
                && task.evidence.todos > 0
                && task.evidence.verdict() == Verdict::OpenTodos
            {
                see(Timer::Todos, At::Tick(end.tick + self.limits.todos_ms));
            }
            if task.evidence.end.is_none() && self.limits.counts_silence(&task.brief) {
                let (timer, at) = self.silence(task);
                self.asked_first(task, timer, at, see);
            }
        }
        self.unsure(task, see);
    }

    /// When a running turn has been silent for too long. Counts from when the task came to run: what it
    /// waited for, an ask or a slot, is no silence of its own.
    pub(crate) fn silence(&self, task: &Task) -> (Timer, u64) {
        let active = task.last_active();
        if active > task.turn.at {
            (Timer::Quiet, active.max(task.entered) + self.limits.quiet_ms(&task.brief))
        } else {
            (
                Timer::NeverActive,
                task.turn.at.max(task.entered) + self.limits.never_active_ms(&task.brief),
            )
        }
    }

    /// A deadline that ends a task counts only once the host was asked after it had passed.
    fn asked_first(&self, task: &Task, timer: Timer, at: u64, see: &mut impl FnMut(Timer, At)) {
        let live = &task.live;
        if live.answered >= at {
            see(timer, At::Tick(at));
        } else if live.probe.is_none() {
            // A look that failed proves nothing: it is tried again before the deadline is believed.
            let again = if live.probed >= at { live.probed + self.limits.reprobe_ms } else { at };
            see(timer, At::Tick(again));
        }
    }

    /// While something about the host is unsure, it is asked again and again.
    fn unsure(&self, task: &Task, see: &mut impl FnMut(Timer, At)) {
        let evidence = &task.evidence;
        if evidence.is_over() {
            return;
        }
        let in_turn = matches!(task.state, State::Running | State::WaitingAsk);
        let says_otherwise = evidence.busy == Tri::Yes || !evidence.calls.is_empty();
        let contradicted = evidence.end.is_some() && (in_turn || says_otherwise);
        // Hosts close their record after they fall idle; the word of it may be lost.
        let idle_and_open = evidence.busy == Tri::No
            && evidence.end.is_none()
            && task.turn.phase == Phase::Taken
            && task.state != State::WaitingAsk;
        let unsure = task.turn.phase == Phase::Unsure
            || evidence.missing.is_some()
            || evidence.doubt != crate::evidence::Doubt::None
            || idle_and_open
            || contradicted;
        if unsure && task.live.probe.is_none() {
            // The longer it stays so, the less often: a host is not polled for hours.
            let from = task.live.probed.max(task.entered);
            let rarer = if evidence.missing.is_some() { 0 } else { (from - task.entered) / 4 };
            let wait = self.limits.reprobe_ms.max(rarer);
            see(Timer::Reprobe, At::Tick(from + wait));
        }
    }

    fn parent_deadlines(&self, who: &ParentRef, see: &mut impl FnMut(Timer, At)) {
        let Some(parent) = self.parents.get(who) else {
            return;
        };
        if let Some(at) = parent.next_due(self.limits.batch_ms) {
            see(Timer::BatchAge, At::Tick(at));
        }
        if parent.look_next > 0 {
            see(Timer::ParentLook, At::Tick(parent.look_next));
        }
        if let Some(since) = parent.silent
            && parent.flight.is_none()
            && parent.is_to_be_told()
        {
            see(Timer::Handshake, At::Tick(since + self.limits.handshake_ms));
        }
    }

    fn debrief_deadlines(&self, id: DebriefId, see: &mut impl FnMut(Timer, At)) {
        let Some(debrief) = self.debriefs.get(&id) else {
            return;
        };
        if debrief.parked || matches!(debrief.parent, ParentRef::Task(_)) {
            return;
        }
        match debrief.state {
            DeliveryState::Sealed | DeliveryState::Sent => {
                if let Some((_, until)) = &debrief.lease {
                    see(Timer::Lease, At::Tick(*until));
                } else if debrief.next > 0 {
                    see(Timer::Send, At::Tick(debrief.next));
                }
            }
            DeliveryState::Accepted if active(Bug::NeverWoken) => {}
            // Its turn is ours, and so is the end of it.
            DeliveryState::Accepted if matches!(debrief.parent, ParentRef::Conversation(_)) => {}
            DeliveryState::Accepted => {
                if let Some(at) = self.wake_at(debrief) {
                    see(Timer::Wake, At::Tick(at));
                }
            }
            DeliveryState::Owed
            | DeliveryState::Settled
            | DeliveryState::Withdrawn
            | DeliveryState::Undeliverable => {}
        }
        if debrief.code != Some(Code::HandshakeFailed)
            && debrief.state != DeliveryState::Undeliverable
            && let Some(at) = self.handshake_at(debrief)
        {
            see(Timer::Handshake, At::Tick(at));
        }
    }

    /// A parent that has it and does not answer is woken between its turns, less and less often.
    fn wake_at(&self, debrief: &Debrief) -> Option<u64> {
        let most = self.limits.backoff_most_ms.max(self.limits.wake_ms);
        let wait = backoff_ms(debrief.tries, self.limits.wake_ms, most);
        let seen = debrief.accepted.unwrap_or(0);
        self.between_since(&debrief.parent).map(|since| seen.max(since) + wait)
    }

    /// No sign of the parent for too long. One in a turn gives a sign, one whose turn just ended may be
    /// about to, and one of which nothing is known is asked first.
    fn handshake_at(&self, debrief: &Debrief) -> Option<u64> {
        let parent = self.parents.get(&debrief.parent)?;
        let asked = !debrief.parent.has_turns() || parent.turn != ParentTurn::Unknown;
        let limits = &self.limits;
        match (parent.silent, debrief.first_sent) {
            _ if matches!(debrief.parent, ParentRef::Inbox { .. }) => None,
            (_, sent) if matches!(debrief.parent, ParentRef::Conversation(_)) => {
                self.conversation_fails(debrief, sent?)
            }
            (Some(silent), sent) => Some(silent.max(sent.unwrap_or(0)) + limits.handshake_ms),
            (None, Some(sent)) if asked => {
                let since = self.between_since(&debrief.parent)?;
                Some((sent + limits.handshake_ms).max(since + limits.wake_ms))
            }
            (None, Some(_) | None) => None,
        }
    }

    /// A conversation is there: only turns that fail keep it from what it has, and none is waited out while one runs.
    fn conversation_fails(&self, debrief: &Debrief, sent: u64) -> Option<u64> {
        let ParentRef::Conversation(id) = &debrief.parent else {
            return None;
        };
        let idle = self.task(id.task()).filter(|task| !task.is_living())?;
        let waits = debrief.state == DeliveryState::Sent;
        let limits = &self.limits;
        waits.then(|| (sent + limits.handshake_ms).max(idle.entered + limits.backoff_first_ms))
    }

    /// Since when nothing of its own keeps a parent from what it has; none while it is in a turn.
    fn between_since(&self, who: &ParentRef) -> Option<u64> {
        let parent = self.parents.get(who)?;
        match (who.has_turns(), &parent.turn) {
            (false, _) => Some(0),
            (true, ParentTurn::In { .. } | ParentTurn::Busy) => None,
            (true, ParentTurn::Between | ParentTurn::Unknown) => Some(parent.since),
        }
    }
}
