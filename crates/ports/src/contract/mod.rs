//! What every implementation of a seam must do, as cases to run against each.

pub mod clock;
pub mod host;
pub mod ids;
pub mod parent;
pub mod room;
pub mod run;
pub mod store;
pub mod telemetry;
