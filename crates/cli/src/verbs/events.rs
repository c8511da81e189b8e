//! `homing events`: the journal, one JSON object a line.

use homing_runtime::shown;

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
            serde_json::to_writer(&mut text, &shown::event(row))?;
            text.push(b'\n');
        }
        out::write(&text)?;
    }
}
