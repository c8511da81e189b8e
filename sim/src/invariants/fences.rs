//! The promises about what an input may not touch: 8, a stale fact changes nothing; 19, a fact of one task
//! changes no other. Memory counts as well as the journal.

use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::record::{Record, TaskRecord};
use homing_core::task::{Live, Task};
use homing_core::words::{Cause, State};
use homing_core::world::World;

use super::{Check, Checker};

/// How things stood before an input.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// The task that a stale fact speaks of.
    stale: Option<Task>,
    /// What memory holds of tasks that are no kin of the one a fact speaks of.
    others: Vec<(TaskId, Seen)>,
}

/// What memory knows of a task by its own facts alone.
type Seen = (u64, u64, Option<u64>, u64, u64);

fn seen(live: &Live) -> Seen {
    (live.active, live.observed, live.probe, live.probed, live.answered)
}

impl Checker {
    /// Remembers what an input must leave alone.
    pub fn before_input(&mut self, world: &World, input: &Input) {
        self.before = Before::default();
        let Input::Observed { task, fence, fact } = input else {
            return;
        };
        let Some(one) = world.task(*task) else {
            return;
        };
        let whole = fence.turn == 0 && !fact.is_of_a_turn();
        let turn = whole || fence.turn == one.turn.n;
        let current = fence.attempt == one.attempt && turn && one.is_living();
        self.before.stale = (!current).then(|| one.clone());
        let others = self.ids.iter().filter_map(|id| world.task(*id));
        self.before.others = others
            .filter(|other| other.root != one.root)
            .map(|other| (other.id, seen(&other.live)))
            .collect();
    }

    /// 8 and 19, of what is in memory.
    pub(super) fn unmoved(&mut self, by: Option<&Input>, world: &World) -> Check {
        let Some(Input::Observed { task, fact, .. }) = by else {
            return Ok(());
        };
        let before = std::mem::take(&mut self.before);
        if let (Some(was), Some(now)) = (before.stale, world.task(*task)) {
            let mut same = now.clone();
            // The journal grows; a late answer is kept, and what it left running is ended.
            same.seq = was.seq;
            let seldom = same.seldom.change();
            seldom.late = was.late;
            seldom.orphans.clone_from(&was.orphans);
            same.seldom.settle();
            same.unconfirmed = was.unconfirmed;
            same.live.look = was.live.look;
            self.hold(8, same == was, || format!("{task}: a stale {fact:?} changed the task"))?;
        }
        for (id, known) in before.others {
            let moved = world.task(id).is_some_and(|other| seen(&other.live) != known);
            self.hold(19, !moved, || format!("a fact of {task} counts for {id}"))?;
        }
        Ok(())
    }

    /// 19: a fact about one task writes only of it, its kin, those that wait for it or its slot.
    pub(super) fn isolated(
        &self,
        by: Option<&Input>,
        written: &homing_core::step::Written,
        world: &World,
    ) -> Check {
        let (Some(Input::Observed { task, .. }), Record::Task(other, record)) =
            (by, &written.record)
        else {
            return Ok(());
        };
        if task == other {
            return Ok(());
        }
        let (Some(one), Some(two)) = (world.task(*task), world.task(*other)) else {
            return Ok(());
        };
        let kin = one.root == two.root;
        let slot = matches!(
            record,
            TaskRecord::TurnOpened { .. }
                | TaskRecord::Moved { to: State::Starting | State::Running, .. }
        );
        let waited = matches!(
            record,
            TaskRecord::DependencyMet { .. }
                | TaskRecord::Moved { cause: Some(Cause::Dependency | Cause::ParentEnded), .. }
        );
        let told =
            matches!(record, TaskRecord::NoticeMoved { .. } | TaskRecord::NoticeRouted { .. });
        self.hold(19, kin || slot || waited || told, || {
            format!("a fact of {task} writes {record:?} of {other}")
        })
    }
}
