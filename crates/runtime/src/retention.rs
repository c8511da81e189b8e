//! Retention: tasks and deliveries that were over long ago, owe nothing and have no living relative are let
//! go of, and hosts let go of their files. Looks once at the start, then at most once an hour, and only while
//! something happens.

use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::limits::Limits;
use homing_core::reply::Told;
use homing_core::time::backoff_ms;
use tokio::sync::{mpsc, watch};

use crate::codec;
use crate::decider::Msg;
use crate::perform::Ports;
use crate::readers::Readers;
use crate::replies::Replies;
use crate::time::Timekeeper;

const HOUR_MS: u64 = 3_600_000;
/// Until what was found and could not be let go of is tried again; then less and less often.
const KEPT_MS: u64 = 1_000;
/// Tasks, and deliveries, that one decision lets go of.
const AT_ONCE: usize = 500;

/// What a look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Swept {
    Nothing,
    /// There may be more.
    Some,
    /// What was found is just being read, or the store failed: it is looked for again after a while.
    Kept,
}

pub(crate) struct Retention {
    pub readers: Readers,
    pub inbox: mpsc::Sender<Msg>,
    pub head: watch::Receiver<u64>,
    pub time: Timekeeper,
    pub limits: Arc<Limits>,
    pub replies: Arc<Replies>,
    pub ports: Arc<Ports>,
}

impl Retention {
    /// Runs until the runtime ends.
    pub(crate) async fn run(mut self) {
        self.leftovers().await;
        let mut kept = 0;
        loop {
            self.head.mark_unchanged();
            let swept = loop {
                match self.sweep().await {
                    Swept::Some => {}
                    swept @ (Swept::Nothing | Swept::Kept) => break swept,
                }
            };
            let mut wait = self.limits.retention_ms.min(HOUR_MS);
            if swept == Swept::Kept {
                wait = wait.max(backoff_ms(kept, KEPT_MS, HOUR_MS));
                kept += 1;
            } else {
                kept = 0;
                if self.head.changed().await.is_err() {
                    return;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(wait)) => {}
                () = self.inbox.closed() => return,
            }
        }
    }

    /// Lets go of the oldest. A store that cannot be read now is asked again next time.
    async fn sweep(&self) -> Swept {
        let retention = i64::try_from(self.limits.retention_ms).unwrap_or(i64::MAX);
        let before = self.time.now().wall.saturating_sub(retention);
        let found = self.readers.read(move |reader| reader.purgeable(before, AT_ONCE)).await;
        let Ok(found) = found.map(codec::expired) else {
            return Swept::Nothing;
        };
        if found.is_empty() {
            return Swept::Nothing;
        }
        let tasks = found.tasks.clone();
        let (request, told) = self.replies.expect();
        let expired = Input::Expired { request, purge: found };
        let sent = self.inbox.send(Msg::Input(Box::new(expired))).await;
        match told.await {
            Ok(Told::Purged { any: true }) if sent.is_ok() => self.forget(tasks).await,
            Ok(_) => return Swept::Kept,
            // The runtime ends.
            Err(_) => return Swept::Nothing,
        }
        Swept::Some
    }

    /// Files of tasks that have no row: a crash came between the purge and this.
    async fn leftovers(&self) {
        for host in self.ports.hosts.values() {
            let kept = host.kept().await;
            self.forget(kept).await;
        }
    }

    /// Hosts let go of those that the store does not know any more; every task has its row before its files.
    async fn forget(&self, tasks: Vec<TaskId>) {
        for task in tasks {
            let gone = self.readers.read(move |reader| Ok(reader.task(task)?.0.is_none())).await;
            if !matches!(gone, Ok(true)) {
                continue;
            }
            for host in self.ports.hosts.values() {
                host.forget(task).await;
            }
        }
    }
}
