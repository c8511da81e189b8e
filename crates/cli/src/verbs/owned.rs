//! `homing owned`: what a parent has out, and had, newest first.

use homing_core::refs::ParentRef;
use homing_core::view::TaskView;
use homing_core::wire::ListQuery;

use crate::caller;
use crate::home::Home;
use crate::out;
use crate::talk::{Talk, interruptible};
use crate::verbs::ls;

const EXAMPLES: &str = "\
Examples:
  homing owned
  homing owned inbox:reports
  homing owned task:bg_0123456789ab --json";

/// List the tasks of a parent: those that it has out, and those that have ended
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Whose [default: the calling task, else HOMING_PARENT, else inbox:cli]
    #[arg(value_name = "PARENT")]
    parent: Option<ParentRef>,

    /// Print them as a JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let parent = match &args.parent {
        Some(parent) => parent.clone(),
        None => caller::parent()?,
    };
    let mut tasks: Vec<TaskView> = Vec::new();
    // Where nothing was ever kept, nobody has anything out.
    if home.ledger().exists() {
        let talk = Talk::with(home)?;
        let query = ListQuery { parent: Some(parent.to_string()), ..ListQuery::default() };
        tasks = interruptible(ls::pages(&talk, query))?;
    }
    if args.json {
        out::json(&tasks)?;
    } else if tasks.is_empty() {
        out::warn(&format!("{parent} has nothing out, and had nothing"));
    } else {
        out::write(ls::table(&tasks, |_| 0)?.as_bytes())?;
    }
    Ok(0)
}
