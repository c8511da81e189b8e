//! A daemon that is killed with SIGKILL while tasks start, run and end. What is counted comes from witnesses
//! outside its ledger: each child appends a line of its own to a file, and the consumer keeps what it was told.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use homing_core::ids::TaskId;
use homing_core::wire::{Delivered, Launch};
use homing_shim::claim;
use homing_shim::run_dir::RunDir;
use rustix::process::Signal;
use tokio::sync::Notify;

use super::{Stage, door, passes, text};
use crate::daemon;
use crate::home::Home;
use crate::out;
use crate::verbs::demo::Crash;

/// Appends who it is, takes its time, and says its number.
const CHILD: &str = r#"echo "$HOMING_TASK $HOMING_ATTEMPT $1" >> "$2"; sleep "$3"; echo "$1""#;
const CONSUMER: &str = "witness";
/// With nothing handed back for so long, something is lost.
const STUCK: Duration = Duration::from_secs(120);

/// What the witnesses saw so far.
#[derive(Default)]
struct Seen {
    launched: RefCell<BTreeMap<u32, TaskId>>,
    /// What each task was told under.
    told: RefCell<BTreeMap<(TaskId, u32), BTreeSet<String>>>,
    kills: Cell<u32>,
    shims: Cell<u32>,
    moved: Notify,
}

impl Seen {
    fn progress(&self) -> usize {
        self.launched.borrow().len() + self.handed()
    }

    fn handed(&self) -> usize {
        self.told.borrow().keys().map(|(task, _)| task).collect::<BTreeSet<_>>().len()
    }

    async fn reaches(&self, wanted: usize) {
        while self.progress() < wanted {
            self.moved.notified().await;
        }
    }
}

pub fn crash(asked: &Crash) -> anyhow::Result<u8> {
    let stage = Stage::new()?;
    let starts = stage.path("starts");
    let began = Instant::now();
    let seen = Seen::default();
    let running = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    running.block_on(async {
        let all = usize::try_from(asked.tasks).unwrap_or(usize::MAX);
        let over = async {
            loop {
                let before = seen.handed();
                if before >= all {
                    return Ok(());
                }
                let moved = tokio::time::timeout(STUCK, seen.moved.notified()).await;
                if moved.is_err() && seen.handed() == before {
                    return anyhow::Ok(());
                }
            }
        };
        tokio::select! {
            done = over => done,
            failed = launch_all(&stage.home, asked.tasks, &starts, &seen) => failed,
            failed = consume(&stage.home, &seen) => failed,
            failed = kill(&stage.home, asked, &seen) => failed,
        }
    })?;
    let tally = Tally::of(&seen, &std::fs::read_to_string(&starts).unwrap_or_default());
    out::write(tally.words(&seen, began.elapsed()).as_bytes())?;
    Ok(u8::from(!tally.is_well(asked.tasks)))
}

/// Each launch has a key, so that one whose answer was cut off is asked again and is the same task.
async fn launch_all(home: &Home, count: u32, starts: &Path, seen: &Seen) -> anyhow::Result<()> {
    for n in 1..=count {
        let seconds = format!("0.{:02}", n * 7 % 40);
        let words = ["sh", "-c", CHILD, "child", &n.to_string(), &text(starts), &seconds];
        let launch = Launch {
            command: words.map(str::to_owned).to_vec(),
            name: Some(format!("child {n}")),
            parent: Some(format!("inbox:{CONSUMER}")),
            key: Some(format!("child-{n}")),
            ..Launch::default()
        };
        let accepted = loop {
            match door(home).await?.launch(&launch).await {
                Ok(accepted) => break accepted,
                Err(error) if passes(&error) => tokio::task::yield_now().await,
                Err(error) => return Err(error.into()),
            }
        };
        seen.launched.borrow_mut().insert(n, accepted.id);
        seen.moved.notify_waiters();
    }
    std::future::pending().await
}

/// Keeps what it is told before it acknowledges it, as a consumer must.
async fn consume(home: &Home, seen: &Seen) -> anyhow::Result<()> {
    loop {
        let client = door(home).await?;
        let mut deliveries = match client.deliveries(CONSUMER).await {
            Ok(deliveries) => deliveries,
            Err(error) if passes(&error) => continue,
            Err(error) => return Err(error.into()),
        };
        while let Ok(Some(event)) = deliveries.next().await {
            let Ok(delivered) = event.json::<Delivered>() else {
                continue;
            };
            let key = delivered.key.to_string();
            for notice in delivered.notices {
                seen.told.borrow_mut().entry(notice).or_default().insert(key.clone());
            }
            // Cut off: it comes again under the same key.
            let acked = client.ack(&key).await;
            seen.moved.notify_waiters();
            if acked.is_err() {
                break;
            }
        }
    }
}

/// Spread over the whole run: one kill each time so much more has happened.
async fn kill(home: &Home, asked: &Crash, seen: &Seen) -> anyhow::Result<()> {
    let whole = 2 * usize::try_from(asked.tasks).unwrap_or(usize::MAX);
    let times = asked.kills.max(asked.shims);
    for n in 0..times {
        let step = usize::try_from(n).unwrap_or(usize::MAX);
        seen.reaches(whole * step / usize::try_from(times)?.max(1)).await;
        if n < asked.shims && kill_a_shim(home) {
            seen.shims.set(seen.shims.get() + 1);
        }
        if n < asked.kills {
            door(home).await?;
            if let Some(process) = daemon::Note::read(home)?.and_then(|note| note.process()) {
                process.signal(Signal::KILL)?;
                seen.kills.set(seen.kills.get() + 1);
            }
        }
    }
    std::future::pending().await
}

/// One that supervises a command now, if any does.
fn kill_a_shim(home: &Home) -> bool {
    let Ok(runs) = std::fs::read_dir(home.folder("runs")) else {
        return false;
    };
    let held = runs.flatten().filter_map(|run| claim::find(&RunDir::at(run.path())).ok().flatten());
    let shim = held.filter(|claim| claim.held).map(|claim| claim.shim).next();
    shim.is_some_and(|shim| shim.signal(Signal::KILL).is_ok())
}

/// What it comes to.
struct Tally {
    launched: usize,
    handed: usize,
    lost: usize,
    twice: usize,
    started: usize,
    started_twice: usize,
}

impl Tally {
    fn of(seen: &Seen, starts: &str) -> Self {
        let launched: BTreeSet<TaskId> = seen.launched.borrow().values().copied().collect();
        let told = seen.told.borrow();
        let handed: BTreeSet<TaskId> = told.keys().map(|(task, _)| *task).collect();
        let mut lines: BTreeMap<String, u32> = BTreeMap::new();
        for line in starts.lines() {
            let attempt: Vec<&str> = line.split(' ').take(2).collect();
            *lines.entry(attempt.join(" ")).or_default() += 1;
        }
        Self {
            launched: launched.len(),
            handed: handed.intersection(&launched).count(),
            lost: launched.difference(&handed).count(),
            twice: told.values().filter(|keys| keys.len() > 1).count(),
            started: lines.len(),
            started_twice: lines.values().filter(|count| **count > 1).count(),
        }
    }

    fn is_well(&self, asked: u32) -> bool {
        let all = usize::try_from(asked).unwrap_or(usize::MAX);
        let whole = self.launched == all && self.handed == all;
        whole && self.lost + self.twice + self.started_twice == 0
    }

    fn words(&self, seen: &Seen, took: Duration) -> String {
        let Self { launched, handed, lost, twice, started, started_twice } = self;
        let (kills, shims) = (seen.kills.get(), seen.shims.get());
        format!(
            "{kills} kills of the daemon, {shims} of shims, in {:.1} s\n\
             {started} commands started, {started_twice} started twice\n\
             {launched} launched, {handed} handed back, {lost} lost, {twice} twice\n",
            took.as_secs_f64()
        )
    }
}
