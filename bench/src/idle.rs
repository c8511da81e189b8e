//! A daemon with nothing to do: what it holds, and whether it ever wakes. And the size of what people download.

use std::time::Duration;

use homing_core::wire::Launch;

use crate::Table;
use crate::daemon::{Daemon, binary, status};

/// Threads that wait for work end after ten seconds, and after thirty to sixty a daemon lets go of the code that it ran.
const RESTS: Duration = Duration::from_secs(65);
/// How long it is watched doing nothing.
const WATCHED: Duration = Duration::from_secs(20);
const RUNS: usize = 100;

async fn runs(daemon: &Daemon) {
    for _ in 0..RUNS {
        let launch = Launch { command: vec!["true".to_owned()], ..Launch::default() };
        let id = daemon.client.launch(&launch).await.unwrap().id.to_string();
        assert!(daemon.client.wait(&id, Duration::from_secs(60)).await.unwrap());
    }
}

pub fn measure(table: &mut Table) {
    let daemon = Daemon::start(8);
    let fresh = daemon.status("VmRSS:");
    crate::block_on(runs(&daemon));
    let used = daemon.status("VmRSS:");
    std::thread::sleep(RESTS); // sleep: nothing is to happen, so there is nothing to wait for
    let rested = daemon.status("VmRSS:");
    let sight = || {
        let switches = daemon.status_of_threads("voluntary_ctxt_switches:");
        (switches + daemon.status_of_threads("nonvoluntary_ctxt_switches:"), daemon.computed().0)
    };
    let (switches, computed) = sight();
    std::thread::sleep(WATCHED); // sleep: nothing is to happen
    let (switches_after, computed_after) = sight();
    let part = (computed_after - computed) / WATCHED.as_secs_f64();
    let nursery = |name: &str| status(daemon.nursery().unwrap(), name);
    table.row(
        &format!("idle daemon: resident, fresh; after {RUNS} runs; at rest, {} s later", RESTS.as_secs()),
        "< 15 MB",
        &format!(
            "{:.1}; {:.1}; {:.1} MB; beside it the process that makes shims: {:.1} MB, {:.1} not the program's",
            fresh as f64 / 1e3,
            used as f64 / 1e3,
            rested as f64 / 1e3,
            nursery("VmRSS:") as f64 / 1e3,
            nursery("RssAnon:") as f64 / 1e3
        ),
        Some(fresh < 15_000 && rested < 15_000),
    );
    table.row(
        &format!(
            "idle daemon: processor, and times any of its threads woke in {} s",
            WATCHED.as_secs()
        ),
        "≤ 0.1 %, no periodic tick",
        &format!("{:.2} %, {} times", 100.0 * part, switches_after - switches),
        Some(part <= 0.001 && switches_after == switches),
    );
    let size = std::fs::metadata(binary()).unwrap().len();
    table.row(
        "release binary",
        "one file, ≤ 30 MB",
        &format!("{:.1} MB", size as f64 / 1e6),
        Some(size <= 30_000_000),
    );
}
