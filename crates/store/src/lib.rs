//! The ledger on SQLite: one writing connection with group commit, readers apart.
//!
//! # What lies where
//! ```text
//! ledger.db        tasks, journal, outbox, small blobs, and one row that counts them all
//! ledger.db-wal    SQLite's log, synced by every commit
//! ledger.db.lock   held while a store is open: one committer; says who, and since when
//! ledger.db.mark   how many commits there were; written after each, never synced
//! blobs/DIGEST     bytes over 64 KiB, synced before the row that names them
//! ```
//!
//! # Why a wrong value is never served
//! SQLite does not notice a flipped bit. So every row has a checksum over its table and its columns,
//! verified whenever it is read. A row that is missing, or that is an older version of itself, still
//! has a good checksum: therefore `meta` holds the count and the sum of the checksums of every table,
//! of the hot task rows, of the open outbox rows and of the indexes that a start reads; a start
//! verifies those, [`check`] all. A task's row that is read alone must stand where its journal ends;
//! one that is not found must have no journal; and a name that its index does not know is looked for
//! at its place. The journal's numbers have no gap but the ranges that retention wrote down. A tail
//! that is lost whole shows by the mark, which then is ahead.
//!
//! What nothing but [`check`] notices: a damaged index that hides a row from a list of tasks.
//!
//! # Opening changes nothing until all is well
//! A store is first examined without writing a byte: the raw header, then everything a start needs.
//! Whatever is damaged, foreign or newer is refused there, its files as they were.
//!
//! [`check`]: homing_ports::store::Reader::check

#![forbid(unsafe_code)]

mod blobs;
mod check;
mod commit;
mod examine;
mod fault;
mod files;
mod lock;
mod mark;
mod meta;
mod open;
mod purge;
mod query;
mod reader;
mod recover;
mod rows;
mod schema;
mod sum;

pub use lock::Holder;
pub use open::SqliteStore;
pub use reader::SqliteReader;
