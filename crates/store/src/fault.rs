//! Owns what can go wrong inside the store and what each is called outside. Never hides a cause.

use std::io;

use homing_ports::store::{CommitError, StoreError};
use rusqlite::{ErrorCode, ffi};

use crate::files::Files;

/// What went wrong, before anyone asked for it by the seam's names.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(rusqlite::Error),
    /// What is stored is not what was written.
    Damaged(String),
    /// The group itself is not right.
    Refused(CommitError),
    /// A file beside the database.
    File {
        what: String,
        why: io::Error,
    },
    /// A file beside the database that did not reach the disk.
    Unsynced {
        what: String,
        why: io::Error,
    },
}

pub(crate) type Outcome<T> = Result<T, Fault>;

impl From<rusqlite::Error> for Fault {
    fn from(why: rusqlite::Error) -> Self {
        Self::Sql(why)
    }
}

impl From<CommitError> for Fault {
    fn from(why: CommitError) -> Self {
        Self::Refused(why)
    }
}

/// How far a commit had come when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before COMMIT was said: a rollback undoes everything.
    Writing,
    /// In COMMIT itself.
    Committing,
}

pub(crate) fn damaged<T>(what: impl Into<String>) -> Outcome<T> {
    Err(Fault::Damaged(what.into()))
}

pub(crate) fn refused<T>(what: impl Into<String>) -> Outcome<T> {
    Err(Fault::Refused(CommitError::Failed { what: what.into() }))
}

pub(crate) fn unavailable(what: impl Into<String>) -> StoreError {
    StoreError::Unavailable { what: what.into() }
}

impl Fault {
    pub(crate) fn on_read(self, files: &Files) -> StoreError {
        let path = files.path();
        match self {
            Self::Sql(why) if is_held(&why) => StoreError::Held { path },
            Self::Sql(why) if is_damage(&why) => {
                StoreError::Damaged { path, what: why.to_string() }
            }
            Self::Sql(why) => unavailable(format!("{path}: {why}")),
            Self::Damaged(what) => StoreError::Damaged { path, what },
            Self::Refused(why) => unavailable(why.to_string()),
            Self::File { what, why } | Self::Unsynced { what, why } => {
                unavailable(format!("{what}: {why}"))
            }
        }
    }

    pub(crate) fn on_commit(self, stage: Stage) -> CommitError {
        match self {
            Self::Sql(why) => classify(&why, stage),
            Self::Damaged(what) => {
                CommitError::Failed { what: format!("the store is damaged: {what}") }
            }
            Self::Refused(why) => why,
            Self::File { what, why } => CommitError::Failed { what: format!("{what}: {why}") },
            Self::Unsynced { what, why } if is_full(&why) => {
                CommitError::Failed { what: format!("{what}: {why}") }
            }
            Self::Unsynced { what, why } => CommitError::Fatal { what: format!("{what}: {why}") },
        }
    }
}

/// Full is full, also when only the sync finds out; nothing refers to the file yet.
fn is_full(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn extended(why: &rusqlite::Error) -> Option<ffi::Error> {
    why.sqlite_error().copied()
}

fn is_held(why: &rusqlite::Error) -> bool {
    extended(why)
        .is_some_and(|why| matches!(why.code, ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// The statements are constant and the schema is known: whatever SQLite cannot make sense of is damage.
fn is_damage(why: &rusqlite::Error) -> bool {
    let Some(why) = extended(why) else {
        return true;
    };
    matches!(
        why.code,
        ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::Unknown
            | ErrorCode::TypeMismatch
            | ErrorCode::TooBig
            | ErrorCode::SchemaChanged
            | ErrorCode::NotFound
    ) || matches!(
        why.extended_code,
        ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_DATA | ffi::SQLITE_IOERR_CORRUPTFS
    )
}

fn classify(why: &rusqlite::Error, stage: Stage) -> CommitError {
    let what = why.to_string();
    let Some(error) = extended(why) else {
        return CommitError::Failed { what };
    };
    match error.extended_code {
        ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC => CommitError::Fatal { what },
        ffi::SQLITE_FULL => CommitError::Failed { what: "the disk is full".to_owned() },
        _ if stage == Stage::Committing && error.code == ErrorCode::SystemIoFailure => {
            CommitError::Unknown { what }
        }
        _ => CommitError::Failed { what },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: i32, stage: Stage) -> CommitError {
        let why = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        Fault::from(why).on_commit(stage)
    }

    #[test]
    fn only_an_io_error_of_the_commit_itself_leaves_it_unknown() {
        for code in [ffi::SQLITE_IOERR, ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_SHMMAP] {
            assert!(matches!(of(code, Stage::Committing), CommitError::Unknown { .. }), "{code}");
            assert!(matches!(of(code, Stage::Writing), CommitError::Failed { .. }), "{code}");
        }
    }

    #[test]
    fn a_failed_sync_is_fatal_at_any_stage() {
        for code in [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC] {
            for stage in [Stage::Writing, Stage::Committing] {
                assert!(matches!(of(code, stage), CommitError::Fatal { .. }), "{code}");
            }
        }
        let unsynced = |kind: io::ErrorKind| {
            Fault::Unsynced { what: "blob".into(), why: kind.into() }.on_commit(Stage::Writing)
        };
        assert!(matches!(unsynced(io::ErrorKind::Other), CommitError::Fatal { .. }));
        assert!(matches!(unsynced(io::ErrorKind::StorageFull), CommitError::Failed { .. }));
    }

    #[test]
    fn what_sqlite_rolls_back_has_failed() {
        for code in [
            ffi::SQLITE_FULL,
            ffi::SQLITE_BUSY,
            ffi::SQLITE_READONLY,
            ffi::SQLITE_READONLY_DBMOVED,
            ffi::SQLITE_CONSTRAINT_UNIQUE,
            ffi::SQLITE_CORRUPT,
        ] {
            assert!(matches!(of(code, Stage::Committing), CommitError::Failed { .. }), "{code}");
        }
    }
}
