//! The command line's own share: `homing ls` with a running daemon, beside a process that does nothing.

use std::path::Path;
use std::process::Command;

use homing_core::wire::Launch;

use crate::Table;
use crate::daemon::{Daemon, binary};
use crate::peers::done;
use crate::spread::{Spread, now, since};

const MANY: usize = 200;
/// Tasks that are listed.
const TASKS: usize = 20;

fn timed(mut run: impl FnMut()) -> Spread {
    let takes = (0..MANY).map(|_| {
        let began = now();
        run();
        since(began)
    });
    Spread::of(takes.collect())
}

pub fn measure(table: &mut Table) {
    let daemon = Daemon::start(8);
    crate::block_on(async {
        let sleep = ["sleep", "600"].map(str::to_owned).to_vec();
        for _ in 0..TASKS {
            let launch = Launch { command: sleep.clone(), ..Launch::default() };
            daemon.client.launch(&launch).await.unwrap();
        }
    });
    let ours = |words: &[&str]| {
        done(Command::new(binary()).arg("--home").arg(daemon.home()).args(words));
    };
    let empty = timed(|| done(&mut Command::new(Path::new("/bin/true"))));
    let version = timed(|| ours(&["--version"]));
    let list = timed(|| ours(&["ls"]));
    table.row(
        &format!("`homing ls` with a running daemon, {TASKS} living tasks"),
        "≤ 15 ms",
        &format!(
            "{list}; an empty process: {:.1} ms, `homing --version`: {:.1} ms",
            empty.p50(),
            version.p50()
        ),
        Some(list.p50() <= 15.0),
    );
}
