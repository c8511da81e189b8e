//! `homing answer`: answers what a task asks. Never from inside the task that asks.

use homing_core::wire::AnswerBody;

use crate::daemon;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::verbs::daemon::blocking;

const EXAMPLES: &str = "\
Examples:
  homing answer ask_0123456789ab --allow
  homing answer ducks --deny
  homing answer ducks \"The ones on the pond.\"

A task that asks one thing can be named instead of its ask. homing asks lists what is open.";

/// Answer what a task asks
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An ask, or a task that has one open: an id, a unique beginning of one, or a name
    #[arg(value_name = "ASK|ID")]
    ask: String,

    /// Yes
    #[arg(long, conflicts_with_all = ["deny", "text"])]
    allow: bool,

    /// No
    #[arg(long, conflicts_with = "text")]
    deny: bool,

    /// In words, or one of its options
    #[arg(value_name = "TEXT", required_unless_present_any = ["allow", "deny"])]
    text: Option<String>,

    /// Print the ask's id as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.ask)?;
    let client = daemon::ensure(home)?;
    let text = args.text.clone();
    let body = AnswerBody { allow: args.allow, deny: args.deny, text, parent: None };
    let answered = blocking(async { Ok(client.answer(&args.ask, &body).await?) })?;
    if args.json {
        out::json(&answered)?;
    }
    Ok(0)
}
