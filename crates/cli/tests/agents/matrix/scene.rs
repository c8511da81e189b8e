//! A real homeserver, somebody who reads there, and a bot that speaks through a passage that can lose or hold replies.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use homing_ports::door::Token;
use homing_rooms::http::Place;
use homing_rooms::matrix::Matrix;
use homing_testkit::between::Between;
use homing_testkit::opencode::until_within;
use homing_testkit::synapse::{Account, Rate, Synapse};
use serde_json::Value;
use tempfile::TempDir;

use crate::home::Home;

/// Longer than anything here takes.
pub const LONG: Duration = Duration::from_secs(120);

/// A homeserver in a directory of its own.
pub struct Served {
    synapse: Mutex<Synapse>,
    _dir: TempDir,
}

impl Served {
    fn start(rate: Option<Rate>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/synapse.txt");
        let synapse = Mutex::new(Synapse::start(&list, dir.path(), rate));
        Self { synapse, _dir: dir }
    }

    pub fn synapse(&self) -> MutexGuard<'_, Synapse> {
        self.synapse.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// See the module.
pub struct Scene {
    pub served: Arc<Served>,
    pub between: Between,
    pub bot: Account,
    pub person: Account,
    dir: TempDir,
}

impl Scene {
    /// On a homeserver that tests share which do it no harm; it ends with the last of them.
    pub fn new() -> Self {
        static SHARED: Mutex<Weak<Served>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let served = shared.upgrade().unwrap_or_else(|| Arc::new(Served::start(None)));
        *shared = Arc::downgrade(&served);
        drop(shared);
        Self::on(served)
    }

    /// On a homeserver of its own.
    pub fn alone(rate: Option<Rate>) -> Self {
        Self::on(Arc::new(Served::start(rate)))
    }

    fn on(served: Arc<Served>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let synapse = served.synapse();
        let (bot, person) =
            (synapse.register(&format!("bot{n}")), synapse.register(&format!("person{n}")));
        let between = Between::start(synapse.port()).unwrap();
        drop(synapse);
        let scene = Self { served, between, bot, person, dir: tempfile::tempdir().unwrap() };
        scene.put_token(&scene.bot.token);
        scene
    }

    /// A room that both are in.
    pub fn room(&self) -> String {
        self.person.room(&[&self.bot])
    }

    pub fn token_file(&self) -> PathBuf {
        self.dir.path().join("token")
    }

    pub fn put_token(&self, token: &str) {
        fs::write(self.token_file(), token).unwrap();
        fs::set_permissions(self.token_file(), fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub fn matrix(&self) -> Matrix {
        let homeserver = Place::base(&self.between.url(), &["127.0.0.1".to_owned()]).unwrap();
        Matrix { homeserver, token: Arc::new(InFile(self.token_file())), within: LONG }
    }

    /// As homing.toml has it: a room `team`, and tries that follow each other soon.
    pub fn settings(&self) -> String {
        format!(
            "[delivery]\nbackoff_first = \"20ms\"\nbackoff_most = \"200ms\"\n\
             [rooms.team]\nkind = \"matrix\"\nhomeserver = \"{}\"\ntoken_file = {:?}\n\
             private = [\"127.0.0.1\"]\ntimeout = \"60s\"\n",
            self.between.url(),
            self.token_file().display().to_string()
        )
    }

    pub fn home(&self) -> Home {
        Home::new(&self.settings())
    }

    /// What was sent into rooms, as `PUT …/TRANSACTION` each, in the order the homeserver answered.
    pub fn sends(&self) -> Vec<homing_testkit::between::Passed> {
        let mut all = self.between.passed();
        all.retain(|passed| passed.what.starts_with("PUT "));
        all
    }
}

struct InFile(PathBuf);

impl Token for InFile {
    fn token(&self) -> std::io::Result<String> {
        fs::read_to_string(&self.0)
    }
}

/// A task that nobody is told of but the room.
pub fn launch(home: &Home, name: &str, origin: &str, script: &str) -> String {
    let words = ["launch", "--name", name, "--parent", "none", "--origin", origin, "--"];
    let said = home.command().args(words).args(["sh", "-c", script]).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap().trim_end().to_owned()
}

/// How far its message has come, once it is there.
pub fn until_room(home: &Home, task: &str, state: &str) -> Value {
    until_within(LONG, state, || {
        let room = home.json(["show", task, "--json"])["room"].clone();
        (room["state"] == state).then_some(room)
    })
}

pub fn kill_daemon(home: &Home) {
    let status = home.json(["daemon", "status", "--json"]);
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    let process = homing_shim::processes::Process::of(pid).unwrap();
    process.signal(rustix::process::Signal::KILL).unwrap();
    until_within(LONG, "the daemon's end", || (!process.runs().unwrap()).then_some(()));
}
