//! Commits that cannot be, the disk being full, broken or read-only, and that the store goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::scene::{DB, ask_everything, image, lay, open, scene};
use homing_ports::contract::store::{Draft, blob, commit, ended, task};
use homing_ports::store::{CommitError, Group, Purge, Store, StoreError, TaskRow};
use homing_store::SqliteStore;

fn large(number: u64) -> TaskRow {
    TaskRow { body: vec![7; 20_000], ..task(number) }
}

#[test]
fn a_full_disk_fails_the_commit_and_the_store_goes_on_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).unwrap();
    let mut draft = Draft::after(0);
    draft.says(&mut task(1), "launched");
    let head = commit(&mut store, &draft);
    let before = store.recover().unwrap();

    store.limit_pages(40).unwrap();
    let mut draft = Draft::after(head);
    for number in 2..20 {
        draft.says(&mut large(number), "launched");
    }
    for _ in 0..3 {
        let why = store.commit(&draft.group).unwrap_err();
        assert_eq!(why, CommitError::Failed { what: "the disk is full".to_owned() });
        assert_eq!(store.recover().unwrap(), before);
    }
    let mut small = Draft::after(head);
    small.says(&mut TaskRow { task_seq: 1, ..task(1) }, "decided");
    let head = commit(&mut store, &small);

    store.limit_pages(1 << 30).unwrap();
    let mut draft = Draft::after(head);
    for number in 2..20 {
        draft.says(&mut large(number), "launched");
    }
    commit(&mut store, &draft);
    drop(store);
    let mut store = open(dir.path()).unwrap();
    assert_eq!(store.recover().unwrap().tasks.len(), 19);
    assert_eq!(store.reader().unwrap().check().unwrap(), []);
}

const LIMITED: &str = "HOMING_TEST_LIMITED";

/// Runs this one test again where no file may grow beyond 512 KiB: writing more fails in the kernel.
fn again_with_small_files(test: &str, dir: &Path) {
    let script = "trap '' XFSZ; ulimit -f 1024; exec \"$0\" --exact \"$1\" --nocapture";
    let ran = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(format!("faults::{test}"))
        .env(LIMITED, dir)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    assert!(ran.status.success() && told.contains("1 passed"), "{told}");
}

#[test]
fn a_write_error_in_the_commit_leaves_it_unknown_until_the_store_is_read_again() {
    let Some(dir) = std::env::var_os(LIMITED) else {
        let dir = tempfile::tempdir().unwrap();
        let this = "a_write_error_in_the_commit_leaves_it_unknown_until_the_store_is_read_again";
        return again_with_small_files(this, dir.path());
    };
    let dir = PathBuf::from(dir);
    let mut store = open(&dir).unwrap();
    let mut first = Draft::after(0);
    first.says(&mut task(1), "launched");
    let head = commit(&mut store, &first);
    let before = store.recover().unwrap();

    let mut draft = Draft::after(head);
    for number in 2..40 {
        draft.says(&mut large(number), "launched");
    }
    let why = store.commit(&draft.group).unwrap_err();
    assert!(matches!(why, CommitError::Unknown { .. }), "{why}");
    let transactions = transactions_of(&dir);
    assert_eq!(store.recover().unwrap(), before);
    let settled = transactions_of(&dir);
    assert_eq!(settled, transactions + 1, "what is left of the group in the log is written over");
    let mut next = Draft::after(head);
    next.says(&mut TaskRow { task_seq: 1, ..task(1) }, "decided");
    let head = commit(&mut store, &next);
    assert_eq!(store.recover().unwrap().head, head);

    let why = store.commit(&Group { journal: draft.group.journal.clone(), ..Group::default() });
    assert!(matches!(why, Err(CommitError::Failed { .. })), "{why:?}");
    let crashed = lay(&image(&dir));
    let mut store = open(crashed.path()).unwrap();
    assert_eq!(store.recover().unwrap().head, head);
    assert_eq!(store.reader().unwrap().check().unwrap(), []);
}

fn transactions_of(dir: &Path) -> i64 {
    let conn = rusqlite::Connection::open(dir.join(DB)).unwrap();
    conn.query_row("SELECT commits FROM meta", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_blob_that_finds_no_room_fails_the_commit() {
    let Some(dir) = std::env::var_os(LIMITED) else {
        let dir = tempfile::tempdir().unwrap();
        return again_with_small_files("a_blob_that_finds_no_room_fails_the_commit", dir.path());
    };
    let dir = PathBuf::from(dir);
    let mut store = open(&dir).unwrap();
    let group = |size| Group { blobs: vec![blob("b", None, &vec![1; size])], ..Group::default() };
    let why = store.commit(&group(1_000_000)).unwrap_err();
    assert!(matches!(&why, CommitError::Failed { what } if what.contains("blobs")), "{why}");
    assert_eq!(fs::read_dir(dir.join("blobs")).unwrap().count(), 0, "nothing half-written is left");
    store.commit(&group(100_000)).unwrap();
    assert_eq!(store.reader().unwrap().blob("b").unwrap().unwrap().len(), 100_000);
}

#[test]
fn a_read_only_file_is_not_opened() {
    let dir = lay(&scene().late);
    let mut permissions = fs::metadata(dir.path().join(DB)).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(dir.path().join(DB), permissions).unwrap();
    let bound = fs::OpenOptions::new().write(true).open(dir.path().join(DB)).is_err();
    match open(dir.path()) {
        Err(StoreError::Unavailable { what }) => assert!(bound && what.contains(DB), "{what}"),
        Ok(_) => assert!(!bound, "permissions do not bind whoever runs this"),
        Err(why) => panic!("{why}"),
    }
}

#[test]
fn a_store_pulled_from_under_its_process_is_whole() {
    let scene = scene();
    let answers = |image| {
        let dir = lay(image);
        let mut store = open(dir.path()).unwrap();
        assert_eq!(store.reader().unwrap().check().unwrap(), []);
        ask_everything(&mut store)
    };
    assert!(answers(&scene.crashed) == answers(&scene.late));
}

#[test]
fn files_that_no_row_names_are_swept_and_the_others_stay() {
    let late = scene().late;
    let named = late.keys().filter(|name| name.starts_with("blobs")).count();
    let mut littered = late.clone();
    littered.insert(format!("blobs/{}", "ab".repeat(32)).into(), b"orphan".to_vec());
    littered.insert(format!("blobs/{}.tmp", "cd".repeat(32)).into(), b"half".to_vec());
    let dir = lay(&littered);
    let _store = open(dir.path()).unwrap();
    assert_eq!(fs::read_dir(dir.path().join("blobs")).unwrap().count(), named);
}

#[test]
fn a_purge_takes_the_file_that_nothing_names_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).unwrap();
    let mut rows = [ended(1, 5), ended(2, 5)];
    let mut draft = Draft::after(0);
    for row in &mut rows {
        draft.says(row, "ended");
        draft.group.blobs.push(blob(&row.id.to_string(), Some(row.id), &[5; 70_000]));
    }
    commit(&mut store, &draft);
    let files = || fs::read_dir(dir.path().join("blobs")).unwrap().count();
    assert_eq!(files(), 1, "the same bytes, one file");
    store
        .commit(&Group {
            purge: Purge { tasks: vec![rows[0].id], ..Purge::default() },
            ..Group::default()
        })
        .unwrap();
    assert_eq!(files(), 1);
    store
        .commit(&Group {
            purge: Purge { tasks: vec![rows[1].id], ..Purge::default() },
            ..Group::default()
        })
        .unwrap();
    assert_eq!(files(), 0);
}

#[test]
fn a_damaged_file_of_a_blob_is_written_again_with_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).unwrap();
    let group = Group { blobs: vec![blob("b", None, &[5; 70_000])], ..Group::default() };
    store.commit(&group).unwrap();
    let file = fs::read_dir(dir.path().join("blobs")).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, b"spoiled").unwrap();
    let reader = store.reader().unwrap();
    assert!(matches!(reader.blob("b"), Err(StoreError::Damaged { .. })));
    assert!(!reader.check().unwrap().is_empty());
    store.commit(&group).unwrap();
    assert_eq!(reader.blob("b").unwrap().unwrap(), [5; 70_000]);
    fs::remove_file(&file).unwrap();
    assert!(matches!(reader.blob("b"), Err(StoreError::Damaged { .. })));
    assert_eq!(reader.check().unwrap().len(), 1);
}

#[test]
fn readers_never_fail_while_groups_commit_and_tasks_go() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|which| {
                let reader = store.reader().unwrap();
                let over = &over;
                scope.spawn(move || {
                    let (mut rounds, mut seen) = (0, 0);
                    while rounds < 20 || !over.load(Ordering::Relaxed) {
                        let head = reader.head().unwrap();
                        assert!(head >= seen, "time goes on");
                        seen = head;
                        for number in 1..=head {
                            let id = task(number).id;
                            let (row, at) = reader.task(id).unwrap();
                            assert!(at >= head);
                            reader.task_journal(id, 0, 10).unwrap();
                            let bytes = reader.blob(&id.to_string()).unwrap();
                            assert!(bytes.is_none_or(|bytes| bytes.len() == 70_000));
                            assert!(row.is_none_or(|row| row.id == id));
                        }
                        if which == 0 {
                            assert_eq!(reader.check().unwrap(), []);
                        }
                        rounds += 1;
                    }
                    seen
                })
            })
            .collect();
        write_and_purge(&mut store);
        over.store(true, Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}

fn write_and_purge(store: &mut SqliteStore) {
    for number in 1..=60 {
        let mut row = ended(number, 5);
        let mut draft = Draft::after(number - 1);
        draft.says(&mut row, "ended");
        let bytes = vec![number as u8; 70_000];
        draft.group.blobs.push(blob(&row.id.to_string(), Some(row.id), &bytes));
        if number > 5 {
            draft.group.purge.tasks.push(task(number - 5).id);
        }
        commit(store, &draft);
    }
}
