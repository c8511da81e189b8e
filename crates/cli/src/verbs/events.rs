//! `homing events`: the journal, one JSON object a line; as it grows, if that is wanted.

use homing_client::Event;
use homing_core::wire::Problem;
use serde::Deserialize;

use crate::expected::Expected;
use crate::home::Home;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing events
  homing events --after 120
  homing events -f
  homing events -f --after 120 | jq .kind

Each line has `seq`, which has no gaps; go on later with --after and the last one you saw. With -f it goes
on until Ctrl-C, or until somebody stops the daemon.";

/// Print the journal as NDJSON
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only what came after this number
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,

    /// Go on with what comes
    #[arg(short, long)]
    follow: bool,

    /// The lines are JSON anyhow
    #[arg(long, hide = true)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    if !home.ledger().exists() && !args.follow {
        return Ok(0);
    }
    let talk = Talk::with(home)?;
    interruptible(async {
        if args.follow { follow(&talk, args.after).await } else { all(&talk, args.after).await }
    })?;
    Ok(0)
}

/// What is there now.
async fn all(talk: &Talk, after: Option<u64>) -> Result<(), Expected> {
    let mut parts = talk.ask(async |client| client.journal_parts(after).await).await?;
    let mut last = Vec::new();
    while let Some(part) = parts.next().await? {
        last.extend_from_slice(&part);
        let whole = last.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if let Some(problem) = last[..whole].split(|byte| *byte == b'\n').find_map(problem) {
            return Err(homing_client::Error::Problem(Box::new(problem)).into());
        }
        out::json_lines(&last[..whole])?;
        last.drain(..whole);
    }
    Ok(())
}

/// A line that is no event says why the rest is missing.
fn problem(line: &[u8]) -> Option<Problem> {
    #[derive(Deserialize)]
    struct Line {
        problem: Problem,
    }
    let told = line.starts_with(br#"{"problem""#).then(|| serde_json::from_slice(line).ok());
    told.flatten().map(|line: Line| line.problem)
}

async fn follow(talk: &Talk, after: Option<u64>) -> Result<(), Expected> {
    let mut seen = after;
    loop {
        let mut events = talk.ask(async |client| client.events(seen).await).await?;
        // Cut off: the next daemon goes on where this one was.
        while let Ok(Some(event)) = events.next().await {
            match event.id.as_deref().map(str::parse) {
                Some(Ok(seq)) => {
                    out::json_lines(format!("{}\n", event.data).as_bytes())?;
                    seen = Some(seq);
                }
                Some(Err(_)) | None => over(&event, seen)?,
            }
        }
    }
}

/// An event without a number tells why there are no more of them.
fn over(event: &Event, seen: Option<u64>) -> Result<(), Expected> {
    match event.kind.as_str() {
        "stopped" => Err(Expected::Daemon {
            code: 6,
            what: "the daemon was stopped".to_owned(),
            hint: format!("homing events -f --after {}", seen.unwrap_or(0)),
        }),
        "problem" => Err(homing_client::Error::Problem(Box::new(event.json()?)).into()),
        // It was read too slowly, or it is nothing to us: the next stream goes on from what was seen.
        _ => Ok(()),
    }
}
