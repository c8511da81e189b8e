//! A real Matrix homeserver for tests: Synapse from PyPI on loopback, with SQLite in a directory of the test's own and without
//! federation. It can be killed, and started again on the same data.
//!
//! - `account`: somebody there, spoken for plainly.

#![expect(clippy::unwrap_used, reason = "a test that cannot speak to it ends with the cause")]

mod account;

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use ring::hmac;
use serde_json::json;

use account::PASSWORD;
pub use account::{Account, Said};

use crate::pypi::Programs;

/// What registers users.
const SECRET: &str = "known to the test alone";
/// Longer than any start takes.
const START: Duration = Duration::from_secs(120);

/// How fast one user may send.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    pub per_second: f64,
    pub burst: u32,
}

/// See the module. Ends with it.
#[derive(Debug)]
pub struct Synapse {
    programs: Programs,
    dir: PathBuf,
    port: u16,
    child: Option<Child>,
}

impl Synapse {
    /// In this directory, of the versions that a list says; it runs.
    pub fn start(list: &Path, dir: &Path, rate: Option<Rate>) -> Self {
        let programs = Programs::of("synapse", list).unwrap();
        fs::create_dir_all(dir).unwrap();
        let port = port();
        fs::write(dir.join("homeserver.yaml"), settings(dir, port, rate).to_string()).unwrap();
        fs::write(dir.join("log.yaml"), logging().to_string()).unwrap();
        let mut synapse = Self { programs, dir: dir.to_owned(), port, child: None };
        synapse.again();
        synapse
    }

    /// On the same data, at the same port.
    pub fn again(&mut self) {
        assert!(self.child.is_none(), "it runs");
        let log = File::options().create(true).append(true).open(self.log()).unwrap();
        let child = self
            .programs
            .command("python")
            .args(["-m", "synapse.app.homeserver", "-c"])
            .arg(self.dir.join("homeserver.yaml"))
            .current_dir(&self.dir)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.child = Some(child);
        let begun = Instant::now();
        while self.nobody().ask("GET", "/_matrix/client/versions", None).is_none() {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            let said = || fs::read_to_string(self.log()).unwrap_or_default();
            assert!(ended.is_none(), "Synapse ended: {}", said());
            assert!(begun.elapsed() < START, "Synapse does not answer: {}", said());
            std::thread::sleep(Duration::from_millis(50)); // sleep: between two looks
        }
    }

    /// As by a power failure.
    pub fn kill(&mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A new account, by this name.
    pub fn register(&self, name: &str) -> Account {
        const PATH: &str = "/_synapse/admin/v1/register";
        let nonce = self.nobody().get(PATH);
        let nonce = nonce["nonce"].as_str().unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, SECRET.as_bytes());
        let over = [nonce, name, PASSWORD, "notadmin"].join("\0");
        let mac = hmac::sign(&key, over.as_bytes());
        let mac: String = mac.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let asked = json!({"nonce": nonce, "username": name, "password": PASSWORD, "mac": mac});
        let made = self.nobody().post(PATH, &asked);
        let text = |field: &str| made[field].as_str().unwrap().to_owned();
        Account { port: self.port, id: text("user_id"), token: text("access_token") }
    }

    fn nobody(&self) -> Account {
        Account { port: self.port, id: String::new(), token: String::new() }
    }

    fn log(&self) -> PathBuf {
        self.dir.join("synapse.log")
    }
}

impl Drop for Synapse {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
    }
}

/// Free, and not one that the kernel gives to whoever asks for any: it is needed again after a kill.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 27_000 + u16::try_from(std::process::id() % 4_000).unwrap();
    (0..1_000)
        .map(|_| first + NEXT.fetch_add(1, Ordering::Relaxed))
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .unwrap()
}

/// JSON is YAML.
fn settings(dir: &Path, port: u16, rate: Option<Rate>) -> serde_json::Value {
    let file = |name: &str| dir.join(name).display().to_string();
    let fast = json!({"per_second": 1_000, "burst_count": 1_000});
    let sends = match rate {
        Some(Rate { per_second, burst }) => {
            json!({"per_second": per_second, "burst_count": burst})
        }
        None => fast.clone(),
    };
    json!({
        "server_name": "localhost",
        "listeners": [{"port": port, "type": "http", "bind_addresses": ["127.0.0.1"],
            "resources": [{"names": ["client"]}]}],
        "database": {"name": "sqlite3", "args": {"database": file("homeserver.db")}},
        "log_config": file("log.yaml"),
        "media_store_path": file("media"),
        "signing_key_path": file("signing.key"),
        "pid_file": file("pid"),
        "registration_shared_secret": SECRET,
        "macaroon_secret_key": "of a test",
        "form_secret": "of a test",
        "bcrypt_rounds": 4,
        "report_stats": false,
        "trusted_key_servers": [],
        "suppress_key_server_warning": true,
        "federation_domain_whitelist": [],
        "presence": {"enabled": false},
        "rc_message": sends,
        "rc_registration": fast,
        "rc_login": {"address": fast, "account": fast},
        "rc_joins": {"local": fast},
        "rc_joins_per_room": fast,
        "rc_invites": {"per_room": fast, "per_user": fast, "per_issuer": fast},
        "rc_room_creation": fast,
    })
}

fn logging() -> serde_json::Value {
    json!({
        "version": 1,
        "handlers": {"console": {"class": "logging.StreamHandler"}},
        "root": {"level": "WARNING", "handlers": ["console"]},
    })
}
