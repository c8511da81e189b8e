//! What every ledger must do. Owns the cases and the macro that runs them; never a store.

use homing_core::ids::TaskId;

use crate::store::{
    Blob, CommitError, Group, JournalRow, OutboxKind, OutboxRow, Reader, Store, TaskRow,
};

pub mod blobs;
pub mod commit;
pub mod read;
pub mod recovery;
pub mod retention;

/// Makes the stores that a case needs, one at a time: drop the last before asking again.
pub trait StoreFactory {
    /// An empty one.
    fn fresh(&mut self) -> Box<dyn Store>;
    /// The last one again, as after a restart.
    fn reopen(&mut self) -> Box<dyn Store>;
}

/// One `#[test]` for each case, against what the factory makes.
#[macro_export]
macro_rules! store_contract {
    ($factory:expr) => {
        $crate::store_contract!(@each $factory;
            commit::a_fresh_store_is_empty,
            commit::what_is_committed_is_there_after_a_restart,
            commit::every_column_reads_back_as_it_was_written,
            commit::the_first_journal_row_is_number_one,
            commit::a_group_that_leaves_a_gap_is_refused,
            commit::a_group_that_repeats_a_number_is_refused,
            commit::a_gap_inside_a_group_is_refused,
            commit::a_tasks_numbers_begin_at_one,
            commit::a_tasks_numbers_leave_no_gap,
            commit::journal_rows_need_the_row_of_their_task,
            commit::a_row_ends_where_its_journal_ends,
            commit::a_row_may_change_without_a_journal_row,
            commit::two_rows_of_one_task_are_refused,
            commit::a_key_belongs_to_one_task,
            commit::a_refused_group_leaves_nothing_behind,
            commit::a_store_goes_on_after_a_refused_group,
            commit::an_empty_group_moves_only_the_clock,
            recovery::the_living_and_the_owed_come_back,
            recovery::a_few_that_are_living_or_owed_are_found_among_many,
            recovery::what_is_over_does_not_come_back,
            recovery::relatives_of_the_living_come_back,
            recovery::every_key_comes_back,
            recovery::open_outbox_rows_come_back_and_closed_ones_do_not,
            recovery::head_and_clock_come_back,
            recovery::recovering_in_place_sees_the_last_commit,
            recovery::recovering_twice_gives_the_same,
            recovery::a_resumed_task_lives_again,
            recovery::a_receipt_settles_what_was_owed,
            recovery::each_column_may_change_alone,
            read::a_reader_sees_what_was_committed_since_it_was_made,
            read::a_reader_never_sees_a_refused_group,
            read::a_row_comes_with_the_head_it_was_read_at,
            read::what_is_not_there_is_none,
            read::tasks_come_newest_first,
            read::pages_go_on_where_the_last_one_ended,
            read::each_filter_picks_its_rows,
            read::filters_go_together,
            read::filters_page_too,
            read::a_prefix_picks_the_ids_that_begin_so,
            read::a_limit_of_nothing_yields_nothing,
            read::the_journal_pages_without_a_gap,
            read::a_tasks_journal_is_its_own,
            read::an_outbox_row_is_found_open_and_closed,
            blobs::bytes_read_back_at_every_size,
            blobs::the_same_bytes_again_are_harmless,
            blobs::other_bytes_under_a_taken_name_are_refused,
            blobs::two_names_may_hold_the_same_bytes,
            retention::what_ended_before_is_purgeable_oldest_first,
            retention::the_owed_and_the_kin_of_the_living_are_not_purgeable,
            retention::a_purge_takes_row_journal_and_blobs,
            retention::a_purge_spares_everything_else,
            retention::a_purge_frees_the_key,
            retention::a_living_task_is_not_purged,
            retention::an_owed_task_is_not_purged,
            retention::a_task_may_end_and_go_in_one_group,
            retention::a_purge_of_what_is_not_there_is_harmless,
            retention::a_cursor_below_the_floor_is_told_so,
            retention::the_floor_outlives_a_restart,
            retention::numbers_go_on_after_a_purge,
            retention::bytes_that_another_task_names_stay,
            retention::what_was_closed_before_is_purgeable_oldest_first,
            retention::a_purge_takes_a_debrief_with_its_lines_and_bytes,
            retention::an_open_delivery_is_not_purged,
            retention::a_store_with_a_past_checks_clean,
        );
    };
    (@each $factory:expr; $($group:ident :: $case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                $crate::contract::store::$group::$case(&mut $factory);
            }
        )+
    };
}

/// A living task of its own root; the same number, the same task.
pub fn task(number: u64) -> TaskRow {
    let id = TaskId::from_bits(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    TaskRow {
        id,
        task_seq: 0,
        state: "queued".to_owned(),
        living: true,
        owed: false,
        parent: "inbox:cli".to_owned(),
        root: id,
        session: None,
        name: None,
        key: None,
        created_wall: 1_000 + number.cast_signed(),
        ended_wall: None,
        body: format!("{{\"task\":{number}}}").into_bytes(),
    }
}

/// The same task, over and settled.
pub fn ended(number: u64, ended_wall: i64) -> TaskRow {
    TaskRow {
        state: "completed".to_owned(),
        living: false,
        ended_wall: Some(ended_wall),
        ..task(number)
    }
}

/// An outbox row; over, it was so at 5.
pub fn outbox(key: &str, open: bool) -> OutboxRow {
    OutboxRow {
        key: key.to_owned(),
        kind: OutboxKind::Debrief,
        parent: "inbox:cli".to_owned(),
        closed_wall: (!open).then_some(5),
        body: format!("{{\"debrief\":\"{key}\"}}").into_bytes(),
    }
}

pub fn blob(name: &str, task: Option<TaskId>, bytes: &[u8]) -> Blob {
    Blob { name: name.to_owned(), task, bytes: bytes.into() }
}

/// A group in the making, its numbers right unless a case spoils them.
#[derive(Debug)]
pub struct Draft {
    head: u64,
    pub group: Group,
}

impl Draft {
    pub fn after(head: u64) -> Self {
        Self { head, group: Group::default() }
    }

    /// One journal row of the task, and the row itself as it then stands.
    pub fn says(&mut self, row: &mut TaskRow, kind: &str) -> &mut Self {
        row.task_seq += 1;
        self.journal(Some((row.id, row.task_seq)), kind);
        self.group.tasks.retain(|known| known.id != row.id);
        self.group.tasks.push(row.clone());
        self
    }

    /// One journal row, of a task or of none.
    pub fn journal(&mut self, task: Option<(TaskId, u64)>, kind: &str) -> &mut Self {
        self.line(task, None, kind)
    }

    /// One journal row of a debrief or a post.
    pub fn tells(&mut self, key: &str, kind: &str) -> &mut Self {
        self.line(None, Some(key), kind)
    }

    fn line(&mut self, task: Option<(TaskId, u64)>, key: Option<&str>, kind: &str) -> &mut Self {
        self.head += 1;
        let seq = self.head;
        self.group.journal.push(JournalRow {
            seq,
            task,
            outbox: key.map(str::to_owned),
            kind: kind.to_owned(),
            tick: 10 * seq,
            wall: 1_000_000 + seq.cast_signed(),
            body: format!("{{\"seq\":{seq}}}").into_bytes(),
        });
        self
    }
}

/// Commits a group that must be right; yields the new head.
pub fn commit(store: &mut dyn Store, draft: &Draft) -> u64 {
    let committed = store.commit(&draft.group);
    assert_eq!(committed, Ok(()), "a group that is right was refused");
    draft.head
}

/// Commits one journal row for each task; yields the new head.
pub fn commit_tasks(store: &mut dyn Store, head: u64, rows: &mut [TaskRow]) -> u64 {
    let mut draft = Draft::after(head);
    for row in rows {
        draft.says(row, "decided");
    }
    commit(store, &draft)
}

/// Commits a group that must be refused; yields why.
pub fn refused(store: &mut dyn Store, group: &Group) -> String {
    let outcome = store.commit(group);
    match outcome {
        Err(CommitError::Failed { what }) => what,
        Ok(()) | Err(CommitError::Unknown { .. } | CommitError::Fatal { .. }) => {
            assert_eq!(outcome, Err(CommitError::Failed { what: "anything".to_owned() }));
            String::new()
        }
    }
}

#[expect(clippy::expect_used, reason = "a case ends where the store fails it")]
pub fn reader(store: &dyn Store) -> Box<dyn Reader> {
    store.reader().expect("a reader")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_case_is_run() {
        let list = include_str!("store.rs");
        for (group, source) in [
            ("blobs", include_str!("store/blobs.rs")),
            ("commit", include_str!("store/commit.rs")),
            ("read", include_str!("store/read.rs")),
            ("recovery", include_str!("store/recovery.rs")),
            ("retention", include_str!("store/retention.rs")),
        ] {
            let cases = source.lines().filter_map(|line| line.strip_prefix("pub fn "));
            for case in cases.filter_map(|line| line.split('(').next()) {
                assert!(list.contains(&format!(" {group}::{case},")), "{group}::{case} never runs");
            }
        }
    }
}
