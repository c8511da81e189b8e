//! `homing doctor`: verifies the home, its settings, its daemon, and every row that is kept. Needs no daemon, starts
//! none, changes nothing.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Access, access, statvfs};
use serde::Serialize;

use crate::config::{Config, Homeserver, Room};
use crate::daemon::{self, Note};
use crate::expected::Expected;
use crate::home::Home;
use crate::ledger::Ledger;
use crate::out;
use crate::setup::{self, Plugin};
use crate::token::Given;
use crate::verbs::daemon::blocking;

const EXAMPLES: &str = "\
Examples:
  homing doctor
  homing doctor --json
  homing doctor --home /srv/homing

Exit code 0 when all is well, 1 when something is not; then it says what to try.";

/// Check the home: who else could read it, its settings, its daemon, every row of the ledger
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// Names of the package that has tools as ours.
const OTHERS: [&str; 2] = ["oh-my-openagent", "oh-my-opencode"];
/// Less than this is soon full.
const FREE_MIN: u64 = 16 << 20;
/// For a homeserver to say who we are there.
const ASKED_MOST: Duration = Duration::from_secs(10);
const MAKE_ROOM: &str = "make room on its disk; what runs goes on, and what is kept stays";

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    well: bool,
    says: String,
    /// What to try.
    hint: Option<String>,
}

impl Check {
    fn well(what: &'static str, says: impl Into<String>) -> Self {
        Self { what, well: true, says: says.into(), hint: None }
    }

    fn not(what: &'static str, says: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what, well: false, says: says.into(), hint: Some(hint.into()) }
    }
}

pub fn run(home: &Home, args: &Args) -> anyhow::Result<u8> {
    let mut checks = vec![
        Check::well("version", env!("CARGO_PKG_VERSION")),
        Check::well("home", home.dir().display().to_string()),
    ];
    checks.extend(mode(home));
    checks.extend(disk(home));
    checks.push(settings(home));
    checks.extend(opencode(home));
    checks.extend(plugin(home));
    checks.extend(overlap());
    checks.extend(rooms(home));
    checks.extend(serving(home)?);
    checks.extend(ledger(home)?);
    let well = checks.iter().all(|check| check.well);
    if args.json {
        out::json(&serde_json::json!({ "well": well, "checks": checks }))?;
    } else {
        let mut text: String = checks.iter().map(line).collect();
        text.push_str(if well { "all is well\n" } else { "not all is well\n" });
        out::write(text.as_bytes())?;
    }
    Ok(u8::from(!well))
}

fn line(check: &Check) -> String {
    let hint = check.hint.as_deref().map(|hint| format!("; try: {}", out::plain(hint, 400)));
    let (says, hint) = (out::plain(&check.says, 600), hint.unwrap_or_default());
    format!("{:8}  {says}{hint}\n", check.what)
}

/// Whether others can look into it.
fn mode(home: &Home) -> Option<Check> {
    let mode = std::fs::metadata(home.dir()).ok()?.permissions().mode() & 0o777;
    let says = format!("{mode:03o}: others can look into it");
    Some(match mode & 0o077 {
        0 => Check::well("mode", format!("{mode:03o}: its owner's alone")),
        _ => Check::not("mode", says, format!("chmod 700 '{}'", home.dir().display())),
    })
}

/// Whether more can be kept. A home that is not there yet is made where it can be.
fn disk(home: &Home) -> Option<Check> {
    let about = statvfs(home.dir()).ok()?;
    if let Err(why) = access(home.dir(), Access::WRITE_OK | Access::EXEC_OK) {
        let says =
            format!("nothing can be kept in {}: {}", home.dir().display(), io::Error::from(why));
        return Some(Check::not(
            "disk",
            says,
            "make it writable, or use another home with --home DIR",
        ));
    }
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    // Some file systems count no files.
    let full = about.f_files > 0 && about.f_favail == 0;
    let says = format!("{} MiB free", free >> 20);
    Some(match (full, free < FREE_MIN) {
        (true, _) => Check::not("disk", "it holds no more files", MAKE_ROOM),
        (_, true) => {
            Check::not("disk", format!("{says}: new work is refused when it is full"), MAKE_ROOM)
        }
        (false, false) => Check::well("disk", says),
    })
}

fn settings(home: &Home) -> Check {
    let path = Config::path(home);
    match Config::read(home) {
        Ok(_) if path.exists() => Check::well("settings", path.display().to_string()),
        Ok(_) => Check::well("settings", "all defaults: there is no homing.toml"),
        Err(why) => Check::not("settings", why.to_string(), why.hint().unwrap_or_default()),
    }
}

/// The program that `--host opencode` starts; nobody needs it who does not use that.
fn opencode(home: &Home) -> Option<Check> {
    let settings = Config::read(home).ok()?.opencode;
    if !settings.url.is_empty() {
        return Some(Check::well("opencode", format!("the server at {}", settings.url)));
    }
    let words: Vec<&str> = settings.command.iter().map(String::as_str).collect();
    let (program, before) = words.split_first().unwrap_or((&"opencode", &[]));
    let asked = std::process::Command::new(program).args(before).arg("--version").output();
    let version = asked.ok().filter(|said| said.status.success());
    Some(match version {
        Some(said) => {
            let version = String::from_utf8_lossy(&said.stdout);
            Check::well("opencode", format!("{program} {}", version.trim()))
        }
        // One that is named must be there.
        None if !settings.command.is_empty() => {
            let hint = "[opencode] command = [\"…\"] in homing.toml";
            Check::not("opencode", format!("{program} cannot be run"), hint)
        }
        None => Check::well("opencode", "not in PATH: --host opencode needs it"),
    })
}

/// What brings debriefs into OpenCode's sessions; nobody needs it who does not delegate from there.
fn plugin(home: &Home) -> Option<Check> {
    Some(match setup::plugin_of(home)? {
        Plugin::Absent => Check::well("plugin", "none in OpenCode: homing setup opencode"),
        Plugin::Ours(path) => Check::well("plugin", path.display().to_string()),
        Plugin::Other(path) => {
            let says = format!("{} is of another release, or for another home", path.display());
            Check::not("plugin", says, "homing setup opencode, then start OpenCode anew")
        }
    })
}

/// Another plugin that has tools of the same names.
fn overlap() -> Option<Check> {
    let dir = setup::Agent::Opencode.settings()?.parent()?.parent()?.to_owned();
    for name in ["opencode.json", "opencode.jsonc"] {
        let path = dir.join(name);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if let Some(other) = OTHERS.iter().find(|other| text.contains(**other)) {
            let says = format!("{}: {other} has background tools of its own", path.display());
            let hint = "one of the two: take it out there, or homing setup opencode --undo";
            return Some(Check::not("overlap", says, hint));
        }
    }
    None
}

/// Whether each homeserver answers, and knows the token. A webhook cannot be asked.
fn rooms(home: &Home) -> Vec<Check> {
    let Ok(config) = Config::read(home) else {
        return Vec::new();
    };
    let ask = |(name, room): (&String, &Room)| match room {
        Room::Webhook(_) => None,
        Room::Matrix(homeserver) => Some(room_check(home, name, homeserver)),
    };
    config.receivers.rooms.iter().filter_map(ask).collect()
}

fn room_check(home: &Home, name: &str, homeserver: &Homeserver) -> Check {
    if let Given::Env(var) = &homeserver.token
        && std::env::var_os(var).is_none()
    {
        // The daemon may have it.
        return Check::well("room", format!("{name}: not asked, for {var} is not set here"));
    }
    let at = homeserver.place.shown();
    let hint = format!("[rooms.{name}] of homing.toml: homeserver, and the token that it gave");
    let mut room = match homeserver.room(home, name) {
        Ok(room) => room,
        Err(why) => {
            return Check::not("room", why.to_string(), why.hint().unwrap_or_default());
        }
    };
    room.within = room.within.min(ASKED_MOST);
    match blocking(async { Ok(room.whoami().await) }) {
        Ok(Ok(who)) => Check::well("room", format!("{name}: {who} at {at}")),
        Ok(Err(why)) => Check::not("room", format!("{name}: {at}: {why}"), hint),
        Err(why) => Check::not("room", format!("{name}: {why}"), hint),
    }
}

/// The daemon, and the socket it is reached at.
fn serving(home: &Home) -> Result<Vec<Check>, Expected> {
    let Some(note) = Note::read(home)? else {
        return Ok(vec![Check::well("daemon", "none runs; any verb starts one")]);
    };
    if note.process().is_none() {
        let says =
            format!("none runs: {} ended without a word; any verb starts the next", note.pid);
        return Ok(vec![Check::well("daemon", says)]);
    }
    Ok(vec![answering(home, &note)?, socket(&note.socket)])
}

fn answering(home: &Home, note: &Note) -> Result<Check, Expected> {
    let status = match daemon::running(home)? {
        Some((_, client)) => blocking(async { Ok(client.status().await?) }).ok(),
        None => None,
    };
    let restart = "homing daemon stop; any verb starts the next, and commands run on";
    Ok(match status {
        None => {
            let says = format!("{} runs and does not answer", note.pid);
            Check::not("daemon", says, format!("kill {}; commands run on", note.pid))
        }
        Some(status) if status.version != env!("CARGO_PKG_VERSION") => {
            let says = format!("{} is of version {}", status.pid, status.version);
            Check::not("daemon", says, restart)
        }
        Some(status) => {
            let says = format!("{} since {}, version {}", status.pid, status.since, status.version);
            Check::well("daemon", says)
        }
    })
}

fn socket(path: &Path) -> Check {
    let place = path.display();
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.permissions().mode() & 0o077 == 0 => {
            Check::well("socket", place.to_string())
        }
        Ok(_) => Check::not(
            "socket",
            format!("{place}: others can use it"),
            format!("chmod 600 '{place}'"),
        ),
        Err(why) => Check::not("socket", format!("{place}: {why}"), "homing daemon stop"),
    }
}

/// Every row.
fn ledger(home: &Home) -> Result<Vec<Check>, Expected> {
    let ledger = match Ledger::open(home) {
        Ok(Some(ledger)) => ledger,
        Ok(None) => {
            return Ok(vec![Check::well("ledger", "none yet: nothing was ever kept here")]);
        }
        Err(why @ Expected::Home { .. }) if home.ledger().exists() => {
            let hint = "nothing is lost: it is verified once the home can be written to";
            return Ok(vec![Check::not("ledger", why.to_string(), hint)]);
        }
        Err(other) => return Err(other),
    };
    let head = ledger.reader().head()?;
    let damage = ledger.reader().check()?;
    let says = format!("{head} journal lines, {} damaged", damage.len());
    if damage.is_empty() {
        return Ok(vec![Check::well("ledger", says)]);
    }
    let hint = "put a copy of the home in its place; a wrong value is never told";
    let mut all = vec![Check::not("ledger", says, hint)];
    all.extend(damage.iter().map(|each| {
        let says = format!("{}: {}", each.place, each.what);
        Check { what: "damaged", well: false, says, hint: None }
    }));
    Ok(all)
}
