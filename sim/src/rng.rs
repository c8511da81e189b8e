//! Chance from a seed: the same in every run.

/// A small generator.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(homing_core::time::mix(seed ^ 0x5eed))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        homing_core::time::mix(self.0)
    }

    /// 0 to `below` − 1.
    pub fn below(&mut self, below: u64) -> u64 {
        self.bits() % below.max(1)
    }

    /// True in about `percent` of a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }
}
