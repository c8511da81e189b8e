//! The machine's clock and chance, by their contracts.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use homing_hosts::system::{SystemClock, SystemIds};
use homing_ports::clock::Clock;
use homing_ports::contract::clock::ClockFactory;

struct Machine;

impl ClockFactory for Machine {
    fn clock(&mut self) -> Box<dyn Clock> {
        Box::new(SystemClock::new().unwrap())
    }

    fn pass(&mut self, ms: u64) {
        std::thread::sleep(std::time::Duration::from_millis(ms)); // sleep: real time must pass
    }
}

homing_ports::clock_contract!(Machine);

mod ids {
    use super::SystemIds;

    homing_ports::ids_contract!(SystemIds::new().unwrap());
}
