//! `homing adopt`: takes in a session that was started elsewhere, as a task.

use homing_core::refs::ParentRef;
use homing_core::wire::Adopt;

use crate::home::Home;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing adopt opencode ses_e1af54250ffe8M5b8L0EuptqVL
  homing adopt opencode ses_e1af54250ffe8M5b8L0EuptqVL --name refactoring --parent inbox:reports

Prints the task's id; its end comes home as any other's. One session is one task, however often it is adopted;
another --parent takes over what is owed.";

/// Take in a session that was started elsewhere
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The host that runs it: opencode
    #[arg(value_name = "HOST")]
    host: String,

    /// The host's own name for it
    #[arg(value_name = "SESSION")]
    session: String,

    /// What it is called from now on
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// Who is told of its end [default: the calling task, else inbox:cli]
    #[arg(long, value_name = "REF", env = "HOMING_PARENT", hide_env_values = true)]
    parent: Option<ParentRef>,

    /// Print id, parent, and whether it was there before, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let body = Adopt {
        host: args.host.clone(),
        session: args.session.clone(),
        name: args.name.clone(),
        parent: args.parent.as_ref().map(ToString::to_string),
        ..Adopt::default()
    };
    let talk = Talk::with(home)?;
    // The same session again is the same task.
    let accepted = interruptible(talk.ask(async |client| client.adopt(&body).await))?;
    if args.json {
        out::json(&accepted)?;
    } else {
        out::write(format!("{}\n", accepted.id).as_bytes())?;
    }
    Ok(0)
}
