//! Owns how a row becomes its checksum. Never reads the database.

use homing_core::ids::TaskId;
use homing_ports::store::{JournalRow, OutboxKind, OutboxRow, TaskRow};
use xxhash_rust::xxh3::xxh3_64;

use crate::blobs::BlobRow;

/// Columns one after the other, so that no two different rows look alike.
pub(crate) struct Columns<'b>(&'b mut Vec<u8>);

impl<'b> Columns<'b> {
    pub(crate) fn of(table: &str, buffer: &'b mut Vec<u8>) -> Self {
        buffer.clear();
        Self(buffer).bytes(table.as_bytes())
    }

    pub(crate) fn number(self, number: u64) -> Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(crate) fn signed(self, number: i64) -> Self {
        self.number(number.cast_unsigned())
    }

    pub(crate) fn flag(self, flag: bool) -> Self {
        self.0.push(flag.into());
        self
    }

    pub(crate) fn bytes(self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(&bytes.len().to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    pub(crate) fn maybe<T>(self, value: Option<T>, put: impl FnOnce(Self, T) -> Self) -> Self {
        let this = self.flag(value.is_some());
        match value {
            Some(value) => put(this, value),
            None => this,
        }
    }

    pub(crate) fn sum(self) -> u64 {
        xxh3_64(self.0)
    }
}

pub(crate) fn of_journal(row: &JournalRow, buffer: &mut Vec<u8>) -> u64 {
    Columns::of("journal", buffer)
        .number(row.seq)
        .maybe(row.task, |columns, (task, number)| columns.number(task.bits()).number(number))
        .maybe(row.outbox.as_deref(), |columns, key| columns.bytes(key.as_bytes()))
        .bytes(row.kind.as_bytes())
        .number(row.tick)
        .signed(row.wall)
        .bytes(&row.body)
        .sum()
}

pub(crate) fn of_task<T: AsRef<str>, B: AsRef<[u8]>>(
    row: &TaskRow<T, B>,
    buffer: &mut Vec<u8>,
) -> u64 {
    Columns::of("task", buffer)
        .number(row.id.bits())
        .number(row.task_seq)
        .bytes(row.state.as_ref().as_bytes())
        .flag(row.living)
        .flag(row.owed)
        .bytes(row.parent.as_ref().as_bytes())
        .number(row.root.bits())
        .maybe(row.session.as_ref(), |columns, text| columns.bytes(text.as_ref().as_bytes()))
        .maybe(row.name.as_ref(), |columns, text| columns.bytes(text.as_ref().as_bytes()))
        .maybe(row.key.as_ref(), |columns, key| columns.bytes(key))
        .signed(row.created_wall)
        .maybe(row.ended_wall, Columns::signed)
        .bytes(row.body.as_ref())
        .sum()
}

/// An idempotency key and whose it is: the two columns that a start reads from an index alone.
pub(crate) fn of_key(key: &[u8; 16], task: TaskId, buffer: &mut Vec<u8>) -> u64 {
    Columns::of("key", buffer).bytes(key).number(task.bits()).sum()
}

/// A task and the other one that it is under, likewise; none for a root.
pub(crate) fn of_kin(task: TaskId, root: TaskId, buffer: &mut Vec<u8>) -> Option<u64> {
    let columns = Columns::of("kin", buffer).number(task.bits()).number(root.bits());
    (task != root).then(|| columns.sum())
}

/// Where a row with a name stands, unless another one stands there already.
pub(crate) fn place(name: &str) -> i64 {
    (xxh3_64(name.as_bytes()) >> 1).cast_signed()
}

pub(crate) fn of_outbox(row: &OutboxRow, buffer: &mut Vec<u8>) -> u64 {
    Columns::of("outbox", buffer)
        .bytes(row.key.as_bytes())
        .flag(match row.kind {
            OutboxKind::Debrief => false,
            OutboxKind::Post => true,
        })
        .bytes(row.parent.as_bytes())
        .maybe(row.closed_wall, Columns::signed)
        .bytes(&row.body)
        .sum()
}

pub(crate) fn of_blob(row: &BlobRow, buffer: &mut Vec<u8>) -> u64 {
    Columns::of("blob", buffer)
        .bytes(row.name.as_bytes())
        .maybe(row.task, |columns, task| columns.number(task.bits()))
        .bytes(&row.digest)
        .number(row.length)
        .maybe(row.bytes.as_deref(), Columns::bytes)
        .sum()
}

/// A blob's file, as an index alone tells it.
pub(crate) fn of_file(digest: &[u8; 32], buffer: &mut Vec<u8>) -> u64 {
    Columns::of("file", buffer).bytes(digest).sum()
}

pub(crate) fn of_taken(first: u64, last: u64, buffer: &mut Vec<u8>) -> u64 {
    Columns::of("taken", buffer).number(first).number(last).sum()
}
