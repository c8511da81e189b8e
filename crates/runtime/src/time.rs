//! The ledger's clock: continued from the store, so that every duration is exact on one boot and never
//! jumps across a reboot.

use std::sync::Arc;

use homing_core::time::{Moment, Stamp};
use homing_ports::clock::{Clock, Ids};
use homing_ports::store::ClockMark;

/// Turns the machine's clocks into moments.
#[derive(Clone)]
pub struct Timekeeper {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    mark: ClockMark,
}

impl Timekeeper {
    /// Goes on from the last mark: on the same boot exactly, on another from where the ledger stood.
    pub fn new(clock: Arc<dyn Clock>, ids: Arc<dyn Ids>, last: &ClockMark) -> Self {
        let (boot, mono) = (clock.boot(), clock.mono());
        let mark = if last.boot == boot && last.mono <= mono {
            last.clone()
        } else {
            // Ticks start above zero, so that zero can mean "never".
            ClockMark { boot, tick: last.tick.max(1), mono }
        };
        Self { clock, ids, mark }
    }

    /// Whether the last mark is of another boot.
    pub(crate) fn rebooted(&self, last: &ClockMark) -> bool {
        !last.boot.is_empty() && last.boot != self.mark.boot
    }

    pub fn now(&self) -> Moment {
        Moment { tick: self.tick(), wall: self.clock.wall(), dice: self.ids.bits() }
    }

    pub fn tick(&self) -> u64 {
        self.mark.tick + self.clock.mono().saturating_sub(self.mark.mono)
    }

    /// A tick of this run, with the time of day it was.
    pub fn stamp_of(&self, tick: u64) -> Stamp {
        let now = self.now();
        let ago = i64::try_from(now.tick.saturating_sub(tick)).unwrap_or(i64::MAX);
        Stamp { tick, wall: now.wall.saturating_sub(ago) }
    }

    /// What a commit writes down.
    pub fn mark(&self) -> ClockMark {
        let mono = self.clock.mono();
        ClockMark {
            boot: self.mark.boot.clone(),
            tick: self.mark.tick + mono.saturating_sub(self.mark.mono),
            mono,
        }
    }

    pub fn bits(&self) -> u64 {
        self.ids.bits()
    }
}
