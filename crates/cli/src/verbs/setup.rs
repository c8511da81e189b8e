//! `homing setup`: tells an agent of the tools, and takes that back.

use crate::expected::Expected;
use crate::home::Home;
use crate::out;
use crate::setup::{self, Agent, How, Told};

const EXAMPLES: &str = "\
Examples:
  homing setup claude --dry-run
  homing setup claude
  homing setup opencode             a plugin: its tools, and debriefs in the session that delegated
  homing setup opencode --replace   and OpenCode's own tool `task` is ours
  homing setup claude --undo

OpenCode gets a plugin, one file beside its settings. The others get one entry in theirs (MCP); everything around it stays as it
is. What is not understood is refused.";

/// Tell an agent of homing's tools, in its own settings
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

    /// OpenCode: its own tool `task` makes way for ours
    #[arg(long)]
    replace: bool,

    /// Print what came of it as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, named: bool, args: &Args) -> anyhow::Result<u8> {
    if args.replace && args.agent != Agent::Opencode {
        return Err(Expected::Usage {
            what: format!("--replace: {} has no tool that could make way", args.agent.name()),
            hint: "homing setup opencode --replace",
        }
        .into());
    }
    let how = How { named, replace: args.replace, dry: args.dry_run };
    let told = match args.undo {
        true => setup::undo(home, args.agent, args.dry_run)?,
        false => setup::add(home, args.agent, how)?,
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
