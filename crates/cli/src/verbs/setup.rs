//! `homing setup`: tells an agent of the tools, and takes that back.

use crate::home::Home;
use crate::out;
use crate::setup::{self, Agent, Told};

const EXAMPLES: &str = "\
Examples:
  homing setup claude --dry-run
  homing setup claude
  homing setup opencode
  homing setup claude --undo

One entry is put into the agent's own settings; everything around it stays as it is. What is not understood is refused.";

/// Tell an agent of homing's tools (MCP), in its own settings
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Which one
    #[arg(value_enum)]
    agent: Agent,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Take it back: the file is as it was before
    #[arg(long)]
    undo: bool,

    /// Print what came of it as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, named: bool, args: &Args) -> anyhow::Result<u8> {
    let told = match args.undo {
        true => setup::undo(home, args.agent, args.dry_run)?,
        false => setup::add(home, args.agent, named, args.dry_run)?,
    };
    if args.json {
        out::json(&told)?;
    } else {
        out::write(words(&told).as_bytes())?;
    }
    Ok(0)
}

fn words(told: &Told) -> String {
    let Told { agent, path, outcome, dry_run, lines, backup } = told;
    let path = path.display();
    let would = if *dry_run { "would be " } else { "" };
    let mut text = match *outcome {
        "added" => format!("{agent}: homing {would}added to {path}\n"),
        "removed" => format!("{agent}: homing {would}taken out of {path}\n"),
        "there" => format!("{agent}: homing is in {path} already\n"),
        _ => format!("{agent}: nothing of ours is in {path}\n"),
    };
    for line in lines {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(backup) = backup {
        text.push_str(&format!("what was before is kept in {}\n", backup.display()));
        text.push_str("next: start the agent anew, and ask it to send somebody out\n");
    }
    text
}
