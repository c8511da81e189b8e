//! An OpenCode server that a home started, as it is seen from outside: its process, and what it says when it is asked plainly.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use homing_shim::claim;
use homing_shim::processes::Process;
use homing_shim::record::Child;
use homing_shim::run_dir::RunDir;
use homing_testkit::opencode::Asked;
pub use homing_testkit::opencode::until;

/// See the module.
pub struct Server {
    run: RunDir,
    process: Process,
    asked: Asked,
}

impl Server {
    /// The one that runs, of those in this directory of runs.
    pub fn of(runs: &Path) -> Option<Self> {
        let all = std::fs::read_dir(runs.join("servers")).ok()?;
        all.flatten().find_map(|entry| Self::at(entry.path()))
    }

    /// None before its program is started, too: a daemon may be killed before it knows more than the door.
    fn at(path: PathBuf) -> Option<Self> {
        let run = RunDir::at(path);
        claim::find(&run).ok()??.held.then_some(())?;
        let process = Child::read(&run).ok()??.process;
        let door = String::from_utf8(run.get("door").ok()??).ok()?;
        let (port, password) = door.split_once(' ')?;
        Some(Self { asked: Asked::new(port.parse().ok()?, password), run, process })
    }

    pub fn process(&self) -> &Process {
        &self.process
    }

    fn is_held(&self) -> bool {
        claim::find(&self.run).unwrap().is_some_and(|claim| claim.held)
    }

    /// Kills it, and waits until all that it left behind is gone, too.
    pub fn kill(&self) {
        self.process.signal(rustix::process::Signal::KILL).unwrap();
        until("the server's end", || (!self.is_held()).then_some(()));
    }
}

impl Deref for Server {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.asked
    }
}
