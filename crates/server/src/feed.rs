//! The journal as it grows, read once for all who follow it: whoever is at its end is handed lines that are already
//! written out. It keeps nobody's place: one who is behind, or falls behind, reads the ledger from where it was.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use homing_core::ids::TaskId;
use homing_ports::store::JournalRow;
use homing_runtime::{Homing, shown};
use tokio::sync::broadcast::{self, Receiver};

use crate::stream;

/// Lines of one page.
const PAGE: usize = 200;
/// Pages that one who follows can be behind; then it reads by itself.
const AHEAD: usize = 64;
/// After a page lines are gathered for a while, so that what decides and those who ask have most of the processor:
/// the longer, the more there are to hand it to.
const EACH: Duration = Duration::from_micros(45);
const GATHER_MIN: Duration = Duration::from_millis(5);
const GATHER_MAX: Duration = Duration::from_millis(50);

/// Lines that follow each other.
pub(crate) struct Lines {
    /// The number of the line before the first.
    pub after: u64,
    pub last: u64,
    /// As events; none when they could not be read here: whoever follows reads by itself, and hears why not.
    pub events: Option<Bytes>,
    /// The tasks they speak of.
    tasks: BTreeSet<TaskId>,
    /// Whether a task moved, and so may have ended.
    moved: bool,
}

impl Lines {
    fn of(after: u64, rows: &[JournalRow]) -> Self {
        let event =
            |row: &JournalRow| stream::event(&row.seq.to_string(), &row.kind, &shown::event(row));
        Self {
            after,
            last: rows.last().map_or(after, |row| row.seq),
            events: Some(rows.iter().map(event).collect::<String>().into()),
            tasks: rows.iter().filter_map(|row| row.task).map(|(id, _)| id).collect(),
            moved: rows.iter().any(|row| row.kind == "moved"),
        }
    }

    fn unread(after: u64, last: u64) -> Self {
        Self { after, last, events: None, tasks: BTreeSet::new(), moved: true }
    }

    /// Whether there may be one of this task among them.
    pub(crate) fn speaks_of(&self, task: TaskId) -> bool {
        self.events.is_none() || self.tasks.contains(&task)
    }

    /// Whether an end may be among them.
    pub(crate) fn has_moved(&self) -> bool {
        self.moved
    }
}

/// See the module. Reads only while somebody follows.
#[derive(Clone)]
pub(crate) struct Feed(Arc<Inner>);

struct Inner {
    homing: Homing,
    lines: broadcast::Sender<Arc<Lines>>,
    /// Whether there is one who reads.
    reads: Mutex<bool>,
}

impl Feed {
    pub(crate) fn new(homing: Homing) -> Self {
        let (lines, _) = broadcast::channel(AHEAD);
        Self(Arc::new(Inner { homing, lines, reads: Mutex::default() }))
    }

    /// All lines that are written from now on. Those before are read from the ledger, afterwards: so none is missed.
    pub(crate) fn follow(&self) -> Receiver<Arc<Lines>> {
        let mut reads = self.0.reads();
        let follows = self.0.lines.subscribe();
        if !*reads {
            *reads = true;
            let head = self.0.homing.head();
            let after = *head.borrow();
            tokio::spawn(Arc::clone(&self.0).read(head, after));
        }
        follows
    }
}

impl Inner {
    fn reads(&self) -> MutexGuard<'_, bool> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read(self: Arc<Self>, mut head: tokio::sync::watch::Receiver<u64>, mut after: u64) {
        while let Ok(last) = head.wait_for(|last| *last > after).await.map(|last| *last) {
            if self.is_over() {
                return;
            }
            let lines = match self.homing.events(after, PAGE).await {
                Ok(rows) if rows.is_empty() => Lines::unread(after, last),
                Ok(rows) => Lines::of(after, &rows),
                Err(_) => Lines::unread(after, last),
            };
            after = lines.last;
            // The last of them may have gone meanwhile.
            let followers = self.lines.send(Arc::new(lines)).unwrap_or(0);
            let gather = EACH * u32::try_from(followers).unwrap_or(u32::MAX);
            tokio::time::sleep(gather.clamp(GATHER_MIN, GATHER_MAX)).await;
        }
        // Nothing is written any more: whoever follows, or comes now, asks the ledger and hears so.
        *self.reads() = false;
        drop(self.lines.send(Arc::new(Lines::unread(after, after))));
    }

    /// With nobody left nothing is read; the next one who follows begins it anew.
    fn is_over(&self) -> bool {
        let mut reads = self.reads();
        let over = self.lines.receiver_count() == 0;
        *reads = !over;
        over
    }
}
