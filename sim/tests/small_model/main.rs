//! Every interleaving of a small world: two tasks, one slot, one crash. The engine is the runtime's own, and
//! with it the core. The walk ends because there is nothing left to walk, not at a depth. Built with
//! optimisation alone: `./check` runs it so.
//!
//! **The world.** Two launches, each with an idempotency key, for one parent that is pushed to. Words of the
//! host, orders and commits take any order they can take in the runtime, where each effect is performed on
//! its own. The word that a turn ended may be lost. When nothing else is to come, the next deadline passes.
//!
//! **Disturbances.** At most two of these meet, each at any point:
//! - a crash, before or after the group on its way is durable, or a commit that fails or whose result is not
//!   known; while a crash is recovered from, another one;
//! - a cancel of either task;
//! - a deadline that passes while something is still on its way;
//! - from the start: telemetry that takes its time, performers whose last word comes late, or a parent that
//!   is told of both tasks together.
//!
//! So the number of orders in flight, of faults and of early deadlines is bounded, and the states are finite.
//! Not here: errors of the host, retries, asks, children, parents with turns; the simulation has them.
//!
//! **What tells two states apart** (`print.rs`, `Engine::digest`). Everything that decides what comes next,
//! named field by field, so that a new field must find its place. Numbers that only grow are not part of it:
//! of times counts how long ago they were, since a deadline is always a time and a duration; of journal
//! lines counts their order, since nothing else is asked of them. What nothing reads again is left out: how
//! an ended task came to its end, stored rows once no fault can come. That this merges no two states that
//! lead to different ones is itself tested: `what_is_taken_for_one_state_leads_to_the_same_ones`.
//!
//! **What is not walked, and loses nothing.** The two tasks are alike, so the first is launched first. Making
//! a session and handing over a debrief happen at their release: nobody can tell that from later, and a
//! crash before it is one that came between commit and release. A group holds several inputs only while
//! another one is on its way; closing it later would only be a later commit.
//!
//! **In the end.** The checker looks at `eventually` at the ends of paths, forgets what it knew where two paths
//! join, and does not see a cycle. So the walked graph is kept (`graph.rs`): every state that was met was
//! gone on from, and no path returns. Every path is finite then, and ends where nothing is to come; the
//! promise "at rest everything is settled" is checked in every such state, also where somebody could still
//! cancel or something fail.

// Lints see it, too: a field that has no place in it is told before anybody runs it.
#![cfg(any(not(debug_assertions), clippy))]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test says what it expects"
)]

#[cfg(feature = "seeded-bugs")]
mod bugs;
mod graph;
mod model;
mod outside;
mod print;
mod promises;
mod world;

use std::collections::{BTreeMap, VecDeque};

use stateright::{Checker, Model};

use crate::graph::Graph;
use crate::model::Small;

fn small(disturbances: u8) -> Small {
    Small {
        disturbances,
        graph: Graph::default(),
        #[cfg(feature = "seeded-bugs")]
        bug: None,
    }
}

/// Fewer than these would mean that something no longer happens.
const STATES_LEAST: usize = 2_000_000;

#[test]
fn every_interleaving_of_two_tasks_one_slot_and_one_crash_keeps_the_promises() {
    let checker = small(2).checker().threads(2).spawn_dfs().join();
    println!(
        "{} steps, {} states, the longest path {}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.assert_properties();
    assert!(checker.is_done());
    let graph = &checker.model().graph;
    assert_eq!(graph.closed(), checker.unique_state_count(), "every state was gone on from");
    assert_eq!(graph.endless(), 0, "every path ends");
    assert!(checker.unique_state_count() >= STATES_LEAST);
}

/// Two states with one print must allow the same, and what follows must have the same prints.
#[test]
fn what_is_taken_for_one_state_leads_to_the_same_ones() {
    let small = small(1);
    let mut known: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut open: VecDeque<_> = small.init_states().into();
    let mut again = 0;
    while let Some(scene) = open.pop_front() {
        let mut actions = Vec::new();
        small.actions(&scene, &mut actions);
        let next = actions.iter().filter_map(|action| small.next_state(&scene, action.clone()));
        let scenes: Vec<_> = next.collect();
        let prints: Vec<u64> = scenes.iter().map(|scene| scene.print).collect();
        if let Some(before) = known.get(&scene.print) {
            assert_eq!(*before, prints, "{actions:?} at {scene:#?}");
            again += 1;
        } else {
            known.insert(scene.print, prints);
            open.extend(scenes);
        }
    }
    println!("{} states, met again {again} times", known.len());
    assert!(again > 100_000);
}
