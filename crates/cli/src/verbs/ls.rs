//! `homing ls`: tasks as last committed, newest first.

use std::fmt::Write;

use homing_core::compose::iso;

use crate::home::Home;
use crate::ledger::Ledger;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  homing ls
  homing ls --all
  homing ls --all --json";

/// More are never listed at once.
const MOST: usize = 1_000;

/// List tasks, newest first: those that have not ended, or all
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Also those that have ended
    #[arg(long)]
    all: bool,

    /// Print them as a JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let living = if args.all { None } else { Some(true) };
    let Some(ledger) = Ledger::open(home)? else {
        if args.json {
            out::json(&Vec::<()>::new())?;
        } else {
            out::warn(&format!("nothing was ever kept in {}", home.dir().display()));
        }
        return Ok(0);
    };
    let tasks = ledger.tasks(living, MOST)?;
    if args.json {
        let views =
            tasks.iter().map(|task| ledger.view(task, None)).collect::<Result<Vec<_>, _>>()?;
        out::json(&views)?;
        return Ok(0);
    }
    if tasks.is_empty() {
        let more = if args.all { "" } else { "; homing ls --all also lists what has ended" };
        out::warn(&format!("no tasks{more}"));
        return Ok(0);
    }
    let mut text = format!("{:15}  {:16}  {:20}  NAME\n", "ID", "STATE", "SINCE");
    for task in &tasks {
        let since = task.ended.or(task.started).unwrap_or(task.created).wall;
        let name = task.brief.name.as_deref().unwrap_or("-");
        writeln!(text, "{}  {:16}  {}  {}", task.id, task.state, iso(since), out::plain(name, 60))?;
    }
    out::write(text.as_bytes())?;
    Ok(0)
}
