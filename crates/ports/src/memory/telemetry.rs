//! Completion records in memory, with the faults that a test asks for. Never durable.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use homing_core::ids::TaskId;
use homing_core::telemetry::Completion;

use crate::host::Flight;
use crate::parent::Telemetry;

/// A stream of records that can be looked at.
#[derive(Debug, Default)]
pub struct MemoryTelemetry {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    order: Vec<(TaskId, u32)>,
    records: BTreeMap<(TaskId, u32), Completion>,
    emits: u32,
    refusals: u32,
    lost_replies: u32,
}

impl MemoryTelemetry {
    pub fn new() -> Self {
        Self::default()
    }

    /// The next `times` emits fail and leave nothing.
    pub fn refuse(&self, times: u32) {
        self.lock().refusals = times;
    }

    /// The next `times` emits are taken, but the one who emits hears of a failure.
    pub fn lose_replies(&self, times: u32) {
        self.lock().lost_replies = times;
    }

    /// In the order they first came.
    pub fn records(&self) -> Vec<Completion> {
        let inner = self.lock();
        inner.order.iter().filter_map(|key| inner.records.get(key)).cloned().collect()
    }

    pub fn record(&self, task: TaskId, generation: u32) -> Option<Completion> {
        self.lock().records.get(&(task, generation)).cloned()
    }

    /// How often somebody emitted, repeats included.
    pub fn emits(&self) -> u32 {
        self.lock().emits
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, record: Completion) -> Result<(), String> {
        let mut inner = self.lock();
        inner.emits += 1;
        if inner.refusals > 0 {
            inner.refusals -= 1;
            return Err("the stream takes nothing now".to_owned());
        }
        let key = (record.task, record.generation);
        if inner.records.insert(key, record).is_none() {
            inner.order.push(key);
        }
        if inner.lost_replies > 0 {
            inner.lost_replies -= 1;
            return Err("the reply was lost".to_owned());
        }
        Ok(())
    }
}

impl Telemetry for MemoryTelemetry {
    fn emit(&self, record: Completion) -> Flight<'_, Result<(), String>> {
        Box::pin(async move { self.take(record) })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::contract::telemetry::TelemetryFactory;

    impl TelemetryFactory for Arc<MemoryTelemetry> {
        fn telemetry(&mut self) -> Arc<dyn Telemetry> {
            Arc::<MemoryTelemetry>::clone(self)
        }

        fn records(&mut self) -> Vec<Completion> {
            MemoryTelemetry::records(self)
        }

        fn refuse(&mut self) {
            MemoryTelemetry::refuse(self, 1);
        }

        fn lose_reply(&mut self) {
            self.lose_replies(1);
        }
    }

    crate::telemetry_contract!(Arc::new(MemoryTelemetry::new()));
}
