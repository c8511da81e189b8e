//! Runs histories: `homing-sim --histories 200000`, `--seed N` for one with its trace, `--bugs` for the
//! seeded bugs.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use homing_sim::coverage::Coverage;
use homing_sim::history::History;
use homing_sim::invariants::Violation;
use homing_sim::plan::Plan;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let at = args.iter().position(|arg| arg == name)?;
        args.get(at + 1)?.replace('_', "").parse::<u64>().ok()
    };
    if let Some(seed) = number("--seed") {
        return one(seed);
    }
    many(number("--histories").unwrap_or(10_000), number("--from").unwrap_or(0))
}

fn run(seed: u64, coverage: &mut Coverage) -> Result<u64, (Plan, Violation)> {
    let plan = Plan::new(seed);
    let mut history = History::new(&plan, 0);
    match history.run(coverage) {
        Ok(()) => Ok(history.steps),
        Err(violation) => Err((plan.clone(), violation)),
    }
}

fn one(seed: u64) -> ExitCode {
    let plan = Plan::new(seed);
    let mut history = History::new(&plan, 0);
    history.trace = Some(Vec::new());
    let result = history.run(&mut Coverage::default());
    for job in &plan.jobs {
        println!("{} {job:?}", job.id);
    }
    for line in history.trace.unwrap_or_default() {
        println!("{line}");
    }
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(violation) => {
            println!("promise {} broken: {}", violation.promise, violation.what);
            ExitCode::FAILURE
        }
    }
}

fn many(histories: u64, from: u64) -> ExitCode {
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let next = AtomicU64::new(from);
    let results: Vec<(Coverage, u64, Option<(u64, Plan, Violation)>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut coverage = Coverage::default();
                    let mut steps = 0;
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= from + histories {
                            return (coverage, steps, None);
                        }
                        match run(seed, &mut coverage) {
                            Ok(more) => steps += more,
                            Err((plan, violation)) => return (coverage, steps, Some((seed, plan, violation))),
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).collect()
    });
    let mut coverage = Coverage::default();
    let mut steps = 0;
    let mut failed = false;
    for (part, count, violation) in results {
        coverage.join(part);
        steps += count;
        if let Some((seed, _, violation)) = violation {
            failed = true;
            println!("seed {seed}: promise {} broken: {}", violation.promise, violation.what);
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    println!("{histories} histories, {steps} steps, {seconds:.1} s");
    let (pairs, points) = coverage.missing();
    println!("{} pairs visited, {} never: {pairs:?}", coverage.pairs.len(), pairs.len());
    println!("{} crash points hit, missing: {points:?}", coverage.points.len());
    println!("unexpected: {:?}", coverage.unexpected());
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
