//! The binary: reads the command line, runs one verb, and says in words and an exit code what came of it.

#![forbid(unsafe_code)]

mod caller;
mod config;
mod daemon;
mod demo;
mod ending;
mod expected;
mod home;
mod ledger;
mod order;
mod out;
mod progress;
mod setup;
mod talk;
mod token;
mod verbs;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use expected::Expected;
use home::Home;
use verbs::{
    adopt, answer, asks, attach, cancel, completions, doctor, events, inbox, launch, logs, ls,
    output, owned, resume, retry, run, send, show, wait, why,
};

const AFTER: &str = "\
Exit codes: 0 done; 1 the task ended otherwise; 2 usage; 3 not found; 4 waited out; 5 refused;
6 no daemon, or the home cannot be used; 130 interrupted.

One daemon per home runs its tasks. Any verb starts it when none runs; `homing daemon stop` ends it, and
commands run on.";

/// Sends commands out on tasks, knows truthfully when each is finished, and brings the result home.
#[derive(Parser)]
#[command(name = "homing", version, after_help = AFTER, max_term_width = 100)]
struct Cli {
    /// Where tasks are kept [default: homing in the XDG state directory]
    #[arg(long, global = true, env = "HOMING_HOME", value_name = "DIR", hide_env_values = true)]
    home: Option<PathBuf>,

    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    Demo(verbs::demo::Args),
    Chat(verbs::chat::Args),
    Launch(Box<launch::Args>),
    Run(Box<run::Args>),
    Ls(ls::Args),
    Show(show::Args),
    Output(output::Args),
    Wait(wait::Args),
    Why(why::Args),
    Logs(logs::Args),
    Events(events::Args),
    Send(send::Args),
    Cancel(cancel::Args),
    Resume(resume::Args),
    Retry(retry::Args),
    Adopt(adopt::Args),
    Attach(attach::Args),
    Asks(asks::Args),
    Answer(answer::Args),
    Inbox(inbox::Args),
    Owned(owned::Args),
    Redrive(verbs::redrive::Args),
    Reroute(verbs::reroute::Args),
    Daemon(verbs::daemon::Args),
    Config(verbs::config::Args),
    Token(verbs::token::Args),
    Mcp(verbs::mcp::Args),
    Setup(verbs::setup::Args),
    Doctor(doctor::Args),
    Completions(completions::Args),
}

/// What the maker of shims, each the supervisor of one command, is called with; nobody types it.
const NURSERY: &str = "shims";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    if let (Some(first), None) = (args.next(), args.next())
        && first == NURSERY
    {
        return nurse();
    }
    let cli = Cli::parse();
    match act(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => say(&error),
    }
}

fn nurse() -> ExitCode {
    match homing_shim::nursery::nurse() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            out::warn(&format!("homing: the shim could not go on: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn act(cli: Cli) -> anyhow::Result<u8> {
    if let Verb::Completions(args) = cli.verb {
        return completions::run(args);
    }
    let named = cli.home.is_some();
    let home = Home::find(cli.home)?;
    match cli.verb {
        Verb::Demo(args) => verbs::demo::run(&args),
        Verb::Chat(args) => verbs::chat::run(&home, &args),
        Verb::Launch(args) => launch::run(&home, *args),
        Verb::Run(args) => run::run(&home, *args),
        Verb::Ls(args) => ls::run(&home, &args),
        Verb::Show(args) => show::run(&home, &args),
        Verb::Output(args) => output::run(&home, &args),
        Verb::Wait(args) => wait::run(&home, &args),
        Verb::Why(args) => why::run(&home, &args),
        Verb::Logs(args) => logs::run(&home, &args),
        Verb::Events(args) => events::run(&home, &args),
        Verb::Send(args) => send::run(&home, &args),
        Verb::Cancel(args) => cancel::run(&home, &args),
        Verb::Resume(args) => resume::run(&home, &args),
        Verb::Retry(args) => retry::run(&home, &args),
        Verb::Adopt(args) => adopt::run(&home, &args),
        Verb::Attach(args) => attach::run(&home, &args),
        Verb::Asks(args) => asks::run(&home, &args),
        Verb::Answer(args) => answer::run(&home, &args),
        Verb::Inbox(args) => inbox::run(&home, &args),
        Verb::Owned(args) => owned::run(&home, &args),
        Verb::Redrive(args) => verbs::redrive::run(&home, &args),
        Verb::Reroute(args) => verbs::reroute::run(&home, &args),
        Verb::Daemon(args) => verbs::daemon::run(&home, &args),
        Verb::Config(args) => verbs::config::run(&home, &args),
        Verb::Token(args) => verbs::token::run(&home, &args),
        Verb::Mcp(args) => verbs::mcp::run(&home, &args),
        Verb::Setup(args) => verbs::setup::run(&home, named, &args),
        Verb::Doctor(args) => doctor::run(&home, &args),
        Verb::Completions(args) => completions::run(args),
    }
}

/// What was expected to go wrong is said with what to try; anything else is a defect of ours.
fn say(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref::<Expected>() {
        Some(Expected::Closed | Expected::Interrupted) => {}
        Some(expected) => {
            out::warn(&format!("homing: {expected}"));
            if let Some(hint) = expected.hint() {
                out::warn(&format!("  try: {hint}"));
            }
        }
        None => out::warn(&format!("homing: this is a defect, please report it: {error:#}")),
    }
    ExitCode::from(error.downcast_ref::<Expected>().map_or(1, Expected::code))
}
