//! The promises, checked after every step; some at a commit, at a send, or when a history is at rest.
//! Each has the number it has in the list of promises.

mod fences;
pub mod orders;
mod retention;
mod world;

use std::collections::{BTreeMap, BTreeSet};

use homing_core::effect::Effect;
use homing_core::fold::{begin, fold};
use homing_core::ids::TaskId;
use homing_core::payload::Digest;
use homing_core::reason::Reason;
use homing_core::record::{OutboxRecord, Record, TaskRecord};
use homing_core::refs::ParentRef;
use homing_core::rules::Event;
use homing_core::task::Task;
use homing_core::words::{Cause, DeliveryState, Notify, State, Target};
use homing_runtime::engine::Batch;

use crate::host::Host;
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
    /// Generations that are told to somebody else than their parent.
    routed: BTreeSet<u32>,
    /// The last generation that the journal knows to be cancelled, or on its way there.
    asked: Option<u32>,
}

impl Past {
    /// A conversation is between turns before its first one, too.
    fn talks(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.talk.is_some())
    }

    fn learns(&mut self, record: &TaskRecord, row: &Task) {
        if let TaskRecord::NoticeRouted { generation, .. } = record {
            self.routed.insert(*generation);
        }
        let stops = row.stop.as_ref().is_some_and(|stop| stop.target == Target::Cancelled);
        let turned = matches!(record, TaskRecord::Moved { .. } | TaskRecord::StopTurned { .. });
        if turned && (row.state == State::Cancelled || stops) {
            self.asked = Some(row.generation);
        }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Checker {
    past: BTreeMap<TaskId, Past>,
    promised: BTreeSet<TaskId>,
    keys: BTreeMap<Digest, TaskId>,
    lines: u64,
    pub visits: BTreeSet<(State, Event)>,
    /// The promise that is not checked, to show that nothing else finds its bug.
    pub off: Option<u8>,
    /// Every task that a history can have.
    pub ids: Vec<TaskId>,
    each_order: BTreeMap<ParentRef, u64>,
    pub orders: orders::Orders,
    before: fences::Before,
    /// Tasks of which two attempts lived at once; none, while 9 is checked.
    doubled: BTreeSet<TaskId>,
    /// What retention took.
    pub gone: retention::Gone,
}

type Check = Result<(), Violation>;

impl Checker {
    fn hold(&self, promise: u8, holds: bool, what: impl FnOnce() -> String) -> Check {
        if holds || self.off == Some(promise) {
            Ok(())
        } else {
            Err(Violation { promise, what: what() })
        }
    }

    /// 1: a launch that returned an id is durable; one key, one task.
    pub fn promised(&mut self, task: TaskId, job: &Job, existing: bool, store: &Store) -> Check {
        self.hold(1, store.tasks.contains_key(&task), || {
            format!("{task} was promised and is not durable")
        })?;
        // A key is free again when its task is past its retention.
        let free = self.gone.tasks.contains(&job.id);
        self.hold(1, existing || free || task == job.id, || {
            format!("{task} is not the task that was launched")
        })?;
        self.promised.insert(task);
        Ok(())
    }

    pub fn cancelled(&mut self, task: TaskId, store: &Store) {
        if let Some(row) = store.tasks.get(&task) {
            let past = self.past.entry(task).or_default();
            // It may have been retried before the answer was heard.
            let generation = past.asked.unwrap_or(row.generation);
            if past.ends.get(&generation) != Some(&State::Completed) {
                past.cancelled.insert(generation);
            }
        }
    }

    /// 12: a cancel that came too late says how it ended before.
    pub fn too_late(&mut self, task: TaskId, state: State, _store: &Store) -> Check {
        let known = self
            .past
            .get(&task)
            .is_some_and(|past| past.talks() || past.ends.values().any(|end| *end == state));
        self.hold(12, known && state.is_terminal(), || {
            format!("{task} was said to have ended as {state}, and had not")
        })
    }

    /// 6: nobody hears of an end before it is durable.
    pub fn heard_end(&self, task: TaskId) -> Check {
        let over = |past: &Past| past.talks() || !past.ends.is_empty();
        let ended = self.past.get(&task).is_some_and(over);
        self.hold(6, ended, || format!("{task} is said to have ended, and has not durably"))
    }

    /// Before a group becomes durable: each of its lines against what is known so far.
    pub fn commits(&mut self, batch: &Batch, store: &Store, host: &Host) -> Check {
        self.hold(15, !batch.written.is_empty() || !batch.purge.is_empty(), || {
            "a group without lines was committed".to_owned()
        })?;
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

    fn task_line(
        &mut self,
        id: TaskId,
        record: &TaskRecord,
        written: &homing_core::step::Written,
        host: &Host,
    ) -> Check {
        self.stays_gone(id)?;
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
                self.hold(1, known.is_none_or(|known| known == id), || {
                    format!("two tasks for one key: {id}")
                })?;
            }
            return self.hold(15, past.row.is_some() && written.task_seq == 1, || {
                format!("{id} begins otherwise than accepted")
            });
        };
        let mut row = before.clone();
        fold(&mut row, record, written.line);
        self.hold(15, written.task_seq == row.seq, || {
            format!("{id} line {} is numbered {}", row.seq, written.task_seq)
        })?;
        match record {
            TaskRecord::Seen { fence, fact } => {
                self.orders.knows(id, *fence, fact);
                let current = fence.attempt == before.attempt
                    && (fence.turn == 0 || fence.turn == before.turn.n);
                self.hold(8, current && !before.state.is_terminal(), || {
                    format!("{id}: {fact:?} of {fence:?} counted at {:?}", before.fence())
                })?;
            }
            TaskRecord::Stale { fence, fact } => {
                self.orders.knows(id, *fence, fact);
                let mut same = row.clone();
                same.seq = before.seq;
                self.hold(8, same == before, || format!("{id}: a stale fact changed the task"))?;
            }
            TaskRecord::Moved { to, .. } => self.moved(past, &before, &row, *to, record, host)?,
            TaskRecord::AttemptOpened { .. } => {
                let most = row.brief.over.attempts.unwrap_or(5);
                self.hold(13, row.tries <= most, || format!("{id} has {} attempts", row.tries))?;
            }
            TaskRecord::GenerationOpened { generation, debrief, .. } => {
                self.opens(&before, *generation, debrief.is_some())?;
            }
            TaskRecord::AskMoved { ask, .. } => {
                let open = before.open_asks().any(|known| known.id == *ask);
                self.hold(8, open, || format!("{id}: {ask} moves and is not open"))?;
            }
            TaskRecord::NoticeMoved { generation, to, .. } if *to == DeliveryState::Settled => {
                let first = past.settled.insert(*generation);
                self.hold(5, first && past.owed.contains(generation), || {
                    format!("{id}: generation {generation} settled twice, or never owed")
                })?;
            }
            _ => {}
        }
        past.learns(record, &row);
        past.row = Some(row);
        Ok(())
    }

    /// 2 and 7: one run after the other, and a person before a debrief.
    fn opens(&self, before: &Task, generation: u32, debriefs: bool) -> Check {
        let id = before.id;
        let waits = before.talk.as_ref().is_some_and(|talk| !talk.waiting.is_empty());
        self.hold(7, !debriefs || !waits, || {
            format!("{id}: a debrief goes before a person's turn")
        })?;
        let next = before.state.is_terminal() && generation == before.generation + 1;
        self.hold(2, next, || format!("{id}: generation {generation} opened in {}", before.state))
    }

    fn moved(
        &mut self,
        past: &mut Past,
        before: &Task,
        row: &Task,
        to: State,
        record: &TaskRecord,
        host: &Host,
    ) -> Check {
        let (id, generation) = (row.id, row.generation);
        if row.cause == Some(Cause::AbortUnconfirmed) {
            self.orders.given_up(id, row.attempt);
        }
        let reopened = past.ends.contains_key(&generation);
        self.hold(2, !reopened, || {
            format!("{id}: generation {generation} moved to {to} after its end")
        })?;
        if !to.is_terminal() {
            return self.timed(before, row, record);
        }
        past.ends.insert(generation, to);
        let owes = *row.parent != ParentRef::None && row.brief.notify != Notify::Silent;
        let quiet =
            matches!(record, TaskRecord::Moved { told: None, .. }) && to != State::Completed;
        if row.notice(generation).is_some() {
            past.owed.insert(generation);
        }
        self.hold(5, !owes || quiet || past.owed.contains(&generation), || {
            format!("{id} ended and nobody is owed a word")
        })?;
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
        self.hold(3, well, || {
            format!("{} completed, but turn {} did not end well at the host", row.id, row.turn.n)
        })?;
        let open = session.is_some_and(|session| {
            session.turns.iter().any(|turn| turn.end.is_none() && !turn.ghost)
        });
        self.hold(3, !open, || {
            format!("{} completed while a turn of it is open at the host", row.id)
        })?;
        self.hold(4, row.evidence.end.is_some(), || {
            format!("{} completed without the record of an end", row.id)
        })
    }

    /// 17: nothing that ends by time ends before its time, on the ledger's clock.
    fn timed(&self, before: &Task, row: &Task, record: &TaskRecord) -> Check {
        let TaskRecord::Moved { reason, .. } = record else {
            return Ok(());
        };
        let limits = homing_core::limits::Limits::default();
        let decided = row.state == State::Stopping
            || matches!(reason, Reason::StopUnconfirmed { .. } | Reason::PauseOver);
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
        self.hold(17, waited >= least, || {
            format!("{}: {reason:?} after {waited} of {least} ms", row.id)
        })
    }

    fn outbox_line(&mut self, record: &OutboxRecord) -> Check {
        if let OutboxRecord::Sealed { debrief } = record {
            let mut last = 0;
            for (task, generation) in &debrief.notices {
                let notice = self
                    .past
                    .get(task)
                    .and_then(|past| past.row.as_ref())
                    .and_then(|row| row.notice(*generation));
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
            self.hold(15, folded == Some(row), || {
                format!("{id}: the row is not the fold of its lines\n{row:?}\n{folded:?}")
            })?;
            let past = &self.past[&id];
            if let Some(generation) =
                past.owed.iter().find(|generation| !past.settled.contains(generation))
            {
                let there = row.notice(*generation).is_some();
                self.hold(6, there, || {
                    format!(
                        "{id}: generation {generation} ended, is not settled, and no row owes it"
                    )
                })?;
            }
        }
        for written in &batch.written {
            if let Record::Task(id, _) = &written.record {
                let there =
                    batch.tasks.iter().any(|task| task.id == *id) || batch.purge.tasks.contains(id);
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
                let gone = self.gone.tasks.contains(task);
                let written = gone || row.is_some_and(|row| row.attempt >= *attempt);
                self.hold(13, written, || {
                    format!("{task}: attempt {attempt} starts and is not in the journal")
                })
            }
            Effect::Prompt { task, turn, attempt, .. } => {
                let row = store.tasks.get(task);
                let known = row.is_some_and(|row| {
                    row.attempt > *attempt || row.turn.n >= *turn || row.state.is_terminal()
                });
                let written = known || self.gone.tasks.contains(task);
                self.hold(6, written, || {
                    format!("{task}: turn {turn} is sent and is not in the journal")
                })
            }
            _ => Ok(()),
        }
    }
}
