//! Owns where tasks are kept: which directory that is, and what lies in it. Never reads what is stored.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use homing_ports::store::StoreError;
use homing_store::SqliteStore;

use crate::expected::Expected;

/// A directory that may not be there yet.
#[derive(Debug)]
pub struct Home {
    dir: PathBuf,
}

impl Home {
    /// As given, else `homing` in the XDG state directory.
    pub fn find(given: Option<PathBuf>) -> Result<Self, Expected> {
        let dir = match given {
            Some(dir) if dir.as_os_str().is_empty() => {
                let what = "--home: it is empty".to_owned();
                return Err(Expected::Usage {
                    what,
                    hint: "--home DIR, or leave it and HOMING_HOME out",
                });
            }
            Some(dir) => dir,
            None => state_dir()?.join("homing"),
        };
        let dir = std::path::absolute(&dir).map_err(|why| unusable(&dir, &why))?;
        Ok(Self { dir })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn ledger(&self) -> PathBuf {
        self.dir.join("ledger.db")
    }

    /// Makes the directory, for its owner alone, and takes hold of the store in it.
    pub fn hold(&self) -> Result<SqliteStore, Expected> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        made.map_err(|why| unusable(&self.dir, &why))?;
        SqliteStore::open(self.ledger()).map_err(|error| match error {
            StoreError::Held { .. } => Expected::Held { path: self.dir.display().to_string() },
            StoreError::Unavailable { what } => {
                Expected::Home { path: self.dir.display().to_string(), why: what }
            }
            other @ (StoreError::Damaged { .. }
            | StoreError::Newer { .. }
            | StoreError::Foreign { .. }
            | StoreError::BelowFloor { .. }) => Expected::Store(other),
        })
    }

    /// A folder of the home, for a host's own files.
    pub fn folder(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    pub fn unusable(&self, why: &io::Error) -> Expected {
        unusable(&self.dir, why)
    }
}

/// The XDG rule: only an absolute path counts.
fn state_dir() -> Result<PathBuf, Expected> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let below_home = || absolute("HOME").map(|home| home.join(".local/state"));
    absolute("XDG_STATE_HOME").or_else(below_home).ok_or_else(|| Expected::Usage {
        what: "no home: neither HOMING_HOME nor XDG_STATE_HOME nor HOME says where tasks are kept"
            .to_owned(),
        hint: "--home DIR",
    })
}

fn unusable(dir: &Path, why: &io::Error) -> Expected {
    Expected::Home { path: dir.display().to_string(), why: why.to_string() }
}
