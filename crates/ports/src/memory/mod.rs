//! The seams in memory, for tests and the simulation. Never durable.

pub mod clock;
pub mod ids;
pub mod parent;
pub mod store;
pub mod telemetry;
