//! Cases of writing: what commits, what is refused, and that a refusal leaves nothing.
#![expect(clippy::unwrap_used, reason = "a case ends where the store fails it")]

use super::{
    Draft, StoreFactory, blob, commit, commit_tasks, ended, outbox, reader, refused, task,
};
use crate::store::{ClockMark, Group, OutboxKind, OutboxRow, Purge, Recovered, TaskQuery, TaskRow};
use homing_core::ids::TaskId;

pub fn a_fresh_store_is_empty(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    assert_eq!(store.recover().unwrap(), Recovered::default());
    let reader = reader(&*store);
    assert_eq!(reader.head().unwrap(), 0);
    assert_eq!(reader.journal(0, 10).unwrap(), []);
    assert_eq!(reader.tasks(&TaskQuery { limit: 10, ..TaskQuery::default() }).unwrap(), []);
    assert_eq!(reader.purgeable(i64::MAX, 10).unwrap(), Purge::default());
    assert_eq!(reader.check().unwrap(), []);
}

pub fn what_is_committed_is_there_after_a_restart(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = task(1);
    let mut draft = Draft::after(0);
    draft.says(&mut row, "launched").journal(None, "posted");
    draft.group.outbox.push(outbox("db_1", true));
    draft.group.blobs.push(blob("db_1", None, b"sealed"));
    commit(&mut *store, &draft);
    drop(store);

    let store = factory.reopen();
    let reader = reader(&*store);
    assert_eq!(reader.task(row.id).unwrap(), (Some(row), 2));
    assert_eq!(reader.journal(0, 10).unwrap(), draft.group.journal);
    assert_eq!(reader.outbox("db_1").unwrap(), Some(outbox("db_1", true)));
    assert_eq!(reader.blob("db_1").unwrap().as_deref(), Some(&b"sealed"[..]));
}

pub fn every_column_reads_back_as_it_was_written(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let odd = "öß\u{1f6f0}\0'\"%_\n".to_owned();
    let full = TaskRow {
        state: odd.clone(),
        owed: true,
        parent: odd.clone(),
        root: TaskId::from_bits(u64::MAX),
        session: Some(odd.clone()),
        name: Some(odd.clone()),
        key: Some([0xff; 16]),
        created_wall: i64::MIN,
        ended_wall: Some(i64::MAX),
        body: (0..=255).collect(),
        ..task(1)
    };
    let bare = TaskRow {
        id: TaskId::from_bits(0),
        parent: String::new(),
        state: String::new(),
        session: Some(String::new()),
        body: Vec::new(),
        ..task(2)
    };
    let mut rows = [full, bare];
    let mut draft = Draft::after(0);
    for row in &mut rows {
        draft.says(row, &odd);
    }
    draft.group.journal[0].wall = -1;
    draft.group.journal[1].body = (0..=255).collect();
    let post = OutboxRow {
        kind: OutboxKind::Post,
        parent: odd.clone(),
        body: Vec::new(),
        ..outbox(&odd, true)
    };
    draft.group.outbox.push(post.clone());
    draft.group.clock = ClockMark { boot: odd.clone(), tick: 5, mono: i64::MAX.cast_unsigned() };
    commit(&mut *store, &draft);
    drop(store);

    let mut store = factory.reopen();
    let reader = reader(&*store);
    for row in rows {
        assert_eq!(reader.task(row.id).unwrap().0, Some(row));
    }
    assert_eq!(reader.journal(0, 10).unwrap(), draft.group.journal);
    assert_eq!(reader.outbox(&odd).unwrap(), Some(post));
    assert_eq!(store.recover().unwrap().clock, draft.group.clock);
}

pub fn the_first_journal_row_is_number_one(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut draft = Draft::after(1);
    draft.says(&mut task(1), "launched");
    refused(&mut *store, &draft.group);
    assert_eq!(commit_tasks(&mut *store, 0, &mut [task(1)]), 1);
}

pub fn a_group_that_leaves_a_gap_is_refused(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let head = commit_tasks(&mut *store, 0, &mut [task(1), task(2)]);
    let mut draft = Draft::after(head + 1);
    draft.says(&mut task(3), "launched");
    let why = refused(&mut *store, &draft.group);
    assert!(why.contains('4') && why.contains('3'), "it names both numbers: {why}");
    assert_eq!(reader(&*store).head().unwrap(), head);
}

pub fn a_group_that_repeats_a_number_is_refused(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let head = commit_tasks(&mut *store, 0, &mut [task(1), task(2)]);
    let mut draft = Draft::after(head - 1);
    draft.says(&mut task(3), "launched");
    refused(&mut *store, &draft.group);
    assert_eq!(reader(&*store).task(task(3).id).unwrap(), (None, head));
}

pub fn a_gap_inside_a_group_is_refused(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut draft = Draft::after(0);
    draft.journal(None, "one").journal(None, "two").journal(None, "three");
    draft.group.journal.remove(1);
    refused(&mut *store, &draft.group);
    assert_eq!(reader(&*store).journal(0, 10).unwrap(), []);
}

pub fn a_tasks_numbers_begin_at_one(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    for wrong in [0, 2, u64::MAX] {
        let row = TaskRow { task_seq: wrong, ..task(1) };
        let mut draft = Draft::after(0);
        draft.journal(Some((row.id, wrong)), "launched");
        draft.group.tasks.push(row);
        refused(&mut *store, &draft.group);
    }
    assert_eq!(reader(&*store).head().unwrap(), 0);
}

pub fn a_tasks_numbers_leave_no_gap(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [task(1), task(2)];
    let head = commit_tasks(&mut *store, 0, &mut rows);

    let mut ahead = TaskRow { task_seq: 2, ..rows[0].clone() };
    let mut draft = Draft::after(head);
    draft.says(&mut ahead, "skipped one");
    let why = refused(&mut *store, &draft.group);
    assert!(why.contains(&ahead.id.to_string()), "it names the task: {why}");

    let mut again = TaskRow { task_seq: 0, ..rows[0].clone() };
    let mut draft = Draft::after(head);
    draft.says(&mut again, "said twice");
    refused(&mut *store, &draft.group);

    let mut draft = Draft::after(head);
    draft.says(&mut rows[1], "two").says(&mut rows[1], "three");
    draft.group.journal[1].task = Some((rows[1].id, 4));
    draft.group.tasks[0].task_seq = 4;
    refused(&mut *store, &draft.group);
}

pub fn journal_rows_need_the_row_of_their_task(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut draft = Draft::after(0);
    draft.journal(Some((task(1).id, 1)), "launched");
    refused(&mut *store, &draft.group);
}

pub fn a_row_ends_where_its_journal_ends(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = task(1);
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    for wrong in [1, 3] {
        let mut draft = Draft::after(head);
        draft.says(&mut row.clone(), "decided");
        draft.group.tasks[0].task_seq = wrong;
        refused(&mut *store, &draft.group);
    }
    let lone = Group { tasks: vec![TaskRow { task_seq: 2, ..row }], ..Group::default() };
    refused(&mut *store, &lone);
}

pub fn a_row_may_change_without_a_journal_row(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = task(1);
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    row.body = b"{}".to_vec();
    let group = Group { tasks: vec![row.clone()], ..Group::default() };
    store.commit(&group).unwrap();
    assert_eq!(reader(&*store).task(row.id).unwrap(), (Some(row), head));
}

pub fn two_rows_of_one_task_are_refused(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = task(1);
    let mut draft = Draft::after(0);
    draft.says(&mut row, "launched");
    let mut twice = draft.group.clone();
    twice.tasks.push(row.clone());
    refused(&mut *store, &twice);
    commit(&mut *store, &draft);
    let silent = Group { tasks: vec![row.clone(), row], ..Group::default() };
    refused(&mut *store, &silent);
}

pub fn a_key_belongs_to_one_task(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let keyed = |number| TaskRow { key: Some([7; 16]), ..task(number) };
    let mut first = keyed(1);
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut first));
    let mut draft = Draft::after(head);
    draft.says(&mut keyed(2), "launched");
    refused(&mut *store, &draft.group);

    let both = {
        let mut draft = Draft::after(head);
        let keyed = |number| TaskRow { key: Some([8; 16]), ..task(number) };
        draft.says(&mut keyed(3), "launched").says(&mut keyed(4), "launched");
        draft.group
    };
    refused(&mut *store, &both);
    commit_tasks(&mut *store, head, std::slice::from_mut(&mut first));
    assert_eq!(store.recover().unwrap().keys, [([7; 16], first.id)]);
}

pub fn a_refused_group_leaves_nothing_behind(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut living = task(1);
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut living));
    let before = store.recover().unwrap();

    let mut draft = Draft::after(head);
    draft.says(&mut living.clone(), "decided").says(&mut ended(2, 5), "launched");
    draft.group.outbox.push(outbox("db_1", true));
    draft.group.blobs.push(blob("db_1", None, &[7; 100]));
    draft.group.blobs.push(blob("large", None, &[7; 100_000]));
    draft.group.clock = ClockMark { boot: "boot".to_owned(), tick: 9, mono: 9 };
    draft.group.purge.tasks.push(living.id);
    refused(&mut *store, &draft.group);

    for restart in [false, true] {
        if restart {
            drop(store);
            store = factory.reopen();
        }
        assert_eq!(store.recover().unwrap(), before);
        let reader = reader(&*store);
        assert_eq!(reader.head().unwrap(), head);
        assert_eq!(reader.task(task(2).id).unwrap().0, None);
        assert_eq!(reader.outbox("db_1").unwrap(), None);
        assert_eq!(reader.blob("db_1").unwrap(), None);
        assert_eq!(reader.blob("large").unwrap(), None);
        assert_eq!(reader.journal(head, 10).unwrap(), []);
        assert_eq!(reader.check().unwrap(), []);
    }
}

pub fn a_store_goes_on_after_a_refused_group(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = task(1);
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    refused(&mut *store, &Draft::after(head + 5).journal(None, "ahead").group);
    let head = commit_tasks(&mut *store, head, std::slice::from_mut(&mut row));
    assert_eq!(head, 2);
    drop(store);
    assert_eq!(factory.reopen().recover().unwrap().head, 2);
}

pub fn an_empty_group_moves_only_the_clock(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let head = commit_tasks(&mut *store, 0, &mut [task(1)]);
    let clock = ClockMark { boot: "this one".to_owned(), tick: 7, mono: 3 };
    let before = store.recover().unwrap();
    store.commit(&Group { clock: clock.clone(), ..Group::default() }).unwrap();
    assert_eq!(store.recover().unwrap(), Recovered { clock, ..before });
    assert_eq!(reader(&*store).head().unwrap(), head);
}
