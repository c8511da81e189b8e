//! A real daemon in a home of its own, as people run it: the release binary, found beside this one. Ends with
//! what asked for it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use homing_client::Client;
use tempfile::TempDir;

/// As the kernel counts for programs, whatever it counts in itself.
const TICKS_A_SECOND: f64 = 100.0;

/// Homes of daemons that have ended. Where files were just deleted, ext4 looks long for a place for new ones: all of
/// them go when the bench has its figures.
static LEFT: Mutex<Vec<TempDir>> = Mutex::new(Vec::new());

/// Deletes what the daemons left.
pub fn clean() {
    LEFT.lock().unwrap().clear();
}

/// One daemon; its home stays until all is measured.
pub struct Daemon {
    home: Option<TempDir>,
    pub client: Client,
    pub pid: u32,
}

impl Daemon {
    /// With so many slots.
    pub fn start(slots: u32) -> Self {
        Self::with(&format!("[concurrency]\ndefault = {slots}\n"))
    }

    /// With these settings.
    pub fn with(settings: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("homing.toml"), settings).unwrap();
        run(home.path(), &["daemon", "start"]);
        let note = std::fs::read(home.path().join("daemon.json")).unwrap();
        let note: serde_json::Value = serde_json::from_slice(&note).unwrap();
        let client = Client::new(note["socket"].as_str().unwrap());
        let pid = u32::try_from(note["pid"].as_u64().unwrap()).unwrap();
        Self { home: Some(home), client, pid }
    }

    pub fn home(&self) -> &Path {
        self.home.as_ref().unwrap().path()
    }

    /// A number of `/proc/PID/status`.
    pub fn status(&self, name: &str) -> u64 {
        status(self.pid, name)
    }

    /// What all threads of it add up to, of `/proc/PID/task/TID/status`.
    pub fn status_of_threads(&self, name: &str) -> u64 {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid)).unwrap();
        let texts = threads.map(|thread| thread.unwrap().path().join("status"));
        texts.filter_map(|path| std::fs::read_to_string(path).ok()).map(|t| number(&t, name)).sum()
    }

    /// Seconds of processor time so far: its own, and those of the process below it that makes shims, with all shims
    /// and commands that have ended.
    pub fn computed(&self) -> (f64, f64) {
        let below: f64 = self.nursery().map(computed).iter().map(|(own, below)| own + below).sum();
        (computed(self.pid).0, below)
    }

    /// Seconds of processor time of the threads that decide and commit.
    pub fn computed_by_core(&self) -> f64 {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid)).unwrap();
        let of_core = threads.map(|thread| thread.unwrap().path()).filter(|thread| {
            let name = std::fs::read_to_string(thread.join("comm")).unwrap_or_default();
            name.starts_with("homing-")
        });
        let nanoseconds = of_core.map(|thread| {
            let text = std::fs::read_to_string(thread.join("schedstat")).unwrap();
            text.split(' ').next().unwrap().parse::<f64>().unwrap()
        });
        nanoseconds.sum::<f64>() / 1e9
    }

    /// The process that makes shims, if one was made.
    pub fn nursery(&self) -> Option<u32> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.pid)).unwrap();
        let children = threads.map(|thread| thread.unwrap().path().join("children"));
        let children: String =
            children.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        children.split_whitespace().next().map(|pid| pid.parse().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        run(self.home(), &["daemon", "stop", "--children"]);
        LEFT.lock().unwrap().extend(self.home.take());
    }
}

/// A number of `/proc/PID/status`.
pub fn status(pid: u32, name: &str) -> u64 {
    number(&std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap(), name)
}

/// Seconds: of the process, and of the children it has reaped.
fn computed(pid: u32) -> (f64, f64) {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks = |at: usize| fields[at].parse::<f64>().unwrap() / TICKS_A_SECOND;
    (ticks(11) + ticks(12), ticks(13) + ticks(14))
}

fn number(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The command line, for a home.
pub fn command(home: &Path) -> Command {
    let mut command = Command::new(binary());
    command.arg("--home").arg(home).stdin(Stdio::null());
    command
}

fn run(home: &Path, words: &[&str]) {
    let done = command(home).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "homing {}: {said}", words.join(" "));
}

/// The binary that people run, built as this one is.
pub fn binary() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let release = !cfg!(debug_assertions);
        assert!(release, "figures are of a release build: cargo run --release");
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--release", "--quiet", "-p", "homing"]);
        let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap();
        assert!(built.success(), "the binary could not be built");
        std::env::current_exe().unwrap().with_file_name("homing")
    })
}
