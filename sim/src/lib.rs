//! Tries to break the core and the engine: seeded histories in virtual time, with simulated store, hosts,
//! parents and rooms that reorder, double, drop, delay, lie and fail, and crashes wherever they hurt.
//!
//! - `plan`: what happens, made from a seed, shrunk by leaving lines out.
//! - `history`: runs a plan on the production engine, step by step.
//! - `host`, `parents`, `store`: the world around it, and what truly happens there.
//! - `invariants`: the promises, checked after every step.
//! - `coverage`: which pairs of the table and which crash points were visited.
//! - `bugs`: the seeded bugs, each of which must be found.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a checker looks at the words it checks; the core answers for every one"
)]

#[cfg(feature = "seeded-bugs")]
pub mod bugs;
pub mod coverage;
pub mod history;
pub mod host;
pub mod invariants;
pub mod pairs;
pub mod parents;
pub mod plan;
pub mod rng;
pub mod shrink;
pub mod store;
