//! A thousand commands that do nothing, eight at a time: what a runtime costs. Beside pueue and task-spooler, each
//! driven as its users drive it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use homing_client::Client;
use homing_core::wire::Launch;

use crate::Table;
use crate::daemon::{Daemon, binary};
use crate::peers::{self, done};

const MANY: usize = 1_000;
const SLOTS: u32 = 8;
/// Of ours; the quickest counts, all are told.
const TAKES: usize = 3;

/// Until every end is told to somebody who follows them.
async fn all_ended(client: &Client, count: usize) {
    let mut ends = client.telemetry_stream(None, None).await.unwrap();
    for _ in 0..count {
        ends.next().await.unwrap().unwrap();
    }
}

fn nothing() -> Launch {
    Launch { command: vec!["true".to_owned()], ..Launch::default() }
}

/// Seconds by the clock, and of processor time: the daemon's, and its shims' with their commands.
struct Take {
    took: f64,
    daemon: f64,
    children: f64,
}

/// One program, one connection, one launch after the other; each is durable when it has its id.
fn by_client() -> Take {
    let daemon = Daemon::start(SLOTS);
    let took = crate::block_on(async {
        let client = &daemon.client;
        let began = Instant::now();
        let launch_all = async {
            for _ in 0..MANY {
                client.launch(&nothing()).await.unwrap();
            }
        };
        tokio::join!(launch_all, all_ended(client, MANY));
        began.elapsed()
    });
    let (own, children) = daemon.computed();
    Take { took: took.as_secs_f64(), daemon: own, children }
}

/// A process for each launch, one after the other.
fn by_command_line() -> f64 {
    let daemon = Daemon::start(SLOTS);
    let began = Instant::now();
    for _ in 0..MANY {
        done(
            Command::new(binary()).arg("--home").arg(daemon.home()).args(["launch", "--", "true"]),
        );
    }
    crate::block_on(all_ended(&daemon.client, MANY));
    began.elapsed().as_secs_f64()
}

fn by_pueue() -> f64 {
    let programs = peers::pueue();
    let dir = tempfile::tempdir().unwrap();
    let config = settings(dir.path());
    let pueue = |words: &[&str]| {
        done(Command::new(programs.join("pueue")).arg("-c").arg(&config).args(words));
    };
    let mut daemon = Command::new(programs.join("pueued"));
    let mut daemon =
        daemon.arg("-c").arg(&config).stdout(std::process::Stdio::null()).spawn().unwrap();
    let socket = dir.path().join("pueue.socket");
    while !socket.exists() {
        std::thread::yield_now();
    }
    pueue(&["parallel", &SLOTS.to_string()]);
    let began = Instant::now();
    for _ in 0..MANY {
        pueue(&["add", "--", "true"]);
    }
    pueue(&["wait", "--quiet"]);
    let took = began.elapsed().as_secs_f64();
    pueue(&["shutdown"]);
    daemon.wait().unwrap();
    took
}

/// A home of its own, on a socket.
fn settings(dir: &Path) -> std::path::PathBuf {
    let home = peers::text(dir);
    let mut text = String::new();
    writeln!(text, "shared:\n  pueue_directory: {home}\n  runtime_directory: {home}").unwrap();
    writeln!(text, "  use_unix_socket: true\n  unix_socket_path: {home}/pueue.socket").unwrap();
    writeln!(text, "client: {{}}\ndaemon: {{}}").unwrap();
    let path = dir.join("pueue.yml");
    std::fs::write(&path, text).unwrap();
    path
}

fn by_spooler() -> f64 {
    let program = peers::spooler();
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("tsp.socket");
    let spooler = |words: &[&str]| {
        let mut command = Command::new(&program);
        done(command.args(words).env("TS_SOCKET", &socket).env("TMPDIR", dir.path()));
    };
    spooler(&["-S", &SLOTS.to_string()]);
    let began = Instant::now();
    for _ in 0..MANY {
        spooler(&["true"]);
    }
    for last in MANY - SLOTS as usize..MANY {
        spooler(&["-w", &last.to_string()]);
    }
    let took = began.elapsed().as_secs_f64();
    spooler(&["-K"]);
    took
}

pub fn measure(table: &mut Table) {
    let mut client: Vec<Take> = (0..TAKES).map(|_| by_client()).collect();
    client.sort_by(|a, b| a.took.total_cmp(&b.took));
    let (line, pueue, spooler) = (by_command_line(), by_pueue(), by_spooler());
    let slowest = client[TAKES - 1].took;
    let Take { took: ours, daemon, children } = client.swap_remove(0);
    table.row(
        &format!("{MANY} × `true`, {SLOTS} slots, fully durable, by a program over one connection"),
        "≤ 3 s, at least 20 times faster than pueue",
        &format!(
            "{ours:.2} s (slowest of {TAKES}: {slowest:.2}); {:.0} times faster than pueue; computed: daemon \
             {daemon:.1} s, shims and commands {children:.1} s",
            pueue / ours
        ),
        Some(ours <= 3.0 && pueue >= 20.0 * ours),
    );
    table.row(
        &format!("the same, by {MANY} calls of the command line each"),
        "",
        &format!(
            "homing {line:.2} s, pueue {pueue:.1} s: {:.1} times faster; task-spooler, nothing durable: {spooler:.2} s",
            pueue / line
        ),
        None,
    );
}
