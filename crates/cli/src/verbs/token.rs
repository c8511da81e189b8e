//! `homing token`: what a program must know that calls over TCP, or is called by a webhook.

use homing_core::nearest::unknown;
use serde::Serialize;

use crate::config::Config;
use crate::expected::Expected;
use crate::home::Home;
use crate::out;
use crate::token::TokenFile;

const EXAMPLES: &str = "\
Examples:
  homing token
  homing token --rotate
  homing token --webhook ops
  curl -H \"Authorization: Bearer $(homing token)\" http://127.0.0.1:7117/v1/tasks

HTTP on TCP is off until homing.toml says where to listen:
  [http]
  listen = \"127.0.0.1:7117\"";

/// Print this home's token, which calls over TCP need; made if there is none
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Make a new one: the old one is worth nothing from now on
    #[arg(long)]
    rotate: bool,

    /// Print instead what requests to this webhook of homing.toml are signed with
    #[arg(long, value_name = "NAME")]
    webhook: Option<String>,

    /// Print it as JSON, with where it is kept
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Told {
    token: String,
    path: String,
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let file = match &args.webhook {
        None => TokenFile::of(home),
        Some(name) => {
            let known = Config::read(home)?.receivers.webhooks;
            if !known.contains_key(name) {
                let what = unknown("webhook", name, known.keys().map(String::as_str));
                let hint = "[webhooks.NAME] of homing.toml sets one up: homing config show";
                return Err(Expected::Usage { what, hint }.into());
            }
            TokenFile::of_webhook(home, name)
        }
    };
    let token = if args.rotate { file.rotate()? } else { file.get()? };
    if args.json {
        out::json(&Told { token, path: file.path().display().to_string() })?;
    } else {
        out::write(format!("{token}\n").as_bytes())?;
    }
    Ok(0)
}
