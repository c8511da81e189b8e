//! The machine's clock and chance. With `processes` and `names`, the only place that calls the operating system.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use homing_core::time::mix;
use homing_ports::clock::{Clock, Ids};
use homing_shim::processes::boot_id;
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, clock_gettime};

pub mod connections;
pub mod names;
pub mod processes;

/// CLOCK_MONOTONIC, the wall clock, and the boot they belong to.
#[derive(Debug)]
pub struct SystemClock {
    boot: String,
}

impl SystemClock {
    pub fn new() -> io::Result<Self> {
        Ok(Self { boot: boot_id()? })
    }
}

impl Clock for SystemClock {
    fn mono(&self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec.cast_unsigned() * 1_000 + now.tv_nsec.cast_unsigned() / 1_000_000
    }

    fn wall(&self) -> i64 {
        wall_ms()
    }

    fn boot(&self) -> String {
        self.boot.clone()
    }
}

/// Milliseconds since the epoch.
/// Microseconds of a clock that never jumps, for whoever measures.
pub(crate) fn mono_us() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
}

pub(crate) fn wall_ms() -> i64 {
    let ms = |span: std::time::Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => ms(since),
        Err(before) => -ms(before.duration()),
    }
}

/// The kernel's random bits.
#[derive(Debug)]
pub struct SystemIds {
    seed: u64,
    fallbacks: AtomicU64,
}

impl SystemIds {
    pub fn new() -> io::Result<Self> {
        Ok(Self { seed: random()?, fallbacks: AtomicU64::new(0) })
    }
}

impl Ids for SystemIds {
    /// A kernel that gave bits once gives them always; should it not, the first ones are spread further.
    fn bits(&self) -> u64 {
        random().unwrap_or_else(|_| {
            mix(self.seed.wrapping_add(self.fallbacks.fetch_add(1, Ordering::Relaxed)))
        })
    }
}

/// Bits from the kernel, which nobody can guess.
pub fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    loop {
        match getrandom(&mut bytes, GetRandomFlags::empty()) {
            Ok(8) => return Ok(u64::from_ne_bytes(bytes)),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(why) => return Err(why.into()),
        }
    }
}
