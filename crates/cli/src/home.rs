//! Owns where tasks are kept: which directory that is, and what lies in it. Never reads what is stored.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use homing_hosts::process::ProcessHost;
use homing_ports::store::StoreError;
use homing_store::{Holder, SqliteStore};

use crate::NURSERY;
use crate::config::Config;
use crate::expected::Expected;

/// A directory that may not be there yet.
#[derive(Debug, Clone)]
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
        Ok(Self { dir: real(&dir) })
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn ledger(&self) -> PathBuf {
        self.dir.join("ledger.db")
    }

    /// Makes the directory, for its owner alone.
    pub fn make(&self) -> Result<(), Expected> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.dir);
        made.map_err(|why| unusable(&self.dir, &why))
    }

    /// Makes the directory, and takes hold of the store in it.
    pub fn hold(&self) -> Result<SqliteStore, Expected> {
        self.make()?;
        SqliteStore::open(self.ledger()).map_err(|error| match error {
            StoreError::Held { .. } => {
                let by = Holder::of(self.ledger());
                Expected::Held { path: self.dir.display().to_string(), by }
            }
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

    /// What the daemon writes.
    pub fn log(&self) -> PathBuf {
        self.dir.join("daemon.log")
    }

    /// The host that runs commands in this home.
    pub fn process_host(&self, config: &Config) -> Result<ProcessHost, Expected> {
        // This very program, even when another one has taken its place on disk.
        let nursery = vec!["/proc/self/exe".into(), NURSERY.into()];
        let host =
            ProcessHost::new(self.folder("runs"), nursery).map_err(|why| self.unusable(&why))?;
        // Of each of the two streams.
        let spool = config.spool as u64 / 2;
        Ok(host.with_home(self.dir()).with_spool(spool).with_result(config.result))
    }

    pub fn unusable(&self, why: &io::Error) -> Expected {
        unusable(&self.dir, why)
    }
}

/// One directory is one home, by whatever name it is called; also one that is not there yet.
fn real(dir: &Path) -> PathBuf {
    if let Ok(real) = std::fs::canonicalize(dir) {
        return real;
    }
    match (dir.parent(), dir.file_name()) {
        (Some(above), Some(name)) => real(above).join(name),
        _ => dir.to_owned(),
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
