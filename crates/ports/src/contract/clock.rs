//! What every clock must do.

use crate::clock::Clock;

/// Makes the clocks that a case needs.
pub trait ClockFactory {
    fn clock(&mut self) -> Box<dyn Clock>;
    /// At least so many milliseconds pass, on every clock it made.
    fn pass(&mut self, ms: u64);
}

/// One `#[test]` for each case, against what the factory makes.
#[macro_export]
macro_rules! clock_contract {
    ($factory:expr) => {
        $crate::clock_contract!(@each $factory;
            the_monotonic_clock_never_goes_back,
            what_passes_is_on_both_clocks,
            the_boot_stays_the_same,
            two_clocks_of_one_machine_agree,
            the_wall_is_in_milliseconds_since_the_epoch,
        );
    };
    (@each $factory:expr; $($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                $crate::contract::clock::$case(&mut $factory);
            }
        )+
    };
}

pub fn the_monotonic_clock_never_goes_back(factory: &mut dyn ClockFactory) {
    let clock = factory.clock();
    let mut last = clock.mono();
    for _ in 0..10_000 {
        let now = clock.mono();
        assert!(now >= last, "{now} after {last}");
        last = now;
    }
}

pub fn what_passes_is_on_both_clocks(factory: &mut dyn ClockFactory) {
    let clock = factory.clock();
    let (mono, wall) = (clock.mono(), clock.wall());
    factory.pass(20);
    assert!(clock.mono() >= mono + 20);
    assert!(clock.wall() >= wall + 20);
}

pub fn the_boot_stays_the_same(factory: &mut dyn ClockFactory) {
    let clock = factory.clock();
    let boot = clock.boot();
    assert!(!boot.is_empty());
    factory.pass(5);
    assert_eq!(clock.boot(), boot);
}

pub fn two_clocks_of_one_machine_agree(factory: &mut dyn ClockFactory) {
    let (first, second) = (factory.clock(), factory.clock());
    let (before, between, after) = (first.mono(), second.mono(), first.mono());
    assert!(before <= between && between <= after, "{before} {between} {after}");
    assert_eq!(first.boot(), second.boot());
}

pub fn the_wall_is_in_milliseconds_since_the_epoch(factory: &mut dyn ClockFactory) {
    let wall = factory.clock().wall();
    let (year_2020, year_2200) = (1_577_836_800_000, 7_258_118_400_000);
    assert!((year_2020..year_2200).contains(&wall), "{wall}");
}
