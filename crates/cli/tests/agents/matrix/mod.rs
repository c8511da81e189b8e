//! Rooms on a real Matrix homeserver: what people read there, counted on the homeserver, whoever dies in between.

mod bot;
mod conversations;
mod daemon;
mod group;
mod kills;
mod room;
mod scene;
mod story;
