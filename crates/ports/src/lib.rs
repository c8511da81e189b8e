//! The seams between the core and the world, as traits, each with a contract suite.
//!
//! - `store`: the ledger. One committer writes whole groups, readers are apart.
//! - `host`: programs that run agent sessions. Drivers report facts and perform orders.
//! - `parent`: those who are told: parents, rooms, telemetry.
//! - `clock`: time and chance.
//! - `door`: who is calling, and what is kept apart from the store.
//!
//! `contract` holds what every implementation must do, `memory` implementations for tests.

pub mod clock;
pub mod contract;
pub mod door;
pub mod host;
pub mod memory;
pub mod parent;
pub mod store;
