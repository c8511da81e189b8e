//! Owns what is written to people: their output, which may be closed at any time, and their errors.

use std::io::{self, IsTerminal, Write};

use homing_runtime::State;
use serde::Serialize;

use crate::expected::Expected;

/// Writes it all, and knows that it is written.
pub fn write(bytes: &[u8]) -> Result<(), Expected> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// One value, for programs.
pub fn json(value: &impl Serialize) -> Result<(), Expected> {
    let mut text = serde_json::to_vec_pretty(value).map_err(io::Error::other)?;
    text.push(b'\n');
    write(&text)
}

/// One line to the errors. When nobody reads those, there is nobody to tell.
pub fn warn(line: &str) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}

/// Others' errors as they are, to the errors.
pub fn warn_bytes(bytes: &[u8]) {
    let mut err = io::stderr().lock();
    drop(err.write_all(bytes).and_then(|()| err.flush()));
}

/// A state, so many characters wide; in colour on a terminal, unless NO_COLOR is set.
pub fn tinted(state: State, width: usize) -> String {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
    if plain || !io::stdout().is_terminal() {
        return format!("{state:width$}");
    }
    let colour = match state {
        State::Completed => 32,
        State::Failed | State::TimedOut | State::Lost => 31,
        State::Cancelled | State::Paused | State::Stopping | State::WaitingAsk => 33,
        State::Queued | State::Starting | State::Running | State::WaitingChildren => 36,
    };
    format!("\u{1b}[{colour}m{state:width$}\u{1b}[0m")
}

/// Others' text as one line of at most so many characters, without anything that a terminal obeys.
pub fn plain(text: &str, most: usize) -> String {
    let mut out = String::new();
    for c in text.chars().take(most) {
        if c.is_control() || is_unseen(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    if text.chars().nth(most).is_some() {
        out.push('…');
    }
    out
}

/// Signs that turn a line around or hide in it.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_never_given_others_commands() {
        assert_eq!(plain("a\u{1b}[2Jb\nc\u{202e}d", 80), "a\\u{1b}[2Jb\\nc\\u{202e}d");
        assert_eq!(plain("grüße", 3), "grü…");
    }
}
