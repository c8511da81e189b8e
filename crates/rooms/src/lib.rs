//! One file per room kind. A room takes messages under a key and never decides what is said in it.
//!
//! A webhook is a parent as well: a program elsewhere that is told by a request. What requests have in common, and where
//! they may go, is `http`.

#![forbid(unsafe_code)]

pub mod http;
pub mod matrix;
pub mod memory;
pub mod webhook;
