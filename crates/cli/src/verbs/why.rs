//! `homing why`: the chain of what was decided and on what evidence, what is missing, what comes next.

use std::fmt::Write;

use homing_core::compose::lasting;
use homing_core::wire::Why;

use crate::daemon;
use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::verbs::daemon::blocking;

const EXAMPLES: &str = "\
Examples:
  homing why bg_0123456789ab
  homing why bg_01
  homing why \"make test\"
  homing why bg_01 --json";

const WIDTH: usize = 200;

/// Tell why a task stands where it does: every decision with its reason, what is missing, what is next
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.task)?;
    let client = daemon::ensure(home)?;
    let why = blocking(async { Ok(client.why(&args.task).await?) })?;
    if args.json {
        out::json(&why)?;
        return Ok(0);
    }
    out::write(told(&why)?.as_bytes())?;
    Ok(0)
}

fn told(why: &Why) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let cause = why.cause.map_or_else(String::new, |cause| format!(" ({cause})"));
    let name = why.name.as_deref().map(|name| format!(" {}", out::plain(name, 60)));
    writeln!(text, "{}{}: {}{cause}", why.id, name.unwrap_or_default(), why.state)?;
    writeln!(text, "\nwhat happened")?;
    for line in &why.chain {
        let after = format!("+{}", lasting(line.after_ms));
        writeln!(text, "  {after:>8}  {}", out::plain(&line.words, WIDTH))?;
    }
    let missing = why.missing.as_ref().map(|missing| format!("missing: {missing}"));
    let known: Vec<&String> = why.known.iter().chain(&missing).collect();
    if !known.is_empty() {
        writeln!(text, "\nwhat is known")?;
        for each in known {
            writeln!(text, "  {}", out::plain(each, WIDTH))?;
        }
    }
    writeln!(text, "\nwhat comes next\n  {}", out::plain(&why.next.words, WIDTH))?;
    Ok(text)
}
