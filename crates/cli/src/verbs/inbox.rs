//! `homing inbox`: what a parent is owed, and its receipts. Reading settles nothing.

use std::fmt::Write;

use homing_client::Client;
use homing_core::refs::ParentRef;
use homing_core::wire::{Acked, Inbox};

use crate::caller;
use crate::daemon;
use crate::expected::Expected;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::talk::{Talk, interruptible};
use crate::verbs::daemon::blocking;

const EXAMPLES: &str = "\
Examples:
  homing inbox
  homing inbox inbox:reports --json
  homing inbox --ack bg_0123456789ab/1
  homing inbox --ack checks/1 --ack db_0123456789ab

Every end is owed until its key is acknowledged; homing output ID prints the result, and acknowledges it
when its parent reads it. To acknowledge once more, or what is not owed, is harmless.";

/// Tell what has come home and is not acknowledged yet
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Whose [default: the calling task, else HOMING_PARENT, else inbox:cli]
    #[arg(value_name = "PARENT")]
    parent: Option<ParentRef>,

    /// Acknowledge this key instead, as the list shows it; again for more
    #[arg(long = "ack", value_name = "KEY", conflicts_with = "parent")]
    acks: Vec<String>,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    if !args.acks.is_empty() {
        return ack(home, args);
    }
    let parent = match &args.parent {
        Some(parent) => parent.clone(),
        None => caller::parent()?,
    };
    let mut inbox = Inbox { parent, notices: Vec::new() };
    // Where nothing was ever kept, nothing is owed.
    if home.ledger().exists() {
        let (talk, parent) = (Talk::with(home)?, inbox.parent);
        inbox = interruptible(talk.ask(async |client| client.inbox(&parent).await))?;
    }
    if args.json {
        out::json(&inbox)?;
        return Ok(0);
    }
    if inbox.notices.is_empty() {
        out::warn(&format!("nothing is owed to {}", inbox.parent));
        return Ok(0);
    }
    out::write(told(&inbox)?.as_bytes())?;
    Ok(0)
}

fn told(inbox: &Inbox) -> Result<String, std::fmt::Error> {
    let mut text =
        format!("{:17}  {:10}  {:13}  {:20}  NAME\n", "KEY", "OUTCOME", "DELIVERY", "ENDED");
    for notice in &inbox.notices {
        let ended = notice.ended_at.as_deref().unwrap_or("-");
        let name = out::plain(notice.name.as_deref().unwrap_or("-"), 60);
        writeln!(
            text,
            "{:17}  {:10}  {:13}  {ended:20}  {name}",
            notice.key, notice.outcome, notice.state
        )?;
        if let (Some(code), Some(why)) = (notice.code, &notice.why) {
            let why = out::plain(why, 200);
            let key = notice.debrief.map(|key| key.to_string()).unwrap_or_default();
            writeln!(text, "  {code}: {why}; homing redrive {key} sends it again")?;
        }
    }
    Ok(text)
}

fn ack(home: &Home, args: &Args) -> anyhow::Result<u8> {
    for key in &args.acks {
        ledger::is_there(home, key)?;
    }
    let client = daemon::ensure(home)?;
    let acked = blocking(async {
        let mut keys = Vec::new();
        for key in &args.acks {
            keys.push(whole(&client, key).await?);
        }
        let mut acked: Vec<Acked> = Vec::new();
        for key in &keys {
            acked.push(client.ack(key).await?);
        }
        Ok(acked)
    })?;
    for each in acked.iter().filter(|each| !each.known) {
        out::warn(&format!("homing: {} was not owed: nothing changed", each.key));
    }
    if args.json {
        out::json(&acked)?;
    }
    Ok(0)
}

/// A debrief's key as it is; a task's with its whole id.
async fn whole(client: &Client, key: &str) -> Result<String, Expected> {
    if key.starts_with("db_") {
        return Ok(key.to_owned());
    }
    match key.rsplit_once('/') {
        Some((task, generation)) if generation.bytes().all(|byte| byte.is_ascii_digit()) => {
            Ok(format!("{}/{generation}", client.show(task).await?.id))
        }
        Some(_) | None => Err(Expected::Usage {
            what: format!("--ack: {key:?} is no key: a task's is ID/GENERATION, a debrief's db_…"),
            hint: "homing inbox lists the keys",
        }),
    }
}
