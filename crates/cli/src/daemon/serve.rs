//! The daemon itself: holds the home, runs its tasks, serves its socket, until it is told to end. Children run on.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use homing_core::task::Task;
use homing_hosts::opencode::{OpenCode, Settings};
use homing_hosts::process::ProcessHost;
use homing_hosts::system::names::Names;
use homing_hosts::system::{SystemClock, SystemIds};
use homing_ports::door::Keeps;
use homing_ports::host::Host;
use homing_ports::store::TaskQuery;
use homing_rooms::webhook::{Webhook, Webhooks};
use homing_runtime::{Homing, Runtime};
use homing_server::{Counts, Door, Identity, Stops};
use homing_shim::lean::let_go_of_code;
use homing_shim::processes::{Process, call_this};
use homing_store::SqliteStore;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::{info, warn};

use super::http;
use super::log::{DAEMON, Logging};
use super::note::Note;
use super::signs::{self, Signs};
use super::socket;
use super::start::READY;
use crate::config::{Config, Room};
use crate::expected::Expected;
use crate::home::Home;
use crate::out;
use crate::setup;
use crate::token::TokenFile;

/// A reader of a stream that takes nothing for so long is let go of.
const SLOW: Duration = Duration::from_secs(30);

/// A daemon that had nothing to do for so long rests: it lets go of the code that its last work needed.
const STILL: Duration = Duration::from_secs(30);

/// Between two tries to make a socket where none can be made, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(10);

/// Runs the daemon until it is told to stop. `turn` is held while one is started by hand; one that a verb started
/// is detached, and that verb holds it.
pub fn serve(home: &Home, config: &Config, turn: Option<File>) -> anyhow::Result<u8> {
    call_this(c"homing");
    if turn.is_none() {
        // Its terminal is not ours. One that leads a session already needs none.
        let _ = rustix::process::setsid();
    }
    let logging = Logging::begin(&config.log);
    let store = home.hold()?;
    let (version, home_) = (env!("CARGO_PKG_VERSION"), home.dir().display());
    info!(target: DAEMON, version, home = %home_, pid = std::process::id(), "started");
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    loop_.block_on(run(home, config, store, turn, &logging))?;
    info!(target: DAEMON, "stopped");
    Ok(0)
}

async fn run(
    home: &Home,
    config: &Config,
    store: SqliteStore,
    turn: Option<File>,
    logging: &Logging,
) -> anyhow::Result<()> {
    let mut signals = Signals::new()?;
    let host = home.process_host(config)?;
    let settings = Settings { plugin: setup::own_plugin(home), ..config.opencode.settings() };
    let opencode = OpenCode::new(settings, &host).with_result(config.result);
    let hosts = Hosts { process: host.clone(), opencode: opencode.clone() };
    let (signs, seen) = Signs::new();
    let homing = start(home, config, store, &hosts, webhooks(home, config)?, signs)?;
    let telling = tokio::spawn(signs::tell(seen, opencode.clone(), config.hooks.ended.clone()));
    forget(&homing, &host).await.map_err(Expected::from)?;
    let path = socket::place(home).map_err(|why| home.unusable(&why))?;
    let listener = socket::listen(&path).map_err(|why| home.unusable(&why))?;
    let http = http::open(home, &config.http).await?;
    let note = note(&path, http.as_ref().map(|http| format!("http://{}", http.address)))?;
    note.write(home)?;
    let door = door(home, &homing, &hosts, config, &note);
    ready(home, &note, turn.is_none(), logging)?;
    info!(target: DAEMON, socket = %path.display(), http = note.http, "listening");
    // What it began with is not needed any more; one that cannot let go of it is only larger.
    drop(let_go_of_code());
    drop(turn);
    let stops = door.stops.clone();
    let resting = tokio::spawn(rest(homing.head()));
    let serving = keep_serving(listener, path.clone(), http, door);
    tokio::pin!(serving);
    let mut closing = stops.closing();
    let served = tokio::select! {
        () = signals.next() => false,
        _ = closing.wait_for(|closing| *closing) => false,
        () = &mut serving => true,
    };
    info!(target: DAEMON, "stopping; what runs goes on");
    resting.abort();
    stops.stop();
    // Nobody finds it any more; those who wait hear that it stops.
    Note::remove(home);
    drop(std::fs::remove_file(&path));
    let rest = async {
        if !served {
            serving.await;
        }
    };
    let (used, ()) = tokio::join!(is_used(&homing, &opencode), rest);
    homing.stop().await;
    telling.abort();
    if !used && let Err(why) = opencode.end().await {
        warn!(target: DAEMON, %why, "OpenCode's server could not be ended");
    }
    Ok(())
}

/// Who runs tasks.
struct Hosts {
    process: ProcessHost,
    opencode: OpenCode,
}

/// Whether something that goes on without the daemon needs OpenCode's server.
async fn is_used(homing: &Homing, opencode: &OpenCode) -> bool {
    let on_it = |task: &Task| (*task.brief.host == *opencode.name()).then_some(());
    // What cannot be read is not taken for nothing.
    homing.living(on_it).await.map_or(true, |found| !found.is_empty())
}

fn start(
    home: &Home,
    config: &Config,
    store: SqliteStore,
    hosts: &Hosts,
    webhooks: Webhooks,
    signs: Signs,
) -> Result<Homing, Expected> {
    let clock = SystemClock::new().map_err(|why| home.unusable(&why))?;
    let ids = SystemIds::new().map_err(|why| home.unusable(&why))?;
    let runtime = Runtime::new(Box::new(store), Arc::new(clock), Arc::new(ids))
        .limits(config.limits.clone())
        .host(Arc::new(hosts.process.clone()))
        .host(Arc::new(hosts.opencode.clone()))
        .onlooker(Arc::new(signs))
        .parent(hosts.opencode.name(), Arc::new(hosts.opencode.clone()))
        // It is told of every end, and lets go of what it kept for the task.
        .telemetry(Arc::new(hosts.process.clone()));
    let runtime = with_rooms(runtime, home, config, &webhooks)?;
    Ok(runtime.parent("webhook", Arc::new(webhooks)).start()?)
}

/// Who is told by a request. What it is signed with is made now, so that its receiver can be set up.
fn webhooks(home: &Home, config: &Config) -> Result<Webhooks, Expected> {
    let mut all = Webhooks::default();
    for (name, receiver) in &config.receivers.webhooks {
        let secret = TokenFile::of_webhook(home, name);
        secret.get()?;
        let place = receiver.place.clone();
        let within = Duration::from_millis(receiver.timeout_ms);
        let webhook = Webhook { place, secret: Arc::new(secret), within };
        all.0.insert(name.clone(), Arc::new(webhook));
    }
    Ok(all)
}

/// With every place where people read.
fn with_rooms(
    mut runtime: Runtime,
    home: &Home,
    config: &Config,
    webhooks: &Webhooks,
) -> Result<Runtime, Expected> {
    for (name, room) in &config.receivers.rooms {
        runtime = match room {
            Room::Webhook(webhook) => match webhooks.0.get(webhook) {
                Some(webhook) => runtime.room(name, Arc::<Webhook>::clone(webhook)),
                // That there is one was checked when the settings were read.
                None => runtime,
            },
            Room::Matrix(homeserver) => runtime.room(name, Arc::new(homeserver.room(home, name)?)),
        };
    }
    Ok(runtime)
}

/// Variables that were kept for tasks that have ended since, or never came to be.
async fn forget(homing: &Homing, host: &ProcessHost) -> Result<(), homing_runtime::Refused> {
    // What cannot be listed is looked at again by the next start.
    for task in host.kept_env().unwrap_or_default() {
        let prefix = Some(task.to_string());
        let query = TaskQuery { prefix, living: Some(true), limit: 1, ..TaskQuery::default() };
        if homing.list(query).await?.is_empty() {
            drop(host.drop_env(task));
        }
    }
    Ok(())
}

fn note(socket: &Path, http: Option<String>) -> Result<Note, std::io::Error> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Note {
        pid: std::process::id(),
        process: Process::own()?.to_string(),
        since: i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        socket: socket.to_owned(),
        http,
    })
}

fn door(home: &Home, homing: &Homing, hosts: &Hosts, config: &Config, note: &Note) -> Door {
    let identity = Identity {
        pid: note.pid,
        version: note.version.clone(),
        home: home.dir().display().to_string(),
        socket: note.socket.display().to_string(),
        http: note.http.clone(),
        since: note.since,
        uid: rustix::process::geteuid().as_raw(),
    };
    Door {
        homing: homing.clone(),
        callers: Arc::new(hosts.process.clone()),
        keeps: Arc::new(hosts.process.clone()),
        arms: Arc::new(hosts.opencode.clone()),
        presets: Arc::new(config.presets.clone()),
        identity: Arc::new(identity),
        stops: Stops::default(),
        counts: Counts::default(),
        slow: SLOW,
    }
}

/// Tells whoever started it, and from then on writes to the log alone.
fn ready(home: &Home, note: &Note, detached: bool, logging: &Logging) -> Result<(), Expected> {
    if !detached {
        out::warn(&format!("homing: daemon {} serves {}", note.pid, note.socket.display()));
        if let Some(http) = &note.http {
            out::warn(&format!("homing: and {http}, for whoever has the token: homing token"));
        }
        return Ok(());
    }
    let mut stdout = std::io::stdout().lock();
    // Whoever started it may be gone: it serves the next one.
    drop(writeln!(stdout, "{READY}").and_then(|()| stdout.flush()));
    logging.to_file(&home.log()).map_err(|why| home.unusable(&why))
}

/// Serves at the path. A socket that somebody removed is made again: whoever is connected stays so.
async fn keep_serving(listener: UnixListener, path: PathBuf, http: Option<http::Open>, door: Door) {
    let mut closing = door.stops.closing();
    let mut serving = JoinSet::new();
    let mut file = socket::file(&path);
    let mut pause = PAUSE_MIN;
    serving.spawn(homing_server::serve(listener, door.clone()));
    if let Some(http) = http {
        serving.spawn(homing_server::serve_tcp(http.listener, http.guard, door.clone()));
    }
    loop {
        let removed = tokio::select! {
            removed = removed(&path, file) => removed,
            _ = closing.wait_for(|closing| *closing) => break,
        };
        if removed.is_err() {
            // It cannot be watched: whoever does not find it says who holds the home.
            drop(closing.wait_for(|closing| *closing).await);
            break;
        }
        match socket::listen(&path) {
            Ok(listener) => {
                file = socket::file(&path);
                pause = PAUSE_MIN;
                serving.spawn(homing_server::serve(listener, door.clone()));
                warn!(target: DAEMON, socket = %path.display(), "it was removed, and made again");
            }
            Err(why) => {
                warn!(target: DAEMON, socket = %path.display(), %why, "it cannot be made again");
                file = None;
                // Its place may be made again, too: at the next login, for example.
                tokio::select! {
                    () = tokio::time::sleep(pause) => pause = (pause * 2).min(PAUSE_MAX),
                    _ = closing.wait_for(|closing| *closing) => break,
                }
            }
        }
    }
    while serving.join_next().await.is_some() {}
}

/// Wakes once after work, however much it was, and not again before there is more.
async fn rest(mut head: watch::Receiver<u64>) {
    while head.changed().await.is_ok() {
        loop {
            head.mark_unchanged();
            tokio::time::sleep(STILL).await;
            match head.has_changed() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return,
            }
        }
        drop(let_go_of_code());
    }
}

/// Resolves when another file is at the path, or none.
async fn removed(path: &Path, file: Option<(u64, u64)>) -> std::io::Result<()> {
    let directory = path.parent().unwrap_or(path);
    loop {
        // Watched first: what happens after the look is not missed.
        let names = match Names::watch(directory) {
            Ok(names) => names,
            // It went with its directory.
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(why) => return Err(why),
        };
        if socket::file(path) != file {
            return Ok(());
        }
        names.changed().await?;
    }
}

/// What asks this process to end.
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hangup: tokio::signal::unix::Signal,
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
