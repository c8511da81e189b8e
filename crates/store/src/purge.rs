//! Owns retention: taking a task or a delivery whole, and writing down which journal numbers went with
//! it. Never takes what lives or is owed.

use homing_core::ids::TaskId;
use rusqlite::{Connection, ToSql};

use crate::blobs::{self, Digest};
use crate::fault::{Outcome, damaged, refused};
use crate::meta::{Meta, Tallies};
use crate::rows::{self, Cells, stored};
use crate::sum;

/// Takes the task's row, journal rows and blobs; none there is as good. Yields the files that
/// nothing names any more.
pub(crate) fn take(
    conn: &Connection,
    id: TaskId,
    meta: &mut Meta,
    buffer: &mut Vec<u8>,
) -> Outcome<Vec<Digest>> {
    let bits = stored(id.bits())?;
    take_row(conn, id, &mut meta.tallies, buffer)?;
    take_lines(conn, "task = ?1", bits, meta, buffer)?;
    take_blobs(conn, "task = ?1", bits, &mut meta.tallies, buffer)
}

/// As `take`, for a debrief or a post that is over.
pub(crate) fn take_outbox(
    conn: &Connection,
    key: &str,
    meta: &mut Meta,
    buffer: &mut Vec<u8>,
) -> Outcome<Vec<Digest>> {
    let sql = format!("SELECT {} FROM outbox WHERE key = ?1", rows::OUTBOX);
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([key])?;
    let Some(row) = found.next()? else {
        rows::nowhere(conn, rows::OUTBOX_AT, key)?;
        return Ok(Vec::new());
    };
    let sound = rows::outbox(row, buffer)?;
    drop(found);
    if sound.row.is_open() {
        return refused(format!("{key} is owed: retention does not take it"));
    }
    meta.tallies.outbox.take(sound.sum);
    conn.prepare_cached("DELETE FROM outbox WHERE key = ?1")?.execute([key])?;
    take_lines(conn, "outbox = ?1", key, meta, buffer)?;
    take_blobs(conn, "name = ?1", key, &mut meta.tallies, buffer)
}

/// Takes the journal rows of one thing, and writes their numbers down.
fn take_lines(
    conn: &Connection,
    whose: &str,
    it: impl ToSql + Copy,
    meta: &mut Meta,
    buffer: &mut Vec<u8>,
) -> Outcome<()> {
    for (first, last) in ranges(&journal_numbers(conn, whose, it)?) {
        record(conn, (first, last), &mut meta.tallies, buffer)?;
        meta.floor = meta.floor.max(last);
    }
    conn.prepare_cached(&format!("DELETE FROM journal WHERE {whose}"))?.execute([it])?;
    Ok(())
}

fn take_row(
    conn: &Connection,
    id: TaskId,
    tallies: &mut Tallies,
    buffer: &mut Vec<u8>,
) -> Outcome<()> {
    let bits = stored(id.bits())?;
    let sql = format!("SELECT {} FROM task WHERE id = ?1", rows::TASK);
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([bits])?;
    let Some(row) = found.next()? else {
        return Ok(());
    };
    let sound = rows::task(row, buffer)?;
    drop(found);
    if sound.row.living {
        return refused(format!("{id} is living: retention does not take it"));
    }
    if sound.row.owed {
        return refused(format!("something is owed about {id}: retention does not take it"));
    }
    tallies.tasks.take(sound.sum);
    if let Some(key) = &sound.row.key {
        tallies.keys.take(sum::of_key(key, id, buffer));
    }
    if let Some(sum) = sum::of_kin(id, sound.row.root, buffer) {
        tallies.kin.take(sum);
    }
    conn.prepare_cached("DELETE FROM task WHERE id = ?1")?.execute([stored(id.bits())?])?;
    Ok(())
}

fn journal_numbers(conn: &Connection, whose: &str, it: impl ToSql) -> Outcome<Vec<u64>> {
    let sql = format!("SELECT seq FROM journal WHERE {whose} ORDER BY seq");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([it])?;
    let mut numbers = Vec::new();
    while let Some(row) = found.next()? {
        numbers.push(Cells::of("journal", row).number()?);
    }
    Ok(numbers)
}

fn ranges(numbers: &[u64]) -> Vec<(u64, u64)> {
    numbers
        .chunk_by(|one, next| one + 1 == *next)
        .filter_map(|run| Some((*run.first()?, *run.last()?)))
        .collect()
}

/// Adds a range, merged with those it touches.
fn record(
    conn: &Connection,
    (mut first, mut last): (u64, u64),
    tallies: &mut Tallies,
    buffer: &mut Vec<u8>,
) -> Outcome<()> {
    if let Some(below) = neighbour(conn, "first <= ?1 ORDER BY first DESC", last, buffer)? {
        if below.1 >= first {
            return damaged(format!("journal rows {first} to {last} were taken once already"));
        }
        if below.1 + 1 == first {
            remove(conn, below, tallies, buffer)?;
            first = below.0;
        }
    }
    if let Some(above) = neighbour(conn, "first = ?1", last + 1, buffer)? {
        remove(conn, above, tallies, buffer)?;
        last = above.1;
    }
    let sum = sum::of_taken(first, last, buffer);
    conn.prepare_cached("INSERT INTO taken (first, last, sum) VALUES (?1, ?2, ?3)")?.execute((
        stored(first)?,
        stored(last)?,
        sum.cast_signed(),
    ))?;
    tallies.taken.add(sum);
    Ok(())
}

fn neighbour(
    conn: &Connection,
    which: &str,
    number: u64,
    buffer: &mut Vec<u8>,
) -> Outcome<Option<(u64, u64)>> {
    let sql = format!("SELECT first, last, sum FROM taken WHERE {which} LIMIT 1");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([stored(number)?])?;
    found.next()?.map(|row| Ok(rows::taken(row, buffer)?.row)).transpose()
}

fn remove(
    conn: &Connection,
    (first, last): (u64, u64),
    tallies: &mut Tallies,
    buffer: &mut Vec<u8>,
) -> Outcome<()> {
    conn.prepare_cached("DELETE FROM taken WHERE first = ?1")?.execute([stored(first)?])?;
    tallies.taken.take(sum::of_taken(first, last, buffer));
    Ok(())
}

fn take_blobs(
    conn: &Connection,
    whose: &str,
    it: impl ToSql + Copy,
    tallies: &mut Tallies,
    buffer: &mut Vec<u8>,
) -> Outcome<Vec<Digest>> {
    let sql = format!("SELECT {} FROM blob WHERE {whose}", rows::BLOB);
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([it])?;
    let mut filed = Vec::new();
    while let Some(row) = found.next()? {
        let sound = rows::blob(row, buffer)?;
        tallies.blobs.take(sound.sum);
        if sound.row.bytes.is_none() {
            tallies.filed.take(sum::of_file(&sound.row.digest, buffer));
            filed.push(sound.row.digest);
        }
    }
    conn.prepare_cached(&format!("DELETE FROM blob WHERE {whose}"))?.execute([it])?;
    let mut doomed = Vec::new();
    for digest in filed {
        if !blobs::is_filed(conn, &digest)? {
            doomed.push(digest);
        }
    }
    Ok(doomed)
}
