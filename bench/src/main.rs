//! Measures, each figure beside its target and, where there is one, a raw limit or a peer of the same run.
//! A name (as in `ALL`) measures that alone. `--write` puts what was measured into docs/performance.md.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot be taken ends with its cause")]

mod command_line;
mod cost;
mod crowd;
mod daemon;
mod durable;
mod idle;
mod latency;
mod opencode;
mod page;
mod peers;
mod restart;
mod spread;
mod thousand;
mod watchers;

use std::fmt::Write as _;
use std::path::Path;

use homing_ports::store::{ClockMark, Store};
use rustix::time::{ClockId, clock_gettime};

/// Takes figures, and writes them into the table.
type Measure = fn(&mut Table);

/// What can be measured, in the order of the page.
const ALL: [(&str, Measure); 9] = [
    ("cost", cost::measure),
    ("durable", durable::measure),
    ("restart", restart::measure),
    ("thousand", thousand::measure),
    ("latency", latency::measure),
    ("cli", command_line::measure),
    ("watchers", watchers::measure),
    ("idle", idle::measure),
    ("opencode", opencode::measure),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [word, dir] = &args[..]
        && word == restart::CHILD
    {
        return restart::child(Path::new(dir));
    }
    let named = |name: &str| args.iter().any(|arg| arg == name);
    let all = !args.iter().any(|arg| !arg.starts_with("--"));
    let mut table = Table::default();
    for (name, measure) in ALL {
        if all || named(name) {
            measure(&mut table);
        }
    }
    daemon::clean();
    if named("--write") {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
        let before = std::fs::read_to_string(&path).unwrap();
        let rows = if all { table.0 } else { page::renewed(&before, &table.0) };
        std::fs::write(path, page::page(&rows)).unwrap();
    }
}

/// Rows of the page.
#[derive(Default)]
struct Table(String);

impl Table {
    /// Without a target: only there to be compared with.
    fn row(&mut self, what: &str, target: &str, figure: &str, met: Option<bool>) {
        let met = met.map_or("", |met| if met { "yes" } else { "**no**" });
        let row = format!("| {what} | {target} | {figure} | {met} |");
        println!("{row}");
        writeln!(self.0, "{row}").unwrap();
    }
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

/// Runs what a program outside of the daemon does.
fn block_on<T>(doing: impl Future<Output = T>) -> T {
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    loop_.block_on(doing)
}
