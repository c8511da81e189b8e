//! Retention: tasks that ended long ago, owe nothing and have no living relative are let go of. Looks once
//! at the start, then at most once an hour, and only while something happens.

use std::sync::Arc;
use std::time::Duration;

use homing_core::input::Input;
use homing_core::limits::Limits;
use tokio::sync::{mpsc, watch};

use crate::decider::Msg;
use crate::readers::Readers;
use crate::time::Timekeeper;

const HOUR_MS: u64 = 3_600_000;
/// Tasks that one decision lets go of.
const AT_ONCE: usize = 500;

pub(crate) struct Retention {
    pub readers: Readers,
    pub inbox: mpsc::Sender<Msg>,
    pub head: watch::Receiver<u64>,
    pub time: Timekeeper,
    pub limits: Arc<Limits>,
}

impl Retention {
    /// Runs until the runtime ends.
    pub(crate) async fn run(mut self) {
        loop {
            self.head.mark_unchanged();
            self.sweep().await;
            let wait = Duration::from_millis(self.limits.retention_ms.min(HOUR_MS));
            if self.head.changed().await.is_err() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = self.inbox.closed() => return,
            }
        }
    }

    /// A store that cannot be read now is asked again next time.
    async fn sweep(&self) {
        let before =
            self.time.now().wall - i64::try_from(self.limits.retention_ms).unwrap_or(i64::MAX);
        let found = self.readers.read(move |reader| reader.purgeable(before, AT_ONCE)).await;
        if let Ok(tasks) = found
            && !tasks.is_empty()
        {
            // The decider is gone only when the runtime ends.
            let _ = self.inbox.send(Msg::Input(Box::new(Input::Expired { tasks }))).await;
        }
    }
}
