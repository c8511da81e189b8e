//! Owns the high-water mark: how far the ledger came, in a small file beside it, written after each
//! commit and never synced, so it is never ahead of what is durable. Never decides what a gap means.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use crate::files;

const MAGIC: &[u8; 8] = b"homing/1";
const LENGTH: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) commits: u64,
    pub(crate) head: u64,
}

impl Mark {
    /// What the file tells; a torn, foreign or missing one tells nothing.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let bytes: [u8; LENGTH] = fs::read(path).ok()?.try_into().ok()?;
        let word = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
        let (whole, sum) = (bytes.get(..24)?, word(24)?);
        if !whole.starts_with(MAGIC) || xxh3_64(whole) != sum {
            return None;
        }
        Some(Self { commits: word(8)?, head: word(16)? })
    }

    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&self.commits.to_le_bytes());
        bytes.extend_from_slice(&self.head.to_le_bytes());
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }
}

/// The open file. Without one nothing is marked, and a lost tail goes unnoticed, no more.
#[derive(Debug)]
pub(crate) struct MarkFile(Option<File>);

impl MarkFile {
    pub(crate) fn open(path: &Path) -> Self {
        Self(files::private(path).ok())
    }

    pub(crate) fn write(&self, mark: Mark) {
        if let Some(file) = &self.0 {
            drop(file.write_all_at(&mark.to_bytes(), 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_reads_back_and_any_flipped_bit_makes_it_tell_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mark");
        assert_eq!(Mark::read(&path), None);
        let mark = Mark { commits: 7, head: 900 };
        MarkFile::open(&path).write(mark);
        assert_eq!(Mark::read(&path), Some(mark));
        let whole = fs::read(&path).unwrap();
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, flipped).unwrap();
            assert_eq!(Mark::read(&path), None, "bit {bit}");
        }
    }
}
