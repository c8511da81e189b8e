//! One file per verb.

pub mod config;
pub mod daemon;
pub mod demo;
pub mod doctor;
pub mod events;
pub mod ls;
pub mod run;
pub mod show;
pub mod why;
