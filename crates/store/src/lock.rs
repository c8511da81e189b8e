//! Owns the claim of one process on a store: a locked file beside it, held for life.
//! Never waits for it.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use homing_ports::store::StoreError;

use crate::fault::unavailable;
use crate::files::{self, Files};

#[derive(Debug)]
pub(crate) struct Lock {
    _held: File,
    path: PathBuf,
    made: bool,
}

impl Lock {
    pub(crate) fn take(files: &Files) -> Result<Self, StoreError> {
        let path = &files.lock;
        let made = !path.exists();
        let file = files::private(path)
            .map_err(|why| unavailable(format!("{} cannot be opened: {why}", path.display())))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Held { path: files.path() }),
            Err(TryLockError::Error(why)) => {
                return Err(unavailable(format!("{} cannot be locked: {why}", path.display())));
            }
        }
        if !is_at(&file, path) {
            return Err(StoreError::Held { path: files.path() });
        }
        Ok(Self { _held: file, path: path.clone(), made })
    }

    /// Gives the claim up after a refusal, and leaves no file that was not there before.
    pub(crate) fn withdraw(self) {
        if self.made {
            // Still locked here: whoever opened it meanwhile finds another file at the path.
            drop(files::remove(&self.path));
        }
    }
}

/// Whether the path still names this very file: a refused opener may have removed it in between.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(held), Ok(named)) = (file.metadata(), fs::metadata(path)) else {
        return false;
    };
    (held.dev(), held.ino()) == (named.dev(), named.ino())
}
