//! The daemon of a home: who it is, and how a verb comes to speak with it. One per home: the store's lock decides.
//!
//! - `http`: the same door on TCP, when it is asked for.
//! - `log`: what it says of its work.
//! - `note`: what a running daemon writes down about itself, so that it is found.
//! - `signs`: what people see beside their work.
//! - `start`: starts one that is detached, and waits until it is ready.
//! - `serve`: the daemon itself.
//! - `socket`: its place, and making it.

mod http;
pub mod log;
mod note;
mod serve;
mod signs;
mod socket;
mod start;

use homing_client::Client;

use crate::expected::Expected;
use crate::home::Home;

pub use note::Note;
pub use serve::serve;
pub use start::{apart, ensure, turn};

/// Speaks with the daemon that runs now; none when none answers.
pub fn running(home: &Home) -> Result<Option<(Note, Client)>, Expected> {
    let Some(note) = Note::read(home)? else {
        return Ok(None);
    };
    // Only whether somebody listens is asked; a request makes a connection of its own.
    match std::os::unix::net::UnixStream::connect(&note.socket) {
        Ok(_) => {
            let client = Client::new(&note.socket);
            Ok(Some((note, client)))
        }
        Err(_) => Ok(None),
    }
}
