//! The server that sessions run on: one that runs already, or one of our own under a shim, which outlives this process and takes
//! what its tools left behind with it when it ends.

use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use homing_core::ids::TaskId;
use homing_shim::claim;
use homing_shim::processes::{self, Process};
use homing_shim::record;
use homing_shim::run_dir::RunDir;
use homing_shim::spec::Spec;
use tokio::sync::Mutex;
use tracing::warn;

use super::LOG;
use super::http::Door;
use crate::listens::{DOOR, Listens, listeners};
use crate::nursery::Nursery;
use crate::process::{ProcessHost, control};
use crate::system;
use crate::system::processes::{openers, opens};

/// What it must say after it was started.
const START: Duration = Duration::from_secs(60);
/// A request that is made while it starts may hang.
const HEALTH: Duration = Duration::from_secs(2);
const HEALTH_PAUSE: Duration = Duration::from_millis(25);
const GRACE: Duration = Duration::from_secs(5);
/// Of what it writes, of each stream.
const SPOOL: u64 = 1 << 20;
const USER: &str = "opencode";
pub(super) const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";
/// In a server's directory: the head of what it wrote to its errors.
const ERRORS: &str = "err.0";

/// The file that all it knows is in.
const DATA: &str = "opencode.db";

/// Variables of ours that an own server has; those beginning with these words besides.
const PASSED_ON: [&str; 22] = [
    "PATH",
    "HOME",
    "LANG",
    "TERM",
    "USER",
    "SHELL",
    "TMPDIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "AZURE_API_KEY",
    "AWS_PROFILE",
    "AWS_REGION",
];
/// Settings beside those in files.
const MORE: &str = "OPENCODE_CONFIG_CONTENT";
/// The plugin of a server of our own.
const PLUGIN: &str = "homing.js";
const PASSED_ON_PREFIXES: [&str; 3] = ["LC_", "XDG_", "OPENCODE_"];

/// Where sessions run.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// A server that runs already; none: one is started.
    pub url: Option<String>,
    /// Of that one, if it wants to hear one.
    pub password: Option<String>,
    /// How one is started; empty: `opencode`.
    pub command: Vec<String>,
    /// Variables that one has besides.
    pub env: Vec<String>,
    /// Run for each child whose session was made, with its id in the place of `{task}`.
    pub pane: Vec<String>,
    /// The plugin, where OpenCode's own settings have none: conversations delegate by it.
    pub plugin: Option<String>,
}

/// One server.
#[derive(Debug)]
pub(super) struct Server {
    pub door: Door,
    pub password: Option<String>,
    /// Which program it is: another one at the same place has another. Empty when that cannot be told.
    pub identity: String,
    /// Of one that we started.
    run: Option<RunDir>,
}

impl Server {
    /// Whether it began after that, in milliseconds since the epoch.
    pub(super) fn is_younger_than(&self, at: f64) -> bool {
        let begun = self.run.as_ref().and_then(|run| {
            let written = std::fs::metadata(run.file(DOOR)).ok()?.modified().ok()?;
            Some(written.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64() * 1e3)
        });
        begun.is_some_and(|begun| begun > at)
    }

    /// Whether no other program has its data open.
    pub(super) fn is_alone(&self) -> bool {
        let Some(shim) = self.shim() else {
            return false;
        };
        let Ok(below) = processes::below(&[shim.pid]) else {
            return false;
        };
        let own: Vec<i32> = below.into_iter().map(|process| process.pid).collect();
        let data = own.iter().find_map(|pid| opens(*pid, DATA));
        let all = data.and_then(|data| openers(&data).ok());
        all.is_some_and(|all| all.iter().all(|pid| own.contains(pid)))
    }

    /// What supervises one that we started.
    pub(super) fn shim(&self) -> Option<Process> {
        self.run.as_ref().and_then(held)
    }

    /// Whether it is still the one that was found.
    fn runs(&self) -> bool {
        match &self.run {
            Some(run) => held(run).is_some(),
            None => true,
        }
    }
}

/// Finds the server, or starts it.
#[derive(Debug)]
pub(super) struct Servers {
    settings: Settings,
    /// Each server of ours has a directory in it.
    folder: PathBuf,
    nursery: Nursery,
    /// Whose plugin in it is to come to.
    home: Option<OsString>,
    now: Mutex<Option<Arc<Server>>>,
}

impl Servers {
    pub(super) fn new(settings: Settings, beside: &ProcessHost) -> Self {
        let (folder, nursery) = (beside.servers(), beside.nursery());
        Self { settings, folder, nursery, home: beside.home(), now: Mutex::new(None) }
    }

    /// The one that sessions run on now; another one when that is gone.
    pub(super) async fn get(&self) -> Result<Arc<Server>, String> {
        let mut now = self.now.lock().await;
        if let Some(server) = now.as_ref().filter(|server| server.runs()) {
            return Ok(Arc::clone(server));
        }
        let server = match &self.settings.url {
            Some(url) => self.named(url).await?,
            None => self.own().await?,
        };
        Ok(Arc::clone(now.insert(Arc::new(server))))
    }

    /// Only if one runs: nothing is started.
    pub(super) async fn running(&self) -> Option<Arc<Server>> {
        let mut now = self.now.lock().await;
        if now.as_ref().is_some_and(|server| !server.runs()) {
            *now = None;
        }
        if now.is_none() {
            let found = match &self.settings.url {
                Some(url) => self.named(url).await.ok(),
                None => self.left().ok().flatten(),
            };
            *now = found.map(Arc::new);
        }
        now.clone()
    }

    /// Whether they are started here, and end with all that ran on them.
    pub(super) fn are_ours(&self) -> bool {
        self.settings.url.is_none()
    }

    /// It did not answer as it should: who is there is looked up again.
    pub(super) async fn doubt(&self, server: &Arc<Server>) {
        self.now.lock().await.take_if(|now| Arc::ptr_eq(now, server));
    }

    async fn named(&self, url: &str) -> Result<Server, String> {
        let address = address(url)?;
        let authorization = self.settings.password.as_deref().map(basic);
        let door = Door { address, authorization };
        match door.get_soon("/global/health", HEALTH).await {
            Ok(_) => {
                let password = self.settings.password.clone();
                Ok(Server { door, password, identity: listener(address), run: None })
            }
            Err(why) => Err(format!("OpenCode at {url}: {why}")),
        }
    }

    async fn own(&self) -> Result<Server, String> {
        if let Some(server) = self.left().map_err(|why| self.unusable(&why))? {
            let Some(run) = &server.run else {
                return Ok(server);
            };
            match tokio::time::timeout(START, self.healthy(run, &server)).await {
                Ok(Ok(())) => return Ok(server),
                // It has ended meanwhile.
                Ok(Err(_)) => {}
                // It hangs. Beside another one on the same data it would go on one day, and do what was given to that one.
                Err(_) => self.end(run).await.map_err(|why| self.unusable(&why))?,
            }
        }
        let run = self.prepare().map_err(|why| self.unusable(&why))?;
        let said = self.nursery.shim_of(&run).await.map_err(|why| self.unusable(&why))?;
        let server = match found(&run).map_err(|why| self.unusable(&why))? {
            Some(server) => server,
            None => return Err(self.not_started(&run, &said)),
        };
        let started = tokio::time::timeout(START, self.healthy(&run, &server)).await;
        match started {
            Ok(Ok(())) => Ok(server),
            Ok(Err(why)) => Err(why),
            Err(_) => {
                drop(self.end(&run).await);
                Err(format!("{} did not answer within {} s", self.program(), START.as_secs()))
            }
        }
    }

    async fn healthy(&self, run: &RunDir, server: &Server) -> Result<(), String> {
        while server.door.get_soon("/global/health", HEALTH).await.is_err() {
            if held(run).is_none() {
                return Err(self.not_started(run, "it ended at once"));
            }
            tokio::time::sleep(HEALTH_PAUSE).await;
        }
        Ok(())
    }

    /// One that was started by a process before this one, or by this one.
    fn left(&self) -> io::Result<Option<Server>> {
        for run in self.runs()? {
            if let Some(server) = found(&run)? {
                return Ok(Some(server));
            }
        }
        Ok(None)
    }

    fn runs(&self) -> io::Result<Vec<RunDir>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(why) => return Err(why),
        };
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        paths.sort();
        Ok(paths.into_iter().map(RunDir::at).collect())
    }

    /// A directory for the next one; those of servers that have ended go.
    fn prepare(&self) -> io::Result<RunDir> {
        for run in self.runs()? {
            if held(&run).is_none() {
                drop(std::fs::remove_dir_all(run.path()));
            }
        }
        let run = RunDir::at(self.folder.join(format!("{:016x}", system::random()?)));
        run.make()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let password = format!("{:016x}{:016x}", system::random()?, system::random()?);
        let listens = Listens { port, password };
        listens.write(&run)?;
        let mut command: Vec<OsString> = self.command().map(Into::into).collect();
        let port = port.to_string();
        command.extend(["serve", "--hostname", "127.0.0.1", "--port", &port].map(Into::into));
        let mut env: Vec<(OsString, OsString)> =
            std::env::vars_os().filter(|(name, _)| self.is_passed_on(name)).collect();
        env.push((PASSWORD.into(), listens.password.into()));
        env.extend(self.home.clone().map(|home| ("HOMING_HOME".into(), home)));
        if let Some(plugin) = &self.settings.plugin
            && std::env::var_os(MORE).is_none()
        {
            run.put(PLUGIN, plugin.as_bytes())?;
            let place = format!("file://{}", run.file(PLUGIN).display());
            env.push((MORE.into(), serde_json::json!({"plugin": [place]}).to_string().into()));
        }
        let cwd = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_dir());
        let spec = Spec { command, env, cwd, reads: false, spool: SPOOL, grace: GRACE };
        spec.write(&run)?;
        Ok(run)
    }

    /// Opens a place to look at a child, where somebody wants one.
    pub(super) fn open_pane(&self, task: TaskId) {
        let words = self.settings.pane.iter().map(|word| word.replace("{task}", &task.to_string()));
        let words: Vec<String> = words.collect();
        let Some((program, words)) = words.split_first() else {
            return;
        };
        let mut pane = tokio::process::Command::new(program);
        pane.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let program = program.clone();
        tokio::spawn(async move {
            match pane.status().await {
                Ok(ended) if ended.success() => {}
                Ok(ended) => warn!(target: LOG, %task, program, %ended, "no pane was opened"),
                Err(why) => warn!(target: LOG, %task, program, %why, "no pane was opened"),
            }
        });
    }

    pub(super) fn command(&self) -> impl Iterator<Item = &str> {
        let given = self.settings.command.iter().map(String::as_str);
        given.chain(self.settings.command.is_empty().then_some("opencode"))
    }

    fn program(&self) -> &str {
        self.command().next().unwrap_or("opencode")
    }

    fn is_passed_on(&self, name: &std::ffi::OsStr) -> bool {
        let name = name.to_string_lossy();
        name != PASSWORD
            && (PASSED_ON.contains(&&*name)
                || PASSED_ON_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || self.settings.env.iter().any(|listed| *listed == name))
    }

    fn not_started(&self, run: &RunDir, said: &str) -> String {
        let why = match record::Exit::read(run) {
            Ok(Some(record::Exit { ended: record::Ended::NotStarted { why, .. }, .. })) => why,
            Ok(_) | Err(_) => last_words(run).unwrap_or_else(|| said.to_owned()),
        };
        format!(
            "{} was not started: {why}; install OpenCode, or name it in homing.toml: [opencode] command = [\"…\"]",
            self.program()
        )
    }

    fn unusable(&self, why: &io::Error) -> String {
        format!("{}: {why}", self.folder.display())
    }

    /// Ends one of ours, with all that it started.
    async fn end(&self, run: &RunDir) -> io::Result<()> {
        match held(run) {
            Some(shim) => control::stop(run, &shim, GRACE).await,
            None => Ok(()),
        }
    }

    /// Ends every one of ours.
    pub(super) async fn end_all(&self) -> io::Result<()> {
        for run in self.runs()? {
            self.end(&run).await?;
        }
        Ok(())
    }
}

/// The shim of a server that runs.
fn held(run: &RunDir) -> Option<Process> {
    claim::find(run).ok().flatten().filter(|claim| claim.held).map(|claim| claim.shim)
}

fn found(run: &RunDir) -> io::Result<Option<Server>> {
    let Some(shim) = held(run) else {
        return Ok(None);
    };
    let Some(listens) = Listens::read(run)? else {
        return Ok(None);
    };
    let authorization = Some(basic(&listens.password));
    let door = Door { address: listens.address(), authorization };
    let password = Some(listens.password);
    Ok(Some(Server { door, password, identity: shim.to_string(), run: Some(run.clone()) }))
}

fn basic(password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{USER}:{password}")))
}

/// `http://127.0.0.1:4096`, of this machine alone.
fn address(url: &str) -> Result<SocketAddr, String> {
    let odd = || format!("{url:?} is no server of this machine: http://127.0.0.1:PORT");
    let rest = url.strip_prefix("http://").ok_or_else(odd)?.trim_end_matches('/');
    let rest = rest.replace("localhost", "127.0.0.1");
    let address: SocketAddr = rest.parse().map_err(|_| odd())?;
    if address.ip().is_loopback() { Ok(address) } else { Err(odd()) }
}

/// Which process listens there; nothing when that cannot be seen.
fn listener(address: SocketAddr) -> String {
    let first = listeners(address).into_iter().min().and_then(|pid| Process::of(pid).ok());
    first.map(|process| process.to_string()).unwrap_or_default()
}

/// What it wrote to its errors last.
fn last_words(run: &RunDir) -> Option<String> {
    let text = String::from_utf8_lossy(&run.get(ERRORS).ok()??).into_owned();
    let lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let last: Vec<&str> = lines.take(3).collect();
    (!last.is_empty()).then(|| last.into_iter().rev().collect::<Vec<_>>().join(" | "))
}
