//! `homing why`: the chain of what was decided and on what evidence, what is missing, what comes next.

use homing_runtime::why::told;

use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing why bg_0123456789ab
  homing why bg_01
  homing why \"make test\"
  homing why bg_01 --json";

const WIDTH: usize = 200;

/// Tell why a task stands where it does: every decision with its reason, what is missing, what is next
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.task)?;
    let talk = Talk::with(home)?;
    let why = interruptible(talk.ask(async |client| client.why(&args.task).await))?;
    if args.json {
        out::json(&why)?;
        return Ok(0);
    }
    out::write(told(&why, |text| out::plain(text, WIDTH)).as_bytes())?;
    Ok(0)
}
