//! The ledger in memory, with commits that can be made to fail. Never outlives its process.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_core::ids::TaskId;

use crate::store::{
    Blob, ClockMark, CommitError, Damage, Group, JournalRow, Kept, OutboxRow, Purge, Reader,
    Recovered, Store, StoreError, TaskQuery, TaskRow,
};

/// How a coming commit fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitFault {
    /// Nothing of the group is there, and the store says so.
    Failed,
    /// The group is there, and the store does not know.
    UnknownApplied,
    /// The group is not there, and the store does not know.
    UnknownNotApplied,
    /// A sync failed; whether the group is there is of no use any more.
    Fatal,
}

/// Every handle of one ledger shares it: a second store on it is a restart.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {
    ledger: Arc<Mutex<Ledger>>,
    faults: Faults,
}

/// Makes the next commits fail, one each, in order.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<VecDeque<Option<CommitFault>>>>);

impl Faults {
    pub fn next(&self, fault: CommitFault) {
        lock(&self.0).push_back(Some(fault));
    }

    /// Lets one commit through before the next fault.
    pub fn then_succeed(&self) {
        lock(&self.0).push_back(None);
    }

    fn take(&self) -> Option<CommitFault> {
        lock(&self.0).pop_front().flatten()
    }
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }
}

#[derive(Debug, Default)]
struct Ledger {
    tasks: BTreeMap<TaskId, TaskRow>,
    journal: BTreeMap<u64, JournalRow>,
    /// Where each task's rows stand in the journal.
    spoken: BTreeMap<(TaskId, u64), u64>,
    outbox: BTreeMap<String, OutboxRow>,
    blobs: BTreeMap<String, Blob>,
    keys: BTreeMap<[u8; 16], TaskId>,
    head: u64,
    floor: u64,
    clock: ClockMark,
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused<T>(what: String) -> Result<T, CommitError> {
    Err(CommitError::Failed { what })
}

impl Ledger {
    /// Everything that can be wrong with a group, before anything is changed.
    fn admit(&self, group: &Group) -> Result<(), CommitError> {
        let runs = group.runs(self.head)?;
        for row in &group.tasks {
            let before = self.tasks.get(&row.id).map_or(0, |row| row.task_seq);
            row.follows(before, runs.get(&row.id).copied().flatten())?;
        }
        self.admit_keys(group)?;
        self.admit_blobs(group)?;
        for id in &group.purge.tasks {
            let given = group.tasks.iter().find(|row| row.id == *id);
            if given.or_else(|| self.tasks.get(id)).is_some_and(TaskRow::is_hot) {
                return refused(format!("{id} is living or owed: retention does not take it"));
            }
        }
        for key in &group.purge.outbox {
            let given = group.outbox.iter().rfind(|row| row.key == *key);
            if given.or_else(|| self.outbox.get(key)).is_some_and(OutboxRow::is_open) {
                return refused(format!("{key} is owed: retention does not take it"));
            }
        }
        Ok(())
    }

    fn admit_keys(&self, group: &Group) -> Result<(), CommitError> {
        let mut changed: BTreeMap<[u8; 16], Option<TaskId>> = BTreeMap::new();
        for row in &group.tasks {
            if let Some(key) = self.tasks.get(&row.id).and_then(|row| row.key) {
                changed.insert(key, None);
            }
            let Some(key) = row.key else { continue };
            let owner = changed.get(&key).copied().unwrap_or_else(|| self.keys.get(&key).copied());
            if owner.is_some_and(|owner| owner != row.id) {
                return refused(format!("{}: its idempotency key belongs to another task", row.id));
            }
            changed.insert(key, Some(row.id));
        }
        Ok(())
    }

    fn admit_blobs(&self, group: &Group) -> Result<(), CommitError> {
        let mut fresh: BTreeMap<&str, &Blob> = BTreeMap::new();
        for blob in &group.blobs {
            let known =
                fresh.get(blob.name.as_str()).copied().or_else(|| self.blobs.get(&blob.name));
            if known.is_some_and(|known| known != blob) {
                return refused(format!(
                    "blob {}: other bytes under a name that is taken",
                    blob.name
                ));
            }
            fresh.insert(&blob.name, blob);
        }
        Ok(())
    }

    fn apply(&mut self, group: &Group) {
        for row in &group.journal {
            self.head = row.seq;
            if let Some(place) = row.task {
                self.spoken.insert(place, row.seq);
            }
            self.journal.insert(row.seq, row.clone());
        }
        for row in &group.tasks {
            if let Some(key) = self.tasks.get(&row.id).and_then(|row| row.key) {
                self.keys.remove(&key);
            }
            if let Some(key) = row.key {
                self.keys.insert(key, row.id);
            }
            self.tasks.insert(row.id, row.clone());
        }
        for row in &group.outbox {
            self.outbox.insert(row.key.clone(), row.clone());
        }
        for blob in &group.blobs {
            self.blobs.insert(blob.name.clone(), blob.clone());
        }
        for id in &group.purge.tasks {
            self.purge(*id);
        }
        for key in &group.purge.outbox {
            self.purge_outbox(key);
        }
        self.clock = group.clock.clone();
    }

    fn purge(&mut self, id: TaskId) {
        if let Some(key) = self.tasks.remove(&id).and_then(|row| row.key) {
            self.keys.remove(&key);
        }
        let spoken: Vec<_> =
            self.spoken.range((id, 0)..=(id, u64::MAX)).map(|(at, _)| *at).collect();
        for place in spoken {
            if let Some(seq) = self.spoken.remove(&place) {
                self.journal.remove(&seq);
                self.floor = self.floor.max(seq);
            }
        }
        self.blobs.retain(|_, blob| blob.task != Some(id));
    }

    fn purge_outbox(&mut self, key: &str) {
        if self.outbox.remove(key).is_none() {
            return;
        }
        let about = |row: &JournalRow| row.outbox.as_deref() == Some(key);
        let taken = self.journal.extract_if(.., |_, row| about(row)).last();
        self.floor = self.floor.max(taken.map_or(0, |(seq, _)| seq));
        self.blobs.remove(key);
    }

    fn recover(&self) -> Recovered {
        let roots: BTreeSet<TaskId> =
            self.tasks.values().filter(|row| row.living).map(|row| row.root).collect();
        let wanted = |row: &&TaskRow| row.is_hot() || roots.contains(&row.root);
        Recovered {
            tasks: self.tasks.values().filter(wanted).map(Kept::from).collect(),
            outbox: self.outbox.values().filter(|row| row.is_open()).cloned().collect(),
            keys: self.keys.iter().map(|(key, id)| (*key, *id)).collect(),
            head: self.head,
            clock: self.clock.clone(),
        }
    }
}

impl Store for MemoryStore {
    fn recover(&mut self) -> Result<Recovered, StoreError> {
        Ok(lock(&self.ledger).recover())
    }

    fn commit(&mut self, group: &Group) -> Result<(), CommitError> {
        let mut ledger = lock(&self.ledger);
        ledger.admit(group)?;
        let what = "as the test asked".to_owned();
        match self.faults.take() {
            None => {
                ledger.apply(group);
                Ok(())
            }
            Some(CommitFault::Failed) => Err(CommitError::Failed { what }),
            Some(CommitFault::UnknownApplied) => {
                ledger.apply(group);
                Err(CommitError::Unknown { what })
            }
            Some(CommitFault::UnknownNotApplied) => Err(CommitError::Unknown { what }),
            Some(CommitFault::Fatal) => Err(CommitError::Fatal { what }),
        }
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(MemoryReader { ledger: Arc::clone(&self.ledger) }))
    }
}

#[derive(Debug)]
struct MemoryReader {
    ledger: Arc<Mutex<Ledger>>,
}

impl Reader for MemoryReader {
    fn task(&self, id: TaskId) -> Result<(Option<TaskRow>, u64), StoreError> {
        let ledger = lock(&self.ledger);
        Ok((ledger.tasks.get(&id).cloned(), ledger.head))
    }

    fn tasks(&self, query: &TaskQuery) -> Result<Vec<TaskRow>, StoreError> {
        let ledger = lock(&self.ledger);
        let place = |row: &TaskRow| (row.created_wall, row.id);
        let mut rows: Vec<&TaskRow> = ledger
            .tasks
            .values()
            .filter(|row| query.admits(row) && query.before.is_none_or(|end| place(row) < end))
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(place(row)));
        Ok(rows.into_iter().take(query.limit).cloned().collect())
    }

    fn journal(&self, after: u64, limit: usize) -> Result<Vec<JournalRow>, StoreError> {
        let ledger = lock(&self.ledger);
        if after < ledger.floor {
            return Err(StoreError::BelowFloor { asked: after, floor: ledger.floor });
        }
        let rows = ledger.journal.range(after.saturating_add(1)..);
        Ok(rows.take(limit).map(|(_, row)| row.clone()).collect())
    }

    fn task_journal(
        &self,
        id: TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalRow>, StoreError> {
        let ledger = lock(&self.ledger);
        let places = ledger.spoken.range((id, 0)..=(id, u64::MAX));
        let rows = places.filter(|((_, number), _)| *number > after).take(limit);
        Ok(rows.filter_map(|(_, seq)| ledger.journal.get(seq).cloned()).collect())
    }

    fn blob(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(lock(&self.ledger).blobs.get(name).map(|blob| blob.bytes.to_vec()))
    }

    fn outbox(&self, key: &str) -> Result<Option<OutboxRow>, StoreError> {
        Ok(lock(&self.ledger).outbox.get(key).cloned())
    }

    fn purgeable(&self, wall: i64, limit: usize) -> Result<Purge, StoreError> {
        let ledger = lock(&self.ledger);
        let living: BTreeSet<TaskId> =
            ledger.tasks.values().filter(|row| row.living).map(|row| row.root).collect();
        let mut ended: Vec<(i64, TaskId)> = ledger
            .tasks
            .values()
            .filter(|row| !row.is_hot() && !living.contains(&row.root))
            .filter_map(|row| Some((row.ended_wall.filter(|ended| *ended < wall)?, row.id)))
            .collect();
        ended.sort_unstable();
        let closed = ledger.outbox.values().filter_map(|row| Some((row.closed_wall?, &row.key)));
        let mut closed: Vec<(i64, &String)> = closed.filter(|(at, _)| *at < wall).collect();
        closed.sort_unstable();
        Ok(Purge {
            tasks: ended.into_iter().take(limit).map(|(_, id)| id).collect(),
            outbox: closed.into_iter().take(limit).map(|(_, key)| key.clone()).collect(),
        })
    }

    fn head(&self) -> Result<u64, StoreError> {
        Ok(lock(&self.ledger).head)
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::store::{Draft, StoreFactory, task};

    #[derive(Default)]
    struct InMemory(MemoryStore);

    impl StoreFactory for InMemory {
        fn fresh(&mut self) -> Box<dyn Store> {
            self.0 = MemoryStore::new();
            Box::new(self.0.clone())
        }

        fn reopen(&mut self) -> Box<dyn Store> {
            Box::new(self.0.clone())
        }
    }

    crate::store_contract!(InMemory::default());

    #[test]
    fn each_fault_fails_one_commit_as_it_says() {
        let mut store = MemoryStore::new();
        let faults = store.faults();
        faults.next(CommitFault::Failed);
        faults.then_succeed();
        faults.next(CommitFault::UnknownNotApplied);
        faults.next(CommitFault::UnknownApplied);
        let mut heads = Vec::new();
        for n in 1..=4 {
            let head = store.recover().unwrap().head;
            let mut draft = Draft::after(head);
            draft.says(&mut task(n), "launched");
            let outcome = match store.commit(&draft.group) {
                Ok(()) => "ok",
                Err(CommitError::Failed { .. }) => "failed",
                Err(CommitError::Unknown { .. }) => "unknown",
                Err(CommitError::Fatal { .. }) => "fatal",
            };
            heads.push((outcome, store.recover().unwrap().head));
        }
        assert_eq!(heads, [("failed", 0), ("ok", 1), ("unknown", 1), ("unknown", 2)]);
    }
}
