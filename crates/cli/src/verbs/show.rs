//! `homing show`: one task, as the daemon knows it now.

use std::fmt::{Display, Write};

use homing_core::view::TaskView;

use crate::home::Home;
use crate::ledger;
use crate::out;
use crate::talk::{Talk, interruptible};

const EXAMPLES: &str = "\
Examples:
  homing show bg_0123456789ab
  homing show bg_01
  homing show \"make test\"
  homing show bg_01 --json

The host is asked first when what is known is old; `as of` says when it was last heard of.";

/// A line of a result that is longer is cut.
const WIDTH: usize = 200;

/// Show one task: its state, its evidence, its result
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
    let talk = Talk::with(home)?;
    let view = interruptible(talk.ask(async |client| client.show(&args.task).await))?;
    if args.json {
        out::json(&view)?;
    } else {
        out::write(told(&view)?.as_bytes())?;
    }
    Ok(0)
}

fn told(view: &TaskView) -> Result<String, std::fmt::Error> {
    let mut text = String::new();
    let mut line = |label: &str, value: Option<&dyn Display>| match value {
        Some(value) => writeln!(text, "{label:10}  {}", out::plain(&value.to_string(), WIDTH)),
        None => Ok(()),
    };
    let cause = view.cause.map_or_else(String::new, |cause| format!(" ({cause})"));
    line("task", Some(&view.id))?;
    line("name", view.name.as_ref().map(|name| name as &dyn Display))?;
    line("state", Some(&format!("{}{cause}", view.state)))?;
    line("reason", view.reason.as_ref().map(|reason| reason as &dyn Display))?;
    for evidence in &view.evidence {
        line("evidence", Some(evidence))?;
    }
    line("as of", Some(&view.as_of))?;
    line("host", Some(&view.host))?;
    line("model", view.model.as_ref().map(|model| model as &dyn Display))?;
    line("session", view.session.as_ref().map(|session| &session.id as &dyn Display))?;
    line("parent", Some(&view.parent))?;
    line("attempt", Some(&format!("{} of generation {}", view.attempt, view.generation)))?;
    line("created", Some(&view.created_at))?;
    line("started", view.started_at.as_ref().map(|at| at as &dyn Display))?;
    line("ended", view.ended_at.as_ref().map(|at| at as &dyn Display))?;
    line("error", view.error.as_ref().map(|error| &error.message as &dyn Display))?;
    line("delivery", Some(&view.delivery.state))?;
    if let Some(result) = &view.result {
        let cut = if result.truncated { ", cut" } else { "" };
        writeln!(text, "{:10}  {} bytes{cut}", "result", result.bytes)?;
        for each in result.text.iter().flat_map(|text| text.lines()) {
            writeln!(text, "  | {}", out::plain(each, WIDTH))?;
        }
    }
    Ok(text)
}
