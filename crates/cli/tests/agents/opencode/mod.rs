//! The real OpenCode as a host, with a model that does what the prompt says.

mod adopted;
mod arms;
mod children;
mod contract;
pub mod conversations;
mod debriefs;
mod kills;
mod limits;
mod line;
mod losses;
mod parent;
pub mod program;
mod race;
pub mod scene;
mod server;
mod slots;
mod storm;
mod terminal;
mod tools;
mod truth;
