//! `homing ls`: tasks as last committed, newest first.

use std::fmt::Write;

use homing_core::view::TaskView;
use homing_core::wire::ListQuery;

use crate::daemon;
use crate::expected::Expected;
use crate::home::Home;
use crate::out;
use crate::verbs::daemon::blocking;

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
    if !home.ledger().exists() {
        if args.json {
            out::json(&Vec::<()>::new())?;
        } else {
            out::warn(&format!("nothing was ever kept in {}", home.dir().display()));
        }
        return Ok(0);
    }
    let tasks = tasks(home, args.all)?;
    if args.json {
        out::json(&tasks)?;
        return Ok(0);
    }
    if tasks.is_empty() {
        let more = if args.all { "" } else { "; homing ls --all also lists what has ended" };
        out::warn(&format!("no tasks{more}"));
        return Ok(0);
    }
    let mut text = format!("{:15}  {:16}  {:20}  NAME\n", "ID", "STATE", "SINCE");
    for task in &tasks {
        let since = task.ended_at.as_ref().or(task.started_at.as_ref());
        let since = since.unwrap_or(&task.created_at);
        let name = task.name.as_deref().unwrap_or("-");
        writeln!(text, "{}  {:16}  {since}  {}", task.id, task.state, out::plain(name, 60))?;
    }
    out::write(text.as_bytes())?;
    Ok(0)
}

fn tasks(home: &Home, all: bool) -> Result<Vec<TaskView>, Expected> {
    let client = daemon::ensure(home)?;
    let asked = ListQuery {
        living: (!all).then(|| "true".to_owned()),
        limit: Some(MOST.to_string()),
        ..ListQuery::default()
    };
    blocking(async { Ok(client.list(&asked).await?.tasks) })
}
