//! The claim of a run: linked once, so that an attempt starts once whatever crashes; locked as long as the
//! one who took it lives. Never synced: what does not survive a boot runs no more.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};

use crate::processes::Process;
use crate::run_dir::{RunDir, private};

const NAME: &str = "claim";

/// Held by the one who supervises; falls with it.
#[derive(Debug)]
pub struct Held {
    locked: File,
}

impl Held {
    /// Writes down more: what the one who supervises has begun.
    pub(crate) fn add(&mut self, text: &str) -> io::Result<()> {
        self.locked.write_all(text.as_bytes())
    }
}

/// A claim as others see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    pub shim: Process,
    /// Whether its holder lives.
    pub held: bool,
}

/// What came of taking it.
#[derive(Debug)]
pub enum Taken {
    Now(Held),
    Before,
}

/// Takes the claim for this process.
pub fn take(run: &RunDir, own: &Process) -> io::Result<Taken> {
    let mine = run.file(&format!("{NAME}.{own}"));
    let mut file = private().write(true).create(true).truncate(true).open(&mine)?;
    file.write_all(format!("{own}\n").as_bytes())?;
    file.try_lock().map_err(io::Error::from)?;
    // It is locked before anybody can see it.
    let linked = std::fs::hard_link(&mine, run.file(NAME));
    std::fs::remove_file(&mine)?;
    match linked {
        Ok(()) => Ok(Taken::Now(Held { locked: file })),
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => Ok(Taken::Before),
        Err(why) => Err(why),
    }
}

/// Who took it, if anybody did.
pub fn find(run: &RunDir) -> io::Result<Option<Claim>> {
    let Some((file, text)) = read(run)? else {
        return Ok(None);
    };
    let Some(shim) = text.lines().next().and_then(Process::parse) else {
        let why = format!("{}: it names no process", run.file(NAME).display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    };
    let held = match file.try_lock_shared() {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(why)) => return Err(why),
    };
    Ok(Some(Claim { shim, held }))
}

/// What the one who took it added, if anybody did.
pub(crate) fn added(run: &RunDir) -> io::Result<Option<String>> {
    let text = read(run)?.map(|(_, text)| text);
    Ok(text.and_then(|text| text.split_once('\n').map(|(_, added)| added.to_owned())))
}

fn read(run: &RunDir) -> io::Result<Option<(File, String)>> {
    let mut file = match File::open(run.file(NAME)) {
        Ok(file) => file,
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(why),
    };
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(Some((file, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l12_a_run_is_claimed_once_and_its_holder_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        let own = Process::own().unwrap();
        assert_eq!(find(&run).unwrap(), None);
        let Taken::Now(held) = take(&run, &own).unwrap() else { panic!("claimed before") };
        assert!(matches!(take(&run, &own).unwrap(), Taken::Before));
        assert_eq!(find(&run).unwrap(), Some(Claim { shim: own.clone(), held: true }));
        drop(held);
        assert_eq!(find(&run).unwrap(), Some(Claim { shim: own.clone(), held: false }));
        assert!(matches!(take(&run, &own).unwrap(), Taken::Before), "once, whatever became of it");
        let left = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(left, 1, "nothing but the claim is left");
    }

    #[test]
    fn l12_of_many_at_once_one_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        let own = Process::own().unwrap();
        // Each under a name of its own, as processes have.
        let taken = std::thread::scope(|scope| {
            let all: Vec<_> = (0..16)
                .map(|n| {
                    let (run, own) = (&run, Process { start: own.start + n, ..own.clone() });
                    scope.spawn(move || take(run, &own).unwrap())
                })
                .collect();
            all.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(taken.iter().filter(|taken| matches!(taken, Taken::Now(_))).count(), 1);
    }
}
