//! A home whose daemon listens on TCP, and a door in front of it for programs that cannot send a token.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Output};

use tempfile::TempDir;

/// See the module. Its daemon ends with it.
pub struct Home {
    dir: TempDir,
}

impl Home {
    pub fn new(settings: &str) -> Self {
        Self::within(tempfile::tempdir().unwrap(), settings)
    }

    /// One whose daemon always listens at the same port.
    pub fn at(port: u16) -> Self {
        Self::made(tempfile::tempdir().unwrap(), port, "")
    }

    /// One in a directory of this making.
    pub fn within(dir: TempDir, settings: &str) -> Self {
        Self::made(dir, 0, settings)
    }

    fn made(dir: TempDir, port: u16, settings: &str) -> Self {
        let text = format!("[http]\nlisten = \"127.0.0.1:{port}\"\n{settings}");
        fs::write(dir.path().join("homing.toml"), text).unwrap();
        Self { dir }
    }

    pub fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_homing"));
        self.around(&mut command);
        command
    }

    /// Any program that is to find this home.
    pub fn around(&self, command: &mut Command) {
        command.env("HOMING_HOME", self.dir.path()).env("XDG_RUNTIME_DIR", self.dir.path());
    }

    pub fn homing<const N: usize>(&self, words: [&str; N]) -> Output {
        let said = self.command().args(words).output().unwrap();
        assert!(said.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said.stderr));
        said
    }

    pub fn json<const N: usize>(&self, words: [&str; N]) -> serde_json::Value {
        serde_json::from_slice(&self.homing(words).stdout).unwrap()
    }

    /// Where the daemon listens; started if it does not run.
    pub fn address(&self) -> String {
        let status = self.homing(["daemon", "start", "--json"]).stdout;
        let status: serde_json::Value = serde_json::from_slice(&status).unwrap();
        status["http"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned()
    }

    pub fn token(&self) -> String {
        String::from_utf8(self.homing(["token"]).stdout).unwrap().trim_end().to_owned()
    }

    /// A port that passes requests on with the token, and leaves everything else as it is.
    pub fn door(&self) -> String {
        let (daemon, token) = (self.address(), self.token());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap().to_string();
        // Ends with the test's process.
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(&daemon) else {
                    continue;
                };
                let (up, down) = ((near.try_clone(), far.try_clone()), (far, near));
                let token = token.clone();
                std::thread::spawn(move || {
                    if let (Ok(near), Ok(far)) = up {
                        drop(pass_on(near, far, &token));
                    }
                });
                std::thread::spawn(move || {
                    let (mut far, mut near) = down;
                    drop(std::io::copy(&mut far, &mut near));
                    drop(near.shutdown(Shutdown::Both));
                });
            }
        });
        place
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        drop(self.command().args(["daemon", "stop"]).output());
    }
}

/// Requests as they come, each with one more line in its head.
fn pass_on(mut near: TcpStream, mut far: TcpStream, token: &str) -> std::io::Result<()> {
    let mut held = Vec::new();
    let mut part = [0; 64 << 10];
    loop {
        while let Some((end, whole)) = request(&held) {
            let rest = held.split_off(whole);
            far.write_all(&held[..end])?;
            far.write_all(format!("\r\nAuthorization: Bearer {token}").as_bytes())?;
            far.write_all(&held[end..])?;
            held = rest;
        }
        match near.read(&mut part)? {
            0 => return far.shutdown(Shutdown::Write),
            read => held.extend_from_slice(&part[..read]),
        }
    }
}

/// Where the head of a whole request ends, and where the request does.
fn request(held: &[u8]) -> Option<(usize, usize)> {
    let end = held.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&held[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
    (held.len() >= end + 4 + length).then_some((end, end + 4 + length))
}
