//! A failing plan made small: lines are left out as long as the same promise stays broken.

use crate::coverage::Coverage;
use crate::history::History;
use crate::invariants::Violation;
use crate::plan::Plan;

/// Steps before the end that a replay shows.
const LINES_SHOWN: usize = 400;
/// Runs are cheap; still they are counted.
const TRIES_MAX: u32 = 600;

/// The promise that a plan breaks, if it does.
pub fn breaks(plan: &Plan, off: Option<u8>) -> Option<Violation> {
    let mut history = History::new(plan, 0);
    history.checker.off = off;
    history.run(&mut Coverage::default()).err()
}

/// The smallest plan found that breaks the same promise.
pub fn shrink(plan: &Plan, promise: u8) -> Plan {
    let mut small = plan.clone();
    let mut tries = 0;
    let fails = |plan: &Plan, tries: &mut u32| {
        *tries += 1;
        *tries <= TRIES_MAX && breaks(plan, None).is_some_and(|found| found.promise == promise)
    };
    let quiet = Plan { noise: 0, ..small.clone() };
    if fails(&quiet, &mut tries) {
        small = quiet;
    }
    let mut changed = true;
    while changed && tries < TRIES_MAX {
        changed = false;
        for at in (0..small.ops.len()).rev() {
            let mut fewer = small.clone();
            fewer.ops.remove(at);
            if fails(&fewer, &mut tries) {
                small = fewer;
                changed = true;
            }
        }
        for job in 0..small.jobs.len() {
            for turn in 0..small.jobs[job].script.turns.len() {
                let mut plainer = small.clone();
                let beats = &mut plainer.jobs[job].script.turns[turn].0;
                if beats.is_empty() {
                    continue;
                }
                beats.clear();
                if fails(&plainer, &mut tries) {
                    small = plainer;
                    changed = true;
                }
            }
        }
    }
    small
}

/// What a person reads: the lines of the plan, then what happened.
pub fn replay(plan: &Plan) -> String {
    let mut history = History::new(plan, 0);
    history.trace = Some(Vec::new());
    let result = history.run(&mut Coverage::default());
    let mut text = String::new();
    for (at, op) in &plan.ops {
        let who = match op {
            crate::plan::Op::Launch(n) => format!("  {}", plan.jobs[*n].id),
            _ => String::new(),
        };
        text.push_str(&format!("plan {at:>9} {op:?}{who}\n"));
    }
    let trace = history.trace.unwrap_or_default();
    let skipped = trace.len().saturating_sub(LINES_SHOWN);
    if skipped > 0 {
        text.push_str(&format!("     … {skipped} steps before these\n"));
    }
    for line in &trace[skipped..] {
        text.push_str(&line.chars().take(300).collect::<String>());
        text.push('\n');
    }
    if let Err(violation) = result {
        text.push_str(&format!("promise {} broken: {}\n", violation.promise, violation.what));
    }
    text
}
