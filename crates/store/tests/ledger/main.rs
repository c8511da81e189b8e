//! The ledger on SQLite from outside: its contract, what it refuses, what it survives, what it notices.
#![expect(clippy::unwrap_used, reason = "a test ends where the store fails it")]

mod check;
mod contract;
mod damage;
mod faults;
mod refusal;
mod released;
mod scene;
