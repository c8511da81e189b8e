//! A door on a runtime with scripted parts around it, and a client in front of it.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use homing_client::{Client, Error, Event, Events};
use homing_core::ids::TaskId;
use homing_core::limits::Limits;
use homing_core::refs::ParentRef;
use homing_core::view::TaskView;
use homing_core::wire::{Launch, Problem};
use homing_core::words::State;
use homing_hosts::system::SystemClock;
use homing_ports::door::{Arms, Callers, Calling, Keeps, News, Offer, Orders, Token, Vars, Word};
use homing_ports::host::Flight;
use homing_ports::memory::ids::MemoryIds;
use homing_runtime::{Homing, Runtime};
use homing_server::{Counts, Door, Identity, Stops};
use homing_store::SqliteStore;
use homing_testkit::scripted::ScriptedHost;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

/// Longer than anything here takes; only a test that fails waits so long.
pub const LONG: Duration = Duration::from_secs(30);

/// What a caller over TCP must know.
pub const TOKEN: &str = "homing_sesame";

/// Says of every caller what a test tells it to, and keeps variables in memory.
#[derive(Debug)]
pub struct Around {
    pub calling: Mutex<Calling>,
    /// How often it was asked who calls.
    pub asked: AtomicUsize,
    pub kept: Mutex<BTreeMap<TaskId, Vars>>,
    pub token: Mutex<String>,
}

impl Callers for Around {
    fn calling(&self, _: i32) -> Calling {
        self.asked.fetch_add(1, Ordering::Relaxed);
        *self.calling.lock().unwrap()
    }

    fn calling_over(&self, _: SocketAddr, _: SocketAddr) -> Calling {
        self.calling(0)
    }
}

/// Nobody comes with arms.
impl Arms for Around {
    fn host(&self) -> &str {
        "opencode"
    }

    fn offer(&self, _: Offer) -> Result<Box<dyn Orders>, String> {
        Err("nobody takes arms here".to_owned())
    }

    fn greet<'a>(&'a self, _: &'a str) -> Flight<'a, Vec<News>> {
        Box::pin(async { Vec::new() })
    }

    fn left(&self, _: &str) -> Flight<'_, Vec<News>> {
        Box::pin(async { Vec::new() })
    }

    fn answer(&self, _: &str, _: u64, _: u16, _: Vec<u8>) -> bool {
        false
    }

    fn hear<'a>(&'a self, _: &'a str, _: Word) -> Flight<'a, Option<Vec<News>>> {
        Box::pin(async { None })
    }

    fn lineage<'a>(&'a self, _: &'a str, _: &'a str) -> Flight<'a, Result<Vec<String>, String>> {
        Box::pin(async { Err("nobody takes arms here".to_owned()) })
    }

    fn parent(&self, _: &str, _: &str) -> Option<ParentRef> {
        None
    }

    fn mark(&self, _: TaskId) -> io::Result<(String, String)> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Token for Around {
    fn token(&self) -> io::Result<String> {
        Ok(self.token.lock().unwrap().clone())
    }
}

impl Keeps for Around {
    fn keep_env(&self, task: TaskId, vars: &Vars) -> io::Result<()> {
        self.kept.lock().unwrap().insert(task, vars.clone());
        Ok(())
    }

    fn drop_env(&self, task: TaskId) -> io::Result<()> {
        self.kept.lock().unwrap().remove(&task);
        Ok(())
    }
}

pub struct Scene {
    pub dir: TempDir,
    pub host: ScriptedHost,
    pub around: Arc<Around>,
    pub limits: Limits,
    pub presets: BTreeMap<String, Launch>,
    pub slow: Duration,
    /// Whose socket it is said to be.
    pub uid: u32,
    ids: Arc<MemoryIds>,
}

/// A door that is open.
pub struct Open {
    pub client: Client,
    pub homing: Homing,
    pub stops: Stops,
    pub serving: JoinHandle<io::Result<()>>,
    pub door: Door,
}

impl Scene {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            host: ScriptedHost::new("scripted"),
            around: Arc::new(Around {
                calling: Mutex::new(Calling::Outside),
                asked: AtomicUsize::new(0),
                kept: Mutex::default(),
                token: Mutex::new(TOKEN.to_owned()),
            }),
            limits: Limits { fresh_ms: 0, reprobe_ms: 20, ..Limits::default() },
            presets: BTreeMap::new(),
            slow: LONG,
            uid: own_uid(),
            ids: Arc::default(),
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("door.sock")
    }

    pub fn open(&self) -> Open {
        let store = SqliteStore::open(self.dir.path().join("ledger.db")).unwrap();
        let clock = Arc::new(SystemClock::new().unwrap());
        let homing = Runtime::new(Box::new(store), clock, self.ids.clone())
            .limits(self.limits.clone())
            .host(Arc::new(self.host.clone()))
            .start()
            .unwrap();
        let stops = Stops::default();
        let identity = Identity {
            pid: std::process::id(),
            version: "1.2.3".to_owned(),
            home: self.dir.path().display().to_string(),
            socket: self.socket().display().to_string(),
            http: None,
            since: 0,
            uid: self.uid,
        };
        let door = Door {
            homing: homing.clone(),
            callers: self.around.clone(),
            keeps: self.around.clone(),
            arms: self.around.clone(),
            presets: Arc::new(self.presets.clone()),
            identity: Arc::new(identity),
            stops: stops.clone(),
            counts: Counts::default(),
            slow: self.slow,
        };
        drop(std::fs::remove_file(self.socket()));
        let listener = UnixListener::bind(self.socket()).unwrap();
        let serving = tokio::spawn(homing_server::serve(listener, door.clone()));
        Open { client: Client::new(self.socket()), homing, stops, serving, door }
    }

    /// From now on, every caller is inside this task, or none. Who calls is found out once a connection.
    pub fn call_from(&self, open: &mut Open, calling: Calling) {
        *self.around.calling.lock().unwrap() = calling;
        open.client = Client::new(self.socket());
    }
}

impl Open {
    /// Closes the door and stops the runtime, as a daemon does.
    pub async fn close(self) {
        self.stops.stop();
        soon(self.homing.stop()).await;
        soon(self.serving).await.unwrap().unwrap();
    }

    pub async fn launch(&self, prompt: &str) -> TaskId {
        soon(self.client.launch(&ask(prompt))).await.unwrap().id
    }

    /// Waits for the end of a task.
    pub async fn end(&self, id: TaskId) -> TaskView {
        let name = id.to_string();
        let output = soon(self.client.output(&name, Some(LONG))).await.unwrap();
        assert!(output.wait.unwrap().ended);
        output.task
    }

    /// Waits until a task is in a state.
    pub async fn until(&self, id: TaskId, state: State) -> TaskView {
        let mut head = self.homing.head();
        let reached = async {
            loop {
                head.mark_unchanged();
                let task = self.client.show(&id.to_string()).await.unwrap();
                if task.state == state {
                    return task;
                }
                head.changed().await.unwrap();
            }
        };
        soon(reached).await
    }
}

fn own_uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid()
}

pub fn ask(prompt: &str) -> Launch {
    Launch { prompt: Some(prompt.to_owned()), ..Launch::default() }
}

/// Bounds a wait for something that must come.
pub async fn soon<T>(coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, coming).await.expect("it came in time")
}

pub async fn next(events: &mut Events) -> Event {
    soon(events.next()).await.unwrap().expect("the stream goes on")
}

/// The refusal that something came to.
pub fn problem<T: std::fmt::Debug>(answer: Result<T, Error>) -> Problem {
    match answer {
        Err(Error::Problem(problem)) => *problem,
        other => panic!("not refused: {other:?}"),
    }
}
