//! Owns reading what a start needs, every row and every count verified. Never writes.

use std::collections::HashSet;

use homing_core::ids::TaskId;
use homing_ports::store::{Kept, OutboxRow, Recovered};
use rusqlite::Connection;

use crate::fault::{Outcome, damaged};
use crate::meta::{Meta, Tally, whole};
use crate::rows::{self, Cells};
use crate::sum;

/// Call it inside a transaction: the parts must be of one moment.
pub(crate) fn recover(conn: &Connection) -> Outcome<(Recovered, Meta)> {
    let meta = Meta::read(conn)?;
    let Hot { mut tasks, roots } = hot(conn, &meta)?;
    let relatives = relatives(conn, &meta, &tasks, roots)?;
    if !relatives.is_empty() {
        tasks.extend(relatives);
        tasks.sort_unstable_by_key(|row| row.id);
    }
    let recovered = Recovered {
        tasks,
        outbox: open(conn, &meta)?,
        keys: keys(conn, &meta)?,
        head: meta.head,
        clock: meta.clock.clone(),
    };
    Ok((recovered, meta))
}

/// Living or owed, by id; and the roots of the living.
struct Hot {
    tasks: Vec<Kept>,
    roots: HashSet<TaskId>,
}

/// Page by page in the order of ids: all of the table where much of it is hot, else what two small
/// indexes name.
fn hot(conn: &Connection, meta: &Meta) -> Outcome<Hot> {
    let which = if meta.tallies.hot.count > meta.tallies.tasks.count / 4 {
        "living = 1 OR owed = 1"
    } else {
        "id IN (SELECT id FROM task INDEXED BY task_living WHERE living = 1
                UNION ALL
                SELECT id FROM task INDEXED BY task_owed WHERE owed = 1 AND living = 0)"
    };
    let sql = format!("SELECT {} FROM task NOT INDEXED WHERE {which} ORDER BY id", rows::TASK);
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([])?;
    let (mut tally, mut buffer) = (Tally::default(), Vec::new());
    let mut roots = HashSet::new();
    let mut tasks =
        Vec::with_capacity(usize::try_from(meta.tallies.hot.count).unwrap_or(0).min(1 << 20));
    while let Some(row) = found.next()? {
        let sound = rows::task_in_place(row, &mut buffer)?;
        if !sound.row.is_hot() {
            return damaged(format!("an index tells task {} for living or owed", sound.row.id));
        }
        tally.add(sound.sum);
        tasks.push(Kept::from(&sound.row));
        if sound.row.living {
            roots.insert(sound.row.root);
        }
    }
    whole("living or owed tasks", meta.tallies.hot, tally)?;
    Ok(Hot { tasks, roots })
}

/// Rows that are not hot themselves but have a living task under their root.
fn relatives(
    conn: &Connection,
    meta: &Meta,
    hot: &[Kept],
    roots: HashSet<TaskId>,
) -> Outcome<Vec<Kept>> {
    let is_hot = |id: TaskId| hot.binary_search_by_key(&id, |row| row.id).is_ok();
    let mut statement =
        conn.prepare_cached("SELECT root, id FROM task INDEXED BY task_kin WHERE root <> id")?;
    let mut kin = statement.query([])?;
    let (mut tally, mut buffer, mut relatives) = (Tally::default(), Vec::new(), Vec::new());
    while let Some(row) = kin.next()? {
        let mut cells = Cells::of("task", row);
        let (root, id) = (cells.id()?, cells.id()?);
        sum::of_kin(id, root, &mut buffer).into_iter().for_each(|sum| tally.add(sum));
        if roots.contains(&root) && !is_hot(id) {
            let Some(row) = rows::find_task(conn, id, &mut buffer)? else {
                return damaged(format!("task {id} is missing"));
            };
            relatives.push(Kept::from(&row.row));
        }
    }
    whole("tasks under a root", meta.tallies.kin, tally)?;
    for root in roots.into_iter().filter(|root| !is_hot(*root)) {
        let found = rows::find_task(conn, root, &mut buffer)?;
        let found = found.map(|found| found.row).filter(|row| row.root == root);
        relatives.extend(found.as_ref().map(Kept::from));
    }
    Ok(relatives)
}

fn open(conn: &Connection, meta: &Meta) -> Outcome<Vec<OutboxRow>> {
    let sql = format!(
        "SELECT {} FROM outbox INDEXED BY outbox_open WHERE closed_wall IS NULL ORDER BY key",
        rows::OUTBOX
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([])?;
    let (mut tally, mut buffer, mut outbox) = (Tally::default(), Vec::new(), Vec::new());
    while let Some(row) = found.next()? {
        let sound = rows::outbox(row, &mut buffer)?;
        if !sound.row.is_open() {
            return damaged(format!("an index tells outbox row {} for open", sound.row.key));
        }
        tally.add(sound.sum);
        outbox.push(sound.row);
    }
    whole("open outbox rows", meta.tallies.open, tally)?;
    Ok(outbox)
}

/// From the index alone: the keys of every retained task are many more than the rows a start needs.
fn keys(conn: &Connection, meta: &Meta) -> Outcome<Vec<([u8; 16], TaskId)>> {
    let mut statement = conn.prepare_cached(
        "SELECT key, id FROM task INDEXED BY task_key WHERE key IS NOT NULL ORDER BY key",
    )?;
    let mut found = statement.query([])?;
    let (mut tally, mut buffer, mut keys) = (Tally::default(), Vec::new(), Vec::new());
    while let Some(row) = found.next()? {
        let mut cells = Cells::of("task", row);
        let (key, id): ([u8; 16], _) = (cells.array()?, cells.id()?);
        tally.add(sum::of_key(&key, id, &mut buffer));
        keys.push((key, id));
    }
    whole("idempotency keys", meta.tallies.keys, tally)?;
    Ok(keys)
}
