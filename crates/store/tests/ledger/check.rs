//! What a start does not need and so does not look at: `check` finds it, and no read serves it.

use std::path::Path;

use homing_ports::contract::store::task;
use homing_ports::store::{Damage, Store as _, StoreError, TaskQuery};
use rusqlite::Connection;

use crate::scene::{COLD, DB, Image, ask_everything, lay, open, scene};

/// Changes the store as another program would; the store at its earlier moment is there as `early`.
fn meddled(late: &Image, early: &Image, sql: &str) -> (tempfile::TempDir, usize) {
    let (dir, before) = (lay(late), lay(early));
    let conn = Connection::open(dir.path().join(DB)).unwrap();
    conn.execute(
        "ATTACH ?1 AS early",
        [before.path().join(DB).to_str().unwrap()],
    )
    .unwrap();
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
            "DELETE FROM outbox WHERE key = (SELECT min(key) FROM outbox WHERE open = 0)",
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
        (
            "DELETE FROM taken WHERE first = (SELECT min(first) FROM taken)",
            "ranges",
        ),
        (
            "DELETE FROM taken WHERE first = (SELECT min(first) FROM taken)",
            "where",
        ),
        ("UPDATE taken SET last = last + 1", "taken range"),
        (
            "DELETE FROM task WHERE id = (SELECT min(id) FROM task WHERE parent = 'inbox:cold' AND id = root AND key IS NULL)",
            "without the task's row",
        ),
        (
            "UPDATE task SET body = x'00' WHERE parent = 'inbox:cold'",
            "checksum",
        ),
        (
            "UPDATE task SET state = 5 WHERE parent = 'inbox:cold'",
            "checksum",
        ),
        ("UPDATE outbox SET body = x'00' WHERE open = 0", "checksum"),
        (
            "UPDATE blob SET bytes = x'00' WHERE bytes IS NOT NULL",
            "checksum",
        ),
        ("UPDATE blob SET length = 5 WHERE bytes IS NULL", "checksum"),
        (
            "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)",
            "committed up to",
        ),
        (
            "DELETE FROM journal WHERE seq = (SELECT min(seq) FROM journal WHERE task IS NULL)",
            "follows",
        ),
        (
            "UPDATE journal SET kind = 'else' WHERE seq = (SELECT max(seq) FROM journal)",
            "checksum",
        ),
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
        (
            "UPDATE refinery_schema_history SET checksum = '1'",
            "history",
        ),
        ("DELETE FROM refinery_schema_history", "history"),
    ] {
        let (dir, changed) = meddled(&scene.late, &scene.early, sql);
        assert!(changed > 0, "{sql}: changes nothing");
        let found = check(dir.path());
        let tells = found.iter().any(|damage| damage.what.contains(told));
        assert!(tells, "{sql}: {found:?} does not tell of {told:?}");
    }
}

#[test]
fn no_read_serves_what_was_changed() {
    let scene = scene();
    let cold = task(*COLD.start()).id;
    let damaged =
        |dir: &Path, ask: &dyn Fn(&dyn homing_ports::store::Reader) -> Option<StoreError>| {
            let reader = open(dir).unwrap().reader().unwrap();
            let why = ask(&*reader);
            assert!(matches!(why, Some(StoreError::Damaged { .. })), "{why:?}");
        };
    let sql = "UPDATE task SET state = 'failed' WHERE parent = 'inbox:cold'";
    let (dir, _) = meddled(&scene.late, &scene.early, sql);
    damaged(dir.path(), &|reader| reader.task(cold).err());
    damaged(dir.path(), &|reader| reader.task_journal(cold, 0, 10).err());
    let all = TaskQuery {
        limit: 1_000,
        ..TaskQuery::default()
    };
    damaged(dir.path(), &|reader| reader.tasks(&all).err());

    let sql = "DELETE FROM journal WHERE seq = (SELECT max(seq) FROM journal)";
    let (dir, _) = meddled(&scene.late, &scene.early, sql);
    damaged(dir.path(), &|reader| {
        let head = reader.head().unwrap();
        reader.journal(head - 1, 10).err()
    });

    let sql = "INSERT OR REPLACE INTO task SELECT * FROM early.task WHERE parent = 'inbox:cold'";
    let (dir, _) = meddled(&scene.late, &scene.early, sql);
    let twice = COLD
        .filter(|number| number % 4 == 0)
        .map(|number| task(number).id)
        .min()
        .unwrap();
    damaged(dir.path(), &|reader| {
        reader.task_journal(twice, 0, 10).err()
    });
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
