//! The World from what the store holds: the same indexes, built by the same hands.

use std::sync::Arc;

use super::World;
use crate::bugs::{Bug, active};
use crate::ids::TaskId;
use crate::limits::Limits;
use crate::outbox::{Debrief, Post};
use crate::payload::Digest;
use crate::task::Task;

impl World {
    /// Everything a start needs, put in its place.
    pub fn restore(
        limits: Limits,
        tasks: Vec<Box<Task>>,
        debriefs: Vec<Debrief>,
        posts: Vec<Post>,
        keys: Vec<(Digest, TaskId)>,
        head: u64,
    ) -> Self {
        let mut world = Self { limits: Arc::new(limits), head, ..Self::default() };
        world.idempotency.reserve(keys.len());
        world.tasks.reserve(tasks.len());
        world.trees.reserve(tasks.len());
        world.by_session.reserve(tasks.len());
        for (digest, id) in keys {
            world.idempotency.insert(digest, id);
        }
        for task in tasks {
            world.admit(task);
        }
        for mut debrief in debriefs.into_iter().filter(|_| !active(Bug::DebriefsForgotten)) {
            debrief.perhaps_sent();
            world.insert_debrief(debrief);
        }
        for post in posts {
            world.insert_post(post);
        }
        world
    }
}
