//! A store that fails when the test says so, around any other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_ports::store::{CommitError, Group, Reader, Recovered, Store, StoreError};

/// What a commit meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Not there, and said so.
    Failed,
    /// There, and not known to be.
    UnknownApplied,
    /// Not there, and not known not to be.
    UnknownNotApplied,
    /// The process dies before the commit.
    KilledBefore,
    /// The process dies after it, and before anything that follows.
    KilledAfter,
}

/// When the faults come, in the hands of a test.
#[derive(Debug, Clone, Default)]
pub struct Plan(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    commits: u32,
    recovers: u32,
    at: Option<(u32, Fault)>,
    on: Option<(String, Fault)>,
    down: bool,
    unreadable: bool,
    met: u32,
}

impl Plan {
    pub fn new() -> Self {
        Self::default()
    }

    /// The commit with this number, counted from 0, meets the fault.
    pub fn at(self, commit: u32, fault: Fault) -> Self {
        self.lock().at = Some((commit, fault));
        self
    }

    /// The next commit that holds a line of this kind meets the fault.
    pub fn on(&self, kind: &str, fault: Fault) {
        self.lock().on = Some((kind.to_owned(), fault));
    }

    /// Every commit fails, and says so.
    pub fn set_down(&self, down: bool) {
        self.lock().down = down;
    }

    /// Nothing can be read after a failed commit.
    pub fn set_unreadable(&self, unreadable: bool) {
        self.lock().unreadable = unreadable;
    }

    /// How many faults came.
    pub fn met(&self) -> u32 {
        self.lock().met
    }

    /// How often the store was read as a whole.
    pub fn recovers(&self) -> u32 {
        self.lock().recovers
    }

    pub fn around(&self, store: Box<dyn Store>) -> Box<dyn Store> {
        Box::new(Faulty { store, plan: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self, group: &Group) -> Option<Fault> {
        let mut inner = self.lock();
        let number = inner.commits;
        inner.commits += 1;
        let speaks = |kind: &str| group.journal.iter().any(|row| row.kind == kind);
        let fault = if inner.down {
            Some(Fault::Failed)
        } else if let Some((_, fault)) = inner.at.take_if(|(at, _)| *at == number) {
            Some(fault)
        } else {
            inner.on.take_if(|(kind, _)| speaks(kind)).map(|(_, fault)| fault)
        };
        inner.met += u32::from(fault.is_some());
        fault
    }
}

struct Faulty {
    store: Box<dyn Store>,
    plan: Plan,
}

impl Store for Faulty {
    fn recover(&mut self) -> Result<Recovered, StoreError> {
        let unreadable = {
            let mut inner = self.plan.lock();
            inner.recovers += 1;
            inner.unreadable
        };
        if unreadable {
            return Err(StoreError::Unavailable { what: "as the test asked".to_owned() });
        }
        self.store.recover()
    }

    fn commit(&mut self, group: &Group) -> Result<(), CommitError> {
        let what = "as the test asked".to_owned();
        match self.plan.next(group) {
            None => self.store.commit(group),
            Some(Fault::Failed) => Err(CommitError::Failed { what }),
            Some(Fault::UnknownNotApplied) => Err(CommitError::Unknown { what }),
            Some(Fault::UnknownApplied) => {
                self.store.commit(group)?;
                Err(CommitError::Unknown { what })
            }
            Some(Fault::KilledBefore) => Err(CommitError::Fatal { what }),
            Some(Fault::KilledAfter) => {
                self.store.commit(group)?;
                Err(CommitError::Fatal { what })
            }
        }
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.store.reader()
    }
}
