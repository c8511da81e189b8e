//! The store's contract, run against SQLite.

use homing_ports::contract::store::StoreFactory;
use homing_ports::store::Store;
use homing_ports::store_contract;
use homing_store::SqliteStore;
use tempfile::TempDir;

struct OnDisk(TempDir);

impl OnDisk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl StoreFactory for OnDisk {
    fn fresh(&mut self) -> Box<dyn Store> {
        *self = Self::new();
        self.reopen()
    }

    fn reopen(&mut self) -> Box<dyn Store> {
        Box::new(SqliteStore::open(self.0.path().join("ledger.db")).unwrap())
    }
}

store_contract!(OnDisk::new());
