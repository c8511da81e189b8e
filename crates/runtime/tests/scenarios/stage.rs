//! A runtime with scripted parts around it, that can die and come back on the same disk.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use homing_core::limits::Limits;
use homing_hosts::system::SystemClock;
use homing_ports::memory::ids::MemoryIds;
use homing_ports::memory::parent::{Manner, MemoryParent};
use homing_ports::memory::store::MemoryStore;
use homing_ports::memory::telemetry::MemoryTelemetry;
use homing_ports::store::Store;
use homing_rooms::memory::MemoryRoom;
use homing_runtime::{
    Code, Homing, Launch, ParentRef, Refused, Runtime, State, Task, TaskId, Waited,
};
use homing_store::SqliteStore;
use homing_testkit::scripted::ScriptedHost;
use tempfile::TempDir;

use crate::faulty::Plan;

/// Longer than anything here takes; only a test that fails waits so long.
pub const LONG: Duration = Duration::from_secs(30);

/// Where the ledger is, across restarts.
pub enum Disk {
    Memory(MemoryStore),
    Sqlite(TempDir),
}

impl Disk {
    pub fn memory() -> Self {
        Self::Memory(MemoryStore::new())
    }

    pub fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub fn open(&self) -> Box<dyn Store> {
        match self {
            Self::Memory(store) => Box::new(store.clone()),
            Self::Sqlite(dir) => Box::new(SqliteStore::open(dir.path().join("ledger.db")).unwrap()),
        }
    }
}

/// Everything around a runtime; it outlives it.
pub struct Stage {
    pub disk: Disk,
    pub plan: Plan,
    pub host: ScriptedHost,
    pub parents: Arc<MemoryParent>,
    pub room: Arc<MemoryRoom>,
    pub telemetry: Arc<MemoryTelemetry>,
    pub limits: Limits,
    ids: Arc<MemoryIds>,
}

impl Stage {
    pub fn new() -> Self {
        Self::on(Disk::memory())
    }

    pub fn on(disk: Disk) -> Self {
        Self {
            disk,
            plan: Plan::new(),
            host: ScriptedHost::new("scripted"),
            parents: Arc::default(),
            room: Arc::default(),
            telemetry: Arc::default(),
            limits: Limits {
                backoff_first_ms: 5,
                backoff_most_ms: 20,
                fresh_ms: 0,
                reprobe_ms: 20,
                wake_ms: 20,
                ..Limits::default()
            },
            ids: Arc::default(),
        }
    }

    pub fn runtime(&self) -> Runtime {
        let store = self.plan.around(self.disk.open());
        Runtime::new(store, Arc::new(SystemClock::new().unwrap()), self.ids.clone())
            .limits(self.limits.clone())
            .host(Arc::new(self.host.clone()))
            .parent("claude", self.parents.clone())
            .room("lobby", self.room.clone())
            .telemetry(self.telemetry.clone())
            // A process that dies says nothing more; here its threads do.
            .on_fatal(|_| {})
    }

    pub fn start(&self) -> Homing {
        self.runtime().start().unwrap()
    }

    /// Waits for the kill that the plan has for it, and begins again on the same disk.
    pub async fn revive(&self, homing: &Homing) -> Homing {
        assert!(soon(homing.head().wait_for(|_| false)).await.is_err());
        self.start()
    }

    /// Stops the runtime, and begins again on the same disk.
    pub async fn restart(&self, homing: &Homing) -> Homing {
        soon(homing.stop()).await;
        self.start()
    }
}

/// Someone who answers every debrief at once.
pub fn answering(stage: &Stage, id: &str) -> ParentRef {
    let parent = session(id);
    stage.parents.behave(&parent, Manner::Answers("thanks, all".into()));
    parent
}

/// A session whose program tells of its own turns.
pub fn session(id: &str) -> ParentRef {
    ParentRef::Session { host: "claude".into(), instance: None, session: id.into() }
}

pub fn inbox(name: &str) -> ParentRef {
    ParentRef::Inbox { name: name.into(), key: None }
}

pub fn ask(prompt: &str) -> Launch {
    Launch::prompt("scripted", prompt)
}

/// Bounds a wait for something that must come.
pub async fn soon<T>(coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, coming).await.expect("it came in time")
}

pub async fn launch(homing: &Homing, launch: Launch) -> TaskId {
    soon(homing.launch(launch)).await.unwrap()
}

pub async fn end(homing: &Homing, id: TaskId) -> Task {
    assert_eq!(soon(homing.wait(id, LONG)).await, Ok(Waited::Ended));
    soon(homing.show(id)).await.unwrap().task
}

/// Waits until the ledger shows what is wanted of a task.
pub async fn until(
    homing: &Homing,
    id: TaskId,
    mut wanted: impl FnMut(&Task) -> bool,
) -> Result<Task, Refused> {
    let mut head = homing.head();
    soon(async {
        loop {
            head.mark_unchanged();
            let task = match homing.show(id).await {
                Ok(seen) => seen.task,
                // A store that failed meanwhile: asked again.
                Err(Refused::Because { code: Code::Unsure | Code::Unavailable, .. }) => continue,
                Err(other) => return Err(other),
            };
            if wanted(&task) {
                return Ok(task);
            }
            head.changed().await.map_err(|_| Refused::Stopped)?;
        }
    })
    .await
}

/// Waits until nobody is owed anything about a task.
pub async fn settled(homing: &Homing, id: TaskId) -> Task {
    until(homing, id, |task| !task.is_living() && !task.is_owed()).await.unwrap()
}

pub fn is_done(task: &Task) -> bool {
    task.state == State::Completed
}
