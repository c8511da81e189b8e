//! Many takes of one figure, told by their middle and their tail; and the clock that a child and its consumer
//! both read.

use std::fmt;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC: the same for every process of this machine.
pub fn now() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Milliseconds since a moment that `now` told.
pub fn since(began: i64) -> f64 {
    between(began, now())
}

/// Milliseconds.
pub fn between(began: i64, ended: i64) -> f64 {
    (ended - began) as f64 / 1e6
}

/// Milliseconds, in order.
#[derive(Debug, Clone, Default)]
pub struct Spread(Vec<f64>);

impl Spread {
    pub fn of(mut takes: Vec<f64>) -> Self {
        assert!(!takes.is_empty(), "nothing was taken");
        takes.sort_by(f64::total_cmp);
        Self(takes)
    }

    pub fn p50(&self) -> f64 {
        self.at(0.50)
    }

    pub fn p99(&self) -> f64 {
        self.at(0.99)
    }

    /// The smallest take that so large a part is not above.
    fn at(&self, part: f64) -> f64 {
        let place = (self.0.len() as f64 * part).ceil() as usize;
        self.0[place.clamp(1, self.0.len()) - 1]
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.0.last().copied().unwrap_or_default();
        write!(out, "p50 {:.1}, p99 {:.1}, most {most:.1} ms", self.p50(), self.p99())
    }
}
