//! Owns the reading half: a connection of its own, one snapshot a question, every row verified.
//! Never writes.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use homing_core::ids::TaskId;
use homing_ports::store::{
    Damage, JournalRow, OutboxRow, Purge, Reader, StoreError, TaskQuery, TaskRow,
};
use rusqlite::{Connection, OpenFlags, params_from_iter};

use crate::blobs::{self, BlobRow};
use crate::check;
use crate::fault::{Fault, Outcome, damaged};
use crate::files::Files;
use crate::mark::Mark;
use crate::meta::Meta;
use crate::query;
use crate::rows::{self, Cells, stored};

/// Reads committed groups while the store goes on writing.
pub struct SqliteReader {
    conn: Connection,
    files: Files,
}

impl fmt::Debug for SqliteReader {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SqliteReader").field("path", &self.files.db).finish_non_exhaustive()
    }
}

impl SqliteReader {
    /// Reads beside whoever holds the store at the path. Does not examine it first: that was the holder's.
    pub fn beside(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open(&Files::at(path.as_ref()))
    }

    pub(crate) fn open(files: &Files) -> Result<Self, StoreError> {
        let conn = connect(files).map_err(|fault| fault.on_read(files))?;
        Ok(Self { conn, files: files.clone() })
    }

    /// Asks everything of one moment.
    fn ask<T>(&self, question: impl FnOnce(&Connection) -> Outcome<T>) -> Result<T, StoreError> {
        self.conn
            .unchecked_transaction()
            .map_err(Fault::from)
            .and_then(|snapshot| question(&snapshot))
            .map_err(|fault| fault.on_read(&self.files))
    }

    fn find_blob(&self, name: &str) -> Result<Option<BlobRow>, StoreError> {
        self.ask(|conn| blobs::find(conn, name, &mut Vec::new()))
    }
}

fn connect(files: &Files) -> Outcome<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&files.db, flags)?;
    conn.busy_timeout(Duration::from_secs(5))?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    conn.set_prepared_statement_cache_capacity(32);
    Ok(conn)
}

fn rows_at_most(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

fn find_task(conn: &Connection, id: TaskId) -> Outcome<Option<TaskRow>> {
    Ok(rows::find_task(conn, id, &mut Vec::new())?.map(|found| found.row))
}

fn find_tasks(conn: &Connection, query: &TaskQuery) -> Outcome<Vec<TaskRow>> {
    let mut tasks = Vec::new();
    let mut buffer = Vec::new();
    for part in query::parts(query)? {
        let mut statement = conn.prepare_cached(&part.sql)?;
        let mut found = statement.query(params_from_iter(part.values))?;
        while let Some(row) = found.next()? {
            let task = rows::task(row, &mut buffer)?.row;
            if !query.admits(&task) {
                return damaged(format!("an index tells task {} for another", task.id));
            }
            rows::latest(conn, &task)?;
            tasks.push(task);
        }
    }
    tasks.sort_by_key(|task| std::cmp::Reverse((task.created_wall, task.id)));
    tasks.truncate(query.limit);
    Ok(tasks)
}

fn journal_after(
    conn: &Connection,
    meta: &Meta,
    after: u64,
    limit: usize,
) -> Outcome<Vec<JournalRow>> {
    let sql = format!("SELECT {} FROM journal WHERE seq > ?1 ORDER BY seq LIMIT ?2", rows::JOURNAL);
    let after = after.min(meta.head);
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query((stored(after)?, rows_at_most(limit)))?;
    let mut buffer = Vec::new();
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let row = rows::journal(row, &mut buffer)?;
        let expected = after + 1 + rows.len() as u64;
        if row.seq != expected {
            return damaged(format!("journal row {expected} is missing"));
        }
        rows.push(row);
    }
    let last = after + rows.len() as u64;
    if last > meta.head || (rows.len() < limit && last < meta.head) {
        return damaged(format!(
            "the journal ends at {last} and was committed up to {}",
            meta.head
        ));
    }
    Ok(rows)
}

fn task_journal_after(
    conn: &Connection,
    id: TaskId,
    after: u64,
    limit: usize,
) -> Outcome<Vec<JournalRow>> {
    let committed = find_task(conn, id)?.map_or(0, |task| task.task_seq);
    let after = after.min(committed);
    let sql = format!(
        "SELECT {} FROM journal INDEXED BY journal_task WHERE task = ?1 AND task_seq > ?2 \
         ORDER BY task_seq LIMIT ?3",
        rows::JOURNAL
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query((stored(id.bits())?, stored(after)?, rows_at_most(limit)))?;
    let mut buffer = Vec::new();
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let row = rows::journal(row, &mut buffer)?;
        let expected = after + 1 + rows.len() as u64;
        if row.task != Some((id, expected)) {
            return damaged(format!("{id}: its journal row {expected} is missing"));
        }
        rows.push(row);
    }
    let last = after + rows.len() as u64;
    if last > committed || (rows.len() < limit && last < committed) {
        return damaged(format!(
            "{id}: its journal ends at {last} and was committed up to {committed}"
        ));
    }
    Ok(rows)
}

fn find_outbox(conn: &Connection, key: &str) -> Outcome<Option<OutboxRow>> {
    let sql = format!("SELECT {} FROM outbox WHERE key = ?1", rows::OUTBOX);
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([key])?;
    let Some(row) = found.next()? else {
        rows::nowhere(conn, rows::OUTBOX_AT, key)?;
        return Ok(None);
    };
    let outbox = rows::outbox(row, &mut Vec::new())?.row;
    if outbox.key != key {
        return damaged(format!("outbox row {key}: another row stands under its key"));
    }
    Ok(Some(outbox))
}

fn find_purgeable(conn: &Connection, wall: i64, limit: usize) -> Outcome<Purge> {
    let mut statement = conn.prepare_cached(
        "SELECT id FROM task AS old INDEXED BY task_purgeable
         WHERE living = 0 AND owed = 0 AND ended_wall < ?1
           AND NOT EXISTS (SELECT 1 FROM task WHERE id = old.root AND living = 1)
           AND NOT EXISTS (SELECT 1 FROM task INDEXED BY task_kin
                           WHERE root = old.root AND root <> id AND living = 1)
         ORDER BY ended_wall, id LIMIT ?2",
    )?;
    let mut found = statement.query((wall, rows_at_most(limit)))?;
    let mut purge = Purge::default();
    while let Some(row) = found.next()? {
        purge.tasks.push(Cells::of("task", row).id()?);
    }
    let mut statement = conn.prepare_cached(
        "SELECT key FROM outbox INDEXED BY outbox_purgeable WHERE closed_wall < ?1
         ORDER BY closed_wall, key LIMIT ?2",
    )?;
    let mut found = statement.query((wall, rows_at_most(limit)))?;
    while let Some(row) = found.next()? {
        purge.outbox.push(Cells::of("outbox", row).text()?.to_owned());
    }
    Ok(purge)
}

impl Reader for SqliteReader {
    fn task(&self, id: TaskId) -> Result<(Option<TaskRow>, u64), StoreError> {
        self.ask(|conn| Ok((find_task(conn, id)?, Meta::read(conn)?.head)))
    }

    fn tasks(&self, query: &TaskQuery) -> Result<Vec<TaskRow>, StoreError> {
        self.ask(|conn| find_tasks(conn, query))
    }

    fn journal(&self, after: u64, limit: usize) -> Result<Vec<JournalRow>, StoreError> {
        self.ask(|conn| {
            let meta = Meta::read(conn)?;
            if after < meta.floor {
                return Ok(Err(StoreError::BelowFloor { asked: after, floor: meta.floor }));
            }
            journal_after(conn, &meta, after, limit).map(Ok)
        })?
    }

    fn task_journal(
        &self,
        id: TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalRow>, StoreError> {
        self.ask(|conn| task_journal_after(conn, id, after, limit))
    }

    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        blobs::read(&self.files, || self.find_blob(name))
    }

    fn outbox(&self, key: &str) -> Result<Option<OutboxRow>, StoreError> {
        self.ask(|conn| find_outbox(conn, key))
    }

    fn purgeable(&self, wall: i64, limit: usize) -> Result<Purge, StoreError> {
        self.ask(|conn| find_purgeable(conn, wall, limit))
    }

    fn head(&self) -> Result<u64, StoreError> {
        self.ask(|conn| Ok(Meta::read(conn)?.head))
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        let mark = Mark::read(&self.files.mark);
        let findings = self.ask(|conn| Ok(check::check(conn, &self.files, mark)))?;
        let mut found = findings.found;
        for name in findings.gone {
            if let Err(why) = self.blob(&name) {
                found.push(Damage { place: format!("blob {name}"), what: why.to_string() });
            }
        }
        Ok(found)
    }
}
