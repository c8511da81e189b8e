//! Owns the defaults of `homing.toml` and how a task's own values lie over them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bugs::{Bug, active};
use crate::policy::Named;
use crate::spec::{Brief, Model};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// Every number that decisions go by, and whom policy names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Tasks' turns at once per key where nothing else is said; 0: no limit.
    pub default: u32,
    pub providers: BTreeMap<Arc<str>, u32>,
    /// By `PROVIDER/MODEL`.
    pub models: BTreeMap<Arc<str>, u32>,
    pub depth_max: u32,
    pub living_max: u32,
    pub start_ms: u64,
    pub quiet_ms: u64,
    pub never_active_ms: u64,
    pub gone_ms: u64,
    pub stop_ms: u64,
    pub ask_ms: u64,
    pub todos_ms: u64,
    pub same_calls: u32,
    pub all_calls: u32,
    pub backoff_first_ms: u64,
    pub backoff_most_ms: u64,
    /// No sign of a parent for this long: said with a code, still owed.
    pub handshake_ms: u64,
    pub lease_ms: u64,
    /// A parent that has a debrief and does not answer is woken again after this.
    pub wake_ms: u64,
    pub batch_ms: u64,
    pub attempts: u32,
    pub retry_interrupted: u32,
    /// A wait that a provider asks for in seconds is never longer than this; a time it names is kept.
    pub pause_most_ms: u64,
    pub retention_ms: u64,
    /// A read of something observed within this time does not ask the host.
    pub fresh_ms: u64,
    /// A host that is asked and says nothing is given up on after this.
    pub probe_ms: u64,
    /// Between two looks at a host while something about it is unsure.
    pub reprobe_ms: u64,
    /// Activity is journaled at most this often per task.
    pub activity_ms: u64,
    pub reservation_ms: u64,
    pub inline_max: usize,
    pub debrief_max: usize,
    /// Parents whose agents may give their tasks permissions.
    pub permissions: Vec<Named>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            default: 5,
            providers: BTreeMap::new(),
            models: BTreeMap::new(),
            depth_max: 3,
            living_max: 50,
            start_ms: MINUTE,
            quiet_ms: 45 * MINUTE,
            never_active_ms: HOUR,
            gone_ms: MINUTE,
            stop_ms: 30 * SECOND,
            ask_ms: 24 * HOUR,
            todos_ms: 30 * SECOND,
            same_calls: 20,
            all_calls: 4_000,
            backoff_first_ms: SECOND,
            backoff_most_ms: 5 * MINUTE,
            handshake_ms: 10 * MINUTE,
            lease_ms: MINUTE,
            wake_ms: MINUTE,
            batch_ms: 10 * MINUTE,
            attempts: 5,
            retry_interrupted: 0,
            pause_most_ms: 24 * HOUR,
            retention_ms: 7 * 24 * HOUR,
            fresh_ms: 1,
            probe_ms: 2 * SECOND,
            reprobe_ms: 5 * SECOND,
            activity_ms: 5 * SECOND,
            reservation_ms: MINUTE,
            inline_max: 4 << 10,
            debrief_max: 32 << 10,
            permissions: Vec::new(),
        }
    }
}

/// Turns of conversations count against no slots.
const CONVERSES: &str = "conversations";

macro_rules! over {
    ($($name:ident: $kind:ty),+ $(,)?) => {
        $(pub fn $name(&self, brief: &Brief) -> $kind {
            brief.over.$name.unwrap_or(self.$name)
        })+
    };
}

impl Limits {
    over! {
        start_ms: u64, never_active_ms: u64, ask_ms: u64,
        same_calls: u32, all_calls: u32, attempts: u32, retry_interrupted: u32,
    }

    pub fn quiet_ms(&self, brief: &Brief) -> u64 {
        let ms = brief.over.quiet_ms.unwrap_or(self.quiet_ms);
        if active(Bug::QuietEarly) { ms / 10 } else { ms }
    }

    /// A plain process may be silent for as long as it likes, unless its launch says otherwise.
    pub fn counts_silence(&self, brief: &Brief) -> bool {
        let asked = brief.over.quiet_ms.is_some() || brief.over.never_active_ms.is_some();
        !brief.caps.plain || asked
    }

    pub fn stop_ms(&self, brief: &Brief) -> u64 {
        let ms = brief.over.stop_ms.unwrap_or(self.stop_ms);
        if active(Bug::StopEarly) { ms / 10 } else { ms }
    }

    /// The key whose slots a turn on this model counts against, and how many there are (0: no limit).
    /// A model's own limit goes over its provider's, which spans its models; else the default, per model.
    pub fn key(&self, brief: &Brief, model: Option<&Model>) -> (Arc<str>, u32) {
        if brief.converses {
            return (CONVERSES.into(), 0);
        }
        let Some(model) = model else {
            let name = brief.agent.as_deref().unwrap_or(&brief.host);
            return (format!("agent:{name}").into(), self.default);
        };
        let full: Arc<str> = model.to_string().into();
        if let Some(limit) = self.models.get(&full) {
            return (format!("model:{full}").into(), *limit);
        }
        if let Some(limit) = self.providers.get(&model.provider) {
            return (format!("provider:{}", model.provider).into(), *limit);
        }
        (format!("model:{full}").into(), self.default)
    }
}
