//! The promises, checked after every step; some at a commit, at a send, or when a history is at rest.
//! Each has the number it has in the list of promises.

use std::collections::{BTreeMap, BTreeSet};

use homing_core::effect::Effect;
use homing_core::fact::Fact;
use homing_core::fold::{begin, fold};
use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_core::input::Input;
use homing_core::payload::{Digest, Payload};
use homing_core::reason::Reason;
use homing_core::record::{OutboxRecord, Record, TaskRecord};
use homing_core::refs::ParentRef;
use homing_core::rules::Event;
use homing_core::task::Task;
use homing_core::words::{Cause, DeliveryState, Notify, State};
use homing_runtime::engine::{Batch, Engine};

use crate::host::Host;
use crate::parents::Parents;
use crate::plan::Job;
use crate::store::Store;

/// A broken promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub promise: u8,
    pub what: String,
}

/// What the checker remembers of one task, from the journal alone.
#[derive(Debug, Clone, Default)]
struct Past {
    row: Option<Task>,
    /// Ends per generation.
    ends: BTreeMap<u32, State>,
    /// Generations whose end is owed to somebody, and those settled.
    owed: BTreeSet<u32>,
    settled: BTreeSet<u32>,
    /// Generations cancelled with an acknowledgement.
    cancelled: BTreeSet<u32>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Checker {
    past: BTreeMap<TaskId, Past>,
    promised: BTreeSet<TaskId>,
    keys: BTreeMap<Digest, TaskId>,
    opened: BTreeMap<(TaskId, u32), u32>,
    lines: u64,
    pub visits: BTreeSet<(State, Event)>,
    /// The promise that is not checked, to show that nothing else finds its bug.
    pub off: Option<u8>,
    /// Every task that a history can have.
    pub ids: Vec<TaskId>,
    each_order: BTreeMap<ParentRef, u64>,
}

type Check = Result<(), Violation>;

impl Checker {
    fn hold(&self, promise: u8, holds: bool, what: impl FnOnce() -> String) -> Check {
        if holds || self.off == Some(promise) { Ok(()) } else { Err(Violation { promise, what: what() }) }
    }

    /// 1: a launch that returned an id is durable; one key, one task.
    pub fn promised(&mut self, task: TaskId, job: &Job, existing: bool, store: &Store) -> Check {
        self.hold(1, store.tasks.contains_key(&task), || format!("{task} was promised and is not durable"))?;
        self.hold(1, existing || task == job.id, || format!("{task} is not the task that was launched"))?;
        self.promised.insert(task);
        Ok(())
    }

    pub fn cancelled(&mut self, task: TaskId, store: &Store) {
        if let Some(row) = store.tasks.get(&task) {
            let generation = row.generation;
            let past = self.past.entry(task).or_default();
            if past.ends.get(&generation) != Some(&State::Completed) {
                past.cancelled.insert(generation);
            }
        }
    }

    /// 12: a cancel that came too late says how it ended before.
    pub fn too_late(&mut self, task: TaskId, state: State, _store: &Store) -> Check {
        let known = self.past.get(&task).is_some_and(|past| past.ends.values().any(|end| *end == state));
        self.hold(12, known && state.is_terminal(), || format!("{task} was said to have ended as {state}, and had not"))
    }

    /// Before a group becomes durable: each of its lines against what is known so far.
    pub fn commits(&mut self, batch: &Batch, store: &Store, host: &Host) -> Check {
        self.hold(15, !batch.written.is_empty(), || "a group without lines was committed".to_owned())?;
        let mut seq = store.head();
        for written in &batch.written {
            seq += 1;
            let at = written.line.seq;
            self.hold(15, at == seq, || format!("line {at} follows line {}", seq - 1))?;
            self.lines += 1;
            match &written.record {
                Record::Task(id, record) => self.task_line(*id, record, written, host)?,
                Record::Outbox(record) => self.outbox_line(record)?,
            }
        }
        Ok(())
    }

    fn task_line(&mut self, id: TaskId, record: &TaskRecord, written: &homing_core::step::Written, host: &Host) -> Check {
        let mut past = self.past.remove(&id).unwrap_or_default();
        let result = self.task_line_of(&mut past, id, record, written, host);
        self.past.insert(id, past);
        result
    }

    fn task_line_of(
        &mut self,
        past: &mut Past,
        id: TaskId,
        record: &TaskRecord,
        written: &homing_core::step::Written,
        host: &Host,
    ) -> Check {
        let Some(before) = past.row.clone() else {
            past.row = begin(id, record, written.line);
            if let TaskRecord::Accepted { brief, .. } = record
                && let Some(key) = brief.key
            {
                let known = self.keys.insert(key, id);
                self.hold(1, known.is_none_or(|known| known == id), || format!("two tasks for one key: {id}"))?;
            }
            return self.hold(15, past.row.is_some() && written.task_seq == 1, || format!("{id} begins otherwise than accepted"));
        };
        let mut row = before.clone();
        fold(&mut row, record, written.line);
        self.hold(15, written.task_seq == row.seq, || format!("{id} line {} is numbered {}", row.seq, written.task_seq))?;
        match record {
            TaskRecord::Seen { fence, fact } => {
                let current = fence.attempt == before.attempt && (fence.turn == 0 || fence.turn == before.turn.n);
                self.hold(8, current && !before.state.is_terminal(), || format!("{id}: {fact:?} of {fence:?} counted at {:?}", before.fence()))?;
            }
            TaskRecord::Stale { .. } => {
                let mut same = row.clone();
                same.seq = before.seq;
                self.hold(8, same == before, || format!("{id}: a stale fact changed the task"))?;
            }
            TaskRecord::Moved { to, .. } => self.moved(past, &before, &row, *to, record, host)?,
            TaskRecord::AttemptOpened { .. } => {
                let most = row.brief.over.attempts.unwrap_or(5);
                self.hold(13, row.tries <= most, || format!("{id} has {} attempts", row.tries))?;
            }
            TaskRecord::GenerationOpened { generation, .. } => {
                let next = before.state.is_terminal() && *generation == before.generation + 1;
                self.hold(2, next, || format!("{id}: generation {generation} opened in {}", before.state))?;
            }
            TaskRecord::NoticeMoved { generation, to, .. } if *to == DeliveryState::Settled => {
                let first = past.settled.insert(*generation);
                self.hold(5, first && past.owed.contains(generation), || format!("{id}: generation {generation} settled twice, or never owed"))?;
            }
            _ => {}
        }
        past.row = Some(row);
        Ok(())
    }

    fn moved(&mut self, past: &mut Past, before: &Task, row: &Task, to: State, record: &TaskRecord, host: &Host) -> Check {
        let (id, generation) = (row.id, row.generation);
        let reopened = past.ends.contains_key(&generation);
        self.hold(2, !reopened, || format!("{id}: generation {generation} moved to {to} after its end"))?;
        if !to.is_terminal() {
            return self.timed(before, row, record);
        }
        past.ends.insert(generation, to);
        let owes = row.parent != ParentRef::None && row.brief.notify != Notify::Silent;
        let quiet = matches!(record, TaskRecord::Moved { told: None, .. }) && to != State::Completed;
        if row.notice(generation).is_some() {
            past.owed.insert(generation);
        }
        self.hold(5, !owes || quiet || past.owed.contains(&generation), || format!("{id} ended and nobody is owed a word"))?;
        let told = row.notices.iter().filter(|notice| notice.generation == generation).count();
        self.hold(5, told <= 1, || format!("{id}: {told} notices of one generation"))?;
        if to == State::Completed {
            self.truth(row, host)?;
            let cancelled = past.cancelled.contains(&generation);
            self.hold(12, !cancelled, || format!("{id} completed after an acknowledged cancel"))?;
        }
        self.timed(before, row, record)
    }

    /// 3 and 4: completed only on the host's own record of the latest turn, and only if it was read.
    fn truth(&self, row: &Task, host: &Host) -> Check {
        let session = host.sessions.get(&(row.id, row.attempt));
        let well = session.is_some_and(|session| session.ended_well(row.turn.n));
        self.hold(3, well, || format!("{} completed, but turn {} did not end well at the host", row.id, row.turn.n))?;
        let open = session.is_some_and(|session| session.turns.iter().any(|turn| turn.end.is_none() && !turn.ghost));
        self.hold(3, !open, || format!("{} completed while a turn of it is open at the host", row.id))?;
        self.hold(4, row.evidence.end.is_some(), || format!("{} completed without the record of an end", row.id))
    }

    /// 17: nothing that ends by time ends before its time, on the ledger's clock.
    fn timed(&self, before: &Task, row: &Task, record: &TaskRecord) -> Check {
        let TaskRecord::Moved { reason, .. } = record else {
            return Ok(());
        };
        let limits = homing_core::limits::Limits::default();
        let decided = row.state == State::Stopping || matches!(reason, Reason::StopUnconfirmed { .. } | Reason::PauseOver);
        if !decided {
            return Ok(());
        }
        let passed = |since: u64| row.entered.saturating_sub(since);
        let (waited, least) = match reason {
            Reason::Quiet { .. } => (passed(before.active), limits.quiet_ms),
            Reason::NeverActive { .. } => (passed(before.turn.at), limits.never_active_ms),
            Reason::StartedTooLate { .. } => (passed(before.entered), limits.start_ms),
            Reason::StopUnconfirmed { .. } => (passed(before.entered), limits.stop_ms),
            Reason::TimeUp { .. } => {
                let since = before.started.map_or(0, |started| started.tick);
                (passed(since), row.brief.over.timeout_ms.unwrap_or(0))
            }
            Reason::PauseOver => match before.until {
                Some(homing_core::task::Until::Tick(tick)) => (row.entered, tick),
                Some(homing_core::task::Until::Wall(_)) | None => return Ok(()),
            },
            _ => return Ok(()),
        };
        self.hold(17, waited >= least, || format!("{}: {reason:?} after {waited} of {least} ms", row.id))
    }

    fn outbox_line(&mut self, record: &OutboxRecord) -> Check {
        if let OutboxRecord::Sealed { debrief } = record {
            let mut last = 0;
            for (task, generation) in &debrief.notices {
                let notice = self.past.get(task).and_then(|past| past.row.as_ref()).and_then(|row| row.notice(*generation));
                let seq = notice.map_or(0, |notice| notice.seq);
                self.hold(7, seq > last, || format!("{} tells {task} out of order", debrief.id))?;
                last = seq;
            }
        }
        Ok(())
    }

    /// 6 and 15, once a group is durable: rows are the fold of their lines; ends, notices and rows agree.
    pub fn committed(&mut self, batch: &Batch, store: &Store) -> Check {
        for id in batch.tasks.iter().map(|task| task.id) {
            let Some(row) = store.tasks.get(&id) else {
                continue;
            };
            let folded = self.past.get(&id).and_then(|past| past.row.as_ref());
            self.hold(15, folded == Some(row), || format!("{id}: the row is not the fold of its lines\n{row:?}\n{folded:?}"))?;
            let past = &self.past[&id];
            if let Some(generation) = past.owed.iter().find(|generation| !past.settled.contains(generation)) {
                let there = row.notice(*generation).is_some();
                self.hold(6, there, || format!("{id}: generation {generation} ended, is not settled, and no row owes it"))?;
            }
        }
        for written in &batch.written {
            if let Record::Task(id, _) = &written.record {
                let there = batch.tasks.iter().any(|task| task.id == *id) || batch.purge.contains(id);
                self.hold(6, there, || format!("{id} has a line and no row in one group"))?;
            }
        }
        Ok(())
    }

    /// What is about to be done in the world was written down before.
    pub fn performs(&mut self, effect: &Effect, store: &Store) -> Check {
        match effect {
            Effect::Open { task, attempt, .. } => {
                let row = store.tasks.get(task);
                let written = row.is_some_and(|row| row.attempt >= *attempt);
                self.hold(13, written, || format!("{task}: attempt {attempt} starts and is not in the journal"))
            }
            Effect::Prompt { task, turn, attempt, .. } => {
                let row = store.tasks.get(task);
                let written = row.is_some_and(|row| row.attempt > *attempt || row.turn.n >= *turn || row.state.is_terminal());
                self.hold(6, written, || format!("{task}: turn {turn} is sent and is not in the journal"))
            }
            _ => Ok(()),
        }
    }

    /// 20: the fence holds: a child's text cannot choose silence or end its own quotation.
    pub fn composed(&self, text: &Payload, nonce: &str) -> Check {
        let shown = String::from_utf8_lossy(&text.bytes);
        let token = homing_core::silence::token(nonce);
        let forged = shown.lines().any(|line| line.contains("CHILD-BYTES") && line.contains(&token));
        self.hold(20, !forged, || "a child's text carries the token of silence".to_owned())?;
        let bare = shown.lines().any(|line| line.starts_with("CHILD-BYTES"));
        self.hold(20, !bare, || "a child's text stands outside its fence".to_owned())
    }

    /// 6, 7: what a parent receives was sealed and durable, and comes in order.
    pub fn receives(&mut self, who: &ParentRef, key: DebriefId, store: &Store, parents: &Parents) -> Check {
        let Some(debrief) = store.debriefs.get(&key) else {
            return self.hold(6, false, || format!("{key} is received and was never sealed"));
        };
        for (task, generation) in &debrief.notices {
            let ended = self.past.get(task).is_some_and(|past| past.ends.contains_key(generation));
            self.hold(6, ended, || format!("{key} tells of {task}, which has not ended durably"))?;
            let twice = parents.all.get(who).is_some_and(|parent| {
                parent.received.keys().filter(|other| **other != key).any(|other| {
                    store.debriefs.get(other).is_some_and(|other| {
                        other.state != DeliveryState::Withdrawn && other.notices.contains(&(*task, *generation))
                    })
                })
            });
            self.hold(5, !twice, || format!("{who} is told of {task} under two keys"))?;
        }
        if let Some((task, generation)) = debrief.notices.first()
            && debrief.notices.len() == 1
            && let Some(row) = self.past.get(task).and_then(|past| past.row.as_ref())
            && let Some(notice) = row.notice(*generation)
            && notice.each
            && row.ended.is_some_and(|ended| ended.tick == notice.at)
        {
            let last = self.each_order.entry(who.clone()).or_default();
            let seq = notice.seq;
            let first = !parents.all.get(who).is_some_and(|parent| parent.received.contains_key(&key));
            let (before, ordered) = (*last, !first || seq > *last);
            *last = seq.max(before);
            self.hold(7, ordered, || format!("{who} hears of line {seq} after line {before}"))?;
        }
        Ok(())
    }

    /// 7: no send into a turn that the engine was told of.
    pub fn sends(&self, who: &ParentRef, parents: &Parents) -> Check {
        let told = parents.all.get(who).is_some_and(|parent| parent.told.is_some() && parent.told == parent.turn);
        self.hold(7, !told, || format!("a debrief is sent into a turn of {who} that was reported"))
    }

    /// 6, 20: what a room receives was sealed and durable, and holds nothing of a child's.
    pub fn posts(&self, post: PostId, text: &str, store: &Store) -> Check {
        self.hold(6, store.posts.contains_key(&post), || format!("{post} is posted and was never sealed"))?;
        self.hold(20, !text.contains("CHILD-BYTES"), || format!("a child's bytes reach a room: {text}"))?;
        self.hold(20, !text.contains("silent:"), || format!("a token of silence reaches a room: {text}"))
    }

    /// 9, 10, 11, 19: after every input.
    pub fn after_input(&mut self, engine: Option<&Engine>, by: Option<&Input>, since: u64) -> Check {
        let Some(engine) = engine else {
            return Ok(());
        };
        let world = engine.world();
        let mut held: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
        for id in &self.ids {
            if let Some(task) = world.task(*id) {
                let entry = held.entry(&task.key).or_default();
                entry.0 += u32::from(task.state.holds_slot() && !task.live.lent);
                entry.1 += u32::from(task.state == State::Queued && task.after.is_empty());
            }
        }
        for written in engine.open_written().iter().filter(|written| written.line.seq > since) {
            self.isolated(by, written, world)?;
            self.within_limit(written, engine)?;
        }
        for (name, key) in world.keys() {
            let counted = held.get(&**name).copied().unwrap_or_default();
            let agrees = counted.0 == key.held && counted.1 == key.queue.len() as u32;
            self.hold(11, agrees, || format!("{name}: {} held and {} queued, counted {counted:?}", key.held, key.queue.len()))?;
        }
        Ok(())
    }

    /// 10: nothing starts on a key that is at its limit.
    fn within_limit(&self, written: &homing_core::step::Written, engine: &Engine) -> Check {
        let Record::Task(id, TaskRecord::Moved { to, reason, .. }) = &written.record else {
            return Ok(());
        };
        let begins = *to == State::Starting || matches!(reason, Reason::SlotRetaken { .. });
        let stops = engine.open_written().iter().any(|other| {
            matches!(&other.record, Record::Task(_, TaskRecord::Moved { to: State::Stopping, .. } | TaskRecord::Accepted { adopted: Some(_), .. }))
        });
        let Some(task) = engine.world().task(*id).filter(|_| begins && !stops) else {
            return Ok(());
        };
        let limit = engine.world().limit_of(task);
        let held = engine.world().key(&task.key).map_or(0, |key| key.held);
        self.hold(10, limit == 0 || held <= limit, || format!("{id} begins, and {held} of {limit} slots of {} are held", task.key))
    }

    /// 19: a fact about one task writes only of it, its kin, those that wait for it or its slot.
    fn isolated(&self, by: Option<&Input>, written: &homing_core::step::Written, world: &homing_core::world::World) -> Check {
        let (Some(Input::Observed { task, .. }), Record::Task(other, record)) = (by, &written.record) else {
            return Ok(());
        };
        if task == other {
            return Ok(());
        }
        let (Some(one), Some(two)) = (world.task(*task), world.task(*other)) else {
            return Ok(());
        };
        let kin = one.root == two.root;
        let slot = matches!(record, TaskRecord::TurnOpened { .. } | TaskRecord::Moved { to: State::Starting | State::Running, .. });
        let waited = matches!(record, TaskRecord::DependencyMet { .. } | TaskRecord::Moved { cause: Some(Cause::Dependency | Cause::ParentEnded), .. });
        let told = matches!(record, TaskRecord::NoticeMoved { .. } | TaskRecord::NoticeRouted { .. });
        self.hold(19, kin || slot || waited || told, || format!("a fact of {task} writes {record:?} of {other}"))
    }

    /// 9 and 10, at the host itself: what runs there is what the ledger says runs.
    pub fn at_host(&mut self, store: &Store, host: &Host) -> Check {
        for ((task, attempt), made) in &host.made {
            self.hold(9, *made <= 1, || format!("{task}: attempt {attempt} was started {made} times"))?;
        }
        let mut live: BTreeMap<TaskId, Vec<u32>> = BTreeMap::new();
        for ((task, attempt), session) in &host.sessions {
            if session.is_running() {
                live.entry(*task).or_default().push(*attempt);
            }
        }
        for (task, attempts) in live {
            let given_up = store.tasks.get(&task).is_some_and(|row| row.unconfirmed || !row.orphans.is_empty());
            self.hold(9, attempts.len() <= 1 || given_up, || format!("{task}: attempts {attempts:?} live at once"))?;
            let row = store.tasks.get(&task);
            let accounted = row.is_none_or(|row| row.state.holds_slot() || given_up || row.adopted);
            self.hold(10, accounted, || format!("{task} is {:?} and runs at the host", row.map(|row| (row.state, row.cause))))?;
        }
        Ok(())
    }

    /// 18: whoever asked has heard.
    pub fn all_heard(&self, waiting: usize) -> Check {
        self.hold(18, waiting == 0, || format!("{waiting} requests were never answered"))
    }

    /// 1, 5, 11, 18: when nothing happens any more.
    pub fn at_rest(&mut self, engine: Option<&Engine>, store: &Store, host: &Host, parents: &Parents, steps: u64) -> Check {
        self.hold(18, steps >= 50, || format!("a history of {steps} steps"))?;
        self.at_host(store, host)?;
        for task in &self.promised {
            self.hold(1, store.tasks.contains_key(task), || format!("{task} was promised and is gone"))?;
        }
        for (id, row) in &store.tasks {
            self.hold(18, !row.is_living(), || format!("{id} never ended: {} {:?} {:?}", row.state, row.reason, row.evidence))?;
            for notice in &row.notices {
                let rests = notice.inbox || notice.state == DeliveryState::Undeliverable || notice.debrief.and_then(|key| store.debriefs.get(&key)).is_some_and(|debrief| debrief.parked);
                let behind = store.debriefs.values().any(|debrief| debrief.parent == notice.to && debrief.parked);
                self.hold(18, rests || behind, || format!("{id}: {notice:?} has no receipt"))?;
            }
            for generation in self.past.get(id).into_iter().flat_map(|past| past.ends.keys()) {
                let seen = parents.telemetry.contains(&(*id, *generation));
                self.hold(18, seen, || format!("{id}: generation {generation} is not in telemetry"))?;
            }
        }
        for debrief in store.debriefs.values().filter(|debrief| debrief.state == DeliveryState::Settled) {
            let pushed = matches!(debrief.parent, ParentRef::Session { .. } | ParentRef::Conversation(_) | ParentRef::Webhook(_));
            let there = parents.all.get(&debrief.parent).is_some_and(|parent| parent.received.contains_key(&debrief.id));
            self.hold(5, !pushed || there, || format!("{} is settled, and its parent never had it", debrief.id))?;
        }
        if let Some(engine) = engine {
            for (name, key) in engine.world().keys() {
                self.hold(11, key.held == 0, || format!("{name}: {} slots held at rest", key.held))?;
            }
        }
        Ok(())
    }
}

/// Whether a fact is the host's own record of an end.
pub fn is_record(fact: &Fact) -> bool {
    matches!(fact, Fact::Ended { .. } | Fact::Exited { .. } | Fact::Looked { .. })
}
