//! Owns how a row is read and verified: what it yields is what was written.
//! Never answers a question of the seam by itself.

use homing_core::ids::TaskId;
use homing_ports::store::{JournalRow, OutboxKind, OutboxRow, TaskRow};
use rusqlite::types::{FromSqlResult, ValueRef};
use rusqlite::{Connection, Row};

use crate::blobs::BlobRow;
use crate::fault::{Fault, Outcome, damaged, refused};
use crate::sum;

pub(crate) const TASK: &str = "id, task_seq, state, living, owed, parent, root, session, name, key, \
     created_wall, ended_wall, body, sum";
pub(crate) const JOURNAL: &str = "seq, task, task_seq, outbox, kind, tick, wall, body, sum";
pub(crate) const OUTBOX: &str = "key, kind, parent, closed_wall, body, sum";
/// The key at a place, for [`nowhere`].
pub(crate) const OUTBOX_AT: &str = "SELECT key FROM outbox WHERE id = ?1";
pub(crate) const BLOB_AT: &str = "SELECT name FROM blob WHERE id = ?1";
pub(crate) const BLOB: &str = "name, task, digest, length, bytes, sum";

/// A row that its checksum vouches for, and that checksum.
pub(crate) struct Sound<T> {
    pub(crate) row: T,
    pub(crate) sum: u64,
}

/// A number as a column holds it.
pub(crate) fn stored(number: u64) -> Outcome<i64> {
    match i64::try_from(number) {
        Ok(number) => Ok(number),
        Err(_) => refused(format!("{number} is more than the store can count to")),
    }
}

/// The columns of one row, in order. A column of another type is damage.
pub(crate) struct Cells<'r, 's> {
    row: &'r Row<'s>,
    table: &'static str,
    next: usize,
}

impl<'r, 's> Cells<'r, 's> {
    pub(crate) fn of(table: &'static str, row: &'r Row<'s>) -> Self {
        Self { row, table, next: 0 }
    }

    fn cell<T>(&mut self, read: impl FnOnce(ValueRef<'r>) -> FromSqlResult<T>) -> Outcome<T> {
        let value = self.row.get_ref(self.next)?;
        self.next += 1;
        read(value).map_err(|_| self.unreadable())
    }

    fn unreadable(&self) -> Fault {
        Fault::Damaged(format!("{}: column {} of a row cannot be read", self.table, self.next))
    }

    pub(crate) fn signed(&mut self) -> Outcome<i64> {
        self.cell(|value| value.as_i64())
    }

    pub(crate) fn signed_or_none(&mut self) -> Outcome<Option<i64>> {
        self.cell(|value| value.as_i64_or_null())
    }

    pub(crate) fn number(&mut self) -> Outcome<u64> {
        u64::try_from(self.signed()?).map_err(|_| self.unreadable())
    }

    pub(crate) fn number_or_none(&mut self) -> Outcome<Option<u64>> {
        let number = self.signed_or_none()?;
        number.map(u64::try_from).transpose().map_err(|_| self.unreadable())
    }

    pub(crate) fn flag(&mut self) -> Outcome<bool> {
        match self.signed()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.unreadable()),
        }
    }

    pub(crate) fn id(&mut self) -> Outcome<TaskId> {
        let bits = self.number()?;
        let id = TaskId::from_bits(bits);
        if id.bits() == bits { Ok(id) } else { Err(self.unreadable()) }
    }

    pub(crate) fn id_or_none(&mut self) -> Outcome<Option<TaskId>> {
        let Some(bits) = self.number_or_none()? else {
            return Ok(None);
        };
        let id = TaskId::from_bits(bits);
        if id.bits() == bits { Ok(Some(id)) } else { Err(self.unreadable()) }
    }

    pub(crate) fn text(&mut self) -> Outcome<&'r str> {
        self.cell(|value| value.as_str())
    }

    pub(crate) fn text_or_none(&mut self) -> Outcome<Option<&'r str>> {
        self.cell(|value| value.as_str_or_null())
    }

    pub(crate) fn bytes(&mut self) -> Outcome<&'r [u8]> {
        self.cell(|value| value.as_blob())
    }

    pub(crate) fn bytes_or_none(&mut self) -> Outcome<Option<&'r [u8]>> {
        self.cell(|value| value.as_blob_or_null())
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        self.bytes()?.try_into().map_err(|_| self.unreadable())
    }

    pub(crate) fn array_or_none<const N: usize>(&mut self) -> Outcome<Option<[u8; N]>> {
        let bytes = self.bytes_or_none()?;
        bytes.map(<[u8; N]>::try_from).transpose().map_err(|_| self.unreadable())
    }

    /// The last column against the checksum of all before it.
    pub(crate) fn verify(&mut self, place: impl std::fmt::Display, sum: u64) -> Outcome<u64> {
        if self.signed()?.cast_unsigned() != sum {
            return damaged(format!("{place}: the row does not match its checksum"));
        }
        Ok(sum)
    }
}

pub(crate) fn task(row: &Row<'_>, buffer: &mut Vec<u8>) -> Outcome<Sound<TaskRow>> {
    let Sound { row, sum } = task_in_place(row, buffer)?;
    let row = TaskRow {
        id: row.id,
        task_seq: row.task_seq,
        state: row.state.to_owned(),
        living: row.living,
        owed: row.owed,
        parent: row.parent.to_owned(),
        root: row.root,
        session: row.session.map(str::to_owned),
        name: row.name.map(str::to_owned),
        key: row.key,
        created_wall: row.created_wall,
        ended_wall: row.ended_wall,
        body: row.body.to_vec(),
    };
    Ok(Sound { row, sum })
}

/// For one who reads many, and keeps little of each.
pub(crate) fn task_in_place<'r>(
    row: &'r Row<'_>,
    buffer: &mut Vec<u8>,
) -> Outcome<Sound<TaskRow<&'r str, &'r [u8]>>> {
    let mut cells = Cells::of("task", row);
    let task = TaskRow {
        id: cells.id()?,
        task_seq: cells.number()?,
        state: cells.text()?,
        living: cells.flag()?,
        owed: cells.flag()?,
        parent: cells.text()?,
        root: cells.id()?,
        session: cells.text_or_none()?,
        name: cells.text_or_none()?,
        key: cells.array_or_none()?,
        created_wall: cells.signed()?,
        ended_wall: cells.signed_or_none()?,
        body: cells.bytes()?,
    };
    let sum = cells.verify(format_args!("task {}", task.id), sum::of_task(&task, buffer))?;
    Ok(Sound { row: task, sum })
}

/// The row of one task, if there is one, in its last version.
pub(crate) fn find_task(
    conn: &Connection,
    id: TaskId,
    buffer: &mut Vec<u8>,
) -> Outcome<Option<Sound<TaskRow>>> {
    let sql = format!("SELECT {TASK} FROM task WHERE id = ?1");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([stored(id.bits())?])?;
    let Some(row) = found.next()? else {
        return match last_number(conn, id)? {
            0 => Ok(None),
            _ => damaged(format!("task {id}: its row is missing, its journal is there")),
        };
    };
    let sound = task(row, buffer)?;
    if sound.row.id != id {
        return damaged(format!("task {id}: another row stands at its place"));
    }
    latest(conn, &sound.row)?;
    Ok(Some(sound))
}

/// An older version of a row has a good checksum; the journal has gone on without it.
pub(crate) fn latest(conn: &Connection, row: &TaskRow) -> Outcome<()> {
    let last = last_number(conn, row.id)?;
    if last != row.task_seq {
        return damaged(format!(
            "task {}: its row stands at {}, its journal at {last}",
            row.id, row.task_seq
        ));
    }
    Ok(())
}

/// Number of a task's last journal row; 0 when it has none.
fn last_number(conn: &Connection, id: TaskId) -> Outcome<u64> {
    let mut statement = conn.prepare_cached(
        "SELECT max(task_seq) FROM journal INDEXED BY journal_task WHERE task = ?1",
    )?;
    let mut found = statement.query([stored(id.bits())?])?;
    match found.next()? {
        Some(last) => Ok(Cells::of("journal", last).number_or_none()?.unwrap_or(0)),
        None => Ok(0),
    }
}

/// A row that its index does not know is damage; `at` asks for the name at a place.
pub(crate) fn nowhere(conn: &Connection, at: &str, name: &str) -> Outcome<()> {
    let mut statement = conn.prepare_cached(at)?;
    let mut found = statement.query([sum::place(name)])?;
    match found.next()? {
        Some(row) if Cells::of("named", row).text()? == name => {
            damaged(format!("{name}: its row is there, its index does not know it"))
        }
        Some(_) | None => Ok(()),
    }
}

pub(crate) fn journal(row: &Row<'_>, buffer: &mut Vec<u8>) -> Outcome<JournalRow> {
    let mut cells = Cells::of("journal", row);
    let seq = cells.number()?;
    let task = match (cells.id_or_none()?, cells.number_or_none()?) {
        (Some(task), Some(number)) => Some((task, number)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return damaged(format!("journal row {seq}: a task and its number go together"));
        }
    };
    let journal = JournalRow {
        seq,
        task,
        outbox: cells.text_or_none()?.map(str::to_owned),
        kind: cells.text()?.to_owned(),
        tick: cells.number()?,
        wall: cells.signed()?,
        body: cells.bytes()?.to_vec(),
    };
    cells.verify(format_args!("journal row {seq}"), sum::of_journal(&journal, buffer))?;
    Ok(journal)
}

pub(crate) fn outbox_kind(kind: OutboxKind) -> i64 {
    match kind {
        OutboxKind::Debrief => 0,
        OutboxKind::Post => 1,
    }
}

pub(crate) fn outbox(row: &Row<'_>, buffer: &mut Vec<u8>) -> Outcome<Sound<OutboxRow>> {
    let mut cells = Cells::of("outbox", row);
    let outbox = OutboxRow {
        key: cells.text()?.to_owned(),
        kind: if cells.flag()? { OutboxKind::Post } else { OutboxKind::Debrief },
        parent: cells.text()?.to_owned(),
        closed_wall: cells.signed_or_none()?,
        body: cells.bytes()?.to_vec(),
    };
    let sum =
        cells.verify(format_args!("outbox row {}", outbox.key), sum::of_outbox(&outbox, buffer))?;
    Ok(Sound { row: outbox, sum })
}

pub(crate) fn blob(row: &Row<'_>, buffer: &mut Vec<u8>) -> Outcome<Sound<BlobRow>> {
    let mut cells = Cells::of("blob", row);
    let blob = BlobRow {
        name: cells.text()?.to_owned(),
        task: cells.id_or_none()?,
        digest: cells.array()?,
        length: cells.number()?,
        bytes: cells.bytes_or_none()?.map(<[u8]>::to_vec),
    };
    let sum = cells.verify(format_args!("blob {}", blob.name), sum::of_blob(&blob, buffer))?;
    Ok(Sound { row: blob, sum })
}

/// A range of the journal that retention took.
pub(crate) fn taken(row: &Row<'_>, buffer: &mut Vec<u8>) -> Outcome<Sound<(u64, u64)>> {
    let mut cells = Cells::of("taken", row);
    let (first, last) = (cells.number()?, cells.number()?);
    let sum = cells.verify(
        format_args!("taken range {first} to {last}"),
        sum::of_taken(first, last, buffer),
    )?;
    Ok(Sound { row: (first, last), sum })
}
