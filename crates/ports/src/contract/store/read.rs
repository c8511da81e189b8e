//! Cases of reading: snapshots, pages, filters, journals.
#![expect(clippy::unwrap_used, reason = "a case ends where the store fails it")]

use super::{Draft, StoreFactory, commit, commit_tasks, ended, outbox, reader, refused, task};
use crate::store::{Group, Purge, Reader, TaskQuery, TaskRow};
use homing_core::ids::TaskId;

fn ids(reader: &dyn Reader, query: TaskQuery) -> Vec<TaskId> {
    reader.tasks(&query).unwrap().iter().map(|row| row.id).collect()
}

fn all() -> TaskQuery {
    TaskQuery { limit: 1_000, ..TaskQuery::default() }
}

pub fn a_reader_sees_what_was_committed_since_it_was_made(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let reader = reader(&*store);
    let mut row = task(1);
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    assert_eq!(reader.task(row.id).unwrap(), (Some(row.clone()), head));
    row.state = "running".to_owned();
    let head = commit_tasks(&mut *store, head, std::slice::from_mut(&mut row));
    assert_eq!(reader.task(row.id).unwrap(), (Some(row), head));
    assert_eq!(reader.head().unwrap(), head);
}

pub fn a_reader_never_sees_a_refused_group(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = task(1);
    let head = commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    let reader = reader(&*store);
    let mut draft = Draft::after(head);
    draft.says(&mut TaskRow { state: "running".to_owned(), ..row.clone() }, "decided");
    draft.group.purge.tasks.push(row.id);
    refused(&mut *store, &draft.group);
    assert_eq!(reader.task(row.id).unwrap(), (Some(row), head));
}

pub fn a_row_comes_with_the_head_it_was_read_at(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let reader = reader(&*store);
    assert_eq!(reader.task(task(1).id).unwrap(), (None, 0));
    let head = commit_tasks(&mut *store, 0, &mut [task(1), task(2)]);
    assert_eq!(reader.task(task(9).id).unwrap(), (None, head));
    assert_eq!(reader.task(task(1).id).unwrap().1, 2);
}

pub fn what_is_not_there_is_none(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    commit_tasks(&mut *store, 0, &mut [task(1)]);
    let reader = reader(&*store);
    assert_eq!(reader.task(task(2).id).unwrap().0, None);
    assert_eq!(reader.outbox("db_none").unwrap(), None);
    assert_eq!(reader.blob("none").unwrap(), None);
    assert_eq!(reader.task_journal(task(2).id, 0, 10).unwrap(), []);
}

pub fn tasks_come_newest_first(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let walls = [5, -3, 9, 9, i64::MAX, i64::MIN, 9];
    let mut rows: Vec<TaskRow> = (1..)
        .zip(walls)
        .map(|(number, created_wall)| TaskRow { created_wall, ..task(number) })
        .collect();
    commit_tasks(&mut *store, 0, &mut rows);
    rows.sort_by_key(|row| std::cmp::Reverse((row.created_wall, row.id)));
    assert_eq!(reader(&*store).tasks(&all()).unwrap(), rows);
}

pub fn pages_go_on_where_the_last_one_ended(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows: Vec<TaskRow> =
        (1..=25_u64).map(|n| TaskRow { created_wall: (n / 7).cast_signed(), ..task(n) }).collect();
    commit_tasks(&mut *store, 0, &mut rows);
    let reader = reader(&*store);
    for limit in [1, 4, 25, 30] {
        let (mut pages, mut before) = (Vec::new(), None);
        loop {
            let page = reader.tasks(&TaskQuery { before, limit, ..TaskQuery::default() }).unwrap();
            assert!(page.len() <= limit);
            let Some(last) = page.last() else { break };
            before = Some((last.created_wall, last.id));
            pages.extend(page);
        }
        assert_eq!(pages, reader.tasks(&all()).unwrap(), "by {limit}");
    }
}

/// Tasks of which each filter picks another part.
fn varied() -> Vec<TaskRow> {
    (1..=30)
        .map(|number| {
            let row = match number % 3 {
                0 => ended(number, 5),
                1 => TaskRow { state: "failed".to_owned(), ..ended(number, 5) },
                _ => task(number),
            };
            TaskRow {
                state: if number == 5 { "failed".to_owned() } else { row.state.clone() },
                owed: number % 4 == 0,
                parent: format!("inbox:p{}", number % 5),
                root: task(number - number % 6).id,
                session: (number % 2 == 0).then(|| format!("acp:s{}", number % 7)),
                name: (number % 5 != 0).then(|| format!("name {}", number % 4)),
                ..row
            }
        })
        .map(|row| if row.root == task(0).id { TaskRow { root: row.id, ..row } } else { row })
        .collect()
}

fn filters() -> Vec<TaskQuery> {
    let text = |text: &str| Some(text.to_owned());
    vec![
        TaskQuery { state: text("failed"), ..all() },
        TaskQuery { state: text("queued"), ..all() },
        TaskQuery { living: Some(true), ..all() },
        TaskQuery { living: Some(false), ..all() },
        TaskQuery { owed: Some(true), ..all() },
        TaskQuery { owed: Some(false), living: Some(true), ..all() },
        TaskQuery { owed: Some(true), parent: text("inbox:p3"), ..all() },
        TaskQuery { parent: text("inbox:p3"), ..all() },
        TaskQuery { root: Some(task(12).id), ..all() },
        TaskQuery { root: Some(task(2).id), ..all() },
        TaskQuery { name: text("name 2"), ..all() },
        TaskQuery { session: text("acp:s4"), ..all() },
        TaskQuery { prefix: Some(task(12).id.to_string()[..5].to_owned()), ..all() },
    ]
}

fn expected(query: &TaskQuery, mut rows: Vec<TaskRow>) -> Vec<TaskRow> {
    rows.retain(|row| {
        query.state.as_ref().is_none_or(|state| *state == row.state)
            && query.living.is_none_or(|living| living == row.living)
            && query.owed.is_none_or(|owed| owed == row.owed)
            && query.parent.as_ref().is_none_or(|parent| *parent == row.parent)
            && query.root.is_none_or(|root| root == row.root)
            && (query.name.is_none() || query.name == row.name)
            && (query.session.is_none() || query.session == row.session)
            && query.prefix.as_ref().is_none_or(|begins| row.id.to_string().starts_with(begins))
    });
    rows.sort_by_key(|row| std::cmp::Reverse((row.created_wall, row.id)));
    rows
}

pub fn each_filter_picks_its_rows(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = varied();
    commit_tasks(&mut *store, 0, &mut rows);
    let reader = reader(&*store);
    for query in filters() {
        let wanted = expected(&query, rows.clone());
        assert!(
            !wanted.is_empty() && wanted.len() < rows.len(),
            "a filter that filters: {query:?}"
        );
        assert_eq!(reader.tasks(&query).unwrap(), wanted, "{query:?}");
    }
    let none = TaskQuery { name: Some("nobody".to_owned()), ..all() };
    assert_eq!(reader.tasks(&none).unwrap(), []);
}

pub fn filters_go_together(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = varied();
    commit_tasks(&mut *store, 0, &mut rows);
    let reader = reader(&*store);
    for one in filters() {
        for other in filters() {
            let query = TaskQuery {
                state: one.state.clone().or(other.state),
                living: one.living.or(other.living),
                parent: one.parent.clone().or(other.parent),
                root: one.root.or(other.root),
                name: one.name.clone().or(other.name),
                session: one.session.clone().or(other.session),
                prefix: one.prefix.clone().or(other.prefix),
                ..all()
            };
            let wanted = expected(&query, rows.clone());
            assert_eq!(reader.tasks(&query).unwrap(), wanted, "{query:?}");
        }
    }
}

pub fn filters_page_too(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = varied();
    commit_tasks(&mut *store, 0, &mut rows);
    let reader = reader(&*store);
    for query in filters() {
        let (mut pages, mut before) = (Vec::new(), None);
        while let [row] = &*reader.tasks(&TaskQuery { before, limit: 1, ..query.clone() }).unwrap()
        {
            before = Some((row.created_wall, row.id));
            pages.push(row.clone());
        }
        assert_eq!(pages, expected(&query, rows.clone()), "{query:?}");
    }
}

pub fn a_prefix_picks_the_ids_that_begin_so(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows: Vec<TaskRow> = (0..=31)
        .flat_map(|first| [0, 1, u64::MAX].map(|rest| (first << 55) | (rest & ((1 << 55) - 1))))
        .map(|bits| TaskRow { id: TaskId::from_bits(bits), ..task(1) })
        .collect();
    commit_tasks(&mut *store, 0, &mut rows);
    let reader = reader(&*store);
    let mut prefixes: Vec<String> = ["", "b", "bg", "bg_"].map(str::to_owned).to_vec();
    for row in &rows {
        let id = row.id.to_string();
        prefixes.extend([4, 5, 9, 15].map(|length| id[..length].to_owned()));
    }
    for prefix in prefixes {
        let query = TaskQuery { prefix: Some(prefix), ..all() };
        let wanted: Vec<TaskId> = expected(&query, rows.clone()).iter().map(|row| row.id).collect();
        assert_eq!(ids(&*reader, query.clone()), wanted, "{:?}", query.prefix);
    }
    for nothing in ["x", "bg0", "bg_u", "bg_0000000000000", "db_", "bg_ü", "bg_%"] {
        let query = TaskQuery { prefix: Some(nothing.to_owned()), ..all() };
        assert_eq!(ids(&*reader, query), [], "{nothing}");
    }
}

pub fn a_limit_of_nothing_yields_nothing(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut row = ended(1, 5);
    commit_tasks(&mut *store, 0, std::slice::from_mut(&mut row));
    let reader = reader(&*store);
    assert_eq!(reader.tasks(&TaskQuery::default()).unwrap(), []);
    assert_eq!(reader.journal(0, 0).unwrap(), []);
    assert_eq!(reader.task_journal(row.id, 0, 0).unwrap(), []);
    assert_eq!(reader.purgeable(i64::MAX, 0).unwrap(), Purge::default());
    assert_eq!(reader.journal(0, usize::MAX).unwrap().len(), 1);
}

pub fn the_journal_pages_without_a_gap(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [task(1), task(2)];
    let mut written = Vec::new();
    let mut head = 0;
    for round in 0..5 {
        let mut draft = Draft::after(head);
        draft.says(&mut rows[round % 2], "decided").journal(None, "posted");
        head = commit(&mut *store, &draft);
        written.extend(draft.group.journal);
    }
    let reader = reader(&*store);
    for limit in [1, 3, 10, 11] {
        let mut read = Vec::new();
        while let page @ [_, ..] = &*reader.journal(read.len() as u64, limit).unwrap() {
            assert!(page.len() <= limit);
            read.extend(page.to_vec());
        }
        assert_eq!(read, written, "by {limit}");
    }
    for beyond in [head, head + 1, u64::MAX] {
        assert_eq!(reader.journal(beyond, 10).unwrap(), []);
    }
}

pub fn a_tasks_journal_is_its_own(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let mut rows = [task(1), task(2)];
    let mut draft = Draft::after(0);
    for round in 0..9 {
        draft.says(&mut rows[round % 2], "decided").journal(None, "posted");
    }
    commit(&mut *store, &draft);
    let reader = reader(&*store);
    for row in &rows {
        let own: Vec<_> = draft
            .group
            .journal
            .iter()
            .filter(|line| line.task.is_some_and(|(task, _)| task == row.id))
            .cloned()
            .collect();
        assert_eq!(reader.task_journal(row.id, 0, 100).unwrap(), own);
        assert_eq!(reader.task_journal(row.id, 1, 2).unwrap(), own[1..3]);
        assert_eq!(reader.task_journal(row.id, own.len() as u64, 2).unwrap(), []);
        assert_eq!(reader.task_journal(row.id, u64::MAX, 2).unwrap(), []);
    }
}

pub fn an_outbox_row_is_found_open_and_closed(factory: &mut dyn StoreFactory) {
    let mut store = factory.fresh();
    let reader = reader(&*store);
    for open in [true, false] {
        store.commit(&Group { outbox: vec![outbox("db_1", open)], ..Group::default() }).unwrap();
        assert_eq!(reader.outbox("db_1").unwrap(), Some(outbox("db_1", open)));
    }
}
