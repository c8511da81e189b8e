//! The door from outside: a real runtime on SQLite with a scripted host, a real unix socket, the real client.
//! Every wait is bounded and on a condition.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::expect_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::panic, reason = "a test ends where its set-up fails")]

mod arms;
mod asks;
mod connections;
mod deliveries;
mod environment;
mod fuzz;
mod launch;
mod mcp;
mod metrics;
mod openapi;
mod read;
mod refused;
mod scene;
mod streams;
mod tcp;
mod verbs;
