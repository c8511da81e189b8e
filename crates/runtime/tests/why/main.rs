//! `why`, as a person reads it: one reviewed text per state and per special case, from worlds that real
//! decisions made in virtual time. Each names the missing fact and the next timer.
//!
//! A text that changed on purpose is reviewed with `cargo insta review`, or written anew with
//! `INSTA_UPDATE=always cargo test -p homing-runtime --test why`; read the difference before you commit it.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

#[path = "../../../core/tests/stage/mod.rs"]
mod stage;

mod ended;
mod living;
mod owed;
mod scene;
