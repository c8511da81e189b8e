//! Owns the claim of one process on a store: a locked file beside it, held for life.
//! Never waits for it.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use homing_ports::store::StoreError;

use crate::fault::unavailable;
use crate::files::{self, Files};

/// Who holds a store, as they wrote it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// Milliseconds since the epoch.
    pub since: i64,
}

impl Holder {
    /// Who took the store at the path last. Whether they hold it still, only opening it tells.
    pub fn of(path: impl AsRef<Path>) -> Option<Self> {
        let text = fs::read_to_string(Files::at(path.as_ref()).lock).ok()?;
        let (pid, since) = text.trim_end().split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, since: since.parse().ok()? })
    }

    fn own() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Self { pid: std::process::id(), since }
    }

    fn write(self, mut file: &File) {
        // For people; the lock itself is what counts.
        drop(file.set_len(0));
        drop(file.write_all(format!("{} {}\n", self.pid, self.since).as_bytes()));
    }
}

#[derive(Debug)]
pub(crate) struct Lock {
    held: File,
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
        Ok(Self { held: file, path: path.clone(), made })
    }

    /// Says who holds it; only once the store is found to be one, as a refusal changes nothing.
    pub(crate) fn sign(&self) {
        Holder::own().write(&self.held);
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
