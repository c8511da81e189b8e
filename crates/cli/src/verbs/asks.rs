//! `homing asks`: what waits for somebody, across hosts, oldest first.

use std::fmt::Write;

use homing_core::wire::AskView;

use crate::home::Home;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing asks
  homing asks --json

An ask that nobody answers is denied at its deadline. homing answer answers it.";

const WIDTH: usize = 200;

/// List what tasks ask, and wait to be answered
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print them as a JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let mut asks = Vec::new();
    // Where nothing was ever kept, nobody asks.
    if home.ledger().exists() {
        let talk = Talk::with(home)?;
        asks = interruptible(talk.ask(async |client| client.asks().await))?;
    }
    if args.json {
        out::json(&asks)?;
        return Ok(0);
    }
    if asks.is_empty() {
        out::warn("nobody asks anything");
    }
    let mut text = String::new();
    for ask in &asks {
        tell(&mut text, ask)?;
    }
    out::write(text.as_bytes())?;
    Ok(0)
}

fn tell(text: &mut String, ask: &AskView) -> std::fmt::Result {
    let name = ask.name.as_deref().map(|name| format!(" ({})", out::plain(name, 60)));
    writeln!(text, "{}  {}  of {}{}", ask.id, ask.kind, ask.task, name.unwrap_or_default())?;
    for line in ask.text.lines() {
        writeln!(text, "  {}", out::plain(line, WIDTH))?;
    }
    if !ask.options.is_empty() {
        let options: Vec<String> = ask.options.iter().map(|each| out::plain(each, 60)).collect();
        writeln!(text, "  options: {}", options.join(", "))?;
    }
    writeln!(text, "  asked at {}, denied at {}", ask.asked_at, ask.deadline)
}
