//! Scenarios that need the loop: a real runtime with scripted parts around it.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::expect_used, reason = "a test ends where what it waits for does not come")]
#![expect(clippy::panic, reason = "a test ends where its set-up fails")]

mod apart;
mod consume;
mod crash;
mod delivery;
mod engine;
mod fallback;
mod faults;
mod faulty;
mod follow;
mod launch;
mod read;
mod reroute;
mod retention;
mod signs;
mod stage;
mod told;
mod wakes;
