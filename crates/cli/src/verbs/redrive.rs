//! `homing redrive`: what its receiver refused is sent again.

use crate::daemon;
use crate::home::Home;
use crate::out;
use crate::verbs::daemon::blocking;

const EXAMPLES: &str = "\
Examples:
  homing inbox webhook:ops
  homing redrive db_0123456789ab
  homing show ID --json | jq -r .room.key | xargs homing redrive

A debrief that its receiver will never take rests, with the reason; homing inbox PARENT shows it. It is sent
again under the same key, so a receiver that has it after all knows it.";

/// Send again what rests: a debrief that was refused, or a message that a room would not take
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Key of a debrief (db_…) or of a message to a room (po_…)
    #[arg(value_name = "KEY", required = true)]
    keys: Vec<String>,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let client = daemon::ensure(home)?;
    let redriven = blocking(async {
        let mut all = Vec::new();
        for key in &args.keys {
            all.push(client.redrive(key).await?);
        }
        Ok(all)
    })?;
    if args.json {
        out::json(&redriven)?;
        return Ok(0);
    }
    for each in redriven {
        let when = if each.waits { "goes after what is on its way" } else { "is sent again" };
        out::write(format!("{} {when}\n", each.key).as_bytes())?;
    }
    Ok(0)
}
