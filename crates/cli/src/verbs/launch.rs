//! `homing launch`: sends a task out, prints its id, and goes.

use crate::home::Home;
use crate::order::Options;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing launch -- make test
  id=$(homing launch --name checks --timeout 30m -- make test)
  homing launch --after checks -- ./publish.sh
  homing launch --host opencode --model acme/large \"Count the ducks.\"

The id is printed as soon as the task is kept for good: from then on it is run and handed back, whatever
crashes. homing wait ID waits for its end, homing output ID prints its result, homing inbox tells what
came home. The same --key again gives the same task.";

/// Send a command or a prompt out as a task, and print its id at once
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    options: Options,

    /// Print id, parent, and whether it was there before, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: Args) -> anyhow::Result<u8> {
    let launch = args.options.launch()?;
    let talk = Talk::with(home)?;
    let accepted = interruptible(talk.launch(&launch))?;
    if args.json {
        out::json(&accepted)?;
    } else {
        out::write(format!("{}\n", accepted.id).as_bytes())?;
    }
    Ok(0)
}
