//! `homing send`: words for a task that runs, as a turn of their own.

use crate::daemon;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::verbs::daemon::blocking;

const EXAMPLES: &str = "\
Examples:
  homing send ducks \"Count the geese, too.\"
  homing send bg_01 \"$(cat more.txt)\" --json

A plain command takes no further words: that is refused. For a task that has ended there is homing resume.";

/// Say something to a task that runs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,

    /// What to say
    #[arg(value_name = "TEXT")]
    text: String,

    /// Print the task's id as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.task)?;
    let client = daemon::ensure(home)?;
    let sent = blocking(async { Ok(client.say(&args.task, &args.text).await?) })?;
    if args.json {
        out::json(&sent)?;
    }
    Ok(0)
}
