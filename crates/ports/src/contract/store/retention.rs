//! Cases of retention: what goes, what must stay, and what a cursor is told afterwards.
#![expect(clippy::unwrap_used, reason = "a case ends where the store fails it")]

use super::{
    Draft, StoreFactory, blob, commit, commit_tasks, ended, outbox, reader, refused, task,
};
use crate::store::{Group, OutboxRow, Purge, Store, StoreError, TaskQuery, TaskRow};
use homing_core::ids::TaskId;

fn tasks(ids: &[TaskId]) -> Purge {
    Purge { tasks: ids.to_vec(), ..Purge::default() }
}

fn outboxes(keys: &[&str]) -> Group {
    let outbox = keys.iter().map(|key| (*key).to_owned()).collect();
    Group { purge: Purge { outbox, ..Purge::default() }, ..Group::default() }
}

fn purge(store: &mut dyn Store, ids: &[TaskId]) {
    store.commit(&Group { purge: tasks(ids), ..Group::default() }).unwrap();
}

pub fn what_ended_before_is_purgeable_oldest_first(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [ended(1, 300), ended(2, 100), ended(3, 200), ended(4, 100), task(5)];
    commit_tasks(&mut *store, 0, &mut rows);
    let reader = reader(&*store);
    let mut oldest = [rows[1].id, rows[3].id];
    oldest.sort();
    let order = [oldest[0], oldest[1], rows[2].id, rows[0].id];
    assert_eq!(reader.purgeable(301, 10).unwrap().tasks, order);
    assert_eq!(reader.purgeable(300, 10).unwrap().tasks, order[..3]);
    assert_eq!(reader.purgeable(301, 2).unwrap().tasks, order[..2]);
    assert_eq!(reader.purgeable(100, 10).unwrap().tasks, []);
}

pub fn the_owed_and_the_kin_of_the_living_are_not_purgeable(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let under = |root: u64, row: TaskRow| TaskRow { root: task(root).id, ..row };
    let mut rows = [
        TaskRow { owed: true, ..ended(1, 5) },
        ended(10, 5),
        under(10, task(11)),
        under(10, ended(12, 5)),
        task(20),
        under(20, ended(21, 5)),
        ended(30, 5),
        under(30, ended(31, 5)),
        under(30, TaskRow { owed: true, ..ended(32, 5) }),
    ];
    let head = commit_tasks(&mut *store, 0, &mut rows);
    let mut free = [rows[6].id, rows[7].id];
    free.sort();
    assert_eq!(reader(&*store).purgeable(100, 100).unwrap().tasks, free);

    rows[2] = TaskRow { task_seq: 1, ..under(10, ended(11, 5)) };
    commit_tasks(&mut *store, head, &mut rows[2..3]);
    assert_eq!(reader(&*store).purgeable(100, 100).unwrap().tasks.len(), 5);
}

pub fn a_purge_takes_row_journal_and_blobs(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = ended(1, 5);
    let mut draft = Draft::after(0);
    draft.says(&mut row, "launched").says(&mut row, "ended");
    draft.group.blobs.push(blob("one/prompt", Some(row.id), b"small"));
    draft.group.blobs.push(blob("one/result", Some(row.id), &[3; 100_000]));
    commit(&mut *store, &draft);
    purge(&mut *store, &[row.id]);
    for restart in [false, true] {
        if restart {
            drop(store);
            store = factory.reopen();
        }
        let reader = reader(&*store);
        assert_eq!(reader.task(row.id).unwrap(), (None, 2));
        assert_eq!(reader.task_journal(row.id, 0, 10).unwrap(), []);
        assert_eq!(reader.blob("one/prompt").unwrap(), None);
        assert_eq!(reader.blob("one/result").unwrap(), None);
        assert_eq!(reader.purgeable(100, 10).unwrap().tasks, []);
        assert_eq!(reader.check().unwrap(), []);
    }
}

pub fn a_purge_spares_everything_else(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let (mut goes, mut stays) = (ended(1, 5), ended(2, 5));
    let mut draft = Draft::after(0);
    for _ in 0..3 {
        draft.says(&mut goes, "decided").says(&mut stays, "decided").journal(None, "posted");
    }
    draft.group.blobs.push(blob("two/result", Some(stays.id), &[3; 100_000]));
    draft.group.blobs.push(blob("db_1", None, b"sealed"));
    draft.group.outbox.push(outbox("db_1", true));
    commit(&mut *store, &draft);
    purge(&mut *store, &[goes.id]);
    let reader = reader(&*store);
    assert_eq!(reader.task(stays.id).unwrap(), (Some(stays.clone()), 9));
    assert_eq!(reader.task_journal(stays.id, 0, 10).unwrap().len(), 3);
    assert_eq!(reader.blob("two/result").unwrap().unwrap(), [3; 100_000]);
    assert_eq!(reader.blob("db_1").unwrap().unwrap(), b"sealed");
    assert_eq!(store.recover().unwrap().outbox, [outbox("db_1", true)]);
    assert_eq!(reader.check().unwrap(), []);
}

pub fn a_purge_frees_the_key(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let keyed = |row| TaskRow { key: Some([5; 16]), ..row };
    let mut first = keyed(ended(1, 5));
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut first));
    purge(&mut *store, &[first.id]);
    assert_eq!(store.recover().unwrap().keys, []);
    commit_tasks(&mut *store, head, &mut [keyed(task(2))]);
    assert_eq!(store.recover().unwrap().keys, [([5; 16], task(2).id)]);
}

pub fn a_living_task_is_not_purged(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [task(1), ended(2, 5)];
    let head = commit_tasks(&mut *store, 0, &mut rows);
    let group = Group { purge: tasks(&[rows[1].id, rows[0].id]), ..Group::default() };
    let why = refused(&mut *store, &group);
    assert!(why.contains(&rows[0].id.to_string()), "it names the task: {why}");
    let reader = reader(&*store);
    assert_eq!(reader.task(rows[1].id).unwrap(), (Some(rows[1].clone()), head));
    assert_eq!(reader.journal(0, 10).unwrap().len(), 2);
}

pub fn an_owed_task_is_not_purged(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [TaskRow { owed: true, ..ended(1, 5) }];
    commit_tasks(&mut *store, 0, &mut rows);
    refused(&mut *store, &Group { purge: tasks(&[rows[0].id]), ..Group::default() });
    assert_eq!(store.recover().unwrap().tasks, rows);
}

pub fn a_task_may_end_and_go_in_one_group(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = task(1);
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    let mut draft = Draft::after(head);
    draft.says(&mut TaskRow { task_seq: 1, ..ended(1, 5) }, "ended");
    draft.group.purge.tasks.push(row.id);
    assert_eq!(commit(&mut *store, &draft), 2);
    assert_eq!(reader(&*store).task(row.id).unwrap(), (None, 2));
    assert!(store.recover().unwrap().tasks.is_empty());
}

pub fn a_purge_of_what_is_not_there_is_harmless(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = ended(1, 5);
    commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    purge(&mut *store, &[row.id, task(9).id, row.id]);
    purge(&mut *store, &[row.id]);
    assert_eq!(reader(&*store).check().unwrap(), []);
}

pub fn a_cursor_below_the_floor_is_told_so(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [task(1), ended(2, 5), task(3), ended(4, 5), task(5)];
    commit_tasks(&mut *store, 0, &mut rows);
    purge(&mut *store, &[rows[1].id]);
    let reader = reader(&*store);
    let told = |asked, floor| Err(StoreError::BelowFloor { asked, floor });
    assert_eq!(reader.journal(0, 10), told(0, 2));
    assert_eq!(reader.journal(1, 10), told(1, 2));
    let seqs =
        |after| reader.journal(after, 10).map(|rows| rows.iter().map(|row| row.seq).collect());
    assert_eq!(seqs(2), Ok(vec![3, 4, 5]));
    purge(&mut *store, &[rows[3].id]);
    assert_eq!(reader.journal(3, 10), told(3, 4));
    assert_eq!(seqs(4), Ok(vec![5]));
    assert_eq!(seqs(5), Ok(vec![]));
    assert_eq!(reader.task_journal(rows[0].id, 0, 10).unwrap().len(), 1);
}

pub fn the_floor_outlives_a_restart(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [task(1), ended(2, 5), task(3)];
    commit_tasks(&mut *store, 0, &mut rows);
    purge(&mut *store, &[rows[1].id]);
    drop(store);
    let store = factory.reopen();
    let told = reader(&*store).journal(0, 10);
    assert_eq!(told, Err(StoreError::BelowFloor { asked: 0, floor: 2 }));
}

pub fn numbers_go_on_after_a_purge(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [ended(1, 5), ended(2, 5)];
    let head = commit_tasks(&mut *store, 0, &mut rows);
    purge(&mut *store, &[rows[0].id, rows[1].id]);
    drop(store);
    let mut store = factory.reopen();
    assert_eq!(store.recover().unwrap().head, head);
    let head = commit_tasks(&mut *store, head, &mut [task(3)]);
    assert_eq!(head, 3);
    assert_eq!(reader(&*store).journal(2, 10).unwrap().len(), 1);
    assert_eq!(reader(&*store).check().unwrap(), []);
}

pub fn bytes_that_another_task_names_stay(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [ended(1, 5), ended(2, 5), ended(3, 5)];
    let mut draft = Draft::after(0);
    for row in &mut rows {
        draft.says(row, "ended");
        draft.group.blobs.push(blob(&format!("{}/result", row.id), Some(row.id), &[9; 70_000]));
    }
    commit(&mut *store, &draft);
    purge(&mut *store, &[rows[0].id, rows[1].id]);
    let name = format!("{}/result", rows[2].id);
    assert_eq!(reader(&*store).blob(&name).unwrap().unwrap(), [9; 70_000]);
    purge(&mut *store, &[rows[2].id]);
    assert_eq!(reader(&*store).blob(&name).unwrap(), None);
}

pub fn what_was_closed_before_is_purgeable_oldest_first(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let closed = |key: &str, at| OutboxRow { closed_wall: Some(at), ..outbox(key, false) };
    let rows = vec![closed("db_a", 30), closed("po_b", 10), outbox("db_c", true)];
    store.commit(&Group { outbox: rows, ..Group::default() }).unwrap();
    let reader = reader(&*store);
    assert_eq!(reader.purgeable(31, 10).unwrap().outbox, ["po_b", "db_a"]);
    assert_eq!(reader.purgeable(30, 10).unwrap().outbox, ["po_b"]);
    assert_eq!(reader.purgeable(31, 1).unwrap().outbox, ["po_b"]);
    assert!(reader.purgeable(10, 10).unwrap().outbox.is_empty());
}

pub fn a_purge_takes_a_debrief_with_its_lines_and_bytes(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = task(1);
    let mut draft = Draft::after(0);
    draft.tells("db_goes", "sealed").tells("db_stays", "sealed").tells("db_goes", "moved");
    draft.says(&mut row, "decided");
    for key in ["db_goes", "db_stays"] {
        draft.group.blobs.push(blob(key, None, &[4; 70_000]));
        draft.group.outbox.push(outbox(key, false));
    }
    commit(&mut *store, &draft);
    store.commit(&outboxes(&["db_goes", "db_never", "db_goes"])).unwrap();
    store.commit(&outboxes(&["db_goes"])).unwrap();
    for restart in [false, true] {
        if restart {
            drop(store);
            store = factory.reopen();
        }
        let reader = reader(&*store);
        assert_eq!(reader.outbox("db_goes").unwrap(), None);
        assert_eq!(reader.blob("db_goes").unwrap(), None);
        assert_eq!(reader.outbox("db_stays").unwrap(), Some(outbox("db_stays", false)));
        assert_eq!(reader.blob("db_stays").unwrap().unwrap(), [4; 70_000]);
        let told = Err(StoreError::BelowFloor { asked: 2, floor: 3 });
        assert_eq!(reader.journal(2, 10), told);
        assert_eq!(reader.journal(3, 10).unwrap().len(), 1);
        assert_eq!(reader.purgeable(100, 10).unwrap().outbox, ["db_stays"]);
        assert_eq!(reader.check().unwrap(), []);
    }
}

pub fn an_open_delivery_is_not_purged(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let row = outbox("db_1", true);
    store.commit(&Group { outbox: vec![row.clone()], ..Group::default() }).unwrap();
    let why = refused(&mut *store, &outboxes(&["db_1"]));
    assert!(why.contains("db_1"), "it names the delivery: {why}");
    assert_eq!(store.recover().unwrap().outbox, [row]);
}

pub fn a_store_with_a_past_checks_clean(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut head = 0;
    let mut rows: Vec<TaskRow> = (1..=60).map(task).collect();
    for round in 0..6_u64 {
        let mut draft = Draft::after(head);
        for row in &mut rows {
            let number = row.created_wall.cast_unsigned() - 1_000;
            if row.living && (number + round) % 3 == 0 {
                let over = (number * 7 + round) % 4 == 0;
                let next = if over { ended(number, round.cast_signed()) } else { task(number) };
                *row = TaskRow { task_seq: row.task_seq, body: vec![round as u8; 700], ..next };
                draft.says(row, "decided");
            }
        }
        let key = format!("db_{}", round / 2);
        draft.journal(None, "said").tells(&key, "posted");
        let closed_wall = (round % 2 == 1).then_some(round.cast_signed() - 3);
        draft.group.outbox.push(OutboxRow { closed_wall, ..outbox(&key, true) });
        head = commit(&mut *store, &draft);
        let gone = reader(&*store).purgeable(round.cast_signed(), 7).unwrap();
        rows.retain(|row| !gone.tasks.contains(&row.id));
        store.commit(&Group { purge: gone, ..Group::default() }).unwrap();
        if round == 3 {
            drop(store);
            store = factory.reopen();
        }
        assert_eq!(reader(&*store).check().unwrap(), [], "round {round}");
    }
    let left = reader(&*store).tasks(&TaskQuery { limit: 100, ..TaskQuery::default() }).unwrap();
    assert!(left.iter().any(|row| row.living) && left.iter().any(|row| !row.living));
}
