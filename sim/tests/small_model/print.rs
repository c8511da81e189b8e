//! What tells two scenes apart. Every field of a row is named once, so that a new one must find its place.

use std::hash::{Hash, Hasher};

use homing_core::evidence::{EndSeen, Evidence};
use homing_core::outbox::Debrief;
use homing_core::record::{Record, TaskRecord};
use homing_core::step::Written;
use homing_core::task::{Live, Notice, Seldom, Stop, Task, Turn as TaskTurn};
use homing_core::words::{Notify, State};
use homing_core::world::Parent;

use crate::world::{Scene, Turn, ids, parent};

impl Scene {
    pub fn fingerprint(&self) -> u64 {
        let mut to = Print::default();
        let rows = |task: &Task, to: &mut Print| feed_task(task, self.tick, to);
        if let Some(engine) = &self.engine {
            let read = self.mail.iter().filter(|mail| mail.is_read()).map(|mail| mail.as_of);
            let lines: Vec<u64> = std::iter::once(self.store.head()).chain(read).collect();
            engine.digest((self.tick, &lines), &mut to, &mut { rows });
            let world = engine.world();
            let tasks: Vec<&Task> = ids().filter_map(|id| world.task(id)).collect();
            feed_rows(&tasks, self.tick, &mut to);
            if let Some(parent) = world.parent(&parent()) {
                feed_parent(parent, self.tick, &mut to);
                let debriefs = parent.flight.iter().chain(&parent.resting);
                debriefs.filter_map(|id| world.debrief(*id)).for_each(|debrief| {
                    feed_debrief(debrief, self.tick, &mut to);
                });
            }
            feed_ends(engine.open_written(), &mut to);
        }
        0xfd_u8.hash(&mut to);
        let tasks: Vec<&Task> = self.store.tasks.values().collect();
        self.feed_stored(&tasks, &mut to);
        self.store.debriefs.values().for_each(|row| feed_debrief(row, self.tick, &mut to));
        if let Some(batch) = &self.flying {
            let tasks: Vec<&Task> = batch.tasks.iter().collect();
            self.feed_stored(&tasks, &mut to);
            batch.debriefs.iter().for_each(|row| feed_debrief(row, self.tick, &mut to));
            feed_ends(&batch.written, &mut to);
        }
        self.feed_outside(&mut to);
        to.finish()
    }

    /// What the store holds is read again after a fault. When none can come any more, only what a performer
    /// reads of a living task counts, and what the promises speak of.
    fn feed_stored(&self, tasks: &[&Task], to: &mut Print) {
        if self.engine.is_none() || self.may_fail() {
            return feed_rows(tasks, self.tick, to);
        }
        for task in tasks {
            if task.is_living() {
                (task.id, task.state, task.attempt, task.turn.n, task.unconfirmed).hash(to);
                (task.session.is_some(), task.notices.len(), &task.telemetry).hash(to);
            } else {
                feed_task(task, self.tick, to);
            }
        }
    }

    fn feed_outside(&self, to: &mut Print) {
        self.flying.is_some().hash(to);
        self.jobs.hash(to);
        for mail in &self.mail {
            mail.word.hash(to);
            // A rebuild asks whether it is older than what the store holds by then.
            (self.may_fail() && mail.is_read()).then(|| mail.as_of < self.store.head()).hash(to);
            if let Some(row) = &mail.row {
                feed_task(row, self.tick, to);
            }
        }
        for (place, session) in &self.host {
            let watched = session.watched && matches!(session.turn, Turn::None | Turn::Running);
            (place, session.turn, watched).hash(to);
        }
        (&self.received, &self.emitted).hash(to);
        (self.launches, self.cancel, self.faults, self.recovering).hash(to);
        (self.hurried, self.left, self.kind, &self.ends, self.broken).hash(to);
        // Asked for by a deadline that might pass early, and by nothing else.
        (self.rebuilt && self.left > 0 && !self.hurried).hash(to);
    }
}

/// 64 bits, each word multiplied into 128 and folded: good enough for millions, and twice as fast as the
/// standard one.
#[derive(Default)]
struct Print(u64);

impl Hasher for Print {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
        self.write_u64(bytes.len() as u64);
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(u64::from(word));
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        let wide = u128::from(self.0.rotate_left(23) ^ word ^ 0x9e37_79b9_7f4a_7c15)
            * u128::from(0xd6e8_feb8_6659_fd93_u64);
        self.0 = (wide as u64 ^ (wide >> 64) as u64).wrapping_add(0x1656_67b1_9e37_79f9);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        homing_core::time::mix(self.0)
    }
}

/// The ends among the lines of a group: all that is looked at of them.
fn feed_ends(written: &[Written], to: &mut impl Hasher) {
    for written in written {
        if let Record::Task(id, TaskRecord::Moved { to: end, .. }) = &written.record
            && end.is_terminal()
        {
            (id, end).hash(to);
        }
    }
}

/// Rows, with their order in the queue and in the journal: of the numbers themselves nothing is read.
fn feed_rows(tasks: &[&Task], tick: u64, to: &mut impl Hasher) {
    tasks.len().hash(to);
    let mut arrivals: Vec<_> = tasks.iter().map(|task| (task.arrival, task.id)).collect();
    arrivals.sort_unstable();
    let mut notices: Vec<_> = tasks
        .iter()
        .flat_map(|task| task.notices.iter().map(|notice| (notice.seq, task.id)))
        .collect();
    notices.sort_unstable();
    arrivals.iter().chain(&notices).for_each(|(_, id)| id.hash(to));
    tasks.iter().for_each(|task| feed_task(task, tick, to));
}

/// A time, as how long ago it was; one that never was is told apart.
fn age(at: u64, tick: u64) -> Option<u64> {
    (at > 0).then(|| tick.wrapping_sub(at))
}

/// What is left out: `seq` and `arrival` (see `feed_rows`), stamps and reasons, which people read and no
/// decision of this small world does, and what the spec fixes.
fn feed_task(task: &Task, tick: u64, to: &mut impl Hasher) {
    let Task {
        id,
        brief: _,
        seq: _,
        state,
        cause,
        reason: _,
        generation,
        attempt,
        tries,
        interruptions,
        model,
        key: _,
        session,
        turn,
        evidence,
        parent: _,
        launched_by: _,
        root: _,
        depth: _,
        batch,
        arrival: _,
        spent: _,
        breaker: _,
        sends_made,
        unconfirmed,
        flagged,
        adopted: _,
        tool: _,
        created: _,
        started: _,
        entered,
        active: _,
        live,
        seldom,
    } = task;
    let Seldom {
        stop,
        after,
        until,
        spent_before: _,
        spent_below: _,
        reserved: _,
        aside: _,
        used_before: _,
        asks_done: _,
        asks,
        sends,
        last_send,
        notices,
        telemetry,
        past,
        orphans,
        landed,
        result,
        late,
        error,
        ended: _,
        // The model has no conversations.
        talk: _,
    } = &**seldom;
    (id, state, cause, generation, attempt, tries, interruptions, model).hash(to);
    (session, batch, telemetry, past.len(), unconfirmed, late.is_some()).hash(to);
    for notice in notices {
        feed_notice(notice, task.brief.notify, tick, to);
    }
    for orphan in orphans {
        (orphan.attempt, &orphan.session, age(orphan.since, tick)).hash(to);
    }
    assert!(until.is_none(), "not in this small world: a pause");
    // Of what led to an end nothing is read again: it has no deadline, and nothing is weighed.
    if state.is_terminal() {
        return;
    }
    (after, asks.len(), sends, last_send, sends_made).hash(to);
    (result.is_some(), error.is_some(), flagged).hash(to);
    landed.map(|at| age(at, tick)).hash(to);
    if let Some(stop) = stop {
        let Stop { target, cause, reason: _, next, quiet } = &**stop;
        (target, cause, next.is_some(), quiet).hash(to);
    }
    let TaskTurn { n, kind, phase, debrief, send, at } = turn;
    (n, kind, phase, debrief, send).hash(to);
    feed_live(live, tick, to);
    feed_evidence(evidence, tick, to);
    // A queued task has no deadline yet.
    if *state != State::Queued {
        (age(*entered, tick), age(*at, tick)).hash(to);
        (task.last_active() > *at).then(|| age(task.last_active(), tick)).hash(to);
    }
}

/// `observed` matters to readers alone, and there are none.
fn feed_live(live: &Live, tick: u64, to: &mut impl Hasher) {
    let Live {
        active: _,
        observed: _,
        probe,
        probed,
        answered,
        lent,
        retaking,
        readers,
        waiters,
        lends_for,
        look,
    } = live;
    look.map(|at| at.saturating_sub(tick)).hash(to);
    (lent, retaking, readers, waiters, lends_for).hash(to);
    (probe.map(|at| age(at, tick)), age(*probed, tick), age(*answered, tick)).hash(to);
}

fn feed_evidence(evidence: &Evidence, tick: u64, to: &mut impl Hasher) {
    let Evidence {
        end,
        exit,
        calls,
        busy,
        todos,
        missing,
        gone,
        interrupted,
        provider_wait,
        doubt,
        tools_ran,
    } = evidence;
    (exit.is_some(), calls, busy, todos, gone, interrupted, doubt, tools_ran).hash(to);
    provider_wait.is_some().hash(to);
    if let Some(EndSeen { finish, error, text, said, tools_ran, tick: at }) = end.as_deref() {
        (finish, error.is_some(), text.is_some(), said, tools_ran, age(*at, tick)).hash(to);
    }
    missing.as_ref().map(|seen| (age(seen.0, tick), age(seen.1, tick))).hash(to);
}

fn feed_notice(notice: &Notice, notify: Notify, tick: u64, to: &mut impl Hasher) {
    let Notice {
        generation,
        to: _,
        batch,
        seq: _,
        state,
        outcome,
        debrief,
        seals,
        each,
        inbox,
        code,
        at,
    } = notice;
    (generation, batch, state, outcome, debrief, seals, each, inbox, code).hash(to);
    // Its age counts within a batch alone.
    (notify == Notify::Debrief).then(|| age(*at, tick)).hash(to);
}

/// Whose row is over is told apart by its key alone.
fn feed_debrief(debrief: &Debrief, tick: u64, to: &mut impl Hasher) {
    let Debrief {
        id,
        parent: _,
        origin: _,
        batch,
        notices,
        text: _,
        nonce: _,
        state,
        tries,
        next,
        first_sent,
        accepted,
        lease,
        code,
        parked,
        closed: _,
        // Words for people.
        why: _,
        again,
        answer: _,
        sealed: _,
    } = debrief;
    (id, state).hash(to);
    if !state.is_over() {
        (batch, notices, tries, next.checked_sub(tick), code, parked, again.is_some()).hash(to);
        (first_sent.map(|at| age(at, tick)), accepted.map(|at| age(at, tick))).hash(to);
        lease.is_some().hash(to);
    }
}

/// The rest of it is an index of the rows.
fn feed_parent(known: &Parent, tick: u64, to: &mut impl Hasher) {
    let Parent {
        living: _,
        batches: _,
        each: _,
        inbox: _,
        sealed: _,
        stranded: _,
        flight,
        resting,
        again: _,
        turn,
        person_waits,
        gone,
        since,
        silent,
        look_next,
        looks,
        aged,
    } = known;
    (flight, resting, person_waits, gone, looks).hash(to);
    (format!("{turn:?}"), age(*since, tick), age(*aged, tick)).hash(to);
    (silent.map(|at| age(at, tick)), look_next.checked_sub(tick)).hash(to);
}
