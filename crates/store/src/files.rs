//! Owns the names and the permissions of a store's files. Never reads what is in them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What lies beside each other.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) db: PathBuf,
    pub(crate) wal: PathBuf,
    pub(crate) journal: PathBuf,
    pub(crate) lock: PathBuf,
    pub(crate) mark: PathBuf,
    /// Where a fresh database is made whole before it gets its name.
    pub(crate) fresh: PathBuf,
    pub(crate) dir: PathBuf,
    pub(crate) blobs: PathBuf,
}

impl Files {
    pub(crate) fn at(db: &Path) -> Self {
        let beside = |ending: &str| {
            let mut name = db.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let dir = match db.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            Some(_) | None => PathBuf::from("."),
        };
        Self {
            db: db.to_owned(),
            wal: beside("-wal"),
            journal: beside("-journal"),
            lock: beside(".lock"),
            mark: beside(".mark"),
            fresh: beside(".new"),
            blobs: dir.join("blobs"),
            dir,
        }
    }

    pub(crate) fn path(&self) -> String {
        self.db.display().to_string()
    }

    pub(crate) fn blob(&self, digest: &[u8; 32]) -> PathBuf {
        self.blobs.join(blake3::Hash::from_bytes(*digest).to_hex().as_str())
    }

    /// Removes what a creation that did not finish left behind.
    pub(crate) fn clear_fresh(&self) -> io::Result<()> {
        for ending in ["", "-journal", "-wal", "-shm"] {
            let mut name = self.fresh.as_os_str().to_owned();
            name.push(ending);
            remove(Path::new(&name))?;
        }
        Ok(())
    }
}

/// Bytes in the file; 0 when there is none.
pub(crate) fn length(path: &Path) -> io::Result<u64> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.len()),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(why) => Err(why),
    }
}

/// Removes the file; none there is as good.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        Ok(()) | Err(_) => Ok(()),
    }
}

pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// For reading and writing; made if missing, for its owner only.
pub(crate) fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
