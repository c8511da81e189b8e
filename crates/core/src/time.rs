//! Owns what the core knows of time and chance: a moment that is handed in. Never reads a clock.

use serde::{Deserialize, Serialize};

/// One instant as the ledger sees it, with the chance that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Milliseconds on the ledger's clock: monotonic within a boot, continued from the last commit after
    /// a reboot. Every duration is measured on it.
    pub tick: u64,
    /// Milliseconds since the epoch: for people, and for times that a provider names.
    pub wall: i64,
    /// Random bits for this input, for jitter.
    pub dice: u64,
}

/// The same instant as it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Stamp {
    pub tick: u64,
    pub wall: i64,
}

impl Moment {
    pub fn stamp(self) -> Stamp {
        Stamp { tick: self.tick, wall: self.wall }
    }

    /// `ms` lengthened by up to a quarter, by the dice.
    pub fn jitter(self, ms: u64) -> u64 {
        let quarter = ms / 4;
        if quarter == 0 { ms } else { ms + mix(self.dice) % quarter }
    }
}

/// Doubles from `first` to `most`, by how often it was tried before.
pub fn backoff_ms(tries: u32, first: u64, most: u64) -> u64 {
    first.saturating_mul(1_u64 << tries.min(30)).min(most)
}

/// Spreads bits; the same in, the same out.
pub fn mix(bits: u64) -> u64 {
    let mut x = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
