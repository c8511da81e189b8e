//! Budgets of a task and of all below it: reserved at launch, spent as it goes, refunded at the end.

use super::Case;
use crate::ids::TaskId;
use crate::input::Then;
use crate::reason::Reason;
use crate::record::TaskRecord;
use crate::spec::Spend;
use crate::task::Task;
use crate::words::{Cause, Target};

impl<'w> Case<'w> {
    /// The nearest task, from here up, whose budget counts.
    pub(super) fn account(&self, from: TaskId) -> Option<&'w Task> {
        let mut at = self.world.task(from);
        while let Some(task) = at {
            if task.brief.budget.counts() {
                return Some(task);
            }
            at = task.launched_by.and_then(|above| self.world.task(above));
        }
        None
    }

    /// A task used this much more.
    pub(super) fn charge(&mut self, task: &Task, used: Spend) {
        if used == Spend::default() {
            return;
        }
        let Some(owner) = self.account(task.id).map(|owner| owner.id) else {
            return;
        };
        if owner != task.id {
            self.out.task(owner, TaskRecord::Charged { child: task.id, used });
        }
        self.out.then(Then::Budget { owner, spender: task.id });
    }

    /// Stops the owner of a budget that is used up: its descendants end with it. One that spent into what
    /// is set aside for others is stopped alone, so that they keep their share.
    pub(super) fn budget(&mut self, owner: TaskId, spender: TaskId) {
        let (Some(task), Some(last)) = (self.world.task(owner), self.world.task(spender)) else {
            return;
        };
        let budget = &task.brief.budget;
        let used = task.used();
        let stopped = if budget.reached(used) {
            task
        } else if budget.fits(used.plus(*task.reserved), Spend::default()) {
            return;
        } else {
            last
        };
        self.stop(stopped, Target::Failed, Cause::Budget, Reason::BudgetReached { owner });
    }

    /// What was set aside for an ended task goes back, less what it used.
    pub(super) fn refund(&mut self, task: &Task) {
        if !task.brief.budget.counts() || task.generation > 1 {
            return;
        }
        let owner = task.launched_by.and_then(|above| self.account(above)).map(|owner| owner.id);
        if let Some(owner) = owner {
            let (amount, used) = (task.brief.budget.as_spend(), task.used());
            self.out.task(owner, TaskRecord::Refunded { child: task.id, amount, used });
            self.out.then(Then::Budget { owner, spender: owner });
        }
    }
}
