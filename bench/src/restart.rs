//! A restart with many living tasks, in a process of its own: how long until it serves, and what it holds
//! in memory then.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use homing_core::fact::Fact;
use homing_core::time::mix;
use homing_runtime::codec;
use homing_runtime::engine::Engine;

use crate::{Table, busy, crowd, mark, open};

/// The word by which the bench calls itself.
pub const CHILD: &str = "--restarted";

const MANY: u64 = 100_000;
/// How often it restarts; the quickest counts, the slowest is told.
const TAKES: usize = 3;

/// Restarts on the store in `dir`, serves, and prints what was measured.
pub fn child(dir: &Path) {
    let began = Instant::now();
    let mut store = open(dir);
    let recovered = store.recover().unwrap();
    let read = began.elapsed();
    let memory = codec::decode(recovered).unwrap();
    let decoded = began.elapsed();
    let mut engine = Engine::start(memory, crowd::limits(), crowd::moment(3_000));
    let batch = engine.close();
    let (ready, computed) = (began.elapsed(), busy());
    if let Some(batch) = batch {
        store.commit(&codec::encode(&batch, mark(3_000))).unwrap();
        engine.committed(batch.no);
    }
    let mut effects = 0;
    while let Some(release) = engine.release() {
        effects += release.effects.len();
    }
    for n in 0..MANY {
        engine.take(crowd::of_turn(mix(n) % MANY, Fact::Active), crowd::moment(3_100));
        crowd::drain(&mut engine, &mut |batch| {
            store.commit(&codec::encode(batch, mark(3_100))).unwrap();
        });
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let kilobytes = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    println!(
        "{} {} {} {} {} {effects} {} {}",
        read.as_secs_f64(),
        decoded.as_secs_f64(),
        ready.as_secs_f64(),
        kilobytes("VmRSS:"),
        kilobytes("VmHWM:"),
        engine.world().resident(),
        computed as f64 / 1e9,
    );
}

fn take(dir: &Path) -> Vec<f64> {
    let myself = std::env::current_exe().unwrap();
    let told = Command::new(myself).arg(CHILD).arg(dir).output().unwrap();
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told = String::from_utf8(told.stdout).unwrap();
    told.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

pub fn measure(table: &mut Table) {
    let dir = tempfile::tempdir().unwrap();
    {
        let mut store = open(dir.path());
        store.recover().unwrap();
        crowd::running(MANY, |batch| store.commit(&codec::encode(batch, mark(1))).unwrap());
    }
    let mut takes: Vec<Vec<f64>> = (0..TAKES).map(|_| take(dir.path())).collect();
    takes.sort_by(|a, b| a[2].total_cmp(&b[2]));
    let slowest = takes[TAKES - 1][2];
    let [read, decoded, ready, resident, most, effects, tasks, computed] =
        takes.swap_remove(0).try_into().unwrap();
    assert!(tasks as u64 == MANY, "{tasks} tasks came back");
    table.row(
        &format!("restart with {MANY} live tasks"),
        "serving in ≤ 1 s",
        &format!(
            "{ready:.2} s ({computed:.2} s computed): read and verified {read:.2}, decoded {:.2}, indexed and {effects} effects derived {:.2} (slowest of {TAKES}: {slowest:.2})",
            decoded - read,
            ready - decoded
        ),
        Some(ready <= 1.0),
    );
    table.row(
        &format!("{MANY} live tasks, resident while serving"),
        "< 150 MB",
        &format!("{:.0} MB (at the most, while starting: {:.0} MB)", resident / 1e3, most / 1e3),
        Some(resident < 150e3),
    );
}
