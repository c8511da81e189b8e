//! `homing daemon`: the one process that runs a home's tasks. Any verb starts it; these say so themselves.

use homing_client::Client;
use homing_core::wire::{Status, Stopping};
use homing_hosts::system::processes::ended;
use homing_store::Holder;
use tracing::error;

use crate::config::{Config, Levels, Log};
use crate::daemon::log::{DAEMON, Logging};
use crate::daemon::{self, Note};
use crate::expected::Expected;
use crate::home::Home;
use crate::out;
use crate::talk::Talk;

const EXAMPLES: &str = "\
Examples:
  homing daemon start
  homing daemon status --json
  homing daemon stop
  homing daemon stop --children
  homing daemon run

Stopping the daemon leaves commands running: the next one finds them, and how they ended.";

/// Start, stop, or ask about the daemon of this home
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Be the daemon, here, until it is told to stop
    Run {
        /// Was started by a verb: leave the terminal, and say on standard output when it is ready
        #[arg(long, hide = true)]
        detached: bool,

        /// Start one that is detached, and end: it is nobody's child then
        #[arg(long, hide = true)]
        apart: bool,

        /// Listen on TCP, too, for programs that have the token; the section http of homing.toml says the same
        #[arg(long, value_name = "ADDRESS:PORT")]
        http: Option<String>,

        /// Let --http be an address that other machines can reach
        #[arg(long)]
        beyond_loopback: bool,

        /// How much is said: error, warn, info, debug or trace; for one target: info,delivery=debug
        #[arg(long, value_name = "LEVEL", env = "HOMING_LOG")]
        log: Option<String>,
    },
    /// See that a daemon runs
    Start {
        /// Print who serves this home as JSON
        #[arg(long)]
        json: bool,
    },
    /// End the daemon; commands run on
    Stop {
        /// Cancel every living task first, and wait for their ends
        #[arg(long)]
        children: bool,

        /// Print what came of it as JSON; null when none ran
        #[arg(long)]
        json: bool,
    },
    /// Tell who serves this home
    Status {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    match &args.what {
        What::Run { apart: true, .. } => Ok(daemon::apart(home)?),
        What::Run { detached: true, log, .. } => serve_detached(home, log.as_deref()),
        What::Run { detached: false, apart: false, http, beyond_loopback, log } => {
            let mut config = settings(home, log.as_deref())?;
            if let Some(listen) = http {
                config.http.listen.clone_from(listen);
            }
            config.http.beyond_loopback |= beyond_loopback;
            home.make()?;
            let turn = daemon::turn(home)?;
            daemon::serve(home, &config, Some(turn))
        }
        &What::Start { json } => {
            // One that is being killed may still be connected to: then the next one is asked.
            let talk = Talk::with(home)?;
            told(&blocking(talk.ask(async |client| client.status().await))?, json)
        }
        &What::Stop { children, json } => stop(home, children, json),
        &What::Status { json } => status(home, json),
    }
}

/// What goes wrong is told to whoever started it, who tells people.
fn serve_detached(home: &Home, log: Option<&str>) -> anyhow::Result<u8> {
    let served = settings(home, log)
        .map_err(Into::into)
        .and_then(|config| daemon::serve(home, &config, None));
    if let Err(why) = &served
        && let Some(expected) = why.downcast_ref::<Expected>()
    {
        let hint = expected.hint().unwrap_or_default();
        drop(out::write(format!("{}\n{expected}\n{hint}\n", expected.code()).as_bytes()));
        // Settings that cannot be understood say nothing of the log, either.
        Logging::begin(&Log::default());
        error!(target: DAEMON, why = %expected, code = expected.code(), "not started");
        return Ok(expected.code());
    }
    served
}

/// The file of the home; the command line goes over it.
fn settings(home: &Home, log: Option<&str>) -> Result<Config, Expected> {
    let mut config = Config::read(home)?;
    if let Some(level) = log {
        Levels::parse(level).map_err(|(what, hint)| Expected::Daemon {
            code: 2,
            what: format!("--log or HOMING_LOG: {what}"),
            hint,
        })?;
        level.clone_into(&mut config.log.level);
    }
    Ok(config)
}

fn stop(home: &Home, children: bool, json: bool) -> anyhow::Result<u8> {
    let Some((note, client)) = daemon::running(home)? else {
        if let Some(held) = not_answering(home) {
            return Err(held.into());
        }
        if json {
            out::json(&None::<Stopping>)?;
        }
        out::warn(&format!("no daemon runs for {}", home.dir().display()));
        return Ok(0);
    };
    let stopping = blocking(async {
        let stopping = client.stop(children).await?;
        if let Some(process) = note.process() {
            ended(&process).await.map_err(|why| home.unusable(&why))?;
        }
        Ok(stopping)
    })?;
    if json {
        out::json(&stopping)?;
    }
    for id in &stopping.left {
        out::warn(&format!("homing: {id} has not ended: its stop is not confirmed"));
    }
    Ok(u8::from(!stopping.left.is_empty()))
}

fn status(home: &Home, json: bool) -> anyhow::Result<u8> {
    let Some((_, client)) = daemon::running(home)? else {
        return Err(not_answering(home)
            .unwrap_or_else(|| Expected::Daemon {
                code: 6,
                what: format!("no daemon runs for {}", home.dir().display()),
                hint: "homing daemon start; any other verb starts it, too".to_owned(),
            })
            .into());
    };
    told(&status_of(&client)?, json)
}

fn status_of(client: &Client) -> Result<Status, Expected> {
    blocking(async { Ok(client.status().await?) })
}

/// The home is held by somebody who does not answer.
fn not_answering(home: &Home) -> Option<Expected> {
    let alive = Note::read(home).ok().flatten().is_some_and(|note| note.process().is_some());
    let by = Holder::of(home.ledger()).filter(|_| alive);
    by.map(|by| Expected::Held { path: home.dir().display().to_string(), by: Some(by) })
}

fn told(status: &Status, json: bool) -> anyhow::Result<u8> {
    if json {
        out::json(status)?;
        return Ok(0);
    }
    let http = status.http.as_ref().map(|http| format!("http      {http}\n")).unwrap_or_default();
    let text = format!(
        "daemon    {} since {}\nversion   {}\nhome      {}\nsocket    {}\n{http}hosts     {}\njournal   {} lines\n",
        status.pid,
        status.since,
        status.version,
        status.home,
        status.socket,
        status.hosts.join(", "),
        status.head
    );
    out::write(text.as_bytes())?;
    Ok(0)
}

/// Runs a verb's conversation with the daemon.
pub fn blocking<T>(talk: impl Future<Output = Result<T, Expected>>) -> Result<T, Expected> {
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_all().build();
    loop_.map_err(Expected::Output)?.block_on(talk)
}
