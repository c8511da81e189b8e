//! A child that says when it began, works for a moment, and says when it ended. A program of its own, and a small one:
//! what a child's own start costs is not the runtime's.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Long enough that whoever waits does so when it ends.
const WORKS: Duration = Duration::from_millis(30);

fn now() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn main() {
    let began = now();
    std::thread::sleep(WORKS); // sleep: it stands for work
    println!("{began} {}", now());
}
