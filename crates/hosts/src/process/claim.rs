//! The mark that a launch leaves: one file per attempt, made before the command is started, so that no
//! attempt is started twice whatever crashes. Never synced: what does not survive a boot runs no more.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;

use homing_core::ids::TaskId;

use crate::system::processes::Leader;

/// Where claims are kept.
#[derive(Debug)]
pub(super) struct Claims {
    directory: PathBuf,
}

/// What came of claiming an attempt.
#[derive(Debug)]
pub(super) enum Claimed {
    /// Nobody had it: the command may be started.
    Now(Claim),
    Before(Mark),
}

/// What a claim of before says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Started(Leader),
    /// The one who claimed ended before it could write down what it started, if anything.
    Blank,
}

/// A claim that is held and says nothing yet.
#[derive(Debug)]
pub(super) struct Claim {
    file: File,
    path: PathBuf,
}

impl Claims {
    pub(super) fn new(directory: PathBuf) -> io::Result<Self> {
        std::fs::create_dir_all(&directory)?;
        Ok(Self { directory })
    }

    pub(super) fn take(&self, task: TaskId, attempt: u32) -> io::Result<Claimed> {
        let path = self.path(task, attempt);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok(Claimed::Now(Claim { file, path })),
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
                Ok(Claimed::Before(self.find(task, attempt)?.unwrap_or(Mark::Blank)))
            }
            Err(why) => Err(why),
        }
    }

    pub(super) fn find(&self, task: TaskId, attempt: u32) -> io::Result<Option<Mark>> {
        match std::fs::read_to_string(self.path(task, attempt)) {
            Ok(text) => Ok(Some(Leader::parse(text.trim_end()).map_or(Mark::Blank, Mark::Started))),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// The attempt is over and will not be opened again.
    pub(super) fn forget(&self, task: TaskId, attempt: u32) {
        // One that stays is looked at by nobody.
        drop(std::fs::remove_file(self.path(task, attempt)));
    }

    fn path(&self, task: TaskId, attempt: u32) -> PathBuf {
        self.directory.join(format!("{task}.{attempt}"))
    }
}

impl Claim {
    pub(super) fn note(mut self, leader: &Leader) -> io::Result<()> {
        // In one piece: half a name reads as none.
        self.file.write_all(format!("{leader}\n").as_bytes())
    }

    /// Nothing was started.
    pub(super) fn give_up(self) {
        drop(std::fs::remove_file(self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_is_claimed_once() {
        let directory = tempfile::tempdir().unwrap();
        let claims = Claims::new(directory.path().join("claims")).unwrap();
        let task = TaskId::from_bits(7);
        assert!(matches!(claims.take(task, 1).unwrap(), Claimed::Now(_)));
        assert!(matches!(claims.take(task, 1).unwrap(), Claimed::Before(Mark::Blank)));
        assert!(matches!(claims.take(task, 2).unwrap(), Claimed::Now(_)));
    }

    #[test]
    fn a_claim_says_what_was_started_until_it_is_forgotten() {
        let directory = tempfile::tempdir().unwrap();
        let claims = Claims::new(directory.path().to_owned()).unwrap();
        let task = TaskId::from_bits(7);
        let own = Leader::of(std::process::id()).unwrap();
        let Claimed::Now(claim) = claims.take(task, 1).unwrap() else {
            panic!("claimed before");
        };
        claim.note(&own).unwrap();
        assert_eq!(claims.find(task, 1).unwrap(), Some(Mark::Started(own)));
        claims.forget(task, 1);
        assert_eq!(claims.find(task, 1).unwrap(), None);
    }
}
