//! The simulated store: durable between crashes, with faults that a commit can meet.

use std::collections::{BTreeMap, BTreeSet};

use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_core::input::Purge;
use homing_core::outbox::{Debrief, Post, PostKind};
use homing_core::payload::Digest;
use homing_core::step::Written;
use homing_core::task::Task;
use homing_core::words::DeliveryState;
use homing_runtime::engine::{Batch, Memory};

/// What a commit meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    None,
    /// Not there, and said so.
    Failed,
    /// Not known; there or not.
    Unknown {
        applied: bool,
    },
}

/// Everything durable.
#[derive(Debug, Clone, Default)]
pub struct Store {
    pub journal: Vec<Written>,
    pub tasks: BTreeMap<TaskId, Task>,
    pub debriefs: BTreeMap<DebriefId, Debrief>,
    pub posts: BTreeMap<PostId, Post>,
    pub keys: BTreeMap<Digest, TaskId>,
    pub texts: BTreeMap<String, std::sync::Arc<[u8]>>,
}

impl Store {
    pub fn head(&self) -> u64 {
        self.journal.last().map_or(0, |written| written.line.seq)
    }

    /// Commits whole. Memory alone is never written.
    pub fn apply(&mut self, batch: &Batch) {
        self.journal.extend(batch.written.iter().cloned());
        for task in &batch.tasks {
            let mut task = task.clone();
            task.live = homing_core::task::Live::default();
            if let Some(key) = task.brief.key {
                self.keys.insert(key, task.id);
            }
            self.tasks.insert(task.id, task);
        }
        for debrief in &batch.debriefs {
            self.debriefs.insert(debrief.id, debrief.clone());
        }
        for post in &batch.posts {
            self.posts.insert(post.id, post.clone());
        }
        for text in &batch.texts {
            self.texts.insert(text.name.clone(), text.bytes.clone());
        }
        for id in &batch.purge.tasks {
            if let Some(key) = self.tasks.remove(id).and_then(|task| task.brief.key) {
                self.keys.remove(&key);
            }
        }
        for id in &batch.purge.debriefs {
            self.debriefs.remove(id);
        }
        for id in &batch.purge.posts {
            self.posts.remove(id);
        }
    }

    /// The message about this task that its room would not take.
    pub fn closed_to(&self, task: TaskId) -> Option<PostId> {
        let of_it = |post: &&Post| match &post.kind {
            PostKind::Answer { debrief } => self
                .debriefs
                .get(debrief)
                .is_some_and(|known| known.notices.iter().any(|(id, _)| *id == task)),
            PostKind::Marker { task: id, .. } => *id == task,
        };
        let closed = |post: &&Post| post.state == DeliveryState::Undeliverable;
        self.posts.values().filter(closed).find(of_it).map(|post| post.id)
    }

    /// What was over before this time of the wall clock, owes nothing and has no living relative.
    pub fn purgeable(&self, before: i64) -> Purge {
        let alive = self.living_roots();
        let old = |task: &&Task| {
            let ended = task.ended.is_some_and(|ended| ended.wall < before);
            ended && !task.is_living() && !task.is_owed() && !alive.contains(&task.root)
        };
        let closed = |wall: Option<i64>| wall.is_some_and(|wall| wall < before);
        Purge {
            tasks: self.tasks.values().filter(old).map(|task| task.id).collect(),
            debriefs: self
                .debriefs
                .values()
                .filter(|debrief| closed(debrief.closed))
                .map(|debrief| debrief.id)
                .collect(),
            posts: self
                .posts
                .values()
                .filter(|post| closed(post.closed))
                .map(|post| post.id)
                .collect(),
        }
    }

    fn living_roots(&self) -> BTreeSet<TaskId> {
        self.tasks.values().filter(|task| task.is_living()).map(|task| task.root).collect()
    }

    /// What a start reads.
    pub fn memory(&self) -> Memory {
        let alive = self.living_roots();
        let kept = |task: &&Task| task.is_living() || task.is_owed() || alive.contains(&task.root);
        Memory {
            tasks: self.tasks.values().filter(kept).cloned().map(Box::new).collect(),
            debriefs: self
                .debriefs
                .values()
                .filter(|debrief| !debrief.state.is_over())
                .cloned()
                .collect(),
            posts: self.posts.values().filter(|post| !post.state.is_over()).cloned().collect(),
            keys: self.keys.iter().map(|(key, id)| (*key, *id)).collect(),
            head: self.head(),
            rebooted: false,
        }
    }
}
