//! `homing output`: a task's result, byte for byte, once it has ended. Reading it does not take it away.

use std::time::Duration;

use homing_core::span;
use homing_core::wire::{Output, Waited};

use crate::caller;
use crate::ending;
use crate::expected::Expected;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing output bg_0123456789ab
  homing output checks --wait
  homing output checks --timeout 30s
  homing output checks --full > checks.log
  homing output checks --json

Exit code 0 when it completed, 1 when it ended otherwise, 4 when it has not ended. What the parent itself
reads here is acknowledged once it is written: it is not owed any more. In a pipe or a file it is as it was
written; on a terminal, signs that a terminal would obey are spelled out.";

/// Print a task's result
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,

    /// Wait for its end first
    #[arg(long)]
    wait: bool,

    /// Wait for its end, at most so long, as 300ms, 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    timeout: Option<Duration>,

    /// Of a result that was too long to keep whole, all that its host still has; its errors: homing logs
    #[arg(long)]
    full: bool,

    /// Print the task with its result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.task)?;
    let talk = Talk::with(home)?;
    Ok(interruptible(drive(&talk, args))?)
}

async fn drive(talk: &Talk, args: &Args) -> Result<u8, Expected> {
    // One task, whatever is called by its name later.
    let id = talk.ask(async |client| client.show(&args.task).await).await?.id.to_string();
    match (args.wait, args.timeout) {
        (_, Some(span)) => {
            // The time that is up is told by the task that has not ended.
            tokio::time::timeout(span, talk.ended(&id)).await.unwrap_or(Ok(()))?;
        }
        (true, None) => talk.ended(&id).await?,
        (false, None) => {}
    }
    let mut read = talk.ask(async |client| client.output(&id, None).await).await?;
    read.wait = args.timeout.map(|span| Waited {
        asked: span::words(span),
        asked_ms: u64::try_from(span.as_millis()).unwrap_or(u64::MAX),
        ended: read.task.state.is_terminal(),
    });
    if args.json {
        out::json(&read)?;
    }
    if !read.task.state.is_terminal() {
        let hint = format!("homing output {id} --wait");
        return Err(ending::living(&read.task, hint));
    }
    if !args.json {
        write(talk, &read, args.full).await?;
    }
    ending::explain(&read.task);
    if let Some(key) = &read.ack
        && read.task.parent == caller::parent()?
    {
        talk.ask(async |client| client.ack(key).await).await?;
    }
    Ok(ending::code(&read.task))
}

async fn write(talk: &Talk, read: &Output, full: bool) -> Result<(), Expected> {
    let id = read.task.id.to_string();
    let cut = read.task.result.as_ref().is_some_and(|result| result.truncated);
    if cut && full {
        return pieces(talk, &id).await;
    }
    let bytes = talk.ask(async |client| client.output_bytes(&id).await).await?;
    out::others(&bytes)?;
    if cut {
        out::warn(&format!(
            "homing: the result was longer than what is kept; try: homing output {id} --full"
        ));
    }
    Ok(())
}

/// All that the host still has, a piece at a time; what is missing is counted to the errors, so that the bytes
/// are those that were written.
async fn pieces(talk: &Talk, id: &str) -> Result<(), Expected> {
    let mut at = 0;
    loop {
        let piece = talk.ask(async |client| client.piece(id, at).await).await?;
        let next = if piece.bytes.is_empty() { piece.written.unwrap_or(at) } else { piece.first };
        if next > at {
            out::warn(&format!("homing: {} bytes from byte {at} on are not kept", next - at));
        }
        if piece.bytes.is_empty() {
            return Ok(());
        }
        out::others(&piece.bytes)?;
        at = piece.first + piece.bytes.len() as u64;
    }
}
