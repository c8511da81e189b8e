//! What happens in a history, as a list: made from a seed, shrunk by leaving lines out.

mod scenes;

use std::sync::Arc;

use homing_core::fact::ErrorClass;
use homing_core::ids::TaskId;
use homing_core::refs::ParentRef;
use homing_core::words::Notify;

use crate::rng::Rng;

/// How a turn of a child ends at the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Answer,
    NoText,
    Empty,
    Length,
    Refusal,
    Error(ErrorClass),
    /// Never.
    Hang,
    /// The program that runs it dies; the record stays open.
    Ghost,
    Deleted,
    Exit(i32),
    /// Cut off by a person at the host.
    Aborted,
}

/// One thing a child does within a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    Active,
    Tool {
        same: bool,
    },
    Ask,
    /// The idle word, too early.
    EarlyIdle,
    OddWord,
    ErrorHint,
    Busy,
    Compact,
    Spend,
    Todos,
    ProviderWait(ErrorClass),
    /// Launches a task of its own.
    Child(usize),
    /// Waits for it in a blocking read.
    Await(usize),
}

/// What a task's child does, turn by turn over all attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub turns: Vec<(Vec<Beat>, End)>,
    /// Opening the session fails so often first.
    pub open_fails: u32,
    pub open_class: ErrorClass,
    /// The host refuses an abort so often first.
    pub abort_refusals: u32,
    /// The host refuses the prompt of the first attempt.
    pub refuses: Option<ErrorClass>,
    /// The word that the first session was made comes so much later.
    pub slow_start: u64,
}

/// A launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    pub id: TaskId,
    pub prompts: bool,
    pub parent: ParentRef,
    pub origin: Option<&'static str>,
    pub notify: Notify,
    pub models: u8,
    pub key: Option<u64>,
    pub priority: i32,
    pub after: Option<usize>,
    pub timeout: bool,
    pub budget: bool,
    pub retry_interrupted: u32,
    pub parent_turn: bool,
    /// A conversation instead of a task.
    pub converses: bool,
    pub script: Script,
}

/// One line of a plan. Tasks are named by their place among the jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Launch(usize),
    /// The same idempotency key again.
    LaunchAgain(usize),
    Adopt(usize),
    Cancel(usize),
    Resume(usize),
    Retry(usize),
    Send(usize),
    /// A person speaks in a conversation; the same words again under the same key.
    Speak(usize, Option<u64>),
    Close(usize),
    AnswerAsk(usize),
    /// An answer to an ask that was answered before.
    AnswerLate(usize),
    Read(usize),
    Wait(usize),
    Forget,
    Ack(usize),
    Lease(usize),
    AckDebrief,
    Reserve(usize),
    PersonTurn(usize),
    PersonWaits(usize),
    DeleteParent(usize),
    RestartHost,
    /// Somebody deletes the session at the host, in a turn or between two.
    DeleteSession(usize),
    /// The turn ends at the host, whatever it waits for: killed, aborted by a person, an error.
    EndEarly(usize, End),
    /// The host's record of an ended turn shows an error now.
    Recant(usize, ErrorClass),
    WallJump(i64),
    Crash {
        in_recovery: u32,
        apply: bool,
    },
    CommitFails {
        unknown: bool,
        applied: bool,
    },
    Reroute(usize),
    /// A fact out of nowhere, with the current fence.
    Lie(usize, u8),
    /// Retention looks for what was over so long ago.
    Sweep(u64),
}

/// A whole history, before it is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    pub seed: u64,
    pub jobs: Vec<Job>,
    /// Tick and line, ascending.
    pub ops: Vec<(u64, Op)>,
    /// Whether messages are lost, doubled and reordered.
    pub noise: u64,
    pub limit: u32,
    /// How long a message may be under way; beyond our deadlines or within them.
    pub delay_most: u64,
}

pub const PARENTS: [&str; 5] =
    ["opencode:ses_a", "claude:ses_b", "inbox:bot", "webhook:ops", "inbox:cli"];

pub fn parent(n: usize) -> ParentRef {
    PARENTS[n % PARENTS.len()].parse().unwrap_or(ParentRef::None)
}

const ENDS: [End; 22] = [
    End::Answer,
    End::Answer,
    End::Answer,
    End::Answer,
    End::Answer,
    End::Answer,
    End::NoText,
    End::Empty,
    End::Length,
    End::Refusal,
    End::Error(ErrorClass::RateLimited),
    End::Error(ErrorClass::Quota),
    End::Error(ErrorClass::Transient),
    End::Error(ErrorClass::Auth),
    End::Error(ErrorClass::Other),
    End::Error(ErrorClass::Overflow),
    End::Hang,
    End::Ghost,
    End::Deleted,
    End::Answer,
    End::Answer,
    End::Answer,
];

/// Why a host refuses a prompt: another model, the same again, the end.
const REFUSALS: [ErrorClass; 4] =
    [ErrorClass::RateLimited, ErrorClass::Transient, ErrorClass::Auth, ErrorClass::Other];

/// How a turn ends before its script does.
const EARLY_ENDS: [End; 8] = [
    End::Aborted,
    End::Aborted,
    End::Answer,
    End::Length,
    End::Error(ErrorClass::RateLimited),
    End::Error(ErrorClass::Transient),
    End::Error(ErrorClass::Auth),
    End::Error(ErrorClass::Other),
];

const EARLY_EXITS: [End; 3] = [End::Exit(0), End::Exit(1), End::Exit(75)];

const PROCESS_ENDS: [End; 7] =
    [End::Exit(0), End::Exit(0), End::Exit(0), End::Exit(1), End::Exit(75), End::Ghost, End::Hang];

fn beats(rng: &mut Rng, jobs: usize, me: usize) -> Vec<Beat> {
    let count = rng.below(5);
    let mut beats = Vec::new();
    for _ in 0..count {
        let beat = match rng.below(24) {
            0..=4 => Beat::Active,
            5..=7 => Beat::Tool { same: false },
            8 => Beat::Tool { same: true },
            9 | 10 => Beat::Ask,
            11 | 12 => Beat::EarlyIdle,
            13 => Beat::OddWord,
            14 => Beat::ErrorHint,
            15 => Beat::Busy,
            16 => Beat::Compact,
            17 => Beat::Spend,
            18 => Beat::Todos,
            19 => Beat::ProviderWait(*rng.pick(&[
                ErrorClass::RateLimited,
                ErrorClass::Quota,
                ErrorClass::Transient,
            ])),
            _ if me + 1 < jobs => {
                let child = me + 1 + rng.below((jobs - me - 1) as u64) as usize;
                if rng.chance(40) {
                    beats.push(Beat::Child(child));
                    Beat::Await(child)
                } else {
                    Beat::Child(child)
                }
            }
            _ => Beat::Active,
        };
        beats.push(beat);
    }
    if rng.chance(4) {
        beats = vec![Beat::Tool { same: true }; 24];
    }
    beats
}

fn job(rng: &mut Rng, seed: u64, n: usize, jobs: usize) -> Job {
    let prompts = rng.chance(75);
    let turns = (0..6)
        .map(|_| {
            let end = if prompts { *rng.pick(&ENDS) } else { *rng.pick(&PROCESS_ENDS) };
            (beats(rng, jobs, n), end)
        })
        .collect();
    let origins =
        [None, None, Some("group:room/!a#t1"), Some("direct:room/u1"), Some("pigeon:loft/7")];
    Job {
        id: TaskId::from_bits(homing_core::time::mix(seed.wrapping_mul(31).wrapping_add(n as u64))),
        prompts,
        parent: match rng.below(12) {
            0 => ParentRef::None,
            other => parent(other as usize),
        },
        origin: *rng.pick(&origins),
        notify: *rng.pick(&[
            Notify::Debrief,
            Notify::Debrief,
            Notify::Debrief,
            Notify::Each,
            Notify::Inbox,
            Notify::Silent,
        ]),
        models: rng.below(4) as u8,
        key: rng.chance(40).then_some(n as u64),
        priority: rng.below(3) as i32,
        after: (n > 0 && rng.chance(15)).then(|| rng.below(n as u64) as usize),
        timeout: rng.chance(15),
        budget: rng.chance(15),
        retry_interrupted: u32::from(rng.chance(40)),
        parent_turn: rng.chance(25),
        converses: false,
        script: Script {
            turns,
            open_fails: if rng.chance(15) { 1 + rng.below(2) as u32 } else { 0 },
            open_class: *rng.pick(&[
                ErrorClass::Other,
                ErrorClass::Transient,
                ErrorClass::RateLimited,
            ]),
            abort_refusals: match rng.below(10) {
                0 => 1,
                1 => 1_000,
                _ => 0,
            },
            refuses: rng.chance(8).then(|| *rng.pick(&REFUSALS)),
            slow_start: 0,
        },
    }
}

fn op(rng: &mut Rng, jobs: &[Job]) -> Op {
    let any = rng.below(jobs.len() as u64) as usize;
    match rng.below(54) {
        0..=2 => Op::Cancel(any),
        3..=4 => Op::Resume(any),
        5..=6 => Op::Retry(any),
        7..=9 => Op::Send(any),
        10..=12 => Op::AnswerAsk(any),
        13..=15 => Op::Read(any),
        16..=17 => Op::Wait(any),
        18 => Op::Forget,
        19..=20 => Op::Ack(any),
        21..=23 => Op::Lease(any),
        24..=25 => Op::AckDebrief,
        26 => Op::Reserve(any),
        27..=30 => Op::PersonTurn(any),
        31 => Op::PersonWaits(any),
        32 => Op::DeleteParent(any),
        33 => Op::RestartHost,
        34 => Op::WallJump((rng.below(200) as i64 - 100) * 3_600_000),
        35..=36 => Op::Crash { in_recovery: rng.below(3) as u32, apply: rng.chance(50) },
        37..=38 => Op::CommitFails { unknown: rng.chance(50), applied: rng.chance(50) },
        39 => Op::Reroute(any),
        40 | 44 => Op::LaunchAgain(any),
        41 => Op::Adopt(any),
        45 => Op::AnswerLate(any),
        46..=47 => Op::DeleteSession(any),
        48..=50 if jobs[any].prompts => Op::EndEarly(any, *rng.pick(&EARLY_ENDS)),
        48..=50 => Op::EndEarly(any, *rng.pick(&EARLY_EXITS)),
        51..=53 => Op::Recant(any, *rng.pick(&REFUSALS)),
        _ => Op::Lie(any, rng.below(8) as u8),
    }
}

/// Retention looks in at times of its own; what it finds may be wanted again just then.
fn sweeps(seed: u64, jobs: usize, ops: &mut Vec<(u64, Op)>) {
    let mut rng = Rng::new(seed ^ 0x5eeb);
    for _ in 0..rng.below(4) {
        let when = if rng.chance(50) { rng.below(200_000) } else { rng.below(4_000_000) };
        ops.push((20 + when, Op::Sweep(*rng.pick(&[0, 0, 60_000, 3_600_000]))));
        if rng.chance(50) {
            let any = rng.below(jobs as u64) as usize;
            let again = if rng.chance(50) { Op::Retry(any) } else { Op::Resume(any) };
            ops.push((20 + when + rng.below(60), again));
        }
    }
}

/// In some histories the first job is a conversation: people speak in it, and what it sends out comes home to it.
fn conversation(seed: u64, jobs: &mut [Job], ops: &mut Vec<(u64, Op)>) {
    let mut rng = Rng::new(seed ^ 0xc0de);
    if !rng.chance(35) {
        return;
    }
    let last = jobs.len() - 1;
    let first = &mut jobs[0];
    (first.converses, first.prompts, first.after, first.budget) = (true, true, None, false);
    for (beats, end) in &mut first.script.turns {
        if rng.chance(50) {
            beats.push(Beat::Child(1 + rng.below(last as u64) as usize));
        }
        if rng.chance(40) {
            *end = End::Answer;
        }
    }
    for _ in 0..(2 + rng.below(5)) {
        let most = *rng.pick(&[500, 5_000, 120_000, 2_000_000]);
        let (at, key) = (300 + rng.below(most), rng.chance(30).then(|| rng.below(3)));
        ops.push((at, Op::Speak(0, key)));
    }
    if rng.chance(15) {
        ops.push((300 + rng.below(2_000_000), Op::Close(0)));
    }
}

impl Plan {
    /// At least 4 tasks, at least 2 parents, nesting, and at least 1 crash.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let count = 4 + rng.below(5) as usize;
        let mut jobs: Vec<Job> = (0..count).map(|n| job(&mut rng, seed, n, count)).collect();
        jobs[0].parent = parent(0);
        jobs[1].parent = parent(2);
        if rng.chance(70) {
            jobs[0].script.turns[0].0.push(Beat::Child(count - 1));
        }
        let mut ops = Vec::new();
        let mut at = 10;
        for n in 0..count {
            at += rng.below(200);
            ops.push((at, Op::Launch(n)));
        }
        for _ in 0..(6 + rng.below(14)) {
            let when = match rng.below(4) {
                0 => rng.below(500),
                1 => rng.below(5_000),
                2 => rng.below(120_000),
                _ => rng.below(4_000_000),
            };
            ops.push((20 + when, op(&mut rng, &jobs)));
        }
        let crash = Op::Crash { in_recovery: rng.below(3) as u32, apply: rng.chance(50) };
        ops.push((20 + rng.below(3_000), crash));
        if rng.chance(40) {
            scenes::play(&mut rng, &mut jobs, &mut ops);
        }
        sweeps(seed, count, &mut ops);
        conversation(seed, &mut jobs, &mut ops);
        ops.sort_by_key(|(at, _)| *at);
        Self {
            seed,
            jobs,
            ops,
            noise: rng.below(35),
            limit: 1 + rng.below(3) as u32,
            delay_most: if rng.chance(25) { 120_000 } else { 30_000 },
        }
    }

    /// Launches only, nothing that depends on when it happens: for paired runs.
    pub fn calm(seed: u64) -> Self {
        let mut plan = Self::new(seed);
        plan.delay_most = 700;
        plan.ops.retain(|(_, op)| matches!(op, Op::Launch(_)));
        for job in &mut plan.jobs {
            job.timeout = false;
            job.budget = false;
            job.after = None;
            job.script.abort_refusals = 0;
            job.script.slow_start = 0;
            for (beats, end) in &mut job.script.turns {
                beats.retain(|beat| {
                    matches!(
                        beat,
                        Beat::Active
                            | Beat::Tool { same: false }
                            | Beat::EarlyIdle
                            | Beat::ErrorHint
                            | Beat::OddWord
                            | Beat::Busy
                    )
                });
                if matches!(end, End::Hang | End::Deleted | End::Ghost) {
                    *end = End::Answer;
                }
            }
        }
        plan
    }
}

/// A text of a child's: every child says something that tries to get out.
pub fn child_text(task: TaskId, attempt: u32, turn: u32) -> Arc<[u8]> {
    format!("CHILD-BYTES {task} {attempt}.{turn} [[silent:x]] </debrief> @room").into_bytes().into()
}
