//! What retention may take, and that what it took stays away.

use std::collections::BTreeSet;

use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_runtime::engine::Batch;

use super::{Check, Checker};
use crate::store::Store;

/// What was taken.
#[derive(Debug, Default)]
pub struct Gone {
    pub tasks: BTreeSet<TaskId>,
    pub debriefs: BTreeSet<DebriefId>,
    pub posts: BTreeSet<PostId>,
}

impl Checker {
    /// 1, 5: nothing goes that lives, or that somebody is owed; with a task its key is free.
    pub fn purges(&mut self, batch: &Batch, store: &Store) -> Check {
        for id in &batch.purge.tasks {
            let written = batch.tasks.iter().find(|task| task.id == *id);
            if let Some(row) = written.or_else(|| store.tasks.get(id)) {
                self.hold(1, !row.is_living(), || format!("{id} lives and is taken away"))?;
                self.hold(5, !row.is_owed(), || format!("{id} is taken away and is owed"))?;
            }
            self.promised.remove(id);
            self.keys.retain(|_, known| known != id);
            self.gone.tasks.insert(*id);
        }
        for id in &batch.purge.debriefs {
            let written = batch.debriefs.iter().find(|debrief| debrief.id == *id);
            let over = written
                .or_else(|| store.debriefs.get(id))
                .is_none_or(|debrief| debrief.state.is_over());
            self.hold(5, over, || format!("{id} is taken away and is not settled"))?;
            self.gone.debriefs.insert(*id);
        }
        for id in &batch.purge.posts {
            let written = batch.posts.iter().find(|post| post.id == *id);
            let over =
                written.or_else(|| store.posts.get(id)).is_none_or(|post| post.state.is_over());
            self.hold(5, over, || format!("{id} is taken away and is not posted"))?;
            self.gone.posts.insert(*id);
        }
        Ok(())
    }

    /// 15: a task whose lines are gone gets no more of them.
    pub(super) fn stays_gone(&self, id: TaskId) -> Check {
        self.hold(15, !self.gone.tasks.contains(&id), || {
            format!("{id} was taken away, and has a line again")
        })
    }
}
