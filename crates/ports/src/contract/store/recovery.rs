//! Cases of starting: what comes back, and that what is over does not.
#![expect(clippy::unwrap_used, reason = "a case ends where the store fails it")]

use super::{Draft, StoreFactory, commit, commit_tasks, ended, outbox, reader, task};
use crate::store::{ClockMark, Group, Store, TaskRow};
use homing_core::ids::TaskId;

fn restarted(factory: &mut dyn StoreFactory, store: Box<dyn Store>) -> Box<dyn Store> {
    drop(store);
    factory.reopen()
}

fn sorted(mut rows: Vec<TaskRow>) -> Vec<TaskRow> {
    rows.sort_by_key(|row| row.id);
    rows
}

pub fn the_living_and_the_owed_come_back(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows: Vec<TaskRow> = (1..=40)
        .map(|number| match number % 3 {
            0 => task(number),
            1 => TaskRow { owed: true, ..task(number) },
            _ => TaskRow { owed: true, ..ended(number, 50) },
        })
        .collect();
    commit_tasks(&mut *store, 0, &mut rows);
    let mut store = restarted(factory, store);
    assert_eq!(store.recover().unwrap().tasks, sorted(rows));
}

pub fn a_few_that_are_living_or_owed_are_found_among_many(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut over: Vec<TaskRow> = (1..=60).map(|number| ended(number, 50)).collect();
    let mut kept = vec![
        task(100),
        TaskRow { owed: true, ..ended(101, 50) },
        TaskRow { owed: true, ..task(102) },
        TaskRow { root: task(102).id, ..ended(103, 50) },
    ];
    let head = commit_tasks(&mut *store, 0, &mut over);
    commit_tasks(&mut *store, head, &mut kept);
    let mut store = restarted(factory, store);
    assert_eq!(store.recover().unwrap().tasks, sorted(kept));
}

pub fn what_is_over_does_not_come_back(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [task(1), task(2), TaskRow { owed: true, ..task(3) }];
    let head = commit_tasks(&mut *store, 0, &mut rows);
    for row in &mut rows[1..] {
        *row = TaskRow { task_seq: 1, ..ended(row.created_wall.cast_unsigned() - 1_000, 50) };
    }
    commit_tasks(&mut *store, head, &mut rows[1..]);
    assert_eq!(store.recover().unwrap().tasks, [rows[0].clone()]);
    let mut store = restarted(factory, store);
    assert_eq!(store.recover().unwrap().tasks, [rows[0].clone()]);
}

pub fn relatives_of_the_living_come_back(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let under = |root: u64, row: TaskRow| TaskRow { root: task(root).id, ..row };
    let mut kept = vec![
        ended(1, 50),
        under(1, task(2)),
        under(1, ended(3, 50)),
        task(10),
        under(10, ended(11, 50)),
    ];
    let mut over =
        vec![ended(20, 50), under(20, ended(21, 50)), under(20, ended(22, 50)), ended(30, 50)];
    let owed_without_living =
        vec![TaskRow { owed: true, ..ended(40, 50) }, under(40, ended(41, 50))];
    let head = commit_tasks(&mut *store, 0, &mut kept);
    let head = commit_tasks(&mut *store, head, &mut over);
    let mut rest = owed_without_living;
    commit_tasks(&mut *store, head, &mut rest);
    kept.push(rest[0].clone());
    let mut store = restarted(factory, store);
    assert_eq!(store.recover().unwrap().tasks, sorted(kept));
}

pub fn every_key_comes_back(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let key = |number: u8| Some([number; 16]);
    let mut rows = [
        TaskRow { key: key(9), ..task(1) },
        TaskRow { key: key(3), ..ended(2, 50) },
        TaskRow { key: key(200), owed: true, ..ended(3, 50) },
        task(4),
    ];
    let head = commit_tasks(&mut *store, 0, &mut rows);
    rows[0].key = key(1);
    commit_tasks(&mut *store, head, &mut rows[..1]);
    let expected = [([1; 16], rows[0].id), ([3; 16], rows[1].id), ([200; 16], rows[2].id)];
    let mut store = restarted(factory, store);
    assert_eq!(store.recover().unwrap().keys, expected);
}

pub fn open_outbox_rows_come_back_and_closed_ones_do_not(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let keys = ["db_b", "po_c", "db_a"];
    let open =
        Group { outbox: keys.iter().map(|key| outbox(key, true)).collect(), ..Group::default() };
    store.commit(&open).unwrap();
    store.commit(&Group { outbox: vec![outbox("po_c", false)], ..Group::default() }).unwrap();
    let mut store = restarted(factory, store);
    assert_eq!(store.recover().unwrap().outbox, [outbox("db_a", true), outbox("db_b", true)]);
    store.commit(&Group { outbox: vec![outbox("po_c", true)], ..Group::default() }).unwrap();
    assert_eq!(store.recover().unwrap().outbox.len(), 3);
}

pub fn head_and_clock_come_back(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut draft = Draft::after(0);
    draft.says(&mut task(1), "launched").journal(None, "posted");
    draft.group.clock = ClockMark { boot: "a boot".to_owned(), tick: 12, mono: 34 };
    commit(&mut *store, &draft);
    let recovered = restarted(factory, store).recover().unwrap();
    assert_eq!((recovered.head, recovered.clock), (2, draft.group.clock));
}

pub fn recovering_in_place_sees_the_last_commit(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [task(1)];
    let mut head = 0;
    for _ in 0..3 {
        head = commit_tasks(&mut *store, head, &mut rows);
        let recovered = store.recover().unwrap();
        assert_eq!(recovered.head, head);
        assert_eq!(recovered.tasks, rows);
    }
}

pub fn recovering_twice_gives_the_same(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [task(1), ended(2, 5), TaskRow { key: Some([1; 16]), ..task(3) }];
    commit_tasks(&mut *store, 0, &mut rows);
    let mut store = restarted(factory, store);
    let first = store.recover().unwrap();
    assert_eq!(first.tasks.len(), 2);
    assert_eq!(store.recover().unwrap(), first);
    let mut store = restarted(factory, store);
    assert_eq!(store.recover().unwrap(), first);
}

pub fn a_resumed_task_lives_again(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = ended(1, 50);
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    assert!(store.recover().unwrap().tasks.is_empty());
    row = TaskRow {
        state: "running".to_owned(),
        living: true,
        ended_wall: None,
        parent: "none".to_owned(),
        session: Some("acp:other".to_owned()),
        root: TaskId::from_bits(5),
        ..row
    };
    commit_tasks(&mut *store, head, std::slice::from_mut(&mut row));
    let mut store = restarted(factory, store);
    assert_eq!(store.recover().unwrap().tasks, [row]);
}

pub fn a_receipt_settles_what_was_owed(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = TaskRow { owed: true, ..ended(1, 50) };
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    row.owed = false;
    let head = commit_tasks(&mut *store, head, std::slice::from_mut(&mut row));
    let mut store = restarted(factory, store);
    assert!(store.recover().unwrap().tasks.is_empty());
    assert_eq!(reader(&*store).task(row.id).unwrap(), (Some(row), head));
}

pub fn each_column_may_change_alone(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let first = TaskRow { session: Some("acp:one".to_owned()), ..task(1) };
    let changes: [fn(&mut TaskRow); 11] = [
        |row| row.state = "running".to_owned(),
        |row| row.owed = true,
        |row| row.parent = "none".to_owned(),
        |row| row.root = task(2).id,
        |row| row.session = None,
        |row| row.name = Some("named".to_owned()),
        |row| row.key = Some([1; 16]),
        |row| row.created_wall = 7,
        |row| row.ended_wall = Some(8),
        |row| row.body = vec![1; 5_000],
        |row| row.living = false,
    ];
    let mut row = first;
    let mut head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    for change in changes {
        change(&mut row);
        head = commit_tasks(&mut *store, head, std::slice::from_mut(&mut row));
        store = restarted(factory, store);
        assert_eq!(store.recover().unwrap().tasks, [row.clone()]);
        assert_eq!(reader(&*store).task(row.id).unwrap(), (Some(row.clone()), head));
        assert_eq!(reader(&*store).check().unwrap(), []);
    }
}
