//! What is kept for a task. The values of its variables: a file each, for its owner alone, from before the launch is
//! decided until the task has ended; nothing of it is ever in the store or the journal. The directories of its runs:
//! until its retention is over.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;

use homing_core::ids::TaskId;
use homing_core::telemetry::Completion;
use homing_ports::door::{Keeps, Vars};
use homing_ports::host::Flight;
use homing_ports::parent::Telemetry;
use homing_shim::run_dir::{RunDir, private};

use super::{Found, ProcessHost, find};

/// In the directory of runs.
const KEPT: &str = "env";

impl ProcessHost {
    fn kept(&self) -> RunDir {
        RunDir::at(self.runs.join(KEPT))
    }

    /// The tasks whose values are kept; whatever else lies there is removed.
    pub fn kept_env(&self) -> io::Result<Vec<TaskId>> {
        let entries = match std::fs::read_dir(self.kept().path()) {
            Ok(entries) => entries,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(why) => return Err(why),
        };
        let mut tasks = Vec::new();
        for entry in entries {
            let entry = entry?;
            match entry.file_name().to_str().and_then(|name| name.parse().ok()) {
                Some(task) => tasks.push(task),
                // Half written by a process that died.
                None => std::fs::remove_file(entry.path())?,
            }
        }
        Ok(tasks)
    }

    /// The tasks that have a run's directory, each once.
    pub(super) fn kept_runs(&self) -> io::Result<BTreeSet<TaskId>> {
        let mut tasks = BTreeSet::new();
        for entry in std::fs::read_dir(&self.runs)? {
            tasks.extend(run_of(&entry?.file_name()).map(|(task, _)| task));
        }
        Ok(tasks)
    }

    /// Removes a task's directories and values. One whose shim still runs stays.
    pub(super) fn forget_runs(&self, task: TaskId) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.runs)? {
            let entry = entry?;
            let ours = run_of(&entry.file_name()).is_some_and(|(of, _)| of == task);
            let runs = || matches!(find(&RunDir::at(entry.path())), Ok(Found::Running(_)));
            if ours && !runs() {
                std::fs::remove_dir_all(entry.path())?;
            }
        }
        self.drop_env(task)
    }

    /// None when nothing was kept for the task.
    pub(super) fn env_of(&self, task: TaskId) -> io::Result<Option<Vars>> {
        let Some(bytes) = self.kept().get(&task.to_string())? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
        Ok(Some(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    }
}

/// Emptied files, for values that come: where one is deleted for every task, making the next ones becomes dear.
#[derive(Debug, Default)]
pub(super) struct Spares {
    free: Vec<String>,
    named: u64,
}

impl Spares {
    const MOST: usize = 64;

    /// A name for one more; none when there are enough.
    fn name(&mut self) -> Option<String> {
        self.named += 1;
        (self.free.len() < Self::MOST).then(|| format!("spare.{}", self.named))
    }
}

/// What is not there needs not go.
fn unless_absent(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Task and attempt of a run's directory.
fn run_of(name: &OsStr) -> Option<(TaskId, u32)> {
    let (task, attempt) = name.to_str()?.split_once('.')?;
    Some((task.parse().ok()?, attempt.parse().ok()?))
}

impl Keeps for ProcessHost {
    fn keep_env(&self, task: TaskId, vars: &Vars) -> io::Result<()> {
        let kept = self.kept();
        let name = task.to_string();
        let mut bytes = Vec::new();
        for (name, value) in vars {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let why = format!("{name:?} cannot be a variable");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
            bytes.extend_from_slice(format!("{name}={value}\0").as_bytes());
        }
        if let Some(spare) = self.lock().spares.free.pop()
            && kept.put_over(&spare, &name, &bytes).is_ok()
        {
            return Ok(());
        }
        match kept.put(&name, &bytes) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => {
                kept.make()?;
                kept.put(&name, &bytes)
            }
            done => done,
        }
    }

    fn drop_env(&self, task: TaskId) -> io::Result<()> {
        let kept = self.kept();
        let file = kept.file(&task.to_string());
        let Some(name) = self.lock().spares.name() else {
            return unless_absent(std::fs::remove_file(file));
        };
        // What is left of it if this process dies here has no task's name: the next one removes it.
        let spare = kept.file(&name);
        let moved = std::fs::rename(file, &spare);
        if moved.is_ok() {
            match private().write(true).open(&spare).and_then(|file| file.set_len(0)) {
                Ok(()) => self.lock().spares.free.push(name),
                Err(_) => std::fs::remove_file(&spare)?,
            }
        }
        unless_absent(moved)
    }
}

/// Every end is told here once: then the values are not needed any more.
impl Telemetry for ProcessHost {
    fn emit(&self, record: Completion) -> Flight<'_, Result<(), String>> {
        let dropped = self.drop_env(record.task).map_err(|why| why.to_string());
        Box::pin(std::future::ready(dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(host: &ProcessHost) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(host.kept().path()).unwrap();
        let name = |entry: &std::fs::DirEntry| entry.file_name().into_string().unwrap();
        entries
            .map(|entry| entry.map(|entry| (name(&entry), std::fs::read(entry.path()).unwrap())))
            .collect::<io::Result<_>>()
            .unwrap()
    }

    #[test]
    fn what_was_dropped_is_gone_and_its_file_takes_the_next_values() {
        let directory = tempfile::tempdir().unwrap();
        let host = ProcessHost::new(directory.path(), Vec::new()).unwrap();
        let [first, second] = [1, 2].map(TaskId::from_bits);
        let vars = |value: &str| Vars::from([("TOKEN".to_owned(), value.to_owned())]);
        host.keep_env(first, &vars("a long secret")).unwrap();
        host.drop_env(first).unwrap();
        host.drop_env(first).unwrap();
        assert_eq!(host.env_of(first).unwrap(), None);
        assert!(files(&host).iter().all(|(_, bytes)| bytes.is_empty()), "nothing of it stays");
        host.keep_env(second, &vars("short")).unwrap();
        assert_eq!(host.env_of(second).unwrap(), Some(vars("short")));
        assert_eq!(files(&host).len(), 1, "no second file was made");
        host.drop_env(second).unwrap();
        assert_eq!(host.kept_env().unwrap(), []);
        assert_eq!(files(&host), [], "whatever has no task's name goes at a start");
        // A spare that somebody took away is no reason to fail.
        host.keep_env(first, &vars("again")).unwrap();
        assert_eq!(host.env_of(first).unwrap(), Some(vars("again")));
    }
}
