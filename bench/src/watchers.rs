//! Many who watch the journal at once: how late each sees a line, and what they cost those who launch.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use homing_client::Client;
use homing_core::wire::Launch;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::Table;
use crate::daemon::Daemon;
use crate::spread::{Spread, between, now};

const WATCHERS: usize = 1_000;
/// Launches whose first line is looked for at every watcher.
const LAUNCHES: usize = 20;
/// Launches for the throughput.
const MANY: usize = 300;
/// Commands that follow each other.
const ONE_BY_ONE: usize = 100;
const SLOTS: u32 = 8;
/// What is taken for the same, on two cores that a thousand readers share with the daemon.
const SAME: f64 = 1.25;
const GIVE_UP: Duration = Duration::from_secs(60);

/// What the watchers saw: when each of them saw the first line of each task.
#[derive(Default)]
struct Seen {
    accepted: Mutex<BTreeMap<String, Vec<i64>>>,
    watching: AtomicUsize,
}

fn watch(client: Client, seen: Arc<Seen>, after: u64) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut events = client.events(Some(after)).await.unwrap();
        seen.watching.fetch_add(1, Ordering::Relaxed);
        while let Ok(Some(event)) = events.next().await {
            if event.kind == "accepted" {
                let at = now();
                let line: Value = event.json().unwrap();
                let task = line["task"].as_str().unwrap().to_owned();
                seen.accepted.lock().unwrap().entry(task).or_default().push(at);
            }
        }
    })
}

/// The journal's last line now.
async fn head(client: &Client) -> u64 {
    let lines = client.journal(None).await.unwrap();
    String::from_utf8(lines).unwrap().lines().count() as u64
}

fn nothing() -> Launch {
    Launch { command: vec!["true".to_owned()], ..Launch::default() }
}

/// What commands cost.
struct Cost {
    /// Commands a second, until all have ended.
    rate: f64,
    /// Milliseconds of a command in the threads that decide and commit, when one follows the other: then groups are
    /// the same whatever else is slow.
    core: f64,
}

async fn cost(daemon: &Daemon) -> Cost {
    let client = &daemon.client;
    let after = head(client).await;
    let began = Instant::now();
    let launch_all = async {
        for _ in 0..MANY {
            client.launch(&nothing()).await.unwrap();
        }
    };
    let all_ended = async {
        let mut ends = client.telemetry_stream(None, Some(after)).await.unwrap();
        for _ in 0..MANY {
            ends.next().await.unwrap().unwrap();
        }
    };
    tokio::join!(launch_all, all_ended);
    let rate = MANY as f64 / began.elapsed().as_secs_f64();
    let core = daemon.computed_by_core();
    for _ in 0..ONE_BY_ONE {
        let id = client.launch(&nothing()).await.unwrap().id.to_string();
        assert!(client.wait(&id, GIVE_UP).await.unwrap());
    }
    let core = (daemon.computed_by_core() - core) * 1e3 / ONE_BY_ONE as f64;
    Cost { rate, core }
}

/// How late each watcher saw each launch, from the moment it was asked for.
async fn lateness(client: &Client, seen: &Seen) -> Spread {
    let mut asked = BTreeMap::new();
    for _ in 0..LAUNCHES {
        let at = now();
        let id = client.launch(&nothing()).await.unwrap().id.to_string();
        let everybody = async {
            let count = || seen.accepted.lock().unwrap().get(&id).map_or(0, Vec::len);
            while count() < WATCHERS {
                tokio::time::sleep(Duration::from_millis(1)).await; // sleep: leaves the watchers the core
            }
        };
        tokio::time::timeout(GIVE_UP, everybody).await.unwrap();
        client.wait(&id, GIVE_UP).await.unwrap();
        asked.insert(id, at);
    }
    let accepted = seen.accepted.lock().unwrap();
    let late =
        asked.iter().flat_map(|(id, at)| accepted[id].iter().map(|seen| between(*at, *seen)));
    Spread::of(late.collect())
}

pub fn measure(table: &mut Table) {
    let daemon = Daemon::start(SLOTS);
    let (without, late, with, dropped, resident) = crate::block_on(async {
        let client = &daemon.client;
        let without = cost(&daemon).await;
        let after = head(client).await;
        let seen = Arc::new(Seen::default());
        let watchers: Vec<_> =
            (0..WATCHERS).map(|_| watch(client.apart(), Arc::clone(&seen), after)).collect();
        while seen.watching.load(Ordering::Relaxed) < WATCHERS {
            tokio::time::sleep(Duration::from_millis(1)).await; // sleep: leaves the watchers the core
        }
        let late = lateness(client, &seen).await;
        let with = cost(&daemon).await;
        let dropped = watchers.iter().filter(|watcher| watcher.is_finished()).count();
        (without, late, with, dropped, daemon.status("VmRSS:"))
    });
    table.row(
        &format!("{WATCHERS} SSE watchers: launch asked for → its line seen by each"),
        "p99 ≤ 100 ms",
        &format!("{late}; daemon then {:.0} MB", resident as f64 / 1e3),
        Some(late.p99() <= 100.0),
    );
    table.row(
        &format!(
            "commands run a second, without and with {WATCHERS} watchers on the same two cores"
        ),
        "",
        &format!(
            "{:.0} and {:.0}: {:.0} %; {dropped} watchers dropped",
            without.rate,
            with.rate,
            100.0 * with.rate / without.rate
        ),
        None,
    );
    table.row(
        &format!("deciding and committing a command, without and with {WATCHERS} watchers"),
        &format!("none slows the core (≤ ×{SAME})"),
        &format!(
            "{:.2} and {:.2} ms of processor time: ×{:.2}",
            without.core,
            with.core,
            with.core / without.core
        ),
        Some(with.core <= SAME * without.core),
    );
}
