//! Measures the heart, each figure beside a raw limit of the same run. `--write` puts the table into
//! docs/performance.md.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot be taken ends with its cause")]

mod crowd;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use homing_core::step;
use homing_core::world::World;
use homing_ports::store::{ClockMark, Group, Store};
use homing_runtime::codec;
use homing_runtime::engine::{Batch, Engine};

fn main() {
    let mut table = String::new();
    core_cost(&mut table);
    durable(&mut table);
    restart(&mut table);
    print!("{table}");
    if std::env::args().any(|arg| arg == "--write") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
        std::fs::write(path, page(&table)).unwrap();
    }
}

fn page(table: &str) -> String {
    format!(
        "# Performance\n\nMade by `cargo run --release -p homing-bench -- --write`; numbers are of one run on one\n\
         machine. Read the ratios: each stands beside a raw limit measured in the same run.\n\n\
         | what | figure |\n|---|---|\n{table}\n\
         How cost grows: a decision touches one task and the few indexes it stands in, each a hash or a\n\
         tree look-up; nothing walks all tasks. What grows with the number of tasks is memory, and with it\n\
         the cache misses of a look-up. A group's cost is one sync, shared by every decision in it.\n\n\
         CLI, launch and delivery figures follow with the parts that they measure.\n"
    )
}

fn row(table: &mut String, what: &str, figure: &str) {
    writeln!(table, "| {what} | {figure} |").unwrap();
}

/// Nanoseconds per input, for events that are journaled and for those that are not.
fn cost(count: u64, events: u64) -> (f64, f64) {
    let engine = crowd::running(count, |_| {});
    let mut world: World = engine.world().clone();
    let now = crowd::moment(2_000);
    let mut time = |make: fn(u64, u64) -> homing_core::input::Input| {
        let inputs: Vec<_> = (0..events).map(|n| make(count, n)).collect();
        let began = Instant::now();
        for input in inputs {
            std::hint::black_box(step::step(&mut world, input, now));
        }
        began.elapsed().as_nanos() as f64 / events as f64
    };
    (time(crowd::activity), time(crowd::tool_event))
}

fn core_cost(table: &mut String) {
    let mut first = None;
    for count in [100, 10_000, 100_000] {
        let (light, journaled) = cost(count, 200_000);
        let (light_1, journaled_1) = *first.get_or_insert((light, journaled));
        row(
            table,
            &format!("core, one input at {count} live tasks"),
            &format!(
                "activity {light:.0} ns (×{:.1}), journaled tool event {journaled:.0} ns (×{:.1})",
                light / light_1,
                journaled / journaled_1
            ),
        );
    }
}

const GROUP: u64 = 64;
const GROUPS: u64 = 1_500;
const CROWD: u64 = 10_000;

fn mark(tick: u64) -> ClockMark {
    ClockMark { boot: "bench".to_owned(), tick, mono: tick }
}

fn open(dir: &Path) -> Box<dyn Store> {
    Box::new(homing_store::SqliteStore::open(dir.join("ledger.db")).unwrap())
}

/// Groups of 64 decisions, decided on one thread and committed on another.
fn decided(dir: &Path) -> (f64, Vec<Group>) {
    let mut store = open(dir);
    store.recover().unwrap();
    let mut engine =
        crowd::running(CROWD, |batch| store.commit(&codec::encode(batch, mark(1))).unwrap());
    let (hand, take) = sync_channel::<Batch>(1);
    let (tell, told) = sync_channel::<u64>(1);
    let committer = std::thread::spawn(move || {
        let mut groups = Vec::new();
        for batch in take {
            let group = codec::encode(&batch, mark(2));
            store.commit(&group).unwrap();
            groups.push(group);
            tell.send(batch.no).unwrap();
        }
        groups
    });
    let began = Instant::now();
    for n in 0..GROUPS {
        for event in 0..GROUP {
            engine.take(crowd::tool_event(CROWD, n * GROUP + event), crowd::moment(3_000 + n));
        }
        if n > 0 {
            engine.committed(told.recv().unwrap());
            while engine.release().is_some() {}
        }
        hand.send(engine.close().unwrap()).unwrap();
    }
    told.recv().unwrap();
    let seconds = began.elapsed().as_secs_f64();
    drop(hand);
    ((GROUPS * GROUP) as f64 / seconds, committer.join().unwrap())
}

/// The same rows, without anything that decides.
fn bare(dir: &Path, groups: &[Group]) -> f64 {
    let mut store = open(dir);
    store.recover().unwrap();
    let mut made = Vec::new();
    crowd::running(CROWD, |batch| made.push(codec::encode(batch, mark(1))));
    for group in &made {
        store.commit(group).unwrap();
    }
    let began = Instant::now();
    for group in groups {
        store.commit(group).unwrap();
    }
    (GROUPS * GROUP) as f64 / began.elapsed().as_secs_f64()
}

/// The same bytes, appended and synced.
fn raw(dir: &Path, groups: &[Group]) -> f64 {
    let mut file = File::create(dir.join("raw")).unwrap();
    let began = Instant::now();
    for group in groups {
        for row in &group.journal {
            file.write_all(&row.body).unwrap();
        }
        for row in &group.tasks {
            file.write_all(&row.body).unwrap();
        }
        file.sync_data().unwrap();
    }
    (GROUPS * GROUP) as f64 / began.elapsed().as_secs_f64()
}

fn durable(table: &mut String) {
    let dirs =
        [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (decisions, groups) = decided(dirs[0].path());
    let committer = bare(dirs[1].path(), &groups);
    let synced = raw(dirs[2].path(), &groups);
    row(
        table,
        &format!("durable decisions a second, SQLite FULL, {GROUP} in flight, {CROWD} live tasks"),
        &format!(
            "{decisions:.0}: {:.0} % of the bare committer ({committer:.0}), {:.0} % of append and fdatasync ({synced:.0})",
            100.0 * decisions / committer,
            100.0 * decisions / synced
        ),
    );
}

const MANY: u64 = 100_000;

fn restart(table: &mut String) {
    let dir = tempfile::tempdir().unwrap();
    {
        let mut store = open(dir.path());
        store.recover().unwrap();
        crowd::running(MANY, |batch| store.commit(&codec::encode(batch, mark(1))).unwrap());
    }
    let began = Instant::now();
    let mut store = open(dir.path());
    let recovered = store.recover().unwrap();
    let read = began.elapsed();
    let memory = codec::decode(&recovered).unwrap();
    drop(recovered);
    let decoded = began.elapsed();
    let mut engine = Engine::start(memory, crowd::limits(), crowd::moment(9_000));
    let batch = engine.close();
    let ready = began.elapsed();
    row(
        table,
        &format!("restart with {MANY} live tasks"),
        &format!(
            "{:.2} s: read and verified {:.2} s, decoded {:.2} s, indexed and derived {:.2} s",
            ready.as_secs_f64(),
            read.as_secs_f64(),
            (decoded - read).as_secs_f64(),
            (ready - decoded).as_secs_f64()
        ),
    );
    drop(batch);
    std::hint::black_box(&engine);
}
