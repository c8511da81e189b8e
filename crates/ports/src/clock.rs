//! The seams to time and chance.

/// Both clocks, and which boot the first one belongs to.
pub trait Clock: Send + Sync {
    /// Milliseconds of CLOCK_MONOTONIC: stands still while the machine is suspended.
    fn mono(&self) -> u64;

    /// Milliseconds since the epoch.
    fn wall(&self) -> i64;

    /// The same for as long as `mono` goes on counting.
    fn boot(&self) -> String;
}

/// Random bits, for ids and jitter.
pub trait Ids: Send + Sync {
    fn bits(&self) -> u64;
}
