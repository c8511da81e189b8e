//! What a command wrote, as a result and as a transcript: bounded, with a line where something was left out.

use std::io;

use homing_core::fact::Exit;
use homing_core::payload::Payload;
use homing_shim::record;
use homing_shim::run_dir::RunDir;
use homing_shim::spool::{Ends, Spooled};

/// Of a result, at most, for a command's errors; and as much for the lines that say what was left out.
const ERRORS_MAX: usize = 16 << 10;
const TRANSCRIPT_MAX: usize = 4 << 20;

/// What is told of the output, in at most so many bytes: of a command that failed, the end of its errors too.
pub(super) fn text(
    run: &RunDir,
    exit: &record::Exit,
    code: Exit,
    most: usize,
) -> io::Result<Option<Payload>> {
    let errors = ERRORS_MAX.min(most / 16);
    let half = most.saturating_sub(2 * errors) / 2;
    let ends = Spooled::of(run, "out")?.ends(half, half)?;
    let kept = (ends.head.len() + ends.tail.len()) as u64;
    let mut bytes = joined(ends);
    if code != (Exit { code: Some(0), signal: None }) {
        append_errors(run, errors, &mut bytes)?;
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut payload = Payload::new(bytes);
    payload.text.full_bytes = (kept < exit.out).then_some(exit.out);
    Ok(Some(payload))
}

/// All that is kept, up to a size that a terminal can show.
pub(super) fn transcript(run: &RunDir) -> io::Result<Vec<u8>> {
    let half = TRANSCRIPT_MAX / 2;
    let mut bytes = joined(Spooled::of(run, "out")?.ends(half, half)?);
    append_errors(run, half, &mut bytes)?;
    Ok(bytes)
}

fn append_errors(run: &RunDir, most: usize, bytes: &mut Vec<u8>) -> io::Result<()> {
    let errors = joined(Spooled::of(run, "err")?.ends(0, most)?);
    if errors.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(b"[standard error]\n");
    bytes.extend_from_slice(&errors);
    Ok(())
}

/// The middle is told of, and no character is shown in part.
fn joined(ends: Ends) -> Vec<u8> {
    let Ends { head: mut out, left_out, tail } = ends;
    if left_out == 0 {
        out.extend(tail);
        return out;
    }
    out.truncate(whole_characters(&out));
    if !out.is_empty() {
        out.push(b'\n');
    }
    out.extend_from_slice(format!("[{left_out} bytes left out]\n").as_bytes());
    out.extend(tail.into_iter().skip_while(|byte| is_inside(*byte)));
    out
}

fn is_inside(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// The length without a character at the end that was cut in two. Bytes that are no text stay.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(bad) if bad.error_len().is_none() => bad.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(head: &[u8], left_out: u64, tail: &[u8]) -> Ends {
        Ends { head: head.to_vec(), left_out, tail: tail.to_vec() }
    }

    #[test]
    fn the_middle_is_counted_and_no_character_is_shown_in_part() {
        assert_eq!(joined(ends(b"abc", 0, b"def")), b"abcdef");
        assert_eq!(joined(ends(b"ab", 6, b"ij")), b"ab\n[6 bytes left out]\nij");
        let text = "a€b".as_bytes();
        assert_eq!(joined(ends(&text[..2], 1, &text[3..])), b"a\n[1 bytes left out]\nb");
        assert_eq!(joined(ends(b"", 7, b"end")), b"[7 bytes left out]\nend");
    }
}
