//! Every seeded bug must be found, and every promise must have a bug that is missed when it is not checked.

use std::collections::BTreeMap;

use homing_core::bugs::{Bug, set};

use crate::invariants::Violation;
use crate::pairs::noise_does_not_matter;
use crate::plan::Plan;
use crate::shrink::breaks;

/// Promises that another one implies: a bug that breaks them breaks the other first.
pub const IMPLIED: [(u8, &str); 1] =
    [(4, "a completion without a record is one that the host's record does not show: 3")];

/// Histories that are tried for one bug.
pub const HISTORIES: u64 = 2_000;

/// The first seed at which a bug shows, and how.
pub fn find(bug: Bug, off: Option<u8>, histories: u64) -> Option<(u64, Violation)> {
    set(Some(bug));
    let found = (0..histories).find_map(|seed| {
        let run = || {
            let broken = breaks(&Plan::new(seed), off);
            broken.or_else(|| noise_does_not_matter(seed, off).err())
        };
        // A bug may also trip over an assertion of our own: that is found, too.
        match std::panic::catch_unwind(run) {
            Ok(broken) => broken.map(|violation| (seed, violation)),
            Err(_) => {
                Some((seed, Violation { promise: 0, what: "an assertion failed".to_owned() }))
            }
        }
    });
    set(None);
    found
}

/// Looks for all of them; the report, and whether all is well.
pub fn report(bugs: &[Bug], promises: std::ops::RangeInclusive<u8>) -> (String, bool) {
    std::panic::set_hook(Box::new(|_| {}));
    let mut text = String::new();
    let mut well = true;
    let mut by_promise: BTreeMap<u8, Vec<Bug>> = BTreeMap::new();
    for bug in bugs {
        match find(*bug, None, HISTORIES) {
            Some((seed, violation)) => {
                text.push_str(&format!(
                    "found  {bug:?} ({bug}): promise {} at seed {seed}\n",
                    violation.promise
                ));
                by_promise.entry(violation.promise).or_default().push(*bug);
            }
            None => {
                well = false;
                text.push_str(&format!("MISSED {bug:?} ({bug}) in {HISTORIES} histories\n"));
            }
        }
    }
    for promise in promises {
        if let Some((_, why)) = IMPLIED.iter().find(|(implied, _)| *implied == promise) {
            text.push_str(&format!("promise {promise}: implied: {why}\n"));
            continue;
        }
        let alone = by_promise
            .get(&promise)
            .into_iter()
            .flatten()
            .find(|bug| find(**bug, Some(promise), HISTORIES / 4).is_none());
        match alone {
            Some(bug) => text.push_str(&format!(
                "promise {promise}: {bug:?} is missed when it is not checked\n"
            )),
            None => {
                text.push_str(&format!("promise {promise}: no bug depends on its check alone\n"));
            }
        }
    }
    let _ = std::panic::take_hook();
    (text, well)
}

/// All bugs, all promises.
pub fn report_all() -> (String, bool) {
    report(Bug::ALL, 1..=20)
}
