//! `homing doctor`: verifies the home and every row that is kept in it. Changes nothing.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;

use crate::expected::Expected;
use crate::home::Home;
use crate::ledger::Ledger;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  homing doctor
  homing doctor --home /srv/homing

Exit code 0 when all is well, 1 when something is not.";

/// Check the home: every row of the ledger, and who else could read it
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {}

pub fn run(home: &Home, _: &Args) -> anyhow::Result<u8> {
    let mut text = format!("home      {}\n", home.dir().display());
    let mut well = true;
    if let Ok(found) = std::fs::metadata(home.dir())
        && found.permissions().mode() & 0o077 != 0
    {
        well = false;
        let mode = found.permissions().mode() & 0o777;
        writeln!(text, "mode      {mode:03o}: others can look into it; try: chmod 700 on it")?;
    }
    match Ledger::open(home)? {
        None => writeln!(text, "ledger    none yet: nothing was ever kept here")?,
        Some(ledger) => {
            let head = ledger.reader().head().map_err(Expected::from)?;
            let damage = ledger.reader().check().map_err(Expected::from)?;
            writeln!(text, "ledger    {head} journal lines, {} damaged", damage.len())?;
            for each in &damage {
                well = false;
                writeln!(
                    text,
                    "          {}: {}",
                    out::plain(&each.place, 120),
                    out::plain(&each.what, 400)
                )?;
            }
        }
    }
    text.push_str(if well { "all is well\n" } else { "not all is well\n" });
    out::write(text.as_bytes())?;
    Ok(u8::from(!well))
}
