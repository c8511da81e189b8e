//! The ledger's seam: one committer that writes whole groups, readers apart.
//!
//! A store keeps rows; it never decides. Bodies are JSON that the core wrote and the core reads; what a
//! store needs for look-ups stands beside them as columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use homing_core::ids::TaskId;

/// One line of the journal. `seq` is global and gap-free as written; `task_seq` is gap-free per task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalRow {
    pub seq: u64,
    /// The task it speaks of, and its number there (from 1).
    pub task: Option<(TaskId, u64)>,
    /// Key of the debrief or post that it speaks of, if it is of no task.
    pub outbox: Option<String>,
    /// The record's kind, in words that `events` prints.
    pub kind: String,
    /// Milliseconds on the ledger's own clock, which stands still while nothing runs.
    pub tick: u64,
    /// Milliseconds since the epoch, for people.
    pub wall: i64,
    pub body: Vec<u8>,
}

/// A task as it stands after the group. What it says is its own, or borrowed from where it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow<T = String, B = Vec<u8>> {
    pub id: TaskId,
    /// Number of its last journal row.
    pub task_seq: u64,
    pub state: T,
    /// Not terminal.
    pub living: bool,
    /// Something is still owed about it: a notice without its receipt, a telemetry record not taken.
    pub owed: bool,
    pub parent: T,
    pub root: TaskId,
    /// `HOST:SESSION`, once known.
    pub session: Option<T>,
    pub name: Option<T>,
    /// Digest of its idempotency key.
    pub key: Option<[u8; 16]>,
    pub created_wall: i64,
    pub ended_wall: Option<i64>,
    pub body: B,
}

/// What an outbox row carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutboxKind {
    Debrief,
    Post,
}

/// A delivery that is owed until its receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    /// `db_…` or `po_…`: the idempotency key of every send.
    pub key: String,
    pub kind: OutboxKind,
    pub parent: String,
    /// When it was over, milliseconds since the epoch; none while something is owed.
    pub closed_wall: Option<i64>,
    pub body: Vec<u8>,
}

impl OutboxRow {
    pub fn is_open(&self) -> bool {
        self.closed_wall.is_none()
    }
}

/// Bytes by name: prompts, results, sealed debriefs. Written once under a name; the same name with the
/// same bytes again is harmless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// `TASK/part` for what belongs to a task, else the key of a debrief or a post: retention takes it
    /// with what it belongs to.
    pub name: String,
    /// The task whose retention takes it along, if any.
    pub task: Option<TaskId>,
    pub bytes: Arc<[u8]>,
}

/// The ledger's clock: `tick = base + CLOCK_MONOTONIC` while `boot` lasts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClockMark {
    pub boot: String,
    /// Tick and monotonic reading taken together.
    pub tick: u64,
    pub mono: u64,
}

/// What retention takes: row, journal rows and blobs of each; the taken ranges are recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Purge {
    /// Ended, with nothing owed.
    pub tasks: Vec<TaskId>,
    /// Keys of closed rows.
    pub outbox: Vec<String>,
}

/// What commits together, or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// Gap-free, ascending; the first follows the last committed one.
    pub journal: Vec<JournalRow>,
    /// The last state of each task that the group touched; one row a task.
    pub tasks: Vec<TaskRow>,
    pub outbox: Vec<OutboxRow>,
    pub blobs: Vec<Blob>,
    pub purge: Purge,
    pub clock: ClockMark,
}

/// The numbers that a group adds to one task's journal; both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub first: u64,
    pub last: u64,
}

impl Group {
    /// What the group adds to each task's journal, once its numbers are known to be right by
    /// themselves: the global ones follow `head` without a gap, each task's are gap-free, every task
    /// that is spoken of has its row, one each, and that row ends where its journal rows end.
    /// Whether a run follows what is stored already is for [`TaskRow::follows`].
    pub fn runs(&self, head: u64) -> Result<BTreeMap<TaskId, Option<Run>>, CommitError> {
        let mut spoken: BTreeMap<TaskId, Run> = BTreeMap::new();
        for (expected, row) in (head.saturating_add(1)..).zip(&self.journal) {
            if row.seq != expected {
                return refused(format!("journal row {} where {expected} follows", row.seq));
            }
            let Some((task, number)) = row.task else {
                continue;
            };
            let before = spoken.get(&task).map_or(number.checked_sub(1), |run| Some(run.last));
            if before.is_none_or(|before| number != before + 1) {
                return refused(format!(
                    "{task}: its journal row {number} does not follow the one before"
                ));
            }
            spoken.entry(task).or_insert(Run { first: number, last: number }).last = number;
        }
        let mut runs = BTreeMap::new();
        for row in &self.tasks {
            let run = spoken.remove(&row.id);
            if run.is_some_and(|run| run.last != row.task_seq) {
                return refused(format!(
                    "{}: its row ends at {}, not where its journal does",
                    row.id, row.task_seq
                ));
            }
            if runs.insert(row.id, run).is_some() {
                return refused(format!("{}: two rows of one task in a group", row.id));
            }
        }
        match spoken.first_key_value() {
            Some((task, _)) => refused(format!("{task}: journal rows without the task's row")),
            None => Ok(runs),
        }
    }
}

impl TaskRow {
    /// Whether the row goes on from `before`, the number stored so far (0 when there is no row).
    pub fn follows(&self, before: u64, run: Option<Run>) -> Result<(), CommitError> {
        let starts = run.map_or(self.task_seq, |run| run.first - 1);
        if starts != before {
            return refused(format!(
                "{}: its journal stands at {before}, not at {starts}",
                self.id
            ));
        }
        Ok(())
    }
}

impl<T, B> TaskRow<T, B> {
    /// Living, or something is owed about it: what a start needs.
    pub fn is_hot(&self) -> bool {
        self.living || self.owed
    }
}

fn refused<T>(what: String) -> Result<T, CommitError> {
    Err(CommitError::Failed { what })
}

/// A task's row as a start needs it: all that its columns say is in its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    pub id: TaskId,
    pub body: Box<[u8]>,
}

impl<T, B: AsRef<[u8]>> From<&TaskRow<T, B>> for Kept {
    fn from(row: &TaskRow<T, B>) -> Self {
        Self { id: row.id, body: row.body.as_ref().into() }
    }
}

impl PartialEq<TaskRow> for Kept {
    fn eq(&self, row: &TaskRow) -> bool {
        (self.id, &*self.body) == (row.id, &*row.body)
    }
}

/// What a start needs: the living, the owed, and the living's relatives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Recovered {
    /// Of rows with `living` or `owed`, and of every row whose root has a living task. By id.
    pub tasks: Vec<Kept>,
    /// Open rows, by key.
    pub outbox: Vec<OutboxRow>,
    /// Every retained idempotency key. By digest.
    pub keys: Vec<([u8; 16], TaskId)>,
    /// Number of the last journal row; 0 when none was ever written.
    pub head: u64,
    pub clock: ClockMark,
}

/// A page of tasks, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskQuery {
    pub state: Option<String>,
    pub living: Option<bool>,
    /// Something is still owed about it, or nothing is.
    pub owed: Option<bool>,
    pub parent: Option<String>,
    pub root: Option<TaskId>,
    pub name: Option<String>,
    /// Ids that begin so (`bg_…`).
    pub prefix: Option<String>,
    pub session: Option<String>,
    /// Goes on after this one, as the last page ended: (created_wall, id).
    pub before: Option<(i64, TaskId)>,
    pub limit: usize,
}

impl TaskQuery {
    /// Whether a row is one that was asked for, `before` and `limit` apart.
    pub fn admits(&self, row: &TaskRow) -> bool {
        fn same<T: PartialEq>(asked: Option<&T>, found: &T) -> bool {
            asked.is_none_or(|asked| asked == found)
        }
        same(self.state.as_ref(), &row.state)
            && same(self.living.as_ref(), &row.living)
            && same(self.owed.as_ref(), &row.owed)
            && same(self.parent.as_ref(), &row.parent)
            && same(self.root.as_ref(), &row.root)
            && (self.name.is_none() || self.name == row.name)
            && (self.session.is_none() || self.session == row.session)
            && self.prefix.as_deref().is_none_or(|prefix| {
                prefix_range(prefix).is_some_and(|(low, high)| (low..=high).contains(&row.id))
            })
    }
}

/// The first and the last id that begin so; `None` when no id can.
pub fn prefix_range(prefix: &str) -> Option<(TaskId, TaskId)> {
    const WHOLE: usize = TaskId::PREFIX.len() + 12;
    let prefix = if TaskId::PREFIX.starts_with(prefix) { TaskId::PREFIX } else { prefix };
    if !prefix.is_ascii() || prefix.len() > WHOLE {
        return None;
    }
    let low = format!("{prefix:0<WHOLE$}").parse().ok()?;
    let high = format!("{prefix:z<WHOLE$}").parse().ok()?;
    Some((low, high))
}

/// Something the store's own check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Table and row, in words.
    pub place: String,
    pub what: String,
}

/// Why the store could not be opened or read. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("the store at {path} is damaged: {what}")]
    Damaged { path: String, what: String },
    #[error(
        "the store at {path} was written by a newer release (schema {found}, this one knows {known})"
    )]
    Newer { path: String, found: u32, known: u32 },
    #[error("{path} is not a homing store: {what}")]
    Foreign { path: String, what: String },
    #[error("the store at {path} is held by another process")]
    Held { path: String },
    /// `floor` is the highest number that retention ever took: only after it is the journal whole.
    #[error(
        "the journal is whole only after {floor}, and {asked} was asked for; retention took what is missing"
    )]
    BelowFloor { asked: u64, floor: u64 },
    #[error("the store cannot be read: {what}")]
    Unavailable { what: String },
}

/// How a commit failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// Nothing of the group is there, and nothing will be.
    #[error("the group was not committed: {what}")]
    Failed { what: String },
    /// It may or may not be there: only reading tells.
    #[error("whether the group was committed is not known: {what}")]
    Unknown { what: String },
    /// A sync failed: what the kernel holds is not to be trusted. The process must end.
    #[error("the disk did not confirm a write: {what}")]
    Fatal { what: String },
}

/// The writing half; owned by the committer thread alone.
pub trait Store: Send {
    /// Reads and verifies what a start needs.
    fn recover(&mut self) -> Result<Recovered, StoreError>;

    /// Commits the group whole and durably, or says how not.
    fn commit(&mut self, group: &Group) -> Result<(), CommitError>;

    /// A reading half of its own. Sees committed groups only.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;
}

/// The reading half. A wrong value is never served: a row whose checksum fails is an error.
pub trait Reader: Send {
    /// The row, and the head of the journal that it was read at.
    fn task(&self, id: TaskId) -> Result<(Option<TaskRow>, u64), StoreError>;
    fn tasks(&self, query: &TaskQuery) -> Result<Vec<TaskRow>, StoreError>;
    /// Rows after `after`, ascending, without a gap. A cursor below the floor (the highest number that
    /// retention ever took) is `BelowFloor`; one at it or above gets everything that was written since.
    fn journal(&self, after: u64, limit: usize) -> Result<Vec<JournalRow>, StoreError>;
    /// One task's rows after its number `after`, ascending, without a gap; retention takes them all or none.
    fn task_journal(
        &self,
        id: TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalRow>, StoreError>;
    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;
    fn outbox(&self, key: &str) -> Result<Option<OutboxRow>, StoreError>;
    /// Tasks that ended before `wall`, with nothing owed and no living task under the same root, and
    /// outbox rows closed before it; of each at most `limit`, oldest first.
    fn purgeable(&self, wall: i64, limit: usize) -> Result<Purge, StoreError>;
    /// Number of the last committed journal row.
    fn head(&self) -> Result<u64, StoreError>;
    /// Verifies every row there is, and the file itself; empty when all is well.
    fn check(&self) -> Result<Vec<Damage>, StoreError>;
}
