//! An OpenCode server as a program sees it that speaks plainly to it.

#![expect(clippy::unwrap_used, reason = "a test that cannot speak to it ends with the cause")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

const WITHIN: Duration = Duration::from_secs(120);
const SOON: Duration = Duration::from_secs(1);

/// Looks again and again, for a time that nothing honest takes.
pub fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    until_within(WITHIN, what, look)
}

/// As `until`, for what takes its time.
pub fn until_within<T>(within: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < within, "{what}: it does not come");
        std::thread::sleep(Duration::from_millis(20)); // sleep: between two looks
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub struct Asked {
    port: u16,
    password: String,
}

impl Asked {
    pub fn new(port: u16, password: &str) -> Self {
        Self { port, password: password.to_owned() }
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn get(&self, path: &str) -> Option<Value> {
        self.ask("GET", path, "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Option<Value> {
        self.ask("POST", path, &body.to_string())
    }

    /// While it starts, a request may hang.
    pub fn is_there(&self) -> bool {
        self.ask_within(SOON, "GET", "/global/health", "").is_some()
    }

    pub fn ask(&self, method: &str, path: &str, body: &str) -> Option<Value> {
        self.ask_within(WITHIN, method, path, body)
    }

    fn ask_within(&self, within: Duration, method: &str, path: &str, body: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(within)).unwrap();
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
