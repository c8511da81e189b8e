//! `homing send`: words for a task that runs: a turn of their own, or lines of its standard input.

use crate::daemon;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::verbs::daemon::blocking;

const EXAMPLES: &str = "\
Examples:
  homing send ducks \"Count the geese, too.\"
  homing send bg_01 \"$(cat more.txt)\" --json

  homing send counter --last

A command takes words only if it was launched with --stdin open (or by such a preset): each as a line of its
standard input, which --last closes. For a task that has ended there is homing resume.";

/// Say something to a task that runs
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,

    /// What to say
    #[arg(
        value_name = "TEXT",
        required_unless_present = "last",
        default_value = "",
        hide_default_value = true
    )]
    text: String,

    /// Nothing comes after it: the command's standard input is closed
    #[arg(long)]
    last: bool,

    /// Print the task's id as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.task)?;
    let client = daemon::ensure(home)?;
    let sent = blocking(async { Ok(client.say(&args.task, &args.text, args.last).await?) })?;
    if args.json {
        out::json(&sent)?;
    }
    Ok(0)
}
