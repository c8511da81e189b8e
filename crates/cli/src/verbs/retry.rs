//! `homing retry`: a new generation of an ended task, with the same words.

use crate::daemon;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::verbs::daemon::blocking;

const EXAMPLES: &str = "\
Examples:
  homing retry checks
  homing retry bg_01 --json

Prints the task's id; homing wait ID waits for its end.";

/// Do a task that has ended once more
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,

    /// Print id and generation as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.task)?;
    let client = daemon::ensure(home)?;
    let resumed = blocking(async { Ok(client.retry(&args.task).await?) })?;
    if args.json {
        out::json(&resumed)?;
    } else {
        out::write(format!("{}\n", resumed.id).as_bytes())?;
    }
    Ok(0)
}
