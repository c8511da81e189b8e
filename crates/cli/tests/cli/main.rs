//! The binary from outside: real processes, a home each, every wait bounded.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::panic, reason = "a test ends where its set-up fails")]

mod daemon;
mod demo;
mod home;
mod read;
mod run;
mod scene;
mod usage;
