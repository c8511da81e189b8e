//! `homing config show`: every value as it is in effect.

use crate::config::Config;
use crate::home::Home;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  homing config show
  homing config show --json
  homing config show > ~/.local/state/homing/homing.toml";

/// Show what is in effect: the defaults, and what homing.toml in the home says instead
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Clone, Copy, clap::Subcommand)]
enum What {
    /// Print every key with its value, as a homing.toml that says the same
    Show {
        /// Print it as JSON: the sections, the presets, and under "set" what the file names
        #[arg(long)]
        json: bool,
    },
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let What::Show { json } = args.what;
    let config = Config::read(home)?;
    let path = Config::path(home);
    if json {
        let mut all = config.json()?;
        all["path"] = path.display().to_string().into();
        out::json(&all)?;
        return Ok(0);
    }
    let there = if path.exists() { "" } else { " (not there: all defaults)" };
    let text = format!("# {}{there}\n\n{}", path.display(), config.told()?);
    out::write(text.as_bytes())?;
    Ok(0)
}
