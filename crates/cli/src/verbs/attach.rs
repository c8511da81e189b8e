//! `homing attach`: opens the host's own view of a task's session in this terminal.

use std::os::unix::process::CommandExt;

use homing_hosts::opencode::OpenCode;
use homing_ports::host::Host;

use crate::config::Config;
use crate::expected::Expected;
use crate::home::Home;
use crate::ledger;
use crate::talk::{Talk, interruptible};
use crate::verbs::daemon::blocking;

const EXAMPLES: &str = "\
Examples:
  homing attach review
  tmux split-window \"homing attach bg_01\"

OpenCode's own terminal opens on the server that runs the session. Leaving it ends nothing. A plain command has no
session to look into: homing logs -f ID follows what it writes.";

/// Look into a task's session, in the terminal of its host
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// An id, a unique beginning of one, or a name
    #[arg(value_name = "ID")]
    task: String,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    ledger::is_there(home, &args.task)?;
    let talk = Talk::with(home)?;
    let task = interruptible(talk.ask(async |client| client.show(&args.task).await))?;
    let config = Config::read(home)?;
    let opencode = OpenCode::new(config.opencode.settings(), &home.process_host(&config)?);
    let none = |why: String, hint: &'static str| Expected::NoSession { why, hint };
    let Some(session) = task.session.filter(|session| *session.host == *opencode.name()) else {
        let why = format!("{} has no session that can be looked into", task.id);
        return Err(none(why, "homing logs ID").into());
    };
    let attach = || blocking(async { Ok(opencode.attach(&session.id).await) });
    let mut command = attach()?;
    if command.is_err() {
        // The daemon starts the server when it reads what was said there.
        drop(blocking(async { Ok(talk.client().logs(&args.task).await) }));
        command = attach()?;
    }
    let why = match command {
        Ok(mut command) => {
            format!("{:?} cannot be run: {}", command.get_program().to_owned(), command.exec())
        }
        Err(why) => why,
    };
    Err(none(why, "homing logs ID shows what was said").into())
}
