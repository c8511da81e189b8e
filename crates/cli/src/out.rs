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

/// What others wrote, as it is; a terminal is not given what it would obey.
pub fn others(bytes: &[u8]) -> Result<(), Expected> {
    if io::stdout().is_terminal() {
        return write(harmless(bytes).as_bytes());
    }
    write(bytes)
}

/// One value, for programs.
pub fn json(value: &impl Serialize) -> Result<(), Expected> {
    let mut text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
    text.push('\n');
    json_lines(text.as_bytes())
}

/// Whole lines of JSON; for a terminal, with what it would obey written in another way that means the same.
pub fn json_lines(bytes: &[u8]) -> Result<(), Expected> {
    match std::str::from_utf8(bytes) {
        Ok(text) if io::stdout().is_terminal() => write(harmless_json(text).as_bytes()),
        Ok(_) | Err(_) => write(bytes),
    }
}

/// One line to the errors. When nobody reads those, there is nobody to tell.
pub fn warn(line: &str) {
    drop(writeln!(io::stderr().lock(), "{line}"));
}

/// Others' errors, to the errors; as `others`.
pub fn warn_others(bytes: &[u8]) {
    let mut err = io::stderr().lock();
    let written = if err.is_terminal() {
        err.write_all(harmless(bytes).as_bytes())
    } else {
        err.write_all(bytes)
    };
    drop(written.and_then(|()| err.flush()));
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

/// Others' text with its lines, without anything that a terminal obeys.
fn harmless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' => out.push(c),
            // The end of a line in another fashion.
            '\r' if chars.peek() == Some(&'\n') => {}
            c if is_obeyed(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// In JSON such signs stand inside of strings, the ends of lines apart.
fn harmless_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_obeyed(c) && c != '\n' {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Signs that move, colour, or turn around what a terminal shows.
fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
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
        let hostile = b"a\tb\r\nc\rd\x1b]0;x\x07\xc2\x9b2J \xff\x00\xe2\x80\xae\x7f\n";
        let shown = "a\tb\nc\\rd\\u{1b}]0;x\\u{7}\\u{9b}2J \u{fffd}\\u{0}\\u{202e}\\u{7f}\n";
        assert_eq!(harmless(hostile), shown);
    }

    #[test]
    fn json_for_a_terminal_means_the_same() {
        let value = serde_json::json!({ "k\u{9b}": "\u{1b}[2J\u{9b}\u{7f}\u{202e}\n\u{0} grüße" });
        let text = harmless_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|c| is_obeyed(c) && c != '\n'), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
