//! Scenes that chance alone plays too seldom: a plan may have one of them worked into it.

use homing_core::fact::ErrorClass;
use homing_core::words::Notify;

use super::{Beat, End, Job, Op, parent};
use crate::rng::Rng;

type Ops = Vec<(u64, Op)>;

/// Works one scene into a plan's jobs and lines.
pub fn play(rng: &mut Rng, jobs: &mut [Job], ops: &mut Ops) {
    match rng.below(5) {
        0 => shared_budget(rng, jobs, ops),
        1 => stubborn(rng, jobs, ops),
        2 => slow_start(rng, jobs, ops),
        3 => one_receiver(jobs),
        _ => idle_above(rng, jobs, ops),
    }
}

/// All is told to one receiver, end by end: what it refused and is to have again meets what is on its way.
fn one_receiver(jobs: &mut [Job]) {
    for job in jobs {
        (job.parent, job.notify) = (parent(3), Notify::Each);
    }
}

/// The first job launches the last one, first thing.
fn above_and_below(jobs: &mut [Job]) -> Option<(&mut Job, &mut Job)> {
    let below = jobs.len() - 1;
    let (above, others) = jobs.split_first_mut()?;
    let child = others.last_mut()?;
    above.prompts = true;
    above.timeout = false;
    above.script.open_fails = 0;
    above.script.refuses = None;
    above.script.turns[0].0 = vec![Beat::Child(below)];
    if matches!(above.script.turns[0].1, End::Exit(_)) {
        above.script.turns[0].1 = End::Answer;
    }
    child.after = None;
    Some((above, child))
}

/// A child spends on the account of the one above, which may have ended, pause or wait by then.
fn shared_budget(rng: &mut Rng, jobs: &mut [Job], ops: &mut Ops) {
    let last = jobs.len() - 1;
    let Some((above, child)) = above_and_below(jobs) else {
        return;
    };
    above.budget = true;
    above.timeout = rng.chance(25);
    above.notify = if rng.chance(40) { Notify::Inbox } else { above.notify };
    let ends = [
        End::Answer,
        End::Length,
        End::Hang,
        End::Deleted,
        End::Error(ErrorClass::RateLimited),
        End::Error(ErrorClass::Transient),
    ];
    above.script.turns[0].1 = if above.timeout { End::Hang } else { *rng.pick(&ends) };
    child.budget = false;
    child.script.refuses = None;
    child.script.abort_refusals = if rng.chance(60) { 1_000 } else { 0 };
    let tools = [Beat::Tool { same: false }; 12];
    for (beats, _) in child.script.turns.iter_mut().skip(rng.below(2) as usize) {
        beats.splice(0..0, tools.iter().copied());
    }
    let when = 500 + rng.below(60_000);
    let op = match rng.below(4) {
        0 => Op::Cancel(0),
        1 => Op::Retry(last),
        _ => Op::Resume(last),
    };
    ops.push((when, op.clone()));
    ops.push((when + 30_000 + rng.below(60_000), op));
}

/// A turn that no abort ends is given up on; then somebody wants the task to run again.
fn stubborn(rng: &mut Rng, jobs: &mut [Job], ops: &mut Ops) {
    let any = rng.below(jobs.len() as u64) as usize;
    let script = &mut jobs[any].script;
    script.abort_refusals = 1_000;
    script.turns[0].1 = End::Hang;
    ops.push((1_000 + rng.below(20_000), Op::Cancel(any)));
    for again in [60_000, 120_000] {
        let op = if rng.chance(70) { Op::Retry(any) } else { Op::Resume(any) };
        ops.push((again + rng.below(30_000), op));
    }
}

/// A task is cancelled while its session is still being made, and given up on before it is. Somebody wants
/// it to run again, then or while the session that came too late is being stopped.
fn slow_start(rng: &mut Rng, jobs: &mut [Job], ops: &mut Ops) {
    let any = rng.below(jobs.len() as u64) as usize;
    let late = 45_000 + rng.below(60_000);
    jobs[any].script.slow_start = late;
    jobs[any].script.open_fails = 0;
    ops.push((500 + rng.below(10_000), Op::Cancel(any)));
    ops.push((90_000 + rng.below(60_000), Op::Retry(any)));
    if rng.chance(50) {
        jobs[any].script.abort_refusals = 1_000;
        ops.push((late + rng.below(40_000), Op::Retry(any)));
    }
}

/// Something befalls the session of a task that waits for its child.
fn idle_above(rng: &mut Rng, jobs: &mut [Job], ops: &mut Ops) {
    let Some((above, child)) = above_and_below(jobs) else {
        return;
    };
    above.script.turns[0].1 = End::Answer;
    above.models = 1 + rng.below(3) as u8;
    above.retry_interrupted = 1;
    child.script.turns[0] = (Vec::new(), End::Hang);
    let when = 5_000 + rng.below(100_000);
    match rng.below(3) {
        0 => ops.push((when, Op::DeleteSession(0))),
        1 => {
            let class = *rng.pick(&[ErrorClass::RateLimited, ErrorClass::Transient]);
            ops.push((when, Op::Recant(0, class)));
        }
        // The word that it is busy comes, and then that its program died.
        _ => ops.extend([(when, Op::Lie(0, 4)), (when + 20, Op::RestartHost)]),
    }
}
