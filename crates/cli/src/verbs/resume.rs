//! `homing resume`: a new generation of an ended task, in its session, with words of its own.

use homing_core::refs::ParentRef;
use homing_core::wire::Resume;

use crate::daemon;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::verbs::daemon::blocking;

const EXAMPLES: &str = "\
Examples:
  homing resume ducks \"Now count the geese.\"
  homing resume bg_01 \"Go on.\" --parent inbox:reports
  homing resume bg_01 \"Go on.\" --json

Prints the task's id; homing wait ID waits for its end. A plain command has no session to go on with: for
that there is homing retry.";

/// Go on with a task that has ended
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,

    /// What is to be done now
    #[arg(value_name = "PROMPT")]
    prompt: String,

    /// Who is told of its end from now on [default: as before]
    #[arg(long, value_name = "REF")]
    parent: Option<ParentRef>,

    /// Print id and generation as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.task)?;
    let client = daemon::ensure(home)?;
    let parent = args.parent.as_ref().map(ToString::to_string);
    let body = Resume { prompt: args.prompt.clone(), parent };
    let resumed = blocking(async { Ok(client.resume(&args.task, &body).await?) })?;
    if args.json {
        out::json(&resumed)?;
    } else {
        out::write(format!("{}\n", resumed.id).as_bytes())?;
    }
    Ok(0)
}
