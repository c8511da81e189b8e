//! `homing cancel`: ends tasks with all below them, and waits until that is so.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use homing_core::view::TaskView;
use homing_core::wire::{Cancel, Cancelled, ListQuery};
use homing_runtime::{Cause, State, TaskId};
use tokio::time::Instant;

use crate::expected::Expected;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::talk::{Talk, interruptible};
use crate::verbs::ls;

const EXAMPLES: &str = "\
Examples:
  homing cancel checks
  homing cancel bg_01 bg_02 --reason \"not needed any more\"
  homing cancel --all
  homing cancel checks --quiet --json

A task is cancelled with every task below it. One line for each that was asked for: its id and its state;
what had ended before stays as it was. An end that is not confirmed within its time is an error,
E_CASCADE_INCOMPLETE, that names what is left.";

/// A stop that is not confirmed is given up on within this.
const ENDS_WITHIN: Duration = Duration::from_secs(40);

/// Cancel tasks, with all that they sent out
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Ids, unique beginnings of them, or names
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    tasks: Vec<String>,

    /// Why; kept with the task
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// Nobody is told of these ends
    #[arg(long)]
    quiet: bool,

    /// Every task that has not ended
    #[arg(long)]
    all: bool,

    /// Print what came of it as a JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    for task in &args.tasks {
        ledger::is_there(home, task)?;
    }
    if args.all && !home.ledger().exists() {
        if args.json {
            out::json(&Vec::<Cancelled>::new())?;
        }
        return Ok(0);
    }
    let talk = Talk::with(home)?;
    Ok(interruptible(drive(&talk, args))?)
}

async fn drive(talk: &Talk, args: &Args) -> Result<u8, Expected> {
    let body = Cancel { reason: args.reason.clone(), quiet: args.quiet };
    let asked = asked(talk, args).await?;
    let mut cancelled = talk
        .each(asked, move |talk, id| {
            let body = body.clone();
            let name = id.to_string();
            async move { talk.ask(async |client| client.cancel(&name, &body).await).await }
        })
        .await?;
    let left = ends(talk, &mut cancelled).await?;
    if args.json {
        out::json(&cancelled)?;
    } else {
        let line = |each: &Cancelled| {
            let before = if each.already_ended { "  (had ended before)" } else { "" };
            format!("{}  {}{before}\n", each.id, each.state)
        };
        out::write(cancelled.iter().map(line).collect::<String>().as_bytes())?;
    }
    if left.is_empty() { Ok(0) } else { Err(Expected::Incomplete { left }) }
}

/// All are found before any is cancelled.
async fn asked(talk: &Talk, args: &Args) -> Result<Vec<TaskId>, Expected> {
    if args.all {
        let living = ListQuery { living: Some("true".to_owned()), ..ListQuery::default() };
        return Ok(ls::pages(talk, living).await?.iter().map(|task| task.id).collect());
    }
    let mut all = Vec::new();
    for text in &args.tasks {
        let id = talk.ask(async |client| client.show(text).await).await?.id;
        if !all.contains(&id) {
            all.push(id);
        }
    }
    Ok(all)
}

/// Waits for every end, and says where each stands then; those that were not confirmed are left.
async fn ends(talk: &Talk, cancelled: &mut [Cancelled]) -> Result<Vec<TaskId>, Expected> {
    let living = cancelled.iter().filter(|each| !each.already_ended);
    // What was still queued has ended with the answer.
    let awaited: BTreeSet<TaskId> = living
        .flat_map(|each| {
            let itself = Some(each.id).filter(|_| !each.state.is_terminal());
            each.below.iter().copied().chain(itself)
        })
        .collect();
    let until = Instant::now() + ENDS_WITHIN;
    let ended = talk.each(awaited.iter().copied(), move |talk, id| async move {
        let name = id.to_string();
        let ended = tokio::time::timeout_at(until, talk.ended(&name)).await;
        match ended {
            Ok(ended) => ended?,
            // Its time is up: it is left.
            Err(_) => return Ok(None),
        }
        talk.ask(async |client| client.show(&name).await).await.map(Some)
    });
    let ended: Vec<TaskView> = ended.await?.into_iter().flatten().collect();
    let states: BTreeMap<TaskId, State> = ended.iter().map(|view| (view.id, view.state)).collect();
    for told in cancelled {
        told.state = states.get(&told.id).copied().unwrap_or(told.state);
    }
    // Given up on: whether it still runs is not known.
    let given_up =
        |view: &&TaskView| view.state == State::Lost && view.cause == Some(Cause::AbortUnconfirmed);
    let sure: BTreeSet<TaskId> =
        ended.iter().filter(|view| !given_up(view)).map(|view| view.id).collect();
    Ok(awaited.difference(&sure).copied().collect())
}
