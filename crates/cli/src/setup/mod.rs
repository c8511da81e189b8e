//! Tells an agent of homing by one entry in its settings, and takes that back. What was there before is kept beside the
//! home, so that taking it back gives the very bytes of before.
//!
//! - `place`: where each agent keeps its settings, and what is put there. `plugin`: what OpenCode gets.
//! - `splice`: how that is put into a file of somebody else's.

mod place;
mod plugin;
mod splice;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::expected::Expected;
use crate::home::Home;

pub use place::Agent;
use splice::Spliced;

/// What was done to a file, kept in the home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Done {
    path: PathBuf,
    /// As it was; none when there was none.
    before: Option<String>,
    after: String,
    /// What was put in.
    piece: String,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    pub agent: &'static str,
    pub path: PathBuf,
    /// `added`, `there`, `removed` or `absent`; with a dry run, what would be.
    pub outcome: &'static str,
    pub dry_run: bool,
    /// The lines that come or go.
    pub lines: Vec<String>,
    /// Where the file of before is kept.
    pub backup: Option<PathBuf>,
}

fn wrong(path: &Path, what: impl std::fmt::Display, hint: &str) -> Expected {
    Expected::Config {
        path: path.display().to_string(),
        what: what.to_string(),
        hint: hint.to_owned(),
    }
}

const BY_HAND: &str = "nothing was changed; docs/mcp.md says what to put there by hand";

/// How it is set up.
#[derive(Debug, Clone, Copy)]
pub struct How {
    /// The home was named, and is to be named there.
    pub named: bool,
    /// The agent's own tool for delegating makes way.
    pub replace: bool,
    pub dry: bool,
}

/// Puts homing into an agent's settings.
pub fn add(home: &Home, agent: Agent, how: How) -> Result<Told, Expected> {
    let How { named, replace, dry } = how;
    let path = settings(agent)?;
    let there = read(&path)?;
    let program = std::env::current_exe().map_err(|why| wrong(&path, why, BY_HAND))?;
    let text = there.as_deref().unwrap_or_default();
    let spliced = match agent {
        Agent::Opencode => plugin::put(text, &program, home.dir(), replace),
        Agent::Claude | Agent::Codex | Agent::Gemini => {
            agent.with_homing(text, &program, named.then(|| home.dir()))
        }
    };
    let spliced =
        spliced.map_err(|why| wrong(&path, format!("it is not understood: {why}"), BY_HAND))?;
    let mut told = Told {
        agent: agent.name(),
        path: path.clone(),
        outcome: "there",
        dry_run: dry,
        lines: Vec::new(),
        backup: None,
    };
    match spliced {
        Spliced::There => {}
        Spliced::Other { was } => {
            let what = format!("homing is set up otherwise there: {was}");
            return Err(wrong(&path, what, "take that entry out by hand, then the same again"));
        }
        Spliced::New { text, piece } => {
            told.outcome = "added";
            told.lines = lines(&text[piece.clone()], '+');
            // A plugin of another release was not there before.
            let before = there.filter(|text| !plugin::is_ours(text));
            if !dry {
                let piece = text[piece].to_owned();
                let done = Done { path: path.clone(), before, after: text, piece };
                told.backup = Some(keep(home, agent, &done)?);
                write(&path, &done.after)?;
            }
        }
    }
    Ok(told)
}

/// Takes homing out of an agent's settings: the bytes of before, or, where others have written since, all but our entry.
pub fn undo(home: &Home, agent: Agent, dry: bool) -> Result<Told, Expected> {
    let path = settings(agent)?;
    let kept = kept(home, agent);
    let mut told = Told {
        agent: agent.name(),
        path: path.clone(),
        outcome: "absent",
        dry_run: dry,
        lines: Vec::new(),
        backup: None,
    };
    let Some(done) = load(&kept)?.filter(|done| done.path == path) else {
        return Ok(told);
    };
    told.outcome = "removed";
    told.lines = lines(&done.piece, '-');
    let now = read(&path)?;
    let then = match &now {
        Some(now) if *now == done.after => done.before.clone(),
        Some(now) => match now.matches(&done.piece).count() {
            1 => Some(now.replacen(&done.piece, "", 1)),
            _ => {
                let what = "it was written since, and our entry is not there as we put it";
                return Err(wrong(
                    &path,
                    what,
                    "take it out by hand; what was before is kept in the home",
                ));
            }
        },
        None => None,
    };
    if !dry {
        match then {
            Some(then) => write(&path, &then)?,
            None if now.is_some() => fs::remove_file(&path).map_err(|why| wrong(&path, why, ""))?,
            None => {}
        }
        fs::remove_file(&kept).map_err(|why| home.unusable(&why))?;
    }
    Ok(told)
}

/// The plugin for a server of our own, where people have not put it into OpenCode's settings.
pub fn own_plugin(home: &Home) -> Option<String> {
    let absent = matches!(plugin_of(home), None | Some(Plugin::Absent));
    let program = std::env::current_exe().ok().filter(|_| absent)?;
    match plugin::put("", &program, home.dir(), false) {
        Ok(Spliced::New { text, .. }) => Some(text),
        Ok(Spliced::There | Spliced::Other { .. }) | Err(_) => None,
    }
}

/// How OpenCode's plugin is, for this home.
pub enum Plugin {
    Absent,
    /// As the next `homing setup opencode` would put it there.
    Ours(PathBuf),
    /// Of another release, or for another home.
    Other(PathBuf),
}

/// See there; none when it cannot be told.
pub fn plugin_of(home: &Home) -> Option<Plugin> {
    let path = Agent::Opencode.settings()?;
    let Some(text) = read(&path).ok()? else {
        return Some(Plugin::Absent);
    };
    let program = std::env::current_exe().ok()?;
    let same = |replace| plugin::put(&text, &program, home.dir(), replace) == Ok(Spliced::There);
    Some(if same(false) || same(true) { Plugin::Ours(path) } else { Plugin::Other(path) })
}

fn settings(agent: Agent) -> Result<PathBuf, Expected> {
    agent.settings().ok_or_else(|| Expected::Usage {
        what: format!("nobody says where {} keeps its settings", agent.name()),
        hint: "set HOME",
    })
}

fn lines(piece: &str, sign: char) -> Vec<String> {
    if plugin::is_ours(piece) {
        return vec![format!("{sign} a plugin of {} lines", piece.lines().count())];
    }
    let lines = piece.lines().filter(|line| !matches!(line.trim(), "" | ","));
    lines.map(|line| format!("{sign} {line}")).collect()
}

fn read(path: &Path) -> Result<Option<String>, Expected> {
    match fs::read(path) {
        Ok(bytes) => {
            String::from_utf8(bytes).map(Some).map_err(|_| wrong(path, "it is not UTF-8", BY_HAND))
        }
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(wrong(path, why, BY_HAND)),
    }
}

/// In one step, with the rights that the file had; through a link, to where it leads.
fn write(path: &Path, text: &str) -> Result<(), Expected> {
    let failed = |why: io::Error| wrong(path, why, BY_HAND);
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(dir) = path.parent() {
        fs::create_dir_all(dir).map_err(failed)?;
    }
    let mode = fs::metadata(&path).map_or(0o600, |known| known.mode() & 0o777);
    let mut name = path.clone().into_os_string();
    name.push(format!(".homing-{}", std::process::id()));
    let beside = PathBuf::from(name);
    let written = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside);
    let written = written.and_then(|mut file| {
        io::Write::write_all(&mut file, text.as_bytes())?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&beside, &path));
    moved.map_err(|why| {
        drop(fs::remove_file(&beside));
        failed(why)
    })
}

fn kept(home: &Home, agent: Agent) -> PathBuf {
    home.folder(&format!("setup-{}.json", agent.name().to_lowercase().replace(' ', "-")))
}

fn keep(home: &Home, agent: Agent, done: &Done) -> Result<PathBuf, Expected> {
    home.make()?;
    let path = kept(home, agent);
    let text = serde_json::to_vec_pretty(done).unwrap_or_default();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let put = homing_shim::run_dir::RunDir::at(home.dir()).put(&name, &text);
    put.map_err(|why| home.unusable(&why))?;
    Ok(path)
}

fn load(path: &Path) -> Result<Option<Done>, Expected> {
    let Some(text) = read(path)? else {
        return Ok(None);
    };
    let done = serde_json::from_str(&text);
    done.map(Some)
        .map_err(|why| wrong(path, why, "take the entry out by hand, then remove this file"))
}
