//! `homing events`: the journal, one JSON object a line.

use homing_core::compose::iso;
use homing_ports::store::JournalRow;
use serde_json::{Value, json};

use crate::home::Home;
use crate::ledger::Ledger;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  homing events
  homing events --after 120

Each line has `seq`, which has no gaps; go on later with --after and the last one you saw.";

const PAGE: usize = 500;

/// Print the journal as NDJSON
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Only what came after this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    after: u64,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let Some(ledger) = Ledger::open(home)? else {
        return Ok(0);
    };
    let mut after = args.after;
    loop {
        let rows = ledger.reader().journal(after, PAGE).map_err(crate::expected::Expected::from)?;
        let Some(last) = rows.last() else {
            return Ok(0);
        };
        after = last.seq;
        let mut text = Vec::new();
        for row in &rows {
            serde_json::to_writer(&mut text, &event(row)?)?;
            text.push(b'\n');
        }
        out::write(&text)?;
    }
}

fn event(row: &JournalRow) -> Result<Value, serde_json::Error> {
    let body: Value = serde_json::from_slice(&row.body)?;
    Ok(json!({
        "seq": row.seq,
        "at": iso(row.wall),
        "wall_ms": row.wall,
        "tick_ms": row.tick,
        "task": row.task.map(|(id, _)| id),
        "task_seq": row.task.map(|(_, number)| number),
        "kind": row.kind,
        "body": body,
    }))
}
