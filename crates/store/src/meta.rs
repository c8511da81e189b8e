//! Owns the one row that counts all others, and its arithmetic. Never looks at the rows it counts.

use homing_ports::store::ClockMark;
use rusqlite::Connection;

use crate::fault::{Outcome, damaged};
use crate::rows::{Cells, stored};
use crate::sum::Columns;

/// How many rows, and their checksums added up: which and in what version, in any order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tally {
    pub(crate) count: u64,
    pub(crate) digest: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, sum: u64) {
        self.count = self.count.wrapping_add(1);
        self.digest = self.digest.wrapping_add(sum);
    }

    pub(crate) fn take(&mut self, sum: u64) {
        self.count = self.count.wrapping_sub(1);
        self.digest = self.digest.wrapping_sub(sum);
    }
}

/// One for each set of rows that must be whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tallies {
    pub(crate) tasks: Tally,
    /// Living, or something is owed about it.
    pub(crate) hot: Tally,
    pub(crate) keys: Tally,
    /// Tasks under another's root.
    pub(crate) kin: Tally,
    pub(crate) outbox: Tally,
    pub(crate) open: Tally,
    pub(crate) blobs: Tally,
    /// Blobs whose bytes lie in a file.
    pub(crate) filed: Tally,
    pub(crate) taken: Tally,
}

const TALLIES: usize = 9;

impl Tallies {
    fn each(&self) -> [Tally; TALLIES] {
        let Self { tasks, hot, keys, kin, outbox, open, blobs, filed, taken } = *self;
        [tasks, hot, keys, kin, outbox, open, blobs, filed, taken]
    }

    fn to_bytes(self) -> Vec<u8> {
        self.each()
            .iter()
            .flat_map(|tally| [tally.count.to_le_bytes(), tally.digest.to_le_bytes()].concat())
            .collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word));
        let mut next = || Some(Tally { count: words.next()?, digest: words.next()? });
        let read = Self {
            tasks: next()?,
            hot: next()?,
            keys: next()?,
            kin: next()?,
            outbox: next()?,
            open: next()?,
            blobs: next()?,
            filed: next()?,
            taken: next()?,
        };
        (rest.is_empty() && next().is_none()).then_some(read)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Meta {
    /// Transactions there were, those without a journal row too.
    pub(crate) commits: u64,
    /// Number of the last journal row.
    pub(crate) head: u64,
    /// The highest number that retention took.
    pub(crate) floor: u64,
    pub(crate) tallies: Tallies,
    pub(crate) clock: ClockMark,
}

impl Meta {
    pub(crate) fn read(conn: &Connection) -> Outcome<Self> {
        let mut statement = conn.prepare_cached(
            "SELECT commits, head, floor, tallies, boot, tick, mono, sum FROM meta",
        )?;
        let mut rows = statement.query([])?;
        let Some(row) = rows.next()? else {
            return damaged("the row that counts all others is missing");
        };
        let mut cells = Cells::of("meta", row);
        let (commits, head, floor) = (cells.number()?, cells.number()?, cells.number()?);
        let Some(tallies) = Tallies::from_bytes(cells.bytes()?) else {
            return damaged("meta: the counts cannot be read");
        };
        let clock = ClockMark {
            boot: cells.text()?.to_owned(),
            tick: cells.number()?,
            mono: cells.number()?,
        };
        let meta = Self { commits, head, floor, tallies, clock };
        cells.verify("meta", meta.sum())?;
        Ok(meta)
    }

    /// Counts one transaction more and writes the row.
    pub(crate) fn write(&mut self, conn: &Connection) -> Outcome<()> {
        self.commits += 1;
        let mut statement = conn.prepare_cached(
            "INSERT OR REPLACE INTO meta (one, commits, head, floor, tallies, boot, tick, mono, sum)
             VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?;
        statement.execute((
            stored(self.commits)?,
            stored(self.head)?,
            stored(self.floor)?,
            self.tallies.to_bytes(),
            &self.clock.boot,
            stored(self.clock.tick)?,
            stored(self.clock.mono)?,
            self.sum().cast_signed(),
        ))?;
        Ok(())
    }

    fn sum(&self) -> u64 {
        Columns::of("meta", &mut Vec::with_capacity(256))
            .number(self.commits)
            .number(self.head)
            .number(self.floor)
            .bytes(&self.tallies.to_bytes())
            .bytes(self.clock.boot.as_bytes())
            .number(self.clock.tick)
            .number(self.clock.mono)
            .sum()
    }
}

/// What was counted while reading against what was committed.
pub(crate) fn whole(what: &str, committed: Tally, found: Tally) -> Outcome<()> {
    if committed.count != found.count {
        return damaged(format!("{} {what}, but {} were committed", found.count, committed.count));
    }
    if committed.digest != found.digest {
        return damaged(format!("{what} are not in the version that was committed"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_read_back_and_no_other_length_does() {
        let mut tallies = Tallies::default();
        tallies.hot.add(9);
        tallies.taken.add(u64::MAX);
        let bytes = tallies.to_bytes();
        assert_eq!(Tallies::from_bytes(&bytes), Some(tallies));
        assert_eq!(Tallies::from_bytes(&bytes[1..]), None);
        assert_eq!(Tallies::from_bytes(&[bytes, vec![0; 16]].concat()), None);
    }

    #[test]
    fn a_tally_does_not_depend_on_the_order_and_tells_one_row_from_another() {
        let (mut one, mut other) = (Tally::default(), Tally::default());
        for sum in [u64::MAX, 7, 9] {
            one.add(sum);
        }
        for sum in [9, 5, u64::MAX, 7] {
            other.add(sum);
        }
        assert_ne!(one, other);
        other.take(5);
        assert_eq!(one, other);
        assert!(whole("rows", one, other).is_ok());
        other.take(7);
        assert!(whole("rows", one, other).is_err());
        other.add(8);
        assert!(whole("rows", one, other).is_err());
    }
}
