//! An OpenCode server that a home started, as it is seen from outside: its process, and what it says when it is asked plainly.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use homing_shim::claim;
use homing_shim::processes::Process;
use homing_shim::record::Child;
use homing_shim::run_dir::RunDir;
use serde_json::Value;

const WITHIN: Duration = Duration::from_secs(30);

/// Looks again and again, for a time that nothing honest takes.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < WITHIN, "{what}: it does not come");
        std::thread::sleep(Duration::from_millis(20)); // sleep: between two looks
    }
}

/// See the module.
pub struct Server {
    run: RunDir,
    port: u16,
    password: String,
}

impl Server {
    /// The one that runs, of those in this directory of runs.
    pub fn of(runs: &Path) -> Option<Self> {
        let all = std::fs::read_dir(runs.join("servers")).ok()?;
        all.flatten().find_map(|entry| Self::at(entry.path()))
    }

    fn at(path: PathBuf) -> Option<Self> {
        let run = RunDir::at(path);
        claim::find(&run).ok()??.held.then_some(())?;
        let door = String::from_utf8(run.get("door").ok()??).ok()?;
        let (port, password) = door.split_once(' ')?;
        Some(Self { port: port.parse().ok()?, password: password.to_owned(), run })
    }

    pub fn process(&self) -> Process {
        Child::read(&self.run).unwrap().unwrap().process
    }

    fn is_held(&self) -> bool {
        claim::find(&self.run).unwrap().is_some_and(|claim| claim.held)
    }

    /// Kills it, and waits until all that it left behind is gone, too.
    pub fn kill(&self) {
        self.process().signal(rustix::process::Signal::KILL).unwrap();
        until("the server's end", || (!self.is_held()).then_some(()));
    }

    pub fn get(&self, path: &str) -> Option<Value> {
        self.ask("GET", path, "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Option<Value> {
        self.ask("POST", path, &body.to_string())
    }

    pub fn ask(&self, method: &str, path: &str, body: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(WITHIN)).unwrap();
        let secret = STANDARD.encode(format!("opencode:{}", self.password));
        let head = format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Basic {secret}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        // It says how long its answer is, and does not always close the connection behind it.
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).ok()?;
            match line.trim_end().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().ok()?;
                }
                Some(_) => {}
                None if line.trim_end().is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body).ok()?;
        serde_json::from_slice(&body).ok()
    }

    /// The sessions with this in their title.
    pub fn sessions(&self, title: &str) -> Vec<Value> {
        let found = self.get(&format!("/experimental/session?limit=100&search={title}"));
        found.unwrap().as_array().unwrap().clone()
    }

    pub fn messages(&self, session: &str) -> Vec<Value> {
        let found = self.get(&format!("/session/{session}/message"));
        found.and_then(|found| found.as_array().cloned()).unwrap_or_default()
    }

    pub fn is_busy(&self, session: &Value) -> bool {
        let directory = session["directory"].as_str().unwrap();
        let status = self.get(&format!("/session/status?directory={directory}"));
        status.is_some_and(|status| !status[session["id"].as_str().unwrap()].is_null())
    }
}
