//! `homing mcp`: the tools on standard input and output, for one agent program. The daemon is started when none runs, and
//! found again when it was killed.

use std::sync::Arc;

use homing_core::refs::ParentRef;
use homing_hosts::system::random;
use homing_mcp::{Coming, Daemon, Request, Seat, on_stdio};

use crate::caller;
use crate::daemon;
use crate::expected::Expected;
use crate::home::Home;

const EXAMPLES: &str = "\
Examples:
  claude mcp add homing -- homing mcp
  codex mcp add homing -- homing mcp
  gemini mcp add homing homing mcp

Tasks need a host that takes prompts; any program can be one. In homing.toml:
  [presets.summarise]
  host = \"process\"
  command = [\"my-agent\", \"--quiet\"]   # reads the prompt from standard input";

/// Serve the tools for agents over MCP, on standard input and output
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Who is told of outcomes [default: the task around this program, else the agent's session where it says so, else
    /// HOMING_PARENT, else an inbox of this connection]
    #[arg(long, value_name = "PARENT")]
    parent: Option<ParentRef>,
}

/// The daemon of a home, for the one at the other end of standard input.
struct AtHome {
    home: Home,
    seat: Seat,
}

impl Daemon for AtHome {
    fn client<'a>(&'a self, _: Option<&'a Request>) -> Coming<'a> {
        let home = self.home.clone();
        Box::pin(async move {
            let found = tokio::task::spawn_blocking(move || daemon::ensure(&home)).await;
            let found = found.map_err(|why| why.to_string())?;
            found.map_err(|why| {
                let hint = why.hint().map(|hint| format!("\nTry: {hint}")).unwrap_or_default();
                format!("{why}{hint}")
            })
        })
    }

    fn seat(&self, _: Option<&Request>) -> Seat {
        self.seat.clone()
    }

    fn fresh_key(&self) -> String {
        format!("mcp:{}", unlike_any())
    }
}

/// Bits that nobody else has; a kernel without any gives the process and the time.
fn unlike_any() -> String {
    let time = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        format!("{}-{}", std::process::id(), now.unwrap_or_default().as_nanos())
    };
    random().map_or_else(|_| time(), |bits| format!("{bits:016x}"))
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let session = match &args.parent {
        Some(parent) => Some(parent.clone()),
        None => caller::task().map(ParentRef::Task).or_else(claude).or(caller::named_parent()?),
    };
    let seat = Seat {
        session,
        inbox: Seat::of_connection(&unlike_any()),
        cwd: caller::directory(None)?,
        around: caller::around(),
        turn: None,
        key: None,
    };
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = loop_.block_on(on_stdio(Arc::new(AtHome { home: home.clone(), seat })));
    served.map_err(Expected::NoClient)?;
    Ok(0)
}

/// Claude Code names its session to those it starts.
fn claude() -> Option<ParentRef> {
    let session = std::env::var("CLAUDE_CODE_SESSION_ID").ok()?;
    format!("claude:{session}").parse().ok()
}
