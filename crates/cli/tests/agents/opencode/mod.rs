//! The real OpenCode as a host, with a model that does what the prompt says.

mod adopted;
mod children;
mod contract;
mod kills;
mod scene;
mod server;
mod storm;
mod truth;
