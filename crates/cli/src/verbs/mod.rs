//! One file per verb.

pub mod answer;
pub mod asks;
pub mod cancel;
pub mod completions;
pub mod config;
pub mod daemon;
pub mod demo;
pub mod doctor;
pub mod events;
pub mod inbox;
pub mod launch;
pub mod logs;
pub mod ls;
pub mod mcp;
pub mod output;
pub mod owned;
pub mod redrive;
pub mod resume;
pub mod retry;
pub mod run;
pub mod send;
pub mod setup;
pub mod show;
pub mod token;
pub mod wait;
pub mod why;
