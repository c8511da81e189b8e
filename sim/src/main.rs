//! Runs histories.
//!
//! - `homing-sim --histories 200000 [--from N]`: that many, on all cores; fails on a broken promise, on a
//!   pair of the table that was never asked, and on a crash point that was never hit.
//! - `homing-sim --seed N`: one, with its plan and trace.
//! - `homing-sim --pair N`: the three runs of a pair whose ends differ, with their traces.
//! - `homing-sim --bugs` (feature `seeded-bugs`): every seeded bug must be found.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use homing_sim::coverage::Coverage;
use homing_sim::history::History;
use homing_sim::invariants::Violation;
use homing_sim::pairs::noise_does_not_matter;
use homing_sim::plan::Plan;
use homing_sim::shrink::{replay, shrink};

/// A shorter history is checked, but another one is run in its place.
const STEPS_MIN: u64 = 50;
/// One history in so many is also run as a pair.
const PAIRED: u64 = 25;
/// Fewer histories than this need not reach every pair.
const ENOUGH: u64 = 50_000;

/// So many of the pairs that were asked least are named.
const RARE: usize = 5;

const USAGE: &str =
    "usage: homing-sim [--histories N] [--from SEED] | --seed N | --pair N | --bugs";

enum Ask {
    Many { histories: u64, from: u64 },
    One(u64),
    Pair(u64),
    Bugs,
}

fn main() -> ExitCode {
    match asked() {
        Some(Ask::Many { histories, from }) => many(histories, from),
        Some(Ask::One(seed)) => one(seed),
        Some(Ask::Pair(seed)) => pair(seed),
        Some(Ask::Bugs) => bugs(),
        None => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn asked() -> Option<Ask> {
    let (mut histories, mut from) = (10_000, 0);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next()?.replace(['_', ','], "").parse::<u64>().ok();
        match arg.as_str() {
            "--histories" => histories = number()?,
            "--from" => from = number()?,
            "--seed" => return Some(Ask::One(number()?)),
            "--pair" => return Some(Ask::Pair(number()?)),
            "--bugs" => return Some(Ask::Bugs),
            _ => return None,
        }
    }
    Some(Ask::Many { histories, from })
}

fn one(seed: u64) -> ExitCode {
    let plan = Plan::new(seed);
    println!("{}", replay(&plan));
    match homing_sim::shrink::breaks(&plan, None) {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::FAILURE,
    }
}

/// The runs of a pair, one after the other, as far as they differ.
fn pair(seed: u64) -> ExitCode {
    match noise_does_not_matter(seed, None) {
        Ok(()) => ExitCode::SUCCESS,
        Err(violation) => {
            println!("promise {} broken: {}", violation.promise, violation.what);
            for (name, trace) in homing_sim::pairs::traces(seed) {
                println!("run {name}:");
                for line in trace {
                    println!("{}", line.chars().take(300).collect::<String>());
                }
            }
            ExitCode::FAILURE
        }
    }
}

#[cfg(feature = "seeded-bugs")]
fn bugs() -> ExitCode {
    let began = Instant::now();
    let (text, well) = homing_sim::bugs::report_all();
    print!("{text}");
    println!("{:.1} s", began.elapsed().as_secs_f64());
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(not(feature = "seeded-bugs"))]
fn bugs() -> ExitCode {
    eprintln!("the seeded bugs are not built in; build with --features seeded-bugs");
    ExitCode::from(2)
}

/// What one worker did, up to the first broken promise.
#[derive(Default)]
struct Work {
    coverage: Coverage,
    steps: u64,
    pairs: u64,
    short: u64,
    broken: Option<(u64, Violation)>,
}

fn run(seed: u64, work: &mut Work) -> Result<(), Violation> {
    let plan = Plan::new(seed);
    let mut history = History::new(&plan, 0);
    history.run(&mut work.coverage)?;
    work.steps += history.steps;
    work.short += u64::from(history.steps < STEPS_MIN);
    if seed.is_multiple_of(PAIRED) {
        work.pairs += 1;
        noise_does_not_matter(seed, None)?;
    }
    Ok(())
}

fn worker(next: &AtomicU64, end: &AtomicU64, stop: &AtomicBool) -> Work {
    let mut work = Work::default();
    while !stop.load(Ordering::Relaxed) {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end.load(Ordering::Relaxed) {
            break;
        }
        let short = work.short;
        if let Err(violation) = run(seed, &mut work) {
            work.broken = Some((seed, violation));
            stop.store(true, Ordering::Relaxed);
        }
        end.fetch_add(work.short - short, Ordering::Relaxed);
    }
    work
}

fn many(histories: u64, from: u64) -> ExitCode {
    let began = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, stop) = (AtomicU64::new(from), AtomicBool::new(false));
    let end = AtomicU64::new(from + histories);
    let works: Vec<Work> = std::thread::scope(|scope| {
        let start = |_| scope.spawn(|| worker(&next, &end, &stop));
        let workers: Vec<_> = (0..threads).map(start).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| failed_worker()))
            .collect()
    });
    let mut total = Work::default();
    for work in works {
        total.coverage.join(work.coverage);
        total.steps += work.steps;
        total.pairs += work.pairs;
        total.short += work.short;
        total.broken = total.broken.or(work.broken);
    }
    let run = next.load(Ordering::Relaxed).min(end.load(Ordering::Relaxed)) - from;
    let done = run - total.short;
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{done} histories and {} of under {STEPS_MIN} steps, {} steps, {} paired, {seconds:.1} s",
        total.short, total.steps, total.pairs
    );
    if let Some((seed, violation)) = total.broken {
        return tell_broken(seed, &violation);
    }
    println!("0 violations");
    tell_coverage(&total.coverage, histories)
}

fn failed_worker() -> Work {
    let violation =
        Violation { promise: 0, what: "a worker panicked; its message stands above".to_owned() };
    Work { broken: Some((0, violation)), ..Work::default() }
}

fn tell_broken(seed: u64, violation: &Violation) -> ExitCode {
    println!("seed {seed}: promise {} broken: {}", violation.promise, violation.what);
    if violation.promise != 14 && violation.promise != 0 {
        println!(
            "the smallest plan found that breaks it:\n{}",
            replay(&shrink(&Plan::new(seed), violation.promise))
        );
    }
    ExitCode::FAILURE
}

fn tell_coverage(coverage: &Coverage, histories: u64) -> ExitCode {
    let (pairs, points) = coverage.missing();
    let unexpected = coverage.unexpected();
    println!(
        "{} pairs of state and event asked; crash points hit: {:?}",
        coverage.pairs.len(),
        coverage.points
    );
    let mut rare: Vec<_> = coverage.pairs.iter().map(|(pair, times)| (*times, *pair)).collect();
    rare.sort_unstable();
    for (times, (state, event)) in rare.iter().take(RARE) {
        println!("in {times} histories: {state} × {event}");
    }
    for (state, event) in &pairs {
        println!("never asked: {state} × {event}");
    }
    for (state, event) in &unexpected {
        println!("asked, though it is listed as impossible: {state} × {event}");
    }
    for point in &points {
        println!("never hit: a crash {point:?}");
    }
    let complete = pairs.is_empty() && points.is_empty() && unexpected.is_empty();
    if complete || histories < ENOUGH { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
