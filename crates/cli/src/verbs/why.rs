//! `homing why`: the chain of what was decided and on what evidence, what is missing, what comes next.

use std::fmt::Write;

use homing_core::compose::{iso, lasting};
use homing_core::limits::Limits;
use homing_core::task::Task;
use homing_core::view::evidence;
use homing_core::world::{At, Who, World};
use homing_ports::store::JournalRow;

use crate::chain;
use crate::home::Home;
use crate::ledger;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  homing why bg_0123456789ab
  homing why bg_01
  homing why \"make test\"";

const WIDTH: usize = 200;

/// Tell why a task stands where it does: every decision with its reason, what is missing, what is next
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let (ledger, task) = ledger::find(home, &args.task)?;
    let lines = ledger.journal(task.id)?;
    let mut text = String::new();
    let cause = task.cause.map_or_else(String::new, |cause| format!(" ({cause})"));
    let name = task
        .brief
        .name
        .as_deref()
        .map_or_else(String::new, |name| format!(" {}", out::plain(name, 60)));
    writeln!(text, "{}{name}: {}{cause}", task.id, task.state)?;
    writeln!(text, "\nwhat happened")?;
    for (row, record) in &lines {
        if let Some(words) = chain::words(record) {
            let after = lasting(row.tick.saturating_sub(task.created.tick));
            writeln!(text, "  {:>8}  {}", format!("+{after}"), out::plain(&words, WIDTH))?;
        }
    }
    let known = evidence(&task);
    if !known.is_empty() {
        writeln!(text, "\nwhat is known")?;
        for each in known {
            writeln!(text, "  {}", out::plain(&each, WIDTH))?;
        }
    }
    writeln!(text, "\nwhat comes next\n  {}", next(&task, lines.last().map(|(row, _)| row)))?;
    out::write(text.as_bytes())?;
    Ok(0)
}

fn next(task: &Task, last: Option<&JournalRow>) -> String {
    if !task.is_living() {
        return match task.notices.last() {
            Some(notice) => format!("{} is still owed its notice ({})", notice.to, notice.state),
            None => "nothing: it has ended, and nothing is owed about it".to_owned(),
        };
    }
    // Timers count on the ledger's clock; the last line says what the time was then.
    let (tick, wall) =
        last.map_or((task.created.tick, task.created.wall), |row| (row.tick, row.wall));
    let world = World::restore(
        Limits::default(),
        vec![Box::new(task.clone())],
        Vec::new(),
        Vec::new(),
        Vec::new(),
        0,
    );
    let at = |at: At| match at {
        At::Tick(due) => wall.saturating_add_unsigned(due.saturating_sub(tick)),
        At::Wall(due) => due,
    };
    let deadlines =
        world.deadlines(&Who::Task(task.id)).into_iter().map(|(timer, due)| (at(due), timer));
    match deadlines.min() {
        Some((due, timer)) => format!("at {}, unless something is heard before: {timer}", iso(due)),
        None => "nothing by itself: it waits to be told something".to_owned(),
    }
}
