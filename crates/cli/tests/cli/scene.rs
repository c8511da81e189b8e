//! A home of its own, and the binary run in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes.
pub const LONG: Duration = Duration::from_secs(60);

pub struct Scene {
    dir: TempDir,
    pub home: PathBuf,
    /// What the binary is started by; nothing, as a rule.
    pub by: Vec<OsString>,
}

/// What a run came to.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Said {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// The first task id that it wrote anywhere.
    pub fn id(&self) -> String {
        let all = format!("{}{}", self.err, String::from_utf8_lossy(&self.out));
        let at = all.find("bg_").unwrap_or_else(|| panic!("no id in {all}"));
        all[at..at + 15].to_owned()
    }
}

impl Scene {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        Self { dir, home, by: Vec::new() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn command(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut all = self.by.iter().cloned().chain([env!("CARGO_BIN_EXE_homing").into()]);
        let mut command = Command::new(all.next().unwrap());
        command.args(all).args(words).env("HOMING_HOME", &self.home).env_remove("RUST_BACKTRACE");
        command
            .env("XDG_RUNTIME_DIR", self.dir.path())
            .env_remove("HOMING_PARENT")
            .env_remove("HOMING_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn homing<const N: usize>(&self, words: [&str; N]) -> Said {
        finish(self.command(words).spawn().unwrap())
    }

    /// `homing run -- …`, with options.
    pub fn run<const N: usize, const M: usize>(
        &self,
        options: [&str; N],
        command: [&str; M],
    ) -> Said {
        let words = ["run"].iter().chain(&options).chain(&["--"]).chain(&command);
        finish(self.command(words).spawn().unwrap())
    }
}

impl Scene {
    /// A pipe that a command reads to its end.
    pub fn gate(&self, name: &str) -> Gate {
        let path = self.path(&format!("gate {name}"));
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        Gate { path }
    }

    /// Launches a command, and gives its id.
    pub fn launch<const N: usize>(&self, name: &str, options: [&str; N], script: &str) -> String {
        let words = ["launch", "--name", name].into_iter().chain(options);
        let words = words.chain(["--", "sh", "-c", script]);
        let said = finish(self.command(words).spawn().unwrap());
        assert_eq!(said.code, Some(0), "{}", said.err);
        said.text().trim_end().to_owned()
    }

    pub fn show(&self, task: &str) -> Value {
        self.homing(["show", task, "--json"]).json()
    }
}

impl Scene {
    /// Whether it has not ended.
    pub fn lives(&self, task: &str) -> bool {
        self.show(task)["ended_at"].is_null()
    }

    /// Starts one whose output is read as it comes.
    pub fn reading<const N: usize>(&self, words: [&str; N]) -> Reading {
        let mut child = self.command(words).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Reading { child: Some(child), lines }
    }
}

/// One that runs beside the test, and not longer than it.
pub struct Reading {
    child: Option<Child>,
    lines: BufReader<ChildStdout>,
}

impl Reading {
    /// The next line, without its end; none at the end of all.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).unwrap();
        (read > 0).then(|| line.trim_end().to_owned())
    }

    pub fn json(&mut self) -> Option<Value> {
        self.line().map(|line| serde_json::from_str(&line).unwrap())
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.child.as_ref().unwrap()), signal).unwrap();
    }

    pub fn finish(mut self) -> Said {
        finish(self.child.take().unwrap())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

pub struct Gate {
    path: PathBuf,
}

impl Gate {
    /// What a shell says to wait here.
    pub fn wait(&self) -> String {
        format!("cat < '{}' > /dev/null", self.path.display())
    }

    /// Comes back once the command waits; the command goes on when this falls.
    pub fn open(&self) -> File {
        File::options().write(true).open(&self.path).unwrap()
    }
}

/// Nothing outlives its scene.
impl Drop for Scene {
    fn drop(&mut self) {
        let stop = self.command(["daemon", "stop", "--children"]).stdout(Stdio::null()).status();
        drop(stop);
        let log = std::fs::read_to_string(self.home.join("daemon.log")).unwrap_or_default();
        assert!(std::thread::panicking() || !log.contains("panicked"), "{log}");
    }
}

/// Waits for the end and all output, but not for ever.
pub fn finish(mut child: Child) -> Said {
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let pid = Pid::from_child(&child);
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let errors = std::thread::spawn(move || {
            let mut text = Vec::new();
            err.as_mut().map(|pipe| pipe.read_to_end(&mut text));
            text
        });
        let mut text = Vec::new();
        out.as_mut().map(|pipe| pipe.read_to_end(&mut text));
        let status = child.wait();
        // Nobody listens when the wait was given up.
        drop(tell.send((status, text, errors.join())));
    });
    let Ok((status, out, err)) = told.recv_timeout(LONG) else {
        // It would go on, and start a daemon anew after its scene is gone.
        let _ = kill_process(pid, Signal::KILL);
        panic!("homing (process {pid:?}) did not end within {LONG:?}");
    };
    let status = status.unwrap();
    let err = String::from_utf8(err.unwrap()).unwrap();
    assert!(!err.contains("panicked"), "{err}");
    Said { code: status.code().or(status.signal().map(|signal| -signal)), out, err }
}

/// Waits until something holds, but not for ever.
pub fn until(mut holds: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !holds() {
        assert!(begin.elapsed() < LONG, "it did not come to be within {LONG:?}");
        std::thread::yield_now();
    }
}
