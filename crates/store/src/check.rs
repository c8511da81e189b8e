//! Owns the look at everything there is: the file's structure, every row, every count, every file.
//! Never repairs, and goes on after what it finds.

use std::collections::BTreeMap;

use homing_core::ids::TaskId;
use homing_ports::store::Damage;
use rusqlite::{Connection, Row};

use crate::blobs::{self, Bytes};
use crate::fault::{Fault, Outcome, damaged};
use crate::files::Files;
use crate::mark::Mark;
use crate::meta::{Meta, Tallies, Tally, whole};
use crate::rows;
use crate::schema;
use crate::sum;

/// Structural findings that are listed; the first ones tell enough.
const LISTED: usize = 100;

struct Check<'c> {
    conn: &'c Connection,
    files: &'c Files,
    found: Vec<Damage>,
    gone: Vec<String>,
    tallies: Tallies,
    buffer: Vec<u8>,
}

/// What a look at one moment found.
pub(crate) struct Findings {
    pub(crate) found: Vec<Damage>,
    /// Blobs without their file: damage, unless retention took them since.
    pub(crate) gone: Vec<String>,
}

/// The mark must have been read before the moment that is looked at.
pub(crate) fn check(conn: &Connection, files: &Files, mark: Option<Mark>) -> Findings {
    let (found, gone, buffer) = (Vec::new(), Vec::new(), Vec::new());
    let mut check = Check { conn, files, found, gone, tallies: Tallies::default(), buffer };
    check.structure();
    let version = schema::version(conn);
    check.note("schema", version.and_then(|version| schema::verify(conn, version)));
    check.note("schema", schema::verify_history(conn));
    let last_numbers = check.tasks();
    check.journal(last_numbers);
    check.outbox();
    check.blobs();
    check.counts(mark);
    Findings { found: check.found, gone: check.gone }
}

impl Check<'_> {
    fn note(&mut self, place: &str, outcome: Outcome<()>) {
        let what = match outcome {
            Ok(()) => return,
            Err(Fault::Damaged(what)) => what,
            Err(Fault::Sql(why)) => why.to_string(),
            Err(Fault::Refused(why)) => why.to_string(),
            Err(Fault::File { what, why } | Fault::Unsynced { what, why }) => {
                format!("{what}: {why}")
            }
        };
        self.found.push(Damage { place: place.to_owned(), what });
    }

    /// Calls `each` for every row; a bad row is noted and the rest still looked at.
    fn each_row(
        &mut self,
        table: &str,
        columns: &str,
        order: &str,
        mut each: impl FnMut(&mut Self, &Row<'_>) -> Outcome<()>,
    ) {
        let sql = format!("SELECT {columns} FROM {table} NOT INDEXED ORDER BY {order}");
        let conn = self.conn;
        let walked = (|| {
            let mut statement = conn.prepare(&sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let outcome = each(self, row);
                self.note(table, outcome);
            }
            Ok(())
        })();
        self.note(table, walked);
    }

    fn structure(&mut self) {
        let conn = self.conn;
        let walked = (|| {
            let mut statement = conn.prepare(&format!("PRAGMA integrity_check({LISTED})"))?;
            let mut lines = statement.query([])?;
            while let Some(row) = lines.next()? {
                let line = rows::Cells::of("integrity_check", row).text()?.to_owned();
                if line != "ok" {
                    self.found.push(Damage { place: "file".to_owned(), what: line });
                }
            }
            Ok(())
        })();
        self.note("file", walked);
    }

    /// The last number of each task's journal.
    fn tasks(&mut self) -> BTreeMap<TaskId, u64> {
        let mut last_numbers = BTreeMap::new();
        self.each_row("task", rows::TASK, "id", |check, row| {
            let sound = rows::task(row, &mut check.buffer)?;
            let task = sound.row;
            check.tallies.tasks.add(sound.sum);
            if task.is_hot() {
                check.tallies.hot.add(sound.sum);
            }
            if let Some(key) = &task.key {
                check.tallies.keys.add(sum::of_key(key, task.id, &mut check.buffer));
            }
            if let Some(sum) = sum::of_kin(task.id, task.root, &mut check.buffer) {
                check.tallies.kin.add(sum);
            }
            last_numbers.insert(task.id, task.task_seq);
            Ok(())
        });
        last_numbers
    }

    fn taken(&mut self) -> Vec<(u64, u64)> {
        let mut ranges = Vec::new();
        self.each_row("taken", "first, last, sum", "first", |check, row| {
            let sound = rows::taken(row, &mut check.buffer)?;
            check.tallies.taken.add(sound.sum);
            ranges.push(sound.row);
            Ok(())
        });
        ranges
    }

    /// Every number from 1 to the head is a row or was taken, never both; and each task's own
    /// numbers end where its row says.
    fn journal(&mut self, last_numbers: BTreeMap<TaskId, u64>) {
        let mut taken = self.taken().into_iter().peekable();
        let mut counted: BTreeMap<TaskId, u64> = BTreeMap::new();
        let mut next = 1;
        self.each_row("journal", rows::JOURNAL, "seq", |check, row| {
            let row = rows::journal(row, &mut check.buffer)?;
            while let Some((_, last)) = taken.next_if(|(first, _)| *first == next) {
                next = last + 1;
            }
            let expected = std::mem::replace(&mut next, row.seq + 1);
            if let Some((task, number)) = row.task {
                let before = counted.insert(task, number).unwrap_or(0);
                if number != before + 1 {
                    let outcome =
                        damaged(format!("{task}: its row {number} follows its row {before}"));
                    check.note("journal", outcome);
                }
            }
            if row.seq != expected {
                return damaged(format!("row {} stands where {expected} follows", row.seq));
            }
            Ok(())
        });
        for (first, last) in taken {
            if first == next {
                next = last + 1;
            }
        }
        let head = Meta::read(self.conn).map(|meta| meta.head);
        self.note(
            "journal",
            head.and_then(|head| {
                if head + 1 == next {
                    Ok(())
                } else {
                    damaged(format!("it ends at {} and was committed up to {head}", next - 1))
                }
            }),
        );
        for (task, last) in &last_numbers {
            let found = counted.remove(task).unwrap_or(0);
            if found != *last {
                self.note(
                    "task",
                    damaged(format!("{task}: its journal ends at {found}, its row says {last}")),
                );
            }
        }
        for task in counted.keys() {
            self.note("journal", damaged(format!("{task}: journal rows without the task's row")));
        }
    }

    fn outbox(&mut self) {
        self.each_row("outbox", rows::OUTBOX, "rowid", |check, row| {
            let sound = rows::outbox(row, &mut check.buffer)?;
            check.tallies.outbox.add(sound.sum);
            if sound.row.is_open() {
                check.tallies.open.add(sound.sum);
            }
            Ok(())
        });
    }

    fn blobs(&mut self) {
        self.each_row("blob", rows::BLOB, "rowid", |check, row| {
            let sound = rows::blob(row, &mut check.buffer)?;
            check.tallies.blobs.add(sound.sum);
            let name = sound.row.name.clone();
            if sound.row.bytes.is_none() {
                check.tallies.filed.add(sum::of_file(&sound.row.digest, &mut check.buffer));
            }
            match blobs::bytes(check.files, sound.row)? {
                Bytes::Right(_) => {}
                Bytes::Gone => check.gone.push(name),
            }
            Ok(())
        });
    }

    fn counts(&mut self, mark: Option<Mark>) {
        let meta = match Meta::read(self.conn) {
            Ok(meta) => meta,
            Err(fault) => return self.note("meta", Err(fault)),
        };
        let (committed, found) = (meta.tallies, self.tallies);
        let pairs: [(&str, Tally, Tally); 9] = [
            ("tasks", committed.tasks, found.tasks),
            ("living or owed tasks", committed.hot, found.hot),
            ("idempotency keys", committed.keys, found.keys),
            ("tasks under a root", committed.kin, found.kin),
            ("outbox rows", committed.outbox, found.outbox),
            ("open outbox rows", committed.open, found.open),
            ("blobs", committed.blobs, found.blobs),
            ("blobs in files", committed.filed, found.filed),
            ("ranges that retention took", committed.taken, found.taken),
        ];
        for (what, committed, found) in pairs {
            self.note("meta", whole(what, committed, found));
        }
        if mark.is_some_and(|mark| mark.commits > meta.commits) {
            self.note("mark", damaged("the store was once written further than it goes now"));
        }
    }
}
