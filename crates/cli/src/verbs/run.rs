//! `homing run`: launches a command, waits for its end, prints its result and acknowledges it.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use homing_core::fact::HostError;
use homing_core::view::{Beside, TaskView};
use homing_hosts::process::ProcessHost;
use homing_hosts::system::{SystemClock, SystemIds};
use homing_runtime::{
    Cause, Code, Homing, Launch, Model, Receipt, Refused, Runtime, Seen, State, Task, TaskId,
    Waited,
};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::SHIM;
use crate::expected::Expected;
use crate::home::Home;
use crate::out;
use crate::span;

const EXAMPLES: &str = "\
Examples:
  homing run -- echo home again
  homing run --timeout 30s --name checks -- make test
  homing run --model acme/large --model acme/small -- ./agent.sh
  homing run --key nightly-1 --json -- ./report.sh

The command reads nothing. Its output is printed when it has ended, exactly as it is; of a command that
failed, the end of its errors too. With a model, HOMING_MODEL names it; a command that exits with 75 asks
for the next one. The same --key again does not run anything again: it prints the same task's result.

There is no daemon yet: homing does the work itself while it waits, and stops the command on Ctrl-C.";

/// One wait; the next one follows.
const WAIT: Duration = Duration::from_secs(60);
/// A stop that is not confirmed is given up on within this.
const STOP: Duration = Duration::from_secs(40);
/// Between two questions to a store that failed.
const PAUSE: Duration = Duration::from_millis(500);
const NAME_MAX: usize = 60;
const INTERRUPTED: u8 = 130;

/// Run a command as a task, wait for its end and print its result
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to call the task [default: the command]
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// Where to run the command [default: here]
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,

    /// The model it is to use; again for fallbacks, in order
    #[arg(long = "model", value_name = "PROVIDER/MODEL")]
    models: Vec<Model>,

    /// End it when it takes longer, as 300ms, 30s or 5m
    #[arg(long, value_name = "TIME", value_parser = span::parse)]
    timeout: Option<Duration>,

    /// The same key again means the same task
    #[arg(long, value_name = "KEY")]
    key: Option<String>,

    /// Print the task as JSON, the result in it
    #[arg(long)]
    json: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub fn run(home: &Home, args: Args) -> anyhow::Result<u8> {
    let json = args.json;
    let launch = launch(args)?;
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    loop_.block_on(async {
        let mut signals = Signals::new()?;
        let homing = start(home)?;
        let code = drive(&homing, launch, json, &mut signals).await;
        homing.stop().await;
        code
    })
}

fn launch(args: Args) -> Result<Launch, Expected> {
    let text = |what: &str, text: OsString| {
        text.into_string().map_err(|text| Expected::Usage {
            what: format!("{what}: {text:?} is not UTF-8, and only such words can be kept"),
            hint: "a small script with a plain name around it",
        })
    };
    let words = args.command.into_iter().map(|word| text("CMD", word));
    let words = words.collect::<Result<Vec<String>, _>>()?;
    let name = args.name.unwrap_or_else(|| out::plain(&words.join(" "), NAME_MAX));
    let mut launch = Launch::command(words).named(&name);
    if let Some(dir) = args.cwd {
        if !dir.is_dir() {
            let what = format!("--cwd: {} is not a directory", dir.display());
            return Err(Expected::Usage { what, hint: "a directory that is there" });
        }
        let dir = std::path::absolute(&dir)?;
        launch = launch.cwd(&text("--cwd", dir.into_os_string())?);
    } else if let Ok(here) = std::env::current_dir()
        && let Some(here) = here.to_str()
    {
        launch = launch.cwd(here);
    }
    for model in args.models {
        launch = launch.model(model);
    }
    if let Some(timeout) = args.timeout {
        launch = launch.timeout(timeout);
    }
    if let Some(key) = args.key {
        launch = launch.key(&key);
    }
    Ok(launch)
}

fn start(home: &Home) -> Result<Homing, Expected> {
    let store = home.hold()?;
    // This very program, even when another one has taken its place on disk.
    let shim = vec!["/proc/self/exe".into(), SHIM.into()];
    let host = ProcessHost::new(home.folder("runs"), shim).map_err(|why| home.unusable(&why))?;
    let host = host.with_home(home.dir());
    let clock = SystemClock::new().map_err(|why| home.unusable(&why))?;
    let ids = SystemIds::new().map_err(|why| home.unusable(&why))?;
    let runtime = Runtime::new(Box::new(store), Arc::new(clock), Arc::new(ids));
    Ok(runtime.host(Arc::new(host)).start()?)
}

async fn drive(
    homing: &Homing,
    launch: Launch,
    json: bool,
    signals: &mut Signals,
) -> anyhow::Result<u8> {
    let id = homing.launch(launch).await.map_err(Expected::from)?;
    if std::io::stderr().is_terminal() && !json {
        out::warn(&format!("homing: {id}"));
    }
    let interrupted = tokio::select! {
        ended = ended(homing, id) => { ended?; false }
        () = signals.next() => true,
    };
    if interrupted && !stop(homing, id, signals).await? {
        out::warn(&format!("homing: {id} may still run: its stop was not waited for"));
        return Ok(INTERRUPTED);
    }
    let Seen { task, as_of, .. } = homing.show(id).await.map_err(Expected::from)?;
    let result = homing.output(id).await.map_err(Expected::from)?;
    let written = if json {
        let beside = Beside { result: result.as_deref(), as_of: as_of.wall, ..Beside::default() };
        out::json(&TaskView::of(&task, &beside))
    } else {
        out::write(result.as_deref().unwrap_or_default())
    };
    if task.state != State::Completed {
        explain(&task);
    }
    match written {
        // Not seen by anybody: it stays owed.
        Err(Expected::Closed) => {}
        Err(other) => return Err(other.into()),
        Ok(()) => {
            let receipt = Receipt::Notice { task: id, generation: task.generation };
            homing.ack(receipt).await.map_err(Expected::from)?;
        }
    }
    Ok(match (task.state == State::Completed, interrupted) {
        (true, _) => 0,
        (false, true) => INTERRUPTED,
        (false, false) => 1,
    })
}

/// Waits for the end, however often the store fails meanwhile.
async fn ended(homing: &Homing, id: TaskId) -> Result<(), Expected> {
    loop {
        match homing.wait(id, WAIT).await {
            Ok(Waited::Ended) => return Ok(()),
            Ok(Waited::TimeUp { .. }) => {}
            Err(refused) if matches!(refused.code(), Code::Unsure | Code::Unavailable) => {
                if refused == Refused::Stopped {
                    return Err(refused.into());
                }
                tokio::time::sleep(PAUSE).await;
            }
            Err(refused) => return Err(refused.into()),
        }
    }
}

/// Cancels, and waits for the confirmed stop; false when somebody would not wait.
async fn stop(homing: &Homing, id: TaskId, signals: &mut Signals) -> Result<bool, Expected> {
    homing.cancel(id, Some("interrupted at the terminal")).await?;
    tokio::select! {
        waited = tokio::time::timeout(STOP, ended(homing, id)) => match waited {
            Ok(ended) => ended.map(|()| true),
            Err(_) => Ok(false),
        },
        () = signals.next() => Ok(false),
    }
}

/// What, why, and what to try.
fn explain(task: &Task) {
    let name = task.brief.name.as_deref().map(|name| format!(" ({})", out::plain(name, NAME_MAX)));
    let cause = task.cause.map_or_else(String::new, |cause| format!(", {cause}"));
    out::warn(&format!(
        "homing: {}{} ended as {}{cause}",
        task.id,
        name.unwrap_or_default(),
        task.state
    ));
    if let Some(reason) = &task.reason {
        out::warn(&format!("  why: {}", out::plain(&reason.to_string(), 400)));
    }
    out::warn(&format!("  try: {}", hint(task)));
}

fn hint(task: &Task) -> String {
    let started = |error: &HostError| &*error.name == "spawn";
    if task.error.as_deref().is_some_and(started) {
        return "see that the command is spelled right and on PATH".to_owned();
    }
    match task.cause {
        Some(Cause::Timeout) => {
            format!("a longer --timeout; homing why {} tells what it did", task.id)
        }
        Some(Cause::Exhausted) => {
            format!("one more --model; homing why {} tells every attempt", task.id)
        }
        Some(_) | None => format!("homing why {}", task.id),
    }
}

/// What asks this process to end.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}
