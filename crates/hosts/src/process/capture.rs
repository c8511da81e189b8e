//! What a command writes, bounded: the beginning and the end are kept, the middle is counted.
//! Never makes the writer wait.

use std::collections::VecDeque;

use homing_core::payload::Payload;

/// Bytes of a stream, at most `head_max + tail_max` of them.
#[derive(Debug)]
pub(super) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_max: usize,
    tail_max: usize,
    total: u64,
}

impl Capture {
    pub(super) fn new(head_max: usize, tail_max: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), head_max, tail_max, total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.head_max - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_max)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.tail_max);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    pub(super) fn is_blank(&self) -> bool {
        self.head.iter().chain(&self.tail).all(u8::is_ascii_whitespace)
    }

    /// What is kept, with a line where something was left out.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let left_out = self.total - kept;
        let mut out = self.head.clone();
        let tail = self.tail.iter().copied();
        if left_out == 0 {
            out.extend(tail);
            return out;
        }
        out.truncate(whole_characters(&out));
        if !out.is_empty() {
            out.push(b'\n');
        }
        out.extend_from_slice(format!("[{left_out} bytes left out]\n").as_bytes());
        out.extend(tail.skip_while(|byte| is_inside(*byte)));
        out
    }

    /// As a result to keep; none when nothing was written.
    pub(super) fn payload(&self) -> Option<Payload> {
        if self.total == 0 {
            return None;
        }
        let mut payload = Payload::new(self.bytes());
        let whole = self.total == (self.head.len() + self.tail.len()) as u64;
        payload.text.full_bytes = (!whole).then_some(self.total);
        Some(payload)
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

    #[test]
    fn what_fits_is_kept_whole() {
        let mut capture = Capture::new(4, 4);
        for piece in ["ab", "cde", "fgh"] {
            capture.push(piece.as_bytes());
        }
        let payload = capture.payload().unwrap();
        assert_eq!((&*payload.bytes, payload.text.full_bytes), (&b"abcdefgh"[..], None));
    }

    #[test]
    fn the_middle_is_counted() {
        let mut capture = Capture::new(2, 2);
        for piece in ["abcde", "f", "ghij"] {
            capture.push(piece.as_bytes());
        }
        let payload = capture.payload().unwrap();
        assert_eq!(&*payload.bytes, b"ab\n[6 bytes left out]\nij");
        assert_eq!(payload.text.full_bytes, Some(10));
    }

    #[test]
    fn no_character_is_kept_in_part() {
        let mut capture = Capture::new(2, 4);
        capture.push("a€bc€d".as_bytes());
        assert_eq!(capture.bytes(), "a\n[4 bytes left out]\n€d".as_bytes());
        capture.push("€€".as_bytes());
        assert_eq!(capture.bytes(), "a\n[10 bytes left out]\n€".as_bytes());
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(Capture::new(2, 2).payload(), None);
        assert!(Capture::new(2, 2).is_blank());
    }
}
