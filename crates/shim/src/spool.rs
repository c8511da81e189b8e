//! What a child writes, on disk and bounded: the beginning and the end are kept, the middle is counted.
//! Never makes the writer wait, and never fails: what the disk does not take is counted as left out.
//!
//! A stream is a row of files, each named by the number of its first byte (`out.0`), so that whoever comes
//! later knows what is missing without being told.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use rustix::fs::{FallocateFlags, fallocate};

use crate::run_dir::{RunDir, private};

/// Files that the beginning is kept in, and the end.
const EACH_MAX: u64 = 8;
const PIECE_MIN: u64 = 4 << 10;
/// Room that is taken early, so that a full disk cannot lose a small result.
const ROOM: u64 = 16 << 10;

/// The writing side of one stream.
#[derive(Debug)]
pub struct Spool {
    run: RunDir,
    stem: &'static str,
    piece: u64,
    /// Bytes that came in so far.
    total: u64,
    /// Bytes that no file took.
    lost: u64,
    current: Option<(File, u64)>,
    pieces: u64,
    /// First bytes of the files after the beginning.
    tail: VecDeque<u64>,
}

impl Spool {
    /// At most about `limit` bytes are kept.
    pub fn new(run: &RunDir, stem: &'static str, limit: u64) -> Self {
        let piece = (limit / (2 * EACH_MAX)).max(PIECE_MIN);
        Self {
            run: run.clone(),
            stem,
            piece,
            total: 0,
            lost: 0,
            current: None,
            pieces: 0,
            tail: VecDeque::new(),
        }
    }

    /// Takes room for the first bytes. Where that cannot be had, they are kept as long as the disk takes them.
    pub fn take_room(&mut self) {
        if self.total == 0 && self.current.is_none() {
            // What cannot be made now is made when it is needed.
            drop(self.next_file());
        }
        if let Some((file, _)) = self.current.as_ref().filter(|_| self.pieces == 1) {
            // Its length stays that of what is written.
            let _ = fallocate(file, FallocateFlags::KEEP_SIZE, 0, ROOM.min(self.piece));
        }
    }

    /// Gives back what was taken and not written.
    pub fn give_room_back(&mut self) {
        if self.pieces == 0 {
            return;
        }
        if self.total == 0 {
            drop(std::fs::remove_file(self.path(0)));
        } else if let Some((file, room)) = self.current.take()
            && self.pieces == 1
        {
            drop(file.set_len(self.piece - room));
        }
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    pub fn lost(&self) -> u64 {
        self.lost
    }

    pub fn write(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let taken = self.write_some(bytes).unwrap_or_else(|_| {
                // The next file begins where this one's bytes would have ended.
                self.current = None;
                self.lost += bytes.len() as u64;
                bytes.len()
            });
            self.total += taken as u64;
            bytes = &bytes[taken..];
        }
    }

    fn write_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.current.as_ref().is_none_or(|(_, room)| *room == 0) {
            self.next_file()?;
        }
        let Some((file, room)) = &mut self.current else {
            return Ok(0);
        };
        let most = bytes.len().min(usize::try_from(*room).unwrap_or(usize::MAX));
        match file.write(&bytes[..most])? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            taken => {
                *room -= taken as u64;
                Ok(taken)
            }
        }
    }

    fn next_file(&mut self) -> io::Result<()> {
        self.current = None;
        let file = private().write(true).create_new(true).open(self.path(self.total))?;
        self.current = Some((file, self.piece));
        self.pieces += 1;
        if self.pieces > EACH_MAX {
            self.tail.push_back(self.total);
        }
        if self.tail.len() as u64 > EACH_MAX
            && let Some(oldest) = self.tail.pop_front()
        {
            std::fs::remove_file(self.path(oldest))?;
        }
        Ok(())
    }

    fn path(&self, first: u64) -> PathBuf {
        self.run.file(&format!("{}.{first}", self.stem))
    }
}

/// The reading side: what is there of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spooled {
    /// First byte and length of each file, in order.
    files: Vec<(u64, u64)>,
    run: Option<RunDir>,
    stem: &'static str,
}

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// Number of its first byte.
    pub first: u64,
    pub bytes: Vec<u8>,
}

impl Spooled {
    pub fn of(run: &RunDir, stem: &'static str) -> io::Result<Self> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(run.path())? {
            let entry = entry?;
            let name = entry.file_name();
            let first = name.to_str().and_then(|name| name.strip_prefix(stem)?.strip_prefix('.'));
            let Some(first) = first.and_then(|first| first.parse().ok()) else {
                continue;
            };
            match entry.metadata() {
                Ok(about) => files.push((first, about.len())),
                // It was in the middle, and went.
                Err(why) if why.kind() == io::ErrorKind::NotFound => {}
                Err(why) => return Err(why),
            }
        }
        files.sort_unstable();
        Ok(Self { files, run: Some(run.clone()), stem })
    }

    /// Bytes that were written so far, as far as the files tell.
    pub fn total(&self) -> u64 {
        self.files.last().map_or(0, |(first, length)| first + length)
    }

    /// What is there from `from` on, up to `most` bytes without a gap; what is missing is stepped over.
    pub fn read(&self, from: u64, most: usize) -> io::Result<Piece> {
        let mut piece = Piece { first: from, bytes: Vec::new() };
        for (first, length) in &self.files {
            let at = piece.first + piece.bytes.len() as u64;
            if first + length <= at {
                continue;
            }
            if *first > at && !piece.bytes.is_empty() {
                break;
            }
            if piece.bytes.is_empty() {
                piece.first = from.max(*first);
            }
            let room = most - piece.bytes.len();
            let at = piece.first + piece.bytes.len() as u64;
            self.append(*first, at - first, room, &mut piece.bytes)?;
            if piece.bytes.len() == most {
                break;
            }
        }
        Ok(piece)
    }

    fn append(&self, first: u64, skip: u64, most: usize, into: &mut Vec<u8>) -> io::Result<()> {
        let Some(run) = &self.run else {
            return Ok(());
        };
        let mut file = match File::open(run.file(&format!("{}.{first}", self.stem))) {
            Ok(file) => file,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(why) => return Err(why),
        };
        file.seek(SeekFrom::Start(skip))?;
        file.take(most as u64).read_to_end(into)?;
        Ok(())
    }

    /// The beginning and the end, and how much lies between them.
    pub fn ends(&self, head: usize, tail: usize) -> io::Result<Ends> {
        let begin = self.read(0, head)?;
        if begin.first > 0 {
            // Even the first bytes were not taken by the disk.
            let end = self.read(self.total().saturating_sub(tail as u64), tail)?;
            return Ok(Ends { head: Vec::new(), left_out: end.first, tail: end.bytes });
        }
        let after = begin.bytes.len() as u64;
        let mut end = self.read(after.max(self.total().saturating_sub(tail as u64)), tail)?;
        loop {
            let next = self.read(end.first + end.bytes.len() as u64, tail)?;
            if next.bytes.is_empty() {
                break;
            }
            // A gap near the end: what comes last counts.
            end = next;
        }
        let left_out = if end.bytes.is_empty() { 0 } else { end.first - after };
        Ok(Ends { head: begin.bytes, left_out, tail: end.bytes })
    }
}

/// A stream with its middle left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ends {
    pub head: Vec<u8>,
    pub left_out: u64,
    pub tail: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    const LIMIT: u64 = 2 * EACH_MAX * PIECE_MIN;

    fn counted(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|n| (n % 251) as u8).collect()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        let mut spool = Spool::new(&run, "out", LIMIT);
        let all = counted(3 * PIECE_MIN as usize + 17);
        for piece in all.chunks(1_000) {
            spool.write(piece);
        }
        let spooled = Spooled::of(&run, "out").unwrap();
        assert_eq!((spool.total(), spool.lost()), (all.len() as u64, 0));
        assert_eq!(spooled.total(), all.len() as u64);
        assert_eq!(spooled.read(0, usize::MAX).unwrap().bytes, all);
        assert_eq!(spooled.read(5_000, 10).unwrap().bytes, all[5_000..5_010]);
        let ends = spooled.ends(100, 50).unwrap();
        assert_eq!((&*ends.head, &*ends.tail), (&all[..100], &all[all.len() - 50..]));
        assert_eq!(ends.left_out, all.len() as u64 - 150);
        let whole = spooled.ends(usize::MAX, 50).unwrap();
        assert_eq!((whole.head, whole.left_out, whole.tail), (all, 0, Vec::new()));
        assert_eq!(Spooled::of(&run, "err").unwrap().ends(9, 9).unwrap(), Ends::default());
    }

    #[test]
    fn room_that_was_taken_shows_nowhere_and_is_given_back() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        let taken = || {
            let blocks =
                |entry: io::Result<std::fs::DirEntry>| entry.unwrap().metadata().unwrap().blocks();
            std::fs::read_dir(directory.path()).unwrap().map(blocks).sum::<u64>() * 512
        };
        let mut spool = Spool::new(&run, "out", LIMIT * 16);
        spool.take_room();
        assert!(taken() >= ROOM, "{}", taken());
        spool.write(b"small");
        assert_eq!(Spooled::of(&run, "out").unwrap().read(0, 100).unwrap().bytes, b"small");
        spool.give_room_back();
        assert!(taken() < ROOM, "{}", taken());
        assert_eq!(Spooled::of(&run, "out").unwrap().read(0, 100).unwrap().bytes, b"small");
        let mut silent = Spool::new(&run, "err", LIMIT);
        silent.take_room();
        silent.take_room();
        silent.give_room_back();
        assert!(!run.file("err.0").exists());
    }

    #[test]
    fn of_a_flood_the_beginning_and_the_end_are_kept_and_the_middle_is_counted() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        let mut spool = Spool::new(&run, "out", LIMIT);
        let all = counted(20 * LIMIT as usize + 123);
        for piece in all.chunks(10_007) {
            spool.write(piece);
        }
        let kept: u64 = std::fs::read_dir(directory.path())
            .unwrap()
            .map(|f| f.unwrap().metadata().unwrap().len())
            .sum();
        assert!(kept <= LIMIT && kept > LIMIT - PIECE_MIN, "{kept}");
        let spooled = Spooled::of(&run, "out").unwrap();
        assert_eq!(spooled.total(), all.len() as u64);
        let half = (LIMIT / 2) as usize;
        assert_eq!(spooled.read(0, usize::MAX).unwrap().bytes, all[..half]);
        let later = spooled.read(half as u64, usize::MAX).unwrap();
        assert_eq!(later.bytes, all[later.first as usize..], "a gap is stepped over");
        let ends = spooled.ends(10, 10).unwrap();
        assert_eq!((&*ends.head, &*ends.tail), (&all[..10], &all[all.len() - 10..]));
        assert_eq!(ends.left_out, all.len() as u64 - 20);
    }

    #[test]
    fn what_the_disk_does_not_take_is_counted_and_the_rest_is_in_its_place() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path().join("later"));
        let mut spool = Spool::new(&run, "out", LIMIT);
        spool.write(b"nobody ");
        assert_eq!((spool.total(), spool.lost()), (7, 7));
        run.make().unwrap();
        spool.write(b"hears");
        let spooled = Spooled::of(&run, "out").unwrap();
        assert_eq!(spooled.total(), 12);
        let ends = spooled.ends(100, 100).unwrap();
        assert_eq!((&*ends.head, ends.left_out, &*ends.tail), (&b""[..], 7, &b"hears"[..]));
    }
}
