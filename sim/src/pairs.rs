//! Promises that two runs show together: 14, that noise does not matter, and 16, that recovering again
//! changes nothing.

use std::collections::BTreeSet;

use homing_core::effect::EffectKey;
use homing_core::fact::Fact;
use homing_core::ids::TaskId;
use homing_core::record::{Record, TaskRecord};
use homing_core::step::Written;
use homing_core::time::Moment;
use homing_runtime::engine::Engine;

use crate::coverage::Coverage;
use crate::history::{History, limits};
use crate::invariants::Violation;
use crate::plan::Plan;
use crate::store::Store;

/// 14: the same host record, reported with other delays, doubles and losses, gives the same ends.
pub fn noise_does_not_matter(seed: u64, off: Option<u8>) -> Result<(), Violation> {
    let mut ends = Vec::new();
    for (plan, noise_seed) in runs(seed) {
        let mut history = History::new(&plan, noise_seed);
        history.checker.off = off;
        history.run(&mut Coverage::default())?;
        let of =
            |task: &homing_core::task::Task| (task.id, task.generation, task.state, task.cause);
        ends.push(history.store.tasks.values().map(of).collect::<Vec<_>>());
    }
    let holds = off == Some(14) || (ends[0] == ends[1] && ends[0] == ends[2]);
    if holds {
        return Ok(());
    }
    let what = format!(
        "the same records ended as {:?} and, with noise, as {:?} and {:?}",
        ends[0], ends[1], ends[2]
    );
    Err(Violation { promise: 14, what })
}

/// One run without noise, two with.
fn runs(seed: u64) -> [(Plan, u64); 3] {
    let mut quiet = Plan::calm(seed);
    quiet.noise = 0;
    let mut noisy = quiet.clone();
    noisy.noise = 20;
    [(quiet, 1), (noisy.clone(), 2), (noisy, 3)]
}

/// What happened in each run of a pair.
pub fn traces(seed: u64) -> Vec<(u64, Vec<String>)> {
    let mut all = Vec::new();
    for (plan, noise_seed) in runs(seed) {
        let mut history = History::new(&plan, noise_seed);
        history.trace = Some(Vec::new());
        // Whether it held is told elsewhere.
        let _ = history.run(&mut Coverage::default());
        all.push((noise_seed, history.trace.unwrap_or_default()));
    }
    all
}

/// 16: what a second recovery finds is what the first one left, and it wants the same done.
pub fn recovery_is_idempotent(
    store: &Store,
    plan: &Plan,
    now: Moment,
    off: Option<u8>,
) -> Result<(), Violation> {
    let mut once = store.clone();
    let first = recover(&mut once, plan, now);
    let mut twice = once.clone();
    let second = recover(&mut twice, plan, now);
    let same = once.head() == twice.head() && first == second;
    if same || off == Some(16) || only_doubts(&first, &second, &twice.journal[once.journal.len()..])
    {
        return Ok(());
    }
    let what = format!(
        "recovering again wrote lines {} to {} and wants {:?} more, {:?} less",
        once.head() + 1,
        twice.head(),
        second.difference(&first).collect::<Vec<_>>(),
        first.difference(&second).collect::<Vec<_>>(),
    );
    Err(Violation { promise: 16, what })
}

/// A prompt that the first recovery decided on may have been sent before the second: the host is asked.
fn only_doubts(
    first: &BTreeSet<EffectKey>,
    second: &BTreeSet<EffectKey>,
    lines: &[Written],
) -> bool {
    let prompted: BTreeSet<TaskId> = first
        .difference(second)
        .filter_map(|key| match key {
            EffectKey::Prompt(task, ..) => Some(*task),
            _ => None,
        })
        .collect();
    let fewer = first.difference(second).count() == prompted.len();
    let asked =
        |key: &EffectKey| matches!(key, EffectKey::Look(task, _) if prompted.contains(task));
    let doubts = lines.iter().all(|written| match &written.record {
        Record::Task(id, TaskRecord::Seen { fact: Fact::PromptUnsure { .. }, .. }) => {
            prompted.contains(id)
        }
        _ => false,
    });
    fewer && second.difference(first).all(asked) && doubts && lines.len() == prompted.len()
}

fn recover(store: &mut Store, plan: &Plan, now: Moment) -> BTreeSet<EffectKey> {
    let mut engine = Engine::start(store.memory(), limits(plan), now);
    let mut wanted = BTreeSet::new();
    while engine.has_open() {
        if let Some(batch) = engine.close() {
            store.apply(&batch);
            engine.committed(batch.no);
        }
        while let Some(release) = engine.release() {
            wanted.extend(release.effects.iter().map(homing_core::effect::Effect::key));
        }
    }
    wanted
}
