//! The real OpenCode as a host, with a model that does what the prompt says.

mod adopted;
mod arms;
mod children;
mod contract;
mod conversations;
mod kills;
mod parent;
mod program;
mod race;
mod scene;
mod server;
mod storm;
mod terminal;
mod truth;
