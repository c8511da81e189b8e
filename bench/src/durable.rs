//! Durable decisions a second, beside the bare committer and the raw disk.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::time::Instant;

use homing_ports::store::Group;
use homing_runtime::codec;
use homing_runtime::engine::Batch;

use crate::{Table, crowd, mark, open};

const GROUP: u64 = 64;
const GROUPS: u64 = 1_500;
const CROWD: u64 = 10_000;

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

pub fn measure(table: &mut Table) {
    let dirs =
        [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let (decisions, groups) = decided(dirs[0].path());
    let committer = bare(dirs[1].path(), &groups);
    let synced = raw(dirs[2].path(), &groups);
    table.row(
        &format!("durable decisions a second, SQLite FULL, {GROUP} in flight, {CROWD} live tasks"),
        "≥ 10,000, ≥ 40 % of the bare committer",
        &format!(
            "{decisions:.0}: {:.0} % of the bare committer ({committer:.0}), {:.0} % of append and fdatasync ({synced:.0})",
            100.0 * decisions / committer,
            100.0 * decisions / synced
        ),
        Some(decisions >= 10_000.0 && decisions >= 0.4 * committer),
    );
}
