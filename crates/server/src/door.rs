//! What every route works on, and how the door is told to close.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use homing_core::wire::Launch;
use homing_ports::door::{Arms, Callers, Keeps};
use homing_runtime::Homing;
use tokio::sync::watch;

use crate::counts::Counts;

/// Who serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    pub pid: u32,
    pub version: String,
    pub home: String,
    pub socket: String,
    /// Where it listens on TCP.
    pub http: Option<String>,
    /// Milliseconds since the epoch.
    pub since: i64,
    /// The user whose processes may call.
    pub uid: u32,
}

/// See the module.
#[derive(Clone)]
pub struct Door {
    pub homing: Homing,
    pub callers: Arc<dyn Callers>,
    pub keeps: Arc<dyn Keeps>,
    pub arms: Arc<dyn Arms>,
    pub presets: Arc<BTreeMap<String, Launch>>,
    pub identity: Arc<Identity>,
    pub stops: Stops,
    pub counts: Counts,
    /// A reader of a stream that takes nothing for so long is let go of.
    pub slow: Duration,
}

/// Tells everyone at the door that it closes, once.
#[derive(Debug, Clone)]
pub struct Stops(Arc<watch::Sender<bool>>);

impl Default for Stops {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Stops {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// True once it closes.
    pub fn closing(&self) -> watch::Receiver<bool> {
        self.0.subscribe()
    }
}
