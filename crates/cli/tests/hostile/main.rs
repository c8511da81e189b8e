//! The hostile and the faulty, on the real binary: daemon, shims and commands as they are, a home each. What is
//! looked at from outside: memory, processes, files, and the task that runs beside.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]
#![expect(clippy::panic, reason = "a test ends where its set-up fails")]

mod commands;
mod crowds;
mod damage;
mod disk;
mod mounted;
#[expect(
    dead_code,
    reason = "the scene is that of the verbs' tests, and not all of it is used here"
)]
#[path = "../cli/scene.rs"]
mod scene;
mod secrecy;
mod socket;
mod terminal;
mod witness;
