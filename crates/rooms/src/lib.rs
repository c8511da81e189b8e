//! One file per room kind. A room takes messages under a key and never decides what is said in it.

#![forbid(unsafe_code)]

pub mod memory;
