//! What a start does not need and so does not look at: `check` finds it, and no read serves it.

use std::path::Path;

use homing_core::ids::TaskId;
use homing_ports::contract::store::task;
use homing_ports::store::{Damage, Reader, Store as _, StoreError, TaskQuery};
use rusqlite::Connection;

use crate::scene::{COLD, DB, Image, MARK, ask_everything, lay, open, scene};

/// Changes the store as another program would; the store at its earlier moment is there as `early`.
fn meddled(late: &Image, early: &Image, sql: &str) -> (tempfile::TempDir, usize) {
    let (dir, before) = (lay(late), lay(early));
    let conn = Connection::open(dir.path().join(DB)).unwrap();
    conn.execute("ATTACH ?1 AS early", [before.path().join(DB).to_str().unwrap()]).unwrap();
    let changed = conn.execute(sql, []).unwrap();
    (dir, changed)
}

fn check(dir: &Path) -> Vec<Damage> {
    open(dir).unwrap().reader().unwrap().check().unwrap()
}

#[test]
fn each_kind_of_loss_is_told() {
    let scene = scene();
    for (sql, told) in [
        (
            "DELETE FROM outbox WHERE key = (SELECT min(key) FROM outbox WHERE closed_wall IS NOT NULL)",
            "outbox rows",
        ),
        (
            "DELETE FROM blob WHERE name = (SELECT min(name) FROM blob WHERE bytes IS NOT NULL)",
            "blobs,",
        ),
        (
            "DELETE FROM blob WHERE name = (SELECT min(name) FROM blob WHERE bytes IS NULL)",
            "in files",
        ),
        ("DELETE FROM taken WHERE first = (SELECT min(first) FROM taken)", "ranges"),
        ("DELETE FROM taken WHERE first = (SELECT min(first) FROM taken)", "where"),
        ("UPDATE taken SET last = last + 1", "taken range"),
        (
            "DELETE FROM task WHERE id = (SELECT min(id) FROM task WHERE parent = 'inbox:cold' AND id = root AND key IS NULL)",
            "without the task's row",
        ),
        ("UPDATE task SET body = x'00' WHERE parent = 'inbox:cold'", "checksum"),
        ("UPDATE task SET state = 5 WHERE parent = 'inbox:cold'", "checksum"),
        ("UPDATE outbox SET body = x'00' WHERE closed_wall IS NOT NULL", "checksum"),
        ("UPDATE blob SET bytes = x'00' WHERE bytes IS NOT NULL", "checksum"),
        ("UPDATE blob SET length = 5 WHERE bytes IS NULL", "checksum"),
        ("DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)", "committed up to"),
        (
            "DELETE FROM journal WHERE seq = (SELECT min(seq) FROM journal WHERE task IS NULL)",
            "follows",
        ),
        ("UPDATE journal SET kind = 'else' WHERE seq = (SELECT max(seq) FROM journal)", "checksum"),
        (
            "UPDATE journal SET task_seq = 9 WHERE seq = (SELECT min(seq) FROM journal WHERE task IS NOT NULL)",
            "checksum",
        ),
        (
            "UPDATE journal SET task = NULL WHERE seq = (SELECT min(seq) FROM journal WHERE task IS NOT NULL)",
            "go together",
        ),
        (
            "INSERT OR REPLACE INTO task SELECT * FROM early.task WHERE parent = 'inbox:cold'",
            "its row says",
        ),
        ("UPDATE refinery_schema_history SET checksum = '1'", "history"),
        ("DELETE FROM refinery_schema_history", "history"),
    ] {
        let (dir, changed) = meddled(&scene.late, &scene.early, sql);
        assert!(changed > 0, "{sql}: changes nothing");
        let found = check(dir.path());
        let tells = found.iter().any(|damage| damage.what.contains(told));
        assert!(tells, "{sql}: {found:?} does not tell of {told:?}");
    }
}

/// Whether the question, asked of the meddled store, is answered with its damage.
fn is_damaged<T>(sql: &str, ask: impl FnOnce(&dyn Reader) -> Result<T, StoreError>) -> bool {
    let scene = scene();
    let (dir, changed) = meddled(&scene.late, &scene.early, sql);
    assert!(changed > 0, "{sql}: changes nothing");
    let reader = open(dir.path()).unwrap().reader().unwrap();
    matches!(ask(&*reader), Err(StoreError::Damaged { .. }))
}

fn of_the_cold() -> TaskQuery {
    TaskQuery { parent: Some("inbox:cold".to_owned()), limit: 100, ..TaskQuery::default() }
}

/// A cold task with two journal rows, the second one written after the earlier moment.
fn twice() -> TaskId {
    task(COLD.filter(|number| number % 4 == 0).min().unwrap()).id
}

#[test]
fn a_changed_row_is_not_served() {
    let sql = "UPDATE task SET state = 'failed' WHERE parent = 'inbox:cold'";
    let cold = task(*COLD.start()).id;
    assert!(is_damaged(sql, |reader| reader.task(cold)));
    assert!(is_damaged(sql, |reader| reader.task_journal(cold, 0, 10)));
    assert!(is_damaged(sql, |reader| reader.tasks(&of_the_cold())));
}

#[test]
fn an_older_version_of_a_row_is_not_served() {
    let sql = "INSERT OR REPLACE INTO task SELECT * FROM early.task WHERE parent = 'inbox:cold'";
    assert!(is_damaged(sql, |reader| reader.task(twice())));
    assert!(is_damaged(sql, |reader| reader.task_journal(twice(), 0, 10)));
    assert!(is_damaged(sql, |reader| reader.tasks(&of_the_cold())));
}

#[test]
fn a_row_that_is_missing_is_not_passed_over() {
    let number = COLD.step_by(3).find(|number| number % 2 == 0).unwrap();
    let id = task(number).id;
    let sql = format!("DELETE FROM task WHERE id = {}", id.bits());
    assert!(is_damaged(&sql, |reader| reader.task(id)));
    assert!(is_damaged(&sql, |reader| reader.task_journal(id, 0, 10)));
}

#[test]
fn a_journal_that_lacks_a_row_is_not_served() {
    let last = "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)";
    assert!(is_damaged(last, |reader| reader.journal(reader.head()? - 1, 10)));
    let before = "DELETE FROM journal WHERE seq = (SELECT max(seq) - 1 FROM journal)";
    assert!(is_damaged(before, |reader| reader.journal(reader.head()? - 2, 1)));
    let own = format!("DELETE FROM journal WHERE task = {} AND task_seq = 1", twice().bits());
    assert!(is_damaged(&own, |reader| reader.task_journal(twice(), 0, 1)));
}

#[test]
fn a_whole_store_has_nothing_to_tell() {
    let scene = scene();
    for image in [&scene.early, &scene.crashed, &scene.late] {
        let dir = lay(image);
        let mut store = open(dir.path()).unwrap();
        let wrong: Vec<_> = ask_everything(&mut store)
            .into_iter()
            .filter(|(_, answer)| matches!(answer, Err(why) if !matches!(why, StoreError::BelowFloor { .. })))
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(store.reader().unwrap().check().unwrap(), []);
    }
}

#[test]
fn a_store_that_was_once_written_further_is_told() {
    let scene = scene();
    let dir = lay(&scene.early);
    let store = open(dir.path()).unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(reader.check().unwrap(), []);
    std::fs::write(dir.path().join(MARK), &scene.late[Path::new(MARK)]).unwrap();
    let found = reader.check().unwrap();
    assert!(matches!(&*found, [damage] if damage.what.contains("further")), "{found:?}");
}
