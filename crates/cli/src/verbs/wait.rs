//! `homing wait`: waits for the ends of tasks, and tells how they ended. Settles nothing.

use std::time::Duration;

use homing_core::span;
use homing_core::view::TaskView;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::ending;
use crate::expected::Expected;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing wait checks
  homing wait bg_01 bg_02 --timeout 10m
  homing wait bg_01 bg_02 --any
  homing wait checks --json

One line for each task as it ends: its id and its state. Exit code 0 when all that ended completed, 1 when
one ended otherwise, 4 when the time was up before. Ctrl-C ends the waiting, not the tasks.";

/// Longer than anybody waits.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Wait until tasks have ended
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Ids, unique beginnings of them, or names
    #[arg(value_name = "ID", required = true)]
    tasks: Vec<String>,

    /// Until the first of them has ended
    #[arg(long)]
    any: bool,

    /// At most so long, as 300ms, 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    timeout: Option<Duration>,

    /// Print those that have ended as a JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    for task in &args.tasks {
        ledger::is_there(home, task)?;
    }
    let talk = Talk::with(home)?;
    Ok(interruptible(drive(&talk, args))?)
}

async fn drive(talk: &Talk, args: &Args) -> Result<u8, Expected> {
    let mut waited: Vec<TaskView> = Vec::new();
    for text in &args.tasks {
        let view = talk.ask(async |client| client.show(text).await).await?;
        if waited.iter().all(|other| other.id != view.id) {
            waited.push(view);
        }
    }
    let ended = ends(talk, &waited, args).await?;
    if args.json {
        out::json(&ended)?;
    }
    let code = ended.iter().map(ending::code).max().unwrap_or(0);
    if ended.len() == waited.len() || (args.any && !ended.is_empty()) {
        return Ok(code);
    }
    let left = waited.iter().filter(|each| ended.iter().all(|other| other.id != each.id));
    let left: Vec<String> = left.map(|each| each.id.to_string()).collect();
    let span = args.timeout.map(span::words).unwrap_or_default();
    Err(Expected::WaitedOut {
        what: format!("the time of {span} is up; not ended: {}", left.join(", ")),
        hint: format!("a longer --timeout; homing why {} tells what it waits for", left[0]),
    })
}

/// Those that ended in time, in the order of their ends; each is told at once.
async fn ends(talk: &Talk, waited: &[TaskView], args: &Args) -> Result<Vec<TaskView>, Expected> {
    let mut waiting = JoinSet::new();
    for view in waited {
        let (talk, id) = (talk.clone(), view.id.to_string());
        waiting.spawn_local(async move {
            talk.ended(&id).await?;
            talk.ask(async |client| client.show(&id).await).await
        });
    }
    let until = Instant::now() + args.timeout.unwrap_or(FOR_EVER);
    let mut ended = Vec::new();
    while let Ok(Some(each)) = tokio::time::timeout_at(until, waiting.join_next()).await {
        let view = each.map_err(|why| Expected::Output(why.into()))??;
        if !args.json {
            out::write(format!("{}  {}\n", view.id, view.state).as_bytes())?;
        }
        ended.push(view);
        if args.any {
            break;
        }
    }
    Ok(ended)
}
