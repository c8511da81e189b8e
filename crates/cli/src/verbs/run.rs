//! `homing run`: launches, waits for the end, prints the result and acknowledges it.

use std::time::Duration;

use homing_core::wire::{Cancel, Launch};
use homing_runtime::{State, TaskId};

use crate::ending;
use crate::expected::{Expected, INTERRUPTED};
use crate::home::Home;
use crate::order::Options;
use crate::out;
use crate::progress::Progress;
use crate::talk::{Signals, Talk};

const EXAMPLES: &str = "\
Examples:
  homing run -- echo home again
  homing run --timeout 30s --name checks -- make test
  homing run --model acme/large --model acme/small -- ./agent.sh
  homing run --key nightly-1 --json -- ./report.sh
  homing run --host opencode \"Count the ducks.\"

The command reads nothing. Its output is printed when it has ended, exactly as it is; of a command that
failed, the end of its errors too. With a model, HOMING_MODEL names it; a command that exits with 75 asks
for the next one. The same --key again does not run anything again: it prints the same task's result.

The daemon of the home does the work, and is started when none runs; Ctrl-C stops the command.";

/// A stop that is not confirmed is given up on within this.
const STOP: Duration = Duration::from_secs(40);

/// Run a command or a prompt as a task, wait for its end and print its result
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    options: Options,

    /// Print the task as JSON, the result in it
    #[arg(long)]
    json: bool,
}

pub fn run(home: &Home, args: Args) -> anyhow::Result<u8> {
    let launch = args.options.launch()?;
    let talk = Talk::with(home)?;
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    loop_.block_on(async {
        let mut signals = Signals::new()?;
        drive(&talk, &launch, args.json, &mut signals).await
    })
}

async fn drive(
    talk: &Talk,
    launch: &Launch,
    json: bool,
    signals: &mut Signals,
) -> anyhow::Result<u8> {
    let id = talk.launch(launch).await?.id;
    let name = id.to_string();
    let progress = Progress::new(!json);
    let interrupted = tokio::select! {
        ended = talk.ended(&name) => { ended?; false }
        () = progress.follow(talk, &name) => false,
        () = signals.next() => true,
    };
    if interrupted && !stop(talk, id, signals).await? {
        drop(progress);
        out::warn(&format!("homing: {id} may still run: its stop was not waited for"));
        return Ok(INTERRUPTED);
    }
    drop(progress);
    let task = talk.ask(async |client| client.show(&name).await).await?;
    let written = if json {
        out::json(&task)
    } else {
        out::others(&talk.ask(async |client| client.output_bytes(&name).await).await?)
    };
    ending::explain(&task);
    match written {
        // Not seen by anybody: it stays owed.
        Err(Expected::Closed) => {}
        Err(other) => return Err(other.into()),
        Ok(()) => {
            talk.ask(async |client| client.ack_notice(id, task.generation).await).await?;
        }
    }
    Ok(match (task.state == State::Completed, interrupted) {
        (true, _) => 0,
        (false, true) => INTERRUPTED,
        (false, false) => 1,
    })
}

/// Cancels, and waits for the confirmed stop; false when somebody would not wait.
async fn stop(talk: &Talk, id: TaskId, signals: &mut Signals) -> Result<bool, Expected> {
    let body = Cancel { reason: Some("interrupted at the terminal".to_owned()), quiet: false };
    let name = id.to_string();
    talk.ask(async |client| client.cancel(&name, &body).await).await?;
    tokio::select! {
        waited = tokio::time::timeout(STOP, talk.ended(&name)) => match waited {
            Ok(ended) => ended.map(|()| true),
            Err(_) => Ok(false),
        },
        () = signals.next() => Ok(false),
    }
}
