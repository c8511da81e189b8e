//! What a command wrote, as a result and as a transcript: bounded, with a line where something was left out.

use std::io;

use homing_core::fact::Exit;
use homing_core::payload::Payload;
use homing_ports::host::Piece;
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
    let mut bytes = joined(ends, Some(exit.out));
    if code != (Exit { code: Some(0), signal: None }) {
        append_errors(run, errors, Some(exit.err), &mut bytes)?;
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut payload = Payload::new(bytes);
    payload.text.full_bytes = (kept < exit.out).then_some(exit.out);
    Ok(Some(payload))
}

/// All that is kept, up to a size that a terminal can show. `exit`: once it has ended.
pub(super) fn transcript(run: &RunDir, exit: Option<&record::Exit>) -> io::Result<Vec<u8>> {
    let half = TRANSCRIPT_MAX / 2;
    let mut bytes = joined(Spooled::of(run, "out")?.ends(half, half)?, exit.map(|exit| exit.out));
    append_errors(run, half, exit.map(|exit| exit.err), &mut bytes)?;
    Ok(bytes)
}

/// What is kept of the output from a byte on, without a gap.
pub(super) fn piece(
    run: &RunDir,
    exit: Option<&record::Exit>,
    from: u64,
    most: usize,
) -> io::Result<Piece> {
    let piece = Spooled::of(run, "out")?.read(from, most)?;
    Ok(Piece { first: piece.first, bytes: piece.bytes, written: exit.map(|exit| exit.out) })
}

fn append_errors(
    run: &RunDir,
    most: usize,
    written: Option<u64>,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    let errors = joined(Spooled::of(run, "err")?.ends(0, most)?, written);
    if errors.iter().all(u8::is_ascii_whitespace) {
        return Ok(());
    }
    end_line(bytes);
    bytes.extend_from_slice(b"[standard error]\n");
    bytes.extend_from_slice(&errors);
    Ok(())
}

/// The middle is told of, and no character is shown in part. `written`: how much there was in all, once that
/// is known; what is missing of it at the end was lost.
fn joined(ends: Ends, written: Option<u64>) -> Vec<u8> {
    let Ends { head: mut out, left_out, tail } = ends;
    let there = out.len() as u64 + left_out + tail.len() as u64;
    if left_out == 0 {
        out.extend(tail);
    } else {
        out.truncate(whole_characters(&out));
        end_line(&mut out);
        out.extend_from_slice(format!("[{left_out} bytes left out]\n").as_bytes());
        out.extend(tail.into_iter().skip_while(|byte| is_inside(*byte)));
    }
    if let Some(lost @ 1..) = written.map(|written| written.saturating_sub(there)) {
        end_line(&mut out);
        let line = format!("[{lost} bytes lost: the disk did not take them]\n");
        out.extend_from_slice(line.as_bytes());
    }
    out
}

fn end_line(bytes: &mut Vec<u8>) {
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
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
        let joined = |ends| joined(ends, None);
        assert_eq!(joined(ends(b"abc", 0, b"def")), b"abcdef");
        assert_eq!(joined(ends(b"ab", 6, b"ij")), b"ab\n[6 bytes left out]\nij");
        let text = "a€b".as_bytes();
        assert_eq!(joined(ends(&text[..2], 1, &text[3..])), b"a\n[1 bytes left out]\nb");
        assert_eq!(joined(ends(b"", 7, b"end")), b"[7 bytes left out]\nend");
    }

    #[test]
    fn what_was_lost_at_the_end_is_counted() {
        let lost = b"[3 bytes lost: the disk did not take them]\n";
        assert_eq!(joined(ends(b"", 0, b""), Some(3)), lost);
        assert_eq!(joined(ends(b"a", 0, b"b"), Some(5)), [&b"ab\n"[..], lost].concat());
        let both = [&b"a\n[2 bytes left out]\nb\n"[..], lost].concat();
        assert_eq!(joined(ends(b"a", 2, b"b"), Some(7)), both);
        assert_eq!(joined(ends(b"a", 2, b"b"), Some(4)), b"a\n[2 bytes left out]\nb");
    }
}
