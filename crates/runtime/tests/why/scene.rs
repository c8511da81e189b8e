//! A stage's ledger, read as `why` reads it.

use std::collections::BTreeSet;

use homing_core::ids::TaskId;
use homing_core::record::Record;
use homing_core::time::Stamp;
use homing_core::wire::Why;
use homing_ports::memory::store::MemoryStore;
use homing_ports::store::{ClockMark, Store};
use homing_runtime::around::Around;
use homing_runtime::codec::encode;
use homing_runtime::engine::Batch;
use homing_runtime::why;

use crate::stage::Stage;

/// All that the stage wrote, as a store holds it.
fn stored(stage: &Stage) -> MemoryStore {
    let ids: BTreeSet<TaskId> = stage
        .journal
        .iter()
        .filter_map(|written| match &written.record {
            Record::Task(id, _) => Some(*id),
            Record::Outbox(_) => None,
        })
        .collect();
    let batch = Batch {
        no: 1,
        written: stage.journal.clone(),
        tasks: ids.into_iter().map(|id| stage.task(id)).collect(),
        debriefs: stage
            .sealed()
            .iter()
            .filter_map(|sealed| stage.world.debrief(sealed.id).cloned())
            .collect(),
        now: stage.now,
        ..Batch::default()
    };
    let mut store = MemoryStore::new();
    store.commit(&encode(&batch, ClockMark::default())).unwrap();
    store
}

/// What is answered about a task now.
pub fn answer(stage: &Stage, id: TaskId) -> Why {
    let reader = stored(stage).reader().unwrap();
    let now = Stamp { tick: stage.now.tick, wall: stage.now.wall };
    let around = Around::of(&stage.world, id);
    why::why(&*reader, &stage.task(id), around.as_ref(), now).unwrap()
}

/// As the command line prints it.
pub fn told(stage: &Stage, id: TaskId) -> String {
    why::told(&answer(stage, id), str::to_owned)
}
