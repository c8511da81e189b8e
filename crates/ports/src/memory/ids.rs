//! Bits that look random and are not: the same seed, the same bits. Never asks the machine.

use std::sync::atomic::{AtomicU64, Ordering};

use homing_core::time::mix;

use crate::clock::Ids;

/// Chance in the hands of a test.
#[derive(Debug)]
pub struct MemoryIds {
    next: AtomicU64,
}

impl MemoryIds {
    pub fn seeded(seed: u64) -> Self {
        Self { next: AtomicU64::new(mix(seed)) }
    }
}

impl Default for MemoryIds {
    fn default() -> Self {
        Self::seeded(0)
    }
}

impl Ids for MemoryIds {
    /// No two alike before the counter comes round: `mix` is one to one.
    fn bits(&self) -> u64 {
        mix(self.next.fetch_add(1, Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::ids_contract!(MemoryIds::seeded(7));

    #[test]
    fn the_same_seed_gives_the_same_bits() {
        let draw = |seed| {
            let ids = MemoryIds::seeded(seed);
            [ids.bits(), ids.bits()]
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
