//! Owns writing a group's rows and keeping the counts. Never begins or ends the transaction.

use homing_core::ids::TaskId;
use homing_ports::store::{Group, JournalRow, OutboxRow, Run, TaskRow};
use rusqlite::{Connection, Row};

use crate::blobs::{self, BlobRow, Digest};
use crate::fault::Outcome;
use crate::meta::{Meta, Tallies};
use crate::purge;
use crate::rows::{Cells, OUTBOX_AT, nowhere, outbox_kind, stored};
use crate::sum;

/// What holds once the transaction does.
pub(crate) struct Committed {
    pub(crate) meta: Meta,
    /// Blob files that no row names any more.
    pub(crate) doomed: Vec<Digest>,
}

pub(crate) fn write(
    conn: &Connection,
    mut meta: Meta,
    group: &Group,
    blobs: &[BlobRow],
) -> Outcome<Committed> {
    let mut buffer = Vec::with_capacity(2048);
    let runs = group.runs(meta.head)?;
    append(conn, &group.journal, &mut buffer)?;
    meta.head += group.journal.len() as u64;
    for row in &group.tasks {
        let run = runs.get(&row.id).copied().flatten();
        put_task(conn, row, run, &mut meta.tallies, &mut buffer)?;
    }
    for row in &group.outbox {
        put_outbox(conn, row, &mut meta.tallies, &mut buffer)?;
    }
    for row in blobs {
        blobs::insert(conn, row, &mut meta.tallies, &mut buffer)?;
    }
    let mut doomed = Vec::new();
    for id in &group.purge.tasks {
        doomed.extend(purge::take(conn, *id, &mut meta, &mut buffer)?);
    }
    for key in &group.purge.outbox {
        doomed.extend(purge::take_outbox(conn, key, &mut meta, &mut buffer)?);
    }
    meta.clock = group.clock.clone();
    meta.write(conn)?;
    Ok(Committed { meta, doomed })
}

fn append(conn: &Connection, rows: &[JournalRow], buffer: &mut Vec<u8>) -> Outcome<()> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO journal (seq, task, task_seq, outbox, kind, tick, wall, body, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for row in rows {
        let task = row.task.map(|(task, _)| stored(task.bits())).transpose()?;
        let number = row.task.map(|(_, number)| stored(number)).transpose()?;
        statement.execute((
            stored(row.seq)?,
            task,
            number,
            &row.outbox,
            &row.kind,
            stored(row.tick)?,
            row.wall,
            &row.body,
            sum::of_journal(row, buffer).cast_signed(),
        ))?;
    }
    Ok(())
}

/// The stored row's part that the counts and the indexes know.
struct Before {
    task_seq: u64,
    hot: bool,
    key: Option<[u8; 16]>,
    root: TaskId,
    sum: u64,
    /// No column that an index is made of changes.
    same_place: bool,
}

fn put_task(
    conn: &Connection,
    row: &TaskRow,
    run: Option<Run>,
    tallies: &mut Tallies,
    buffer: &mut Vec<u8>,
) -> Outcome<()> {
    let before = find_task(conn, row)?;
    row.follows(before.as_ref().map_or(0, |before| before.task_seq), run)?;
    let sum = sum::of_task(row, buffer);
    match &before {
        None => insert_task(conn, row, sum)?,
        Some(before) if before.same_place => update_task(conn, row, sum)?,
        Some(_) => replace_task(conn, row, sum)?,
    }
    if let Some(before) = before {
        tallies.tasks.take(before.sum);
        if before.hot {
            tallies.hot.take(before.sum);
        }
        if let Some(key) = before.key {
            tallies.keys.take(sum::of_key(&key, row.id, buffer));
        }
        if let Some(sum) = sum::of_kin(row.id, before.root, buffer) {
            tallies.kin.take(sum);
        }
    }
    tallies.tasks.add(sum);
    if row.is_hot() {
        tallies.hot.add(sum);
    }
    if let Some(key) = &row.key {
        tallies.keys.add(sum::of_key(key, row.id, buffer));
    }
    if let Some(sum) = sum::of_kin(row.id, row.root, buffer) {
        tallies.kin.add(sum);
    }
    Ok(())
}

fn find_task(conn: &Connection, row: &TaskRow) -> Outcome<Option<Before>> {
    let mut statement = conn.prepare_cached(
        "SELECT task_seq, sum, living, owed, key, root, parent, session, name, created_wall,
                ended_wall, state
         FROM task WHERE id = ?1",
    )?;
    let mut found = statement.query([stored(row.id.bits())?])?;
    found.next()?.map(|found| compare(found, row)).transpose()
}

fn compare(found: &Row<'_>, row: &TaskRow) -> Outcome<Before> {
    let mut cells = Cells::of("task", found);
    let (task_seq, sum) = (cells.number()?, cells.signed()?.cast_unsigned());
    let (living, owed): (bool, bool) = (cells.flag()?, cells.flag()?);
    let (key, root) = (cells.array_or_none()?, cells.id()?);
    let same_place = (living, owed, key, root) == (row.living, row.owed, row.key, row.root)
        && cells.text()? == row.parent
        && cells.text_or_none()? == row.session.as_deref()
        && cells.text_or_none()? == row.name.as_deref()
        && cells.signed()? == row.created_wall
        && cells.signed_or_none()? == row.ended_wall
        && (row.living || cells.text()? == row.state);
    Ok(Before { task_seq, hot: living || owed, key, root, sum, same_place })
}

/// The usual step of a living task: no index is touched.
fn update_task(conn: &Connection, row: &TaskRow, sum: u64) -> Outcome<()> {
    conn.prepare_cached(
        "UPDATE task SET task_seq = ?2, state = ?3, body = ?4, sum = ?5 WHERE id = ?1",
    )?
    .execute((
        stored(row.id.bits())?,
        stored(row.task_seq)?,
        &row.state,
        &row.body,
        sum.cast_signed(),
    ))?;
    Ok(())
}

fn insert_task(conn: &Connection, row: &TaskRow, sum: u64) -> Outcome<()> {
    write_task(
        conn,
        "INSERT INTO task (id, task_seq, state, living, owed, parent, root, session, name, key,
                           created_wall, ended_wall, body, sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        row,
        sum,
    )
}

fn replace_task(conn: &Connection, row: &TaskRow, sum: u64) -> Outcome<()> {
    write_task(
        conn,
        "UPDATE task SET task_seq = ?2, state = ?3, living = ?4, owed = ?5, parent = ?6, root = ?7,
                session = ?8, name = ?9, key = ?10, created_wall = ?11, ended_wall = ?12,
                body = ?13, sum = ?14
         WHERE id = ?1",
        row,
        sum,
    )
}

fn write_task(conn: &Connection, sql: &str, row: &TaskRow, sum: u64) -> Outcome<()> {
    conn.prepare_cached(sql)?.execute((
        stored(row.id.bits())?,
        stored(row.task_seq)?,
        &row.state,
        row.living,
        row.owed,
        &row.parent,
        stored(row.root.bits())?,
        &row.session,
        &row.name,
        row.key,
        row.created_wall,
        row.ended_wall,
        &row.body,
        sum.cast_signed(),
    ))?;
    Ok(())
}

fn put_outbox(
    conn: &Connection,
    row: &OutboxRow,
    tallies: &mut Tallies,
    buffer: &mut Vec<u8>,
) -> Outcome<()> {
    let mut statement =
        conn.prepare_cached("SELECT closed_wall, sum FROM outbox WHERE key = ?1")?;
    match statement.query([&row.key])?.next()? {
        Some(before) => {
            let mut cells = Cells::of("outbox", before);
            let (closed, sum) = (cells.signed_or_none()?, cells.signed()?.cast_unsigned());
            tallies.outbox.take(sum);
            if closed.is_none() {
                tallies.open.take(sum);
            }
        }
        None => nowhere(conn, OUTBOX_AT, &row.key)?,
    }
    let sum = sum::of_outbox(row, buffer);
    conn.prepare_cached(
        "INSERT INTO outbox (id, key, kind, parent, closed_wall, body, sum)
         VALUES (iif(EXISTS (SELECT 1 FROM outbox WHERE id = ?7), NULL, ?7), ?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (key) DO UPDATE SET kind = ?2, parent = ?3, closed_wall = ?4,
                                        body = ?5, sum = ?6",
    )?
    .execute((
        &row.key,
        outbox_kind(row.kind),
        &row.parent,
        row.closed_wall,
        &row.body,
        sum.cast_signed(),
        sum::place(&row.key),
    ))?;
    tallies.outbox.add(sum);
    if row.is_open() {
        tallies.open.add(sum);
    }
    Ok(())
}
