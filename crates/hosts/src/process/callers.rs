//! Which task a process is inside of: found by walking up its parents to a shim of ours, or to a process with the mark of a
//! task. What a command leaves behind stays below its shim, which is a subreaper, so nothing gets out by forking.

use std::net::SocketAddr;

use homing_core::ids::TaskId;
use homing_ports::door::{Callers, Calling};
use homing_shim::claim;
use homing_shim::processes::{Process, parent_of};
use homing_shim::run_dir::RunDir;

use super::ProcessHost;
use crate::listens::{Listens, listeners};
use crate::system::connections;

/// Longer chains are taken for something that moves while it is looked at.
const STEPS_MAX: usize = 1_000;
/// A parent may end while the chain is walked: then it is walked again.
const WALKS: usize = 5;

impl Callers for ProcessHost {
    fn calling(&self, pid: i32) -> Calling {
        for _ in 0..WALKS {
            match self.walk(pid) {
                Calling::Unknown => {}
                known @ (Calling::Inside(_) | Calling::Serving | Calling::Outside) => return known,
            }
        }
        Calling::Unknown
    }

    fn calling_over(&self, here: SocketAddr, there: SocketAddr) -> Calling {
        let ours = there.ip().to_canonical().is_loopback() || there.ip() == here.ip();
        if !ours {
            return Calling::Outside;
        }
        let holders = match connections::holders(there, here) {
            Ok(Some(holders)) => holders,
            // The connection has no owner any more: it was closed, and who made it may be gone.
            Ok(None) | Err(_) => return Calling::Unknown,
        };
        // A connection may be held by several, as after a fork. Held by nobody that can be seen: another user's.
        let all: Vec<Calling> = holders.into_iter().map(|pid| self.calling(pid)).collect();
        let inside = all.iter().find(|calling| matches!(calling, Calling::Inside(_)));
        match inside {
            Some(inside) => *inside,
            None if all.contains(&Calling::Unknown) => Calling::Unknown,
            None if all.contains(&Calling::Serving) => Calling::Serving,
            None => Calling::Outside,
        }
    }
}

impl ProcessHost {
    fn walk(&self, first: i32) -> Calling {
        let mut pid = first;
        for _ in 0..STEPS_MAX {
            if let Some(task) = self.task_of_shim(pid) {
                return Calling::Inside(task);
            }
            if let Some(run) = self.server(pid) {
                let listens = Listens::read(&run).ok().flatten();
                let serves =
                    listens.is_some_and(|listens| listeners(listens.address()).contains(&first));
                return if serves { Calling::Serving } else { Calling::Unknown };
            }
            if let Some(task) = self.marks.read(pid) {
                return Calling::Inside(task);
            }
            match parent_of(pid) {
                // The first process of the machine, or of all that can be seen from here.
                Ok(Some(0 | 1)) => return Calling::Outside,
                Ok(Some(parent)) => pid = parent,
                Ok(None) | Err(_) => return Calling::Unknown,
            }
        }
        Calling::Unknown
    }

    /// The run of a program that serves many tasks, if this supervises one: which of them calls cannot be told from here.
    fn server(&self, pid: i32) -> Option<RunDir> {
        let run = RunDir::of_shim(pid)?;
        (run.path().parent() == Some(&*self.servers())).then_some(run)
    }

    /// A shim has its run's log open, and the run names its shim: only the two together count.
    fn task_of_shim(&self, pid: i32) -> Option<TaskId> {
        let run = RunDir::of_shim(pid)?;
        if run.path().parent() != Some(&*self.runs) {
            return None;
        }
        let (task, _) = run.path().file_name()?.to_str()?.split_once('.')?;
        let claim = claim::find(&run).ok()??;
        (claim.shim == Process::of(pid).ok()?).then(|| task.parse().ok())?
    }
}
