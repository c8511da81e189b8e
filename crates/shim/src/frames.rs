//! Input in numbered frames, appended to a file: each is written to the child once and in order, so that
//! sending one again is harmless. The last one may say that there is no more.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use crate::run_dir::{RunDir, private};

const NAME: &str = "in";
/// A header is never longer: `NUMBER LENGTH end\n`.
const HEADER_MAX: usize = 64;

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// From 1.
    pub n: u64,
    pub bytes: Vec<u8>,
    /// Nothing comes after it.
    pub last: bool,
}

/// Appends a frame, unless one of its number or a later one is there. Only one process appends.
pub fn append(run: &RunDir, frame: &Frame) -> io::Result<()> {
    let mut file =
        private().read(true).write(true).create(true).truncate(false).open(run.file(NAME))?;
    let mut reader = Frames::default();
    let mut known = 0;
    while let Some(before) = reader.next_of(&mut file)? {
        known = before.n;
    }
    if frame.n <= known {
        return Ok(());
    }
    // What was cut off by a crash was taken by nobody.
    file.set_len(reader.at)?;
    file.seek(SeekFrom::Start(reader.at))?;
    let end = if frame.last { " end" } else { "" };
    let mut bytes = format!("{} {}{end}\n", frame.n, frame.bytes.len()).into_bytes();
    bytes.extend_from_slice(&frame.bytes);
    file.write_all(&bytes)
}

/// Reads frames in order, each once.
#[derive(Debug, Default)]
pub struct Frames {
    at: u64,
}

impl Frames {
    /// The next whole frame, if it is there.
    pub fn next(&mut self, run: &RunDir) -> io::Result<Option<Frame>> {
        match File::open(run.file(NAME)) {
            Ok(mut file) => self.next_of(&mut file),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(why),
        }
    }

    fn next_of(&mut self, file: &mut File) -> io::Result<Option<Frame>> {
        file.seek(SeekFrom::Start(self.at))?;
        let mut start = Vec::new();
        Read::take(&mut *file, HEADER_MAX as u64).read_to_end(&mut start)?;
        let Some(end) = start.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let Some((n, length, last)) = header(&start[..end]) else {
            let why = format!("{}: what stands at {} is no frame", NAME, self.at);
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        };
        file.seek(SeekFrom::Start(self.at + end as u64 + 1))?;
        let mut bytes = Vec::new();
        Read::take(&mut *file, length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Ok(None);
        }
        self.at += end as u64 + 1 + length;
        Ok(Some(Frame { n, bytes, last }))
    }
}

fn header(line: &[u8]) -> Option<(u64, u64, bool)> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let n = words.next()?.parse().ok()?;
    let length = words.next()?.parse().ok()?;
    match (words.next(), words.next()) {
        (None, _) => Some((n, length, false)),
        (Some("end"), None) => Some((n, length, true)),
        (Some(_), _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(n: u64, bytes: &[u8]) -> Frame {
        Frame { n, bytes: bytes.to_vec(), last: false }
    }

    #[test]
    fn l8_a_frame_sent_twice_is_read_once_and_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        let mut frames = Frames::default();
        assert_eq!(frames.next(&run).unwrap(), None);
        let all = [frame(1, b"one\n"), frame(2, b""), Frame { last: true, ..frame(3, b"3 3\n") }];
        for (sent, one) in all.iter().enumerate() {
            append(&run, one).unwrap();
            for again in &all[..=sent] {
                append(&run, again).unwrap();
            }
            assert_eq!(frames.next(&run).unwrap().as_ref(), Some(one));
            assert_eq!(frames.next(&run).unwrap(), None);
        }
    }

    #[test]
    fn a_frame_that_was_cut_off_is_not_read_and_is_written_anew() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        append(&run, &frame(1, b"one")).unwrap();
        append(&run, &frame(2, b"a longer one")).unwrap();
        let whole = std::fs::read(run.file(NAME)).unwrap();
        for cut in 7..whole.len() {
            std::fs::write(run.file(NAME), &whole[..cut]).unwrap();
            let mut frames = Frames::default();
            assert_eq!(frames.next(&run).unwrap(), Some(frame(1, b"one")));
            assert_eq!(frames.next(&run).unwrap(), None, "cut at {cut}");
            append(&run, &frame(2, b"a longer one")).unwrap();
            assert_eq!(frames.next(&run).unwrap(), Some(frame(2, b"a longer one")));
        }
        std::fs::write(run.file(NAME), "what\n").unwrap();
        assert!(Frames::default().next(&run).is_err());
    }
}
