//! `homing demo`: shows what homing does, in a home of its own that is gone afterwards. No keys, no network.

use crate::demo;

const EXAMPLES: &str = "\
Examples:
  homing demo
  homing demo group
  homing demo crash
  homing demo crash --tasks 100 --kills 20
  homing demo crash --shims 10

Each uses a home of its own under the temporary directory, and leaves nothing behind.";

/// Show it at work: children that fail over and take their time, one debrief; a bot in a group; or a daemon that is killed
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// A bot in a group: a busy parent, two children, a restart; one summary in the thread, markers in telemetry
    Group,
    /// Kill the daemon with SIGKILL while tasks start, run and end; count from outside what came home
    Crash(Crash),
}

#[derive(Debug, clap::Args)]
pub struct Crash {
    /// Tasks to launch
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub tasks: u32,

    /// Times the daemon is killed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub kills: u32,

    /// Supervisors of running commands that are killed besides
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub shims: u32,
}

pub fn run(args: &Args) -> anyhow::Result<u8> {
    match &args.what {
        None => demo::story(),
        Some(What::Group) => demo::group(),
        Some(What::Crash(crash)) => demo::crash(crash),
    }
}
