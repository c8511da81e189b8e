//! Measures the heart, each figure beside its target and, where there is one, a raw limit of the same
//! run. `--write` puts the table into docs/performance.md; a name (cost, durable, restart) measures that alone.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot be taken ends with its cause")]

mod cost;
mod crowd;
mod durable;
mod restart;

use std::fmt::Write as _;
use std::path::Path;

use homing_ports::store::{ClockMark, Store};
use rustix::time::{ClockId, clock_gettime};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, dir] = args.as_slice()
        && word == restart::CHILD
    {
        return restart::child(Path::new(dir));
    }
    let named = |name: &str| args.iter().any(|arg| arg == name);
    let all = !args.iter().any(|arg| !arg.starts_with("--"));
    let mut table = Table::default();
    if all || named("cost") {
        cost::measure(&mut table);
    }
    if all || named("durable") {
        durable::measure(&mut table);
    }
    if all || named("restart") {
        restart::measure(&mut table);
    }
    print!("{}", table.0);
    if named("--write") {
        assert!(all, "the page holds every figure: --write stands alone");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
        std::fs::write(path, page(&table.0)).unwrap();
    }
}

/// Rows of the page.
#[derive(Default)]
struct Table(String);

impl Table {
    /// Without a target: only there to be compared with.
    fn row(&mut self, what: &str, target: &str, figure: &str, met: Option<bool>) {
        let met = met.map_or("", |met| if met { "yes" } else { "**no**" });
        writeln!(self.0, "| {what} | {target} | {figure} | {met} |").unwrap();
    }
}

fn page(table: &str) -> String {
    format!(
        "# Performance\n\nMade by `cargo run --release -p homing-bench -- --write`; numbers are of one run on one\n\
         machine, which did other work meanwhile. Read the ratios: each is of two things measured in that run.\n\n\
         | what | target | figure | met |\n|---|---|---|---|\n{table}\n\
         How each was taken:\n\n\
         - **One event**: `step` alone, without engine, commit and encoding. Every task in turn, in a random\n  \
         order, round after round, after one round that is not counted. Time is what the thread computed, not\n  \
         the clock on the wall; the least of three takes. *Activity* is the ordinary\n  \
         observation: it stays in memory. A *journaled* event is a tool call that begins or ends: a line\n  \
         is written and the task is judged.\n\
         - **Durable decisions**: journaled events through the engine, in groups of 64, one thread decides\n  \
         and one commits. The bare committer writes the same rows with nobody deciding; the raw limit appends\n  \
         the same bytes to a file and syncs it.\n\
         - **Restart and memory**: a fresh process opens a store with 100,000 running tasks; three times, by\n  \
         the clock on the wall; the quickest counts, and what it computed is told beside it. It serves when the\n  \
         first input could be taken: rows read and verified, indexes built, every watch and look derived. Then\n  \
         it takes 100,000 events, and its resident memory is read from `/proc/self/status`. The file was in\n  \
         the page cache. Hosts and watchers are not part of it: their sessions cost what the host's driver\n  \
         holds for them.\n\n\
         How cost grows: a decision touches one task and the few indexes it stands in, each a hash or a\n\
         tree look-up; nothing walks all tasks. What grows with the number of tasks is memory, and with it\n\
         the cache misses of a look-up. A group's cost is one sync, shared by every decision in it.\n\n\
         CLI, launch and delivery figures follow with the parts that they measure.\n"
    )
}

/// Nanoseconds that this thread has computed.
fn busy() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn mark(tick: u64) -> ClockMark {
    ClockMark { boot: "bench".to_owned(), tick, mono: tick }
}

fn open(dir: &Path) -> Box<dyn Store> {
    Box::new(homing_store::SqliteStore::open(dir.join("ledger.db")).unwrap())
}
