//! Conversations on a real OpenCode: each turn alone in its stream, and what tasks bring home in a turn of its own.

mod apart;
pub mod chat;
mod told;
