//! `homing run`: launches a command, waits for its end, prints its result and acknowledges it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

use homing_client::{Client, Error};
use homing_core::span;
use homing_core::view::TaskView;
use homing_core::wire::{Cancel, Launch, Words};
use homing_runtime::{Cause, Code, Model, State, TaskId};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::daemon;
use crate::expected::Expected;
use crate::home::Home;
use crate::out;

const EXAMPLES: &str = "\
Examples:
  homing run -- echo home again
  homing run --timeout 30s --name checks -- make test
  homing run --model acme/large --model acme/small -- ./agent.sh
  homing run --key nightly-1 --json -- ./report.sh

The command reads nothing. Its output is printed when it has ended, exactly as it is; of a command that
failed, the end of its errors too. With a model, HOMING_MODEL names it; a command that exits with 75 asks
for the next one. The same --key again does not run anything again: it prints the same task's result.

The daemon of the home does the work, and is started when none runs; Ctrl-C stops the command.";

/// One wait; the next one follows.
const WAIT: Duration = Duration::from_secs(60);
/// A stop that is not confirmed is given up on within this.
const STOP: Duration = Duration::from_secs(40);
/// Questions to a daemon that dies, or to its store that fails.
const TRIES: u32 = 20;
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

    /// A variable of yours that the command gets, too; again for more
    #[arg(long = "env", value_name = "NAME")]
    env: Vec<String>,

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
    let client = daemon::ensure(home)?;
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    loop_.block_on(async {
        let mut signals = Signals::new()?;
        drive(&Talk { home, client }, &launch, json, &mut signals).await
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
    let cwd = match args.cwd {
        Some(dir) if !dir.is_dir() => {
            let what = format!("--cwd: {} is not a directory", dir.display());
            return Err(Expected::Usage { what, hint: "a directory that is there" });
        }
        Some(dir) => Some(text("--cwd", std::path::absolute(&dir)?.into_os_string())?),
        None => std::env::current_dir().ok().and_then(|here| here.to_str().map(str::to_owned)),
    };
    Ok(Launch {
        command: words,
        name: Some(name),
        cwd,
        model: Words(args.models.iter().map(ToString::to_string).collect()),
        timeout: args.timeout.map(span::words),
        key: args.key,
        env: named(&args.env)?,
        caller_env: around(),
        parent: std::env::var("HOMING_PARENT").ok().filter(|parent| !parent.is_empty()),
        ..Launch::default()
    })
}

/// The values of the variables that were named.
fn named(names: &[String]) -> Result<BTreeMap<String, String>, Expected> {
    let value = |name: &String| match std::env::var(name) {
        Ok(value) => Ok((name.clone(), value)),
        Err(why) => Err(Expected::Usage {
            what: format!("--env: {name}: {why}"),
            hint: "a variable that is set, with a value of plain text",
        }),
    };
    names.iter().map(value).collect()
}

/// What every command has from its caller: the path and the locale.
fn around() -> BTreeMap<String, String> {
    let wanted = |name: &str| {
        matches!(name, "PATH" | "LANG" | "LANGUAGE" | "TERM" | "TZ") || name.starts_with("LC_")
    };
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).filter(|(name, _)| wanted(name)).collect()
}

/// A conversation with the daemon; when that one dies, with the next.
struct Talk<'a> {
    home: &'a Home,
    client: Client,
}

impl Talk<'_> {
    /// Asks until there is an answer: what is asked is harmless to repeat.
    async fn ask<T>(&self, ask: impl AsyncFn(&Client) -> Result<T, Error>) -> Result<T, Expected> {
        let mut client = self.client.clone();
        let mut tries = 0;
        loop {
            match ask(&client).await {
                Ok(answer) => return Ok(answer),
                Err(Error::Unreachable { .. } | Error::CutOff { .. }) if tries < TRIES => {}
                Err(error)
                    if matches!(error.code(), Some(Code::Unavailable | Code::Unsure))
                        && tries < TRIES =>
                {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(error.into()),
            }
            tries += 1;
            let home = self.home.clone();
            let found = tokio::task::spawn_blocking(move || daemon::ensure(&home)).await;
            client = found.map_err(|why| Expected::Output(why.into()))??;
        }
    }
}

async fn drive(
    talk: &Talk<'_>,
    launch: &Launch,
    json: bool,
    signals: &mut Signals,
) -> anyhow::Result<u8> {
    // Without a key, a launch whose answer was lost is not repeated: it may have been taken.
    let id = match launch.key {
        Some(_) => talk.ask(async |client| client.launch(launch).await).await?.id,
        None => talk.client.launch(launch).await.map_err(Expected::from)?.id,
    };
    if std::io::stderr().is_terminal() && !json {
        out::warn(&format!("homing: {id}"));
    }
    let interrupted = tokio::select! {
        ended = ended(talk, id) => { ended?; false }
        () = signals.next() => true,
    };
    if interrupted && !stop(talk, id, signals).await? {
        out::warn(&format!("homing: {id} may still run: its stop was not waited for"));
        return Ok(INTERRUPTED);
    }
    let name = id.to_string();
    let task = talk.ask(async |client| client.show(&name).await).await?;
    let written = if json {
        out::json(&task)
    } else {
        out::write(&talk.ask(async |client| client.output_bytes(&name).await).await?)
    };
    if task.state != State::Completed {
        explain(&task);
    }
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

/// Waits for the end, however often the daemon or its store fails meanwhile.
async fn ended(talk: &Talk<'_>, id: TaskId) -> Result<(), Expected> {
    let name = id.to_string();
    loop {
        let waited = talk.ask(async |client| client.wait(&name, WAIT).await).await?;
        if waited {
            return Ok(());
        }
    }
}

/// Cancels, and waits for the confirmed stop; false when somebody would not wait.
async fn stop(talk: &Talk<'_>, id: TaskId, signals: &mut Signals) -> Result<bool, Expected> {
    let body = Cancel { reason: Some("interrupted at the terminal".to_owned()), quiet: false };
    talk.ask(async |client| client.cancel(&id.to_string(), &body).await).await?;
    tokio::select! {
        waited = tokio::time::timeout(STOP, ended(talk, id)) => match waited {
            Ok(ended) => ended.map(|()| true),
            Err(_) => Ok(false),
        },
        () = signals.next() => Ok(false),
    }
}

/// What, why, and what to try.
fn explain(task: &TaskView) {
    let name = task.name.as_deref().map(|name| format!(" ({})", out::plain(name, NAME_MAX)));
    let cause = task.cause.map_or_else(String::new, |cause| format!(", {cause}"));
    out::warn(&format!(
        "homing: {}{} ended as {}{cause}",
        task.id,
        name.unwrap_or_default(),
        task.state
    ));
    if let Some(reason) = &task.reason {
        out::warn(&format!("  why: {}", out::plain(reason, 400)));
    }
    out::warn(&format!("  try: {}", hint(task)));
}

fn hint(task: &TaskView) -> String {
    let error = task.error.as_ref();
    if error.is_some_and(|error| error.message.starts_with("spawn: ")) {
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
