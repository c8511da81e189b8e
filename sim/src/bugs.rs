//! Every seeded bug must be found, and every promise must have a bug that is missed when it is not checked.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// A bug that is missed without its check is looked for this much longer than it took to find it.
fn alone(seed: u64) -> u64 {
    (HISTORIES / 4).max(4 * (seed + 1))
}

/// What is done by all cores, in the order of what it is done with.
fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let one = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return done;
            };
            done.push((at, work(item)));
        }
    };
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(one)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, done)| done).collect()
}

/// What shows that a promise's check is needed.
enum Need {
    Implied(&'static str),
    Shown(Bug),
    NotShown,
}

/// Looks for all of them; the report, and whether all is well: every bug is found, and every promise that no
/// other implies has one that is missed when it is not checked.
pub fn report(bugs: &[Bug], promises: std::ops::RangeInclusive<u8>) -> (String, bool) {
    std::panic::set_hook(Box::new(|_| {}));
    let mut text = String::new();
    let mut well = true;
    let mut by_promise: BTreeMap<u8, Vec<(Bug, u64)>> = BTreeMap::new();
    let found = on_all_cores(bugs, |bug| find(*bug, None, HISTORIES));
    for (bug, found) in bugs.iter().zip(found) {
        match found {
            Some((seed, Violation { promise, .. })) => {
                text.push_str(&format!(
                    "found  {bug:?} ({bug}): promise {promise} at seed {seed}\n"
                ));
                by_promise.entry(promise).or_default().push((*bug, seed));
            }
            None => {
                well = false;
                text.push_str(&format!("MISSED {bug:?} ({bug}) in {HISTORIES} histories\n"));
            }
        }
    }
    let promises: Vec<u8> = promises.collect();
    let needs = on_all_cores(&promises, |promise| need(*promise, &by_promise));
    for (promise, need) in promises.iter().zip(needs) {
        let said = match need {
            Need::Implied(why) => format!("implied: {why}"),
            Need::Shown(bug) => format!("{bug:?} is missed when it is not checked"),
            Need::NotShown => {
                well = false;
                "NO BUG depends on its check alone".to_owned()
            }
        };
        text.push_str(&format!("promise {promise}: {said}\n"));
    }
    let _ = std::panic::take_hook();
    (text, well)
}

fn need(promise: u8, by_promise: &BTreeMap<u8, Vec<(Bug, u64)>>) -> Need {
    if let Some((_, why)) = IMPLIED.iter().find(|(implied, _)| *implied == promise) {
        return Need::Implied(why);
    }
    let bugs = by_promise.get(&promise).into_iter().flatten();
    let missed = |(bug, seed): &&(Bug, u64)| find(*bug, Some(promise), alone(*seed)).is_none();
    bugs.rev().find(missed).map_or(Need::NotShown, |(bug, _)| Need::Shown(*bug))
}

/// All bugs, all promises.
pub fn report_all() -> (String, bool) {
    report(Bug::ALL, 1..=20)
}
