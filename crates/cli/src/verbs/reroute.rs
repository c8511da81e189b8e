//! `homing reroute`: another place for an end that could not be told where it was to be.

use homing_core::refs::Origin;
use homing_core::wire::Reroute;

use crate::expected::Expected;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing reroute checks group:team/!room:example.org
  homing reroute bg_01 'thread:team/!room:example.org#$root'

Of an end whose room is closed, whose origin is of no kind that is posted to, or whose parent is gone: the message that
could not be told goes to the place that is named, or one plain line where there is none. What was owed about it is
settled by that.";

/// Bring an end that could not be told to another room
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,

    /// Where to, as KIND:ROOM/ADDRESS[#THREAD]
    #[arg(value_name = "ORIGIN")]
    origin: Origin,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.task)?;
    let talk = Talk::with(home)?;
    interruptible(drive(&talk, args))?;
    Ok(0)
}

async fn drive(talk: &Talk, args: &Args) -> Result<(), Expected> {
    let body = Reroute { origin: args.origin.to_string() };
    let view = talk.ask(async |client| client.reroute(&args.task, &body).await).await?;
    if args.json {
        return out::json(&view);
    }
    out::write(format!("{} goes to {}\n", view.id, args.origin).as_bytes())
}
