//! Marks: a variable by which what runs below a session is known to be of its task, where the tree of processes cannot tell.
//! A mark cannot be made up: it needs what is kept beside the runs.

use std::io;
use std::path::PathBuf;

use homing_core::ids::TaskId;
use homing_core::payload::Digest;
use homing_shim::processes::environment;
use homing_shim::run_dir::RunDir;

use crate::system;

/// The variable.
pub(crate) const MARK: &str = "HOMING_MARK";
/// The file beside the runs.
const KEY: &str = "mark";

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Marks {
    runs: RunDir,
}

impl Marks {
    pub(crate) fn beside(runs: impl Into<PathBuf>) -> Self {
        Self { runs: RunDir::at(runs) }
    }

    /// The value that stands for a task.
    pub(crate) fn of(&self, task: TaskId) -> io::Result<String> {
        let key = match self.runs.get(KEY)? {
            Some(key) => key,
            None => {
                let key = format!("{:016x}{:016x}", system::random()?, system::random()?);
                self.runs.put(KEY, key.as_bytes())?;
                key.into_bytes()
            }
        };
        Ok(made(&key, task))
    }

    /// The task whose mark this process was started with.
    pub(crate) fn read(&self, pid: i32) -> Option<TaskId> {
        let environment = environment(pid).ok()?;
        let name = format!("{MARK}=");
        let pair =
            environment.split(|byte| *byte == 0).find_map(|p| p.strip_prefix(name.as_bytes()));
        let said = std::str::from_utf8(pair?).ok()?;
        let task: TaskId = said.split_once('.')?.0.parse().ok()?;
        let key = self.runs.get(KEY).ok()??;
        (made(&key, task) == said).then_some(task)
    }
}

fn made(key: &[u8], task: TaskId) -> String {
    let digest = Digest::of(&[key, task.to_string().as_bytes()].concat());
    format!("{task}.{digest:?}")
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn l17_a_mark_is_known_by_those_who_gave_it_and_cannot_be_made_up() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (marks, others) = (Marks::beside(one.path()), Marks::beside(other.path()));
        let task = TaskId::from_bits(7);
        let read = |value: &str, marks: &Marks| {
            let mut shell = Command::new("sleep");
            let shell = shell.arg("60").env(MARK, value).stdin(Stdio::null());
            let mut shell = shell.spawn().unwrap();
            let found = marks.read(i32::try_from(shell.id()).unwrap());
            shell.kill().unwrap();
            shell.wait().unwrap();
            found
        };
        let mark = marks.of(task).unwrap();
        assert_eq!(marks.of(task).unwrap(), mark, "the same for one task");
        assert_eq!(read(&mark, &marks), Some(task));
        others.of(task).unwrap();
        assert_eq!(read(&mark, &others), None, "of another home");
        assert_eq!(read(&format!("{task}.0"), &marks), None);
        assert_eq!(read("", &marks), None);
        assert_eq!(marks.read(-1), None);
    }
}
