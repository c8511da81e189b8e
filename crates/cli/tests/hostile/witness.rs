//! What can be seen from outside: how much memory a process ever held, which processes belong to a home, and a
//! task that runs beside the hostile one.

use std::fs::File;
use std::path::Path;
use std::process::Child;

use homing_client::Client;
use homing_shim::claim;
use homing_shim::processes::Process;
use homing_shim::run_dir::RunDir;
use serde_json::Value;

use crate::scene::{Scene, until};

/// A daemon at work, one with ten thousand tasks, and a shim: above what they take, and far below what a hostile
/// command writes.
pub const DAEMON_KB_MAX: u64 = 64 << 10;
pub const CROWD_KB_MAX: u64 = 150 << 10;
pub const SHIM_KB_MAX: u64 = 24 << 10;

/// The most memory that a process ever held, in kilobytes.
pub fn peak_kb(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kb = line.split_whitespace().next().unwrap().parse().unwrap();
    // Seen with --nocapture.
    eprintln!("process {pid} held at most {kb} kB");
    kb
}

impl Scene {
    pub fn status(&self) -> Value {
        let said = self.homing(["daemon", "status", "--json"]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        said.json()
    }

    pub fn daemon(&self) -> i32 {
        i32::try_from(self.status()["pid"].as_i64().unwrap()).unwrap()
    }

    pub fn client(&self) -> Client {
        Client::new(self.status()["socket"].as_str().unwrap())
    }

    /// Written before the daemon starts.
    pub fn settings(&self, text: &str) {
        std::fs::create_dir_all(&self.home).unwrap();
        std::fs::write(self.home.join("homing.toml"), text).unwrap();
    }

    /// The supervisor of a task's latest attempt.
    pub fn shim(&self, task: &str) -> Process {
        // The command may run before that is written down.
        until(|| !self.show(task)["session"].is_null());
        Process::parse(self.show(task)["session"]["id"].as_str().unwrap()).unwrap()
    }

    /// Shims, commands and whatever they started that carries the mark of this home; not the daemon.
    pub fn processes(&self) -> Vec<i32> {
        let home = self.home.to_str().unwrap();
        let mark = format!("HOMING_HOME={home}");
        let of_home = |pid: &i32| {
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let shim = supervises(*pid, home);
            let inside = environ.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes())
                && environ.split(|byte| *byte == 0).any(|pair| pair.starts_with(b"HOMING_RUN="));
            shim || inside
        };
        pids().into_iter().filter(of_home).collect()
    }

    /// Waits until nothing of any task runs.
    pub fn nothing_runs(&self) {
        until(|| self.processes().is_empty());
    }

    pub fn state(&self, task: &str) -> String {
        self.show(task)["state"].as_str().unwrap().to_owned()
    }
}

/// Whether a process is the shim of a run in this home, as the claim says that it sees itself: its home may be mounted
/// for it alone.
fn supervises(pid: i32, home: &str) -> bool {
    let name =
        RunDir::of_shim(pid).and_then(|run| run.path().file_name()?.to_str().map(str::to_owned));
    let run = name.map(|name| RunDir::at(format!("/proc/{pid}/root{home}/runs/{name}")));
    let claim = run.and_then(|run| claim::find(&run).ok().flatten());
    claim.is_some_and(|claim| claim.shim.pid == pid)
}

/// Processes of a test's own, none of which outlives it.
pub struct Many(pub Vec<Child>);

impl Drop for Many {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

pub fn pids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Whether a process runs; one that ended and was not asked about yet does not.
pub fn runs(pid: i32) -> bool {
    Process::of(pid).is_ok_and(|process| process.runs().unwrap())
}

/// The bytes that a directory takes, with all below it.
pub fn bytes_below(directory: &Path) -> u64 {
    let mut bytes = 0;
    // What goes away meanwhile takes nothing.
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(about) if about.is_dir() => bytes += bytes_below(&entry.path()),
            Ok(about) => bytes += about.len(),
            Err(_) => {}
        }
    }
    bytes
}

/// A task that has nothing to do with any of it.
pub struct Beside<'a> {
    scene: &'a Scene,
    open: File,
    shim: Process,
}

impl<'a> Beside<'a> {
    pub fn start(scene: &'a Scene) -> Self {
        let gate = scene.gate("beside");
        scene.launch("beside", [], &format!("{}; echo unharmed", gate.wait()));
        let open = gate.open();
        let shim = scene.shim("beside");
        Self { scene, open, shim }
    }

    /// It ran all the time, and ends as it would have.
    pub fn ends_unharmed(self) {
        assert!(self.shim.runs().unwrap(), "what ran beside was ended");
        drop(self.open);
        let said = self.scene.homing(["output", "beside", "--wait"]);
        assert_eq!((said.code, said.text()), (Some(0), "unharmed\n"), "{}", said.err);
        assert_eq!(self.scene.show("beside")["attempt"], 1);
    }
}
