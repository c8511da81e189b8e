//! Budgets of a task and of all below it: reserved at launch, spent as it goes, refunded at the end.

use super::Case;
use super::launch::Refusal;
use crate::ids::TaskId;
use crate::input::Then;
use crate::reason::Reason;
use crate::record::TaskRecord;
use crate::spec::Spend;
use crate::task::Task;
use crate::words::{Cause, Code, Target};

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

    /// Whether this much can be set aside above, on the account that a launcher is on.
    pub(super) fn affordable(&self, above: Option<TaskId>, more: Spend) -> Result<(), Refusal> {
        let Some(owner) = above.and_then(|above| self.account(above)) else {
            return Ok(());
        };
        if owner.brief.budget.fits(owner.used().plus(*owner.reserved), more) {
            return Ok(());
        }
        let why = format!("the budget of {} has less left than this one asks for", owner.id);
        Err((Code::BudgetUnavailable, why))
    }

    /// What an ended task may still use is set aside above once more, if there is anybody to account to.
    pub(super) fn set_aside(&mut self, task: &Task) -> Result<Option<Spend>, Refusal> {
        let budget = &task.brief.budget;
        let owner = task.launched_by.and_then(|above| self.account(above));
        let Some(owner) = owner.filter(|owner| budget.counts() && owner.is_living()) else {
            return Ok(None);
        };
        let amount = budget.as_spend().minus(task.used());
        self.affordable(Some(owner.id), amount)?;
        self.out.task(owner.id, TaskRecord::Reserved { child: task.id, amount });
        Ok(Some(amount))
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
        let owner = task.launched_by.and_then(|above| self.account(above)).map(|owner| owner.id);
        if let (Some(owner), Some(amount)) = (owner, task.aside.as_deref().copied()) {
            let used = task.used().minus(*task.used_before);
            self.out.task(owner, TaskRecord::Refunded { child: task.id, amount, used });
            self.out.then(Then::Budget { owner, spender: owner });
        }
    }
}
