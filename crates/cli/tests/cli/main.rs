//! The binary from outside: real processes, a home each, every wait bounded.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::panic, reason = "a test ends where its set-up fails")]

mod agent;
mod cancel;
mod daemon;
mod demo;
mod home;
mod http;
mod idle;
mod inbox;
mod launch;
mod log;
mod mcp;
mod output;
mod read;
mod real;
mod resume;
mod room;
mod run;
mod scene;
mod settings;
mod setup;
mod stream;
mod upgrade;
mod usage;
mod wait;
mod webhook;
mod why;
mod words;
