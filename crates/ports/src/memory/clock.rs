//! A clock that stands still until it is moved. Never reads the machine's.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::clock::Clock;

/// Time in the hands of a test.
#[derive(Debug)]
pub struct MemoryClock {
    mono: AtomicU64,
    wall: AtomicI64,
    boots: AtomicU64,
}

impl MemoryClock {
    /// Where every such clock begins: neither number is one that a mix-up would go unseen with.
    pub const FIRST_MONO: u64 = 1_000_000;
    pub const FIRST_WALL: i64 = 1_800_000_000_000;

    pub fn new() -> Self {
        Self {
            mono: AtomicU64::new(Self::FIRST_MONO),
            wall: AtomicI64::new(Self::FIRST_WALL),
            boots: AtomicU64::new(1),
        }
    }

    /// Time passes, on both clocks.
    pub fn advance(&self, ms: u64) {
        self.mono.fetch_add(ms, Ordering::SeqCst);
        self.jump_wall(ms.cast_signed());
    }

    /// Somebody sets the wall clock, forward or back.
    pub fn jump_wall(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
    }

    /// Another boot: `mono` begins again.
    pub fn reboot(&self) {
        self.boots.fetch_add(1, Ordering::SeqCst);
        self.mono.store(Self::FIRST_MONO, Ordering::SeqCst);
    }
}

impl Default for MemoryClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MemoryClock {
    fn mono(&self) -> u64 {
        self.mono.load(Ordering::SeqCst)
    }

    fn wall(&self) -> i64 {
        self.wall.load(Ordering::SeqCst)
    }

    fn boot(&self) -> String {
        format!("boot-{}", self.boots.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::contract::clock::ClockFactory;

    #[derive(Default)]
    struct Hands(Arc<MemoryClock>);

    impl Clock for Arc<MemoryClock> {
        fn mono(&self) -> u64 {
            (**self).mono()
        }

        fn wall(&self) -> i64 {
            (**self).wall()
        }

        fn boot(&self) -> String {
            (**self).boot()
        }
    }

    impl ClockFactory for Hands {
        fn clock(&mut self) -> Box<dyn Clock> {
            Box::new(Arc::clone(&self.0))
        }

        fn pass(&mut self, ms: u64) {
            self.0.advance(ms);
        }
    }

    crate::clock_contract!(Hands::default());

    #[test]
    fn b11_a_jump_of_the_wall_leaves_the_other_clock() {
        let clock = MemoryClock::new();
        let mono = clock.mono();
        clock.jump_wall(-3_600_000);
        assert_eq!((clock.mono(), clock.wall()), (mono, MemoryClock::FIRST_WALL - 3_600_000));
    }

    #[test]
    fn another_boot_begins_anew() {
        let clock = MemoryClock::new();
        let boot = clock.boot();
        clock.advance(5);
        clock.reboot();
        assert_ne!(clock.boot(), boot);
        assert_eq!(clock.mono(), MemoryClock::FIRST_MONO);
    }
}
