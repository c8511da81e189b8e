//! Promises are seen to break: one seeded bug each. `./check` builds with the feature for it.

use homing_core::bugs::Bug;
use stateright::{Checker, HasDiscoveries, Model};

use crate::promises::{
    ACCEPTED, ALL_END, ALL_TOLD, AT_REST, CANCEL_LOSES, CANCEL_WINS, DURABLE_FIRST, ENDED_RUNS_NOT,
    ONE_END, ONE_KEY, ONE_SLOT, SLOT_FREE,
};

const BREAKS: [(Bug, &str); 13] = [
    (Bug::AnsweredEarly, ACCEPTED),
    (Bug::KeyIgnored, ONE_KEY),
    (Bug::RowForgotten, ONE_END),
    (Bug::ActsEarly, DURABLE_FIRST),
    (Bug::OutboxForgotten, DURABLE_FIRST),
    (Bug::AbortOvertakes, ENDED_RUNS_NOT),
    (Bug::OneTooMany, ONE_SLOT),
    (Bug::CancelLoses, CANCEL_WINS),
    (Bug::CancelLies, CANCEL_LOSES),
    (Bug::NoTelemetry, AT_REST),
    (Bug::NoNotice, ALL_TOLD),
    (Bug::NeverPumped, ALL_END),
    (Bug::NeverPumped, SLOT_FREE),
];

#[test]
fn seeded_bugs_break_the_promises_they_should() {
    for (bug, promise) in BREAKS {
        let mut small = crate::small(1);
        small.bug = Some(bug);
        let until = HasDiscoveries::AnyOf([promise].into());
        let checker = small.checker().threads(2).finish_when(until).spawn_dfs().join();
        let found = checker.discovery(promise);
        println!("{bug:?}: {promise}: {} states", checker.unique_state_count());
        assert!(found.is_some(), "{bug:?} ({bug}) does not break: {promise}");
    }
}
