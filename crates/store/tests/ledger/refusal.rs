//! What is not opened: foreign, newer, held or lost stores, and that their files stay as they were.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::scene::{DB, Image, MARK, WAL, ask_everything, image, lay, open, scene};
use homing_ports::store::{Store as _, StoreError};
use homing_store::SqliteStore;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// Opens the copy, which must be refused; yields why, once nothing has changed.
fn refused(dir: &Path) -> StoreError {
    let before = image(dir);
    let why = open(dir).unwrap_err();
    let after = image(dir);
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{why}");
    assert!(before == after, "{why}: a file changed");
    why
}

fn with(name: &str, bytes: impl Into<Vec<u8>>) -> Image {
    Image::from([(name.into(), bytes.into())])
}

/// Changes the store as another program would, the log left in place.
fn meddle(dir: &Path, sql: &str) {
    let conn = Connection::open(dir.join(DB)).unwrap();
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
    conn.execute_batch(sql).unwrap();
}

#[test]
fn a_file_that_is_no_database_is_foreign() {
    let noise: Vec<u8> =
        (0..40_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for bytes in [noise, b"dear diary".to_vec(), vec![0; 4096], b"SQLite format 3\0".to_vec()] {
        let dir = lay(&with(DB, bytes));
        let why = refused(dir.path());
        assert!(matches!(why, StoreError::Foreign { .. }), "{why}");
        assert!(why.to_string().contains(DB), "it names the file: {why}");
    }
}

#[test]
fn a_database_of_another_program_is_foreign() {
    for mode in ["DELETE", "WAL"] {
        let dir = tempfile::tempdir().unwrap();
        meddle(
            dir.path(),
            &format!("PRAGMA journal_mode = {mode}; CREATE TABLE t (x); INSERT INTO t VALUES (1)"),
        );
        let why = refused(dir.path());
        assert!(
            matches!(&why, StoreError::Foreign { what, .. } if what.contains("another program")),
            "{why}"
        );
    }
}

#[test]
fn a_store_of_a_newer_release_is_refused() {
    let late = scene().late;
    for checkpoint in [true, false] {
        let dir = lay(&late);
        let after = if checkpoint { "PRAGMA wal_checkpoint(TRUNCATE)" } else { "" };
        meddle(dir.path(), &format!("PRAGMA user_version = 7; {after}"));
        let why = refused(dir.path());
        let known = 1;
        assert!(matches!(why, StoreError::Newer { found: 7, known: k, .. } if k == known), "{why}");
    }
}

#[test]
fn a_header_that_names_no_format_of_sqlite_is_damaged() {
    for format in [[3, 2], [2, 3], [1, 2], [2, 1], [0, 0]] {
        let mut late = scene().late;
        late.get_mut(Path::new(DB)).unwrap()[18..20].copy_from_slice(&format);
        let why = refused(lay(&late).path());
        assert!(matches!(why, StoreError::Damaged { .. }), "{format:?}: {why}");
    }
}

#[test]
fn a_store_with_another_schema_is_damaged() {
    for sql in [
        "CREATE TABLE mine (x)",
        "DROP INDEX task_key",
        "DROP TABLE outbox",
        "PRAGMA user_version = 0",
    ] {
        let dir = lay(&scene().late);
        meddle(dir.path(), sql);
        let why = refused(dir.path());
        assert!(
            matches!(&why, StoreError::Damaged { what, .. } if what.contains("schema")),
            "{why}"
        );
    }
}

#[test]
fn rows_that_were_taken_added_or_changed_behind_its_back_are_damage() {
    for sql in [
        "DELETE FROM task WHERE id = (SELECT max(id) FROM task WHERE living = 1)",
        "DELETE FROM task WHERE id = (SELECT max(id) FROM task WHERE owed = 1 AND living = 0)",
        "UPDATE task SET state = 'completed' WHERE id = (SELECT max(id) FROM task WHERE living = 1)",
        "UPDATE task SET living = 0, owed = 0 WHERE id = (SELECT max(id) FROM task WHERE living = 1)",
        "UPDATE task SET living = 1 WHERE id = (SELECT max(id) FROM task WHERE living = 0)",
        "UPDATE task SET key = NULL WHERE parent = 'inbox:cold' AND root = id",
        "UPDATE task SET root = id WHERE parent = 'inbox:cold'",
        "DELETE FROM outbox WHERE key = (SELECT max(key) FROM outbox WHERE closed_wall IS NULL)",
        "UPDATE outbox SET closed_wall = 1",
        "UPDATE meta SET head = head + 1",
        "UPDATE meta SET tick = tick + 1",
        "DELETE FROM meta",
    ] {
        let dir = lay(&scene().late);
        meddle(dir.path(), sql);
        let why = refused(dir.path());
        assert!(matches!(why, StoreError::Damaged { .. }), "{sql}: {why}");
    }
}

#[test]
fn a_lost_end_shows_by_the_mark() {
    let scene = scene();
    let mut rolled_back = scene.early.clone();
    rolled_back.insert(MARK.into(), scene.late[Path::new(MARK)].clone());
    let dir = lay(&rolled_back);
    let why = refused(dir.path());
    assert!(
        matches!(&why, StoreError::Damaged { what, .. } if what.contains("its end is lost")),
        "{why}"
    );

    let mut no_log = scene.crashed.clone();
    no_log.remove(Path::new(WAL));
    let dir = lay(&no_log);
    refused(dir.path());
    fs::remove_file(dir.path().join(MARK)).unwrap();
    assert!(open(dir.path()).is_ok(), "without a mark there is nothing to tell");
}

#[test]
fn a_lost_end_without_a_journal_row_shows_by_the_mark_too() {
    let dir = lay(&scene().late);
    let before = image(dir.path());
    let mut store = open(dir.path()).unwrap();
    let clock = store.recover().unwrap().clock;
    store.commit(&homing_ports::store::Group { clock, ..Default::default() }).unwrap();
    drop(store);
    let mut rolled_back = before;
    rolled_back.insert(MARK.into(), fs::read(dir.path().join(MARK)).unwrap());
    let dir = lay(&rolled_back);
    assert!(matches!(refused(dir.path()), StoreError::Damaged { .. }));
}

#[test]
fn a_mark_that_is_behind_torn_or_missing_is_no_error() {
    let scene = scene();
    for mark in [scene.early[Path::new(MARK)].clone(), b"torn".to_vec(), Vec::new()] {
        let mut changed = scene.late.clone();
        changed.insert(MARK.into(), mark);
        let dir = lay(&changed);
        let mut store = open(dir.path()).unwrap();
        assert!(store.recover().is_ok());
    }
}

#[test]
fn a_database_that_is_gone_is_not_made_anew() {
    let scene = scene();
    for name in [MARK, WAL] {
        for there in [None, Some(Vec::new())] {
            let mut left = with(name, scene.crashed[Path::new(name)].clone());
            if let Some(bytes) = there {
                left.insert(DB.into(), bytes);
            }
            let dir = lay(&left);
            let why = refused(dir.path());
            assert!(matches!(why, StoreError::Damaged { .. }), "{name}: {why}");
        }
    }
}

#[test]
fn a_rollback_journal_beside_it_is_refused() {
    let mut late = scene().late;
    late.insert(format!("{DB}-journal").into(), b"something".to_vec());
    let dir = lay(&late);
    assert!(matches!(refused(dir.path()), StoreError::Damaged { .. }));
}

#[test]
fn a_store_that_is_open_is_held() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    let why = open(dir.path()).unwrap_err();
    assert!(matches!(why, StoreError::Held { .. }), "{why}");
    let holder = homing_store::Holder::of(dir.path().join(DB)).unwrap();
    assert_eq!(holder.pid, std::process::id());
    assert!(holder.since > 0);
    drop(store);
    open(dir.path()).unwrap();
}

#[test]
fn a_database_that_another_program_locks_is_held() {
    let dir = lay(&scene().crashed);
    let conn = Connection::open(dir.path().join(DB)).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE; DELETE FROM taken").unwrap();
    let why = open(dir.path()).unwrap_err();
    assert!(matches!(why, StoreError::Held { .. }), "{why}");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let dir = lay(&with(DB, ""));
    let mut store = open(dir.path()).unwrap();
    assert_eq!(store.recover().unwrap().head, 0);
}

#[test]
fn what_a_crash_left_of_a_creation_is_cleared() {
    let mut left = with(&format!("{DB}.new"), b"half".to_vec());
    left.insert(format!("{DB}.new-journal").into(), b"hot".to_vec());
    let dir = lay(&left);
    open(dir.path()).unwrap();
    assert!(!dir.path().join(format!("{DB}.new")).exists());
    assert!(!dir.path().join(format!("{DB}.new-journal")).exists());
}

#[test]
fn a_restored_copy_opens_and_not_with_the_log_of_another() {
    let scene = scene();
    let dir = lay(&scene.late);
    let mut store = open(dir.path()).unwrap();
    let right = ask_everything(&mut store);
    drop(store);
    let copy = dir.path().join("copy.db");
    meddle(dir.path(), &format!("VACUUM INTO '{}'", copy.display()));
    fs::rename(&copy, dir.path().join(DB)).unwrap();

    let log = dir.path().join(WAL);
    fs::write(&log, &scene.crashed[Path::new(WAL)]).unwrap();
    let why = refused(dir.path());
    assert!(matches!(&why, StoreError::Damaged { what, .. } if what.contains("remove")), "{why}");
    fs::remove_file(log).unwrap();

    let mut store = open(dir.path()).unwrap();
    assert!(ask_everything(&mut store) == right);
    assert_eq!(store.reader().unwrap().check().unwrap(), []);
}

#[test]
fn odd_paths_are_opened_as_they_are() {
    let outer = tempfile::tempdir().unwrap();
    for name in ["a b%20?mode=memory#c/é.db", "x//y.db"] {
        let path = outer.path().join(name);
        for head in [0, 1] {
            let mut store = SqliteStore::open(&path).unwrap();
            assert_eq!(store.recover().unwrap().head, head);
            let mut draft = homing_ports::contract::store::Draft::after(head);
            draft.journal(None, "posted");
            homing_ports::contract::store::commit(&mut store, &draft);
        }
        assert!(path.exists());
    }
}

#[test]
fn only_the_owner_may_read_what_it_makes() {
    let outer = tempfile::tempdir().unwrap();
    let dir = outer.path().join("state/homing");
    let mut store = SqliteStore::open(dir.join(DB)).unwrap();
    let blobs = vec![homing_ports::contract::store::blob("large", None, &[1; 70_000])];
    store.commit(&homing_ports::store::Group { blobs, ..Default::default() }).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in image(&dir).keys() {
        assert_eq!(mode(&dir.join(name)), 0o600, "{}", name.display());
    }
    for made in [dir.clone(), dir.join("blobs")] {
        assert_eq!(mode(&made), 0o700, "{}", made.display());
    }
    assert!(image(&dir).len() >= 6, "database, log, its index, lock, mark, blob");
}
