//! Plain commands, each under a shim of its own: they outlive this process, and nothing of how they ended is
//! lost with it. Keeps no state that matters: what is known of an attempt is what its run's directory says.
//!
//! An attempt's directory is `TASK.ATTEMPT`. Its claim keeps it from being started twice whatever crashes; its
//! exit record is the evidence. A shim that was killed leaves a claim that nobody holds: what it supervised is
//! found by its mark and ended, and the attempt was interrupted.

mod callers;
pub(crate) mod control;
mod environment;
mod keep;
mod output;
mod start;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_core::fact::{ErrorClass, Exit, Fact, HostError, Picture, Presence, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::spec::Caps;
use homing_core::task::Answer;
use homing_core::words::Tri;
use homing_ports::host::{Flight, Host, Opening, Piece, Place, Prompting, Reports, Saying, Wanted};
use homing_shim::claim::{self, Taken};
use homing_shim::processes::{self, Process};
use homing_shim::record::{self, Ended};
use homing_shim::run_dir::RunDir;
use homing_shim::spec::Spec;
use tokio::task::AbortHandle;

use crate::marks::Marks;
use crate::nursery::Nursery;
use crate::system;
use watch::Watch;

/// Between asking a command to end and insisting.
const GRACE: Duration = Duration::from_secs(5);
/// Of each output stream of an attempt.
const SPOOL: u64 = 128 << 20;
const RESULT: usize = 1 << 20;

/// In the directory of runs.
const SERVERS: &str = "servers";

const ABORTED: &str = "it was aborted before it started";

/// The host that runs plain commands. Its methods need a tokio runtime around them.
#[derive(Debug, Clone)]
pub struct ProcessHost {
    runs: PathBuf,
    nursery: Nursery,
    marks: Marks,
    grace: Duration,
    spool: u64,
    /// Stored of a result, at most.
    result: usize,
    /// Given to every command besides.
    home: Option<OsString>,
    table: Arc<Mutex<Table>>,
}

type Key = (TaskId, u32);

#[derive(Debug, Default)]
struct Table {
    watches: BTreeMap<Key, AbortHandle>,
    /// Opened by this process: nothing was missed of them.
    own: BTreeSet<Key>,
    spares: keep::Spares,
}

/// What a run's directory says.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Found {
    Nothing,
    Running(Process),
    Ended(record::Exit),
    /// The shim is gone and wrote no end down.
    Lost(Process),
}

impl ProcessHost {
    /// Runs are kept in `runs`, which is made if it is not there. Shims are made by `nursery`, a command that comes to
    /// `homing_shim::nursery::nurse`.
    pub fn new(runs: impl Into<PathBuf>, nursery: Vec<OsString>) -> io::Result<Self> {
        let runs = runs.into();
        RunDir::at(&runs).make()?;
        let table = Arc::default();
        let (nursery, marks) = (Nursery::new(nursery), Marks::beside(&runs));
        let (grace, spool, result) = (GRACE, SPOOL, RESULT);
        Ok(Self { runs, nursery, marks, grace, spool, result, home: None, table })
    }

    /// How long a command that is asked to end may take before it is killed.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// How many bytes of each output stream are kept.
    #[must_use]
    pub fn with_spool(mut self, bytes: u64) -> Self {
        self.spool = bytes;
        self
    }

    /// How many bytes of a result are stored; what was left out is counted in it.
    #[must_use]
    pub fn with_result(mut self, bytes: usize) -> Self {
        self.result = bytes;
        self
    }

    /// What `HOMING_HOME` is for a command.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<OsString>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Where programs live that serve many tasks.
    pub(crate) fn servers(&self) -> PathBuf {
        self.runs.join(SERVERS)
    }

    /// How those are known whom the tree of processes does not tell.
    pub(crate) fn marks(&self) -> Marks {
        self.marks.clone()
    }

    /// What every command is given as the home.
    pub(crate) fn home(&self) -> Option<OsString> {
        self.home.clone()
    }

    /// Who makes its shims.
    pub(crate) fn nursery(&self) -> Nursery {
        self.nursery.clone()
    }

    /// Where an attempt's files are.
    pub fn run(&self, task: TaskId, attempt: u32) -> RunDir {
        RunDir::at(self.runs.join(run_name(task, attempt)))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, place: &Place) -> Result<Found, String> {
        let found = find(&self.run(place.task, place.fence.attempt));
        let found = found.map_err(|why| format!("its run cannot be read: {why}"))?;
        let Some(session) = &place.session else {
            return Ok(found);
        };
        let Some(named) = Process::parse(session) else {
            return Err(format!("{session:?} is not a session of the process host"));
        };
        match &found {
            // Its directory is gone: after a power failure, or by somebody's hand.
            Found::Nothing if named.runs().unwrap_or(false) => Ok(Found::Running(named)),
            Found::Nothing => Ok(Found::Lost(named)),
            Found::Running(shim) | Found::Lost(shim) if *shim != named => {
                Err(format!("{session} is not what this attempt was started as"))
            }
            Found::Running(_) | Found::Lost(_) | Found::Ended(_) => Ok(found),
        }
    }

    /// What a lost shim supervised is ended; then nothing of the attempt runs.
    async fn end_orphans(&self, task: TaskId, attempt: u32, shim: &Process) -> io::Result<()> {
        let mark = mark(task, attempt);
        let child = record::Child::read(&self.run(task, attempt))?;
        let pipes = child.map(|child| child.pipes).unwrap_or_default();
        system::processes::end_all(|| processes::marked(&mark, &pipes, shim), self.grace).await
    }

    /// A run of which nothing runs any more.
    async fn lost(&self, task: TaskId, attempt: u32, shim: &Process) -> Fact {
        match self.end_orphans(task, attempt, shim).await {
            Ok(()) => Fact::Interrupted { why: why_lost(shim).into() },
            Err(why) => Fact::LookFailed { why: why.to_string().into() },
        }
    }

    async fn look_at(&self, place: &Place) -> Fact {
        match self.find(place) {
            Ok(Found::Running(_)) => running(Tri::Yes),
            Ok(Found::Ended(exit)) => self.exited(place, &exit),
            Ok(Found::Lost(shim)) => self.lost(place.task, place.fence.attempt, &shim).await,
            Ok(Found::Nothing) => {
                Fact::LookFailed { why: "nothing of this attempt was started here".into() }
            }
            Err(why) => Fact::LookFailed { why: why.into() },
        }
    }

    /// Reads what a run wrote, with its end if it has one.
    fn wrote<T>(
        &self,
        place: &Place,
        read: impl FnOnce(&RunDir, Option<&record::Exit>) -> io::Result<T>,
    ) -> Result<T, String> {
        let exit = match self.find(place)? {
            Found::Nothing => return Err("nothing of this attempt was started here".to_owned()),
            Found::Ended(exit) => Some(exit),
            Found::Running(_) | Found::Lost(_) => None,
        };
        let run = self.run(place.task, place.fence.attempt);
        read(&run, exit.as_ref()).map_err(|why| why.to_string())
    }

    fn exited(&self, place: &Place, exit: &record::Exit) -> Fact {
        let run = self.run(place.task, place.fence.attempt);
        match exit_of(&exit.ended) {
            Some(code) => match output::text(&run, exit, code, self.result) {
                Ok(text) => Fact::Exited { exit: code, text },
                Err(why) => Fact::LookFailed { why: format!("its output: {why}").into() },
            },
            None => Fact::Interrupted { why: "the command was not started".into() },
        }
    }

    async fn stop(&self, place: &Place) -> Fact {
        let (task, attempt) = (place.task, place.fence.attempt);
        let run = self.run(task, attempt);
        let refused = |why: String| Fact::StopRefused { why: why.into() };
        let found = match self.find(place) {
            Ok(Found::Nothing) => void(&run),
            Ok(found) => Ok(found),
            Err(why) => return refused(why),
        };
        let stopped = match found {
            Ok(Found::Running(shim)) => match control::stop(&run, &shim, self.grace).await {
                Ok(()) => self.after_stop(&run, task, attempt, &shim).await,
                Err(why) => Err(why),
            },
            Ok(Found::Lost(shim)) => self.end_orphans(task, attempt, &shim).await,
            Ok(Found::Ended(_) | Found::Nothing) => Ok(()),
            Err(why) => Err(why),
        };
        match stopped {
            Ok(()) => Fact::Stopped,
            Err(why) => refused(why.to_string()),
        }
    }

    /// The shim is gone: if it wrote no end down, it was killed, and what is left is ended here.
    async fn after_stop(
        &self,
        run: &RunDir,
        task: TaskId,
        attempt: u32,
        shim: &Process,
    ) -> io::Result<()> {
        match find(run)? {
            Found::Ended(_) | Found::Nothing => Ok(()),
            Found::Lost(_) | Found::Running(_) => self.end_orphans(task, attempt, shim).await,
        }
    }
}

fn run_name(task: TaskId, attempt: u32) -> String {
    format!("{task}.{attempt}")
}

/// In the environment of a command and of all below it.
fn mark(task: TaskId, attempt: u32) -> String {
    format!("HOMING_RUN={}", run_name(task, attempt))
}

fn find(run: &RunDir) -> io::Result<Found> {
    let ended = || record::Exit::read(run);
    if let Some(exit) = ended()? {
        return Ok(Found::Ended(exit));
    }
    match claim::find(run)? {
        None => Ok(Found::Nothing),
        Some(claim) if claim.held => Ok(Found::Running(claim.shim)),
        // It may have written the end down and let go since.
        Some(claim) => Ok(ended()?.map_or(Found::Lost(claim.shim), Found::Ended)),
    }
}

/// Takes the claim of an attempt that never was, so that it never will be.
fn void(run: &RunDir) -> io::Result<Found> {
    run.make()?;
    match claim::take(run, &Process::own()?)? {
        Taken::Now(_) => {
            // Whoever was to run it left it behind, with the values in it.
            Spec::remove(run);
            let ended = Ended::NotStarted { soon: false, why: ABORTED.to_owned() };
            let exit = record::Exit { ended, asked: true, out: 0, err: 0, lost: 0, left: 0 };
            exit.write(run)?;
            Ok(Found::Ended(exit))
        }
        Taken::Before => find(run),
    }
}

fn why_lost(shim: &Process) -> String {
    match shim.is_of_this_boot() {
        Ok(false) => "the machine was started anew while the command ran".to_owned(),
        Ok(true) | Err(_) => {
            "the shim that supervised the command was killed; what it left was ended".to_owned()
        }
    }
}

fn exit_of(ended: &Ended) -> Option<Exit> {
    match ended {
        Ended::Code(code) => Some(Exit { code: Some(*code), signal: None }),
        Ended::Signal(signal) => Some(Exit { code: None, signal: Some(*signal) }),
        Ended::NotStarted { .. } => None,
    }
}

fn running(same_host: Tri) -> Fact {
    Fact::Looked {
        picture: Picture {
            turn: TurnRecord::Open,
            busy: Tri::Yes,
            calls: Vec::new(),
            asks: Some(Vec::new()),
            todos: None,
            session: Presence::Present,
            same_host,
        },
    }
}

impl Host for ProcessHost {
    fn name(&self) -> &str {
        "process"
    }

    fn caps(&self) -> Caps {
        Caps { plain: true, words: true, ..Caps::default() }
    }

    fn check(&self, wanted: Wanted) -> Flight<'_, Result<(), String>> {
        let known = match wanted.agent {
            Some(agent) => {
                Err(format!("agent: the process host runs commands and knows no agent {agent:?}"))
            }
            None => Ok(()),
        };
        Box::pin(std::future::ready(known))
    }

    fn open(&self, opening: Opening) -> Flight<'_, Vec<Fact>> {
        Box::pin(async move { self.open_now(&opening).await })
    }

    /// The first prompt came with the command; there is no other.
    fn prompt(&self, prompting: Prompting) -> Flight<'_, Fact> {
        let why = match (prompting.fence.turn, Process::parse(&prompting.session)) {
            (0 | 1, Some(_)) => return Box::pin(std::future::ready(Fact::PromptTaken)),
            (_, Some(_)) => "a command takes no further prompts",
            (_, None) => "it is not a session of the process host",
        };
        let fact = Fact::PromptRefused { error: HostError::new(ErrorClass::Other, "prompt", why) };
        Box::pin(std::future::ready(fact))
    }

    fn say(&self, saying: Saying) -> Flight<'_, Result<(), String>> {
        let run = self.run(saying.place.task, saying.place.fence.attempt);
        Box::pin(async move {
            let said = control::say(&run, &start::words(saying)).await;
            said.map_err(|why| why.to_string())
        })
    }

    fn watch(&self, place: Place, reports: Arc<dyn Reports>) {
        let key = (place.task, place.fence.attempt);
        let fresh = self.lock().own.contains(&key);
        let watch = Watch { host: self.clone(), place, reports, fresh };
        let watch = tokio::spawn(watch.watch()).abort_handle();
        if let Some(before) = self.lock().watches.insert(key, watch) {
            before.abort();
        }
    }

    fn unwatch(&self, task: TaskId, attempt: u32) {
        let mut table = self.lock();
        table.own.remove(&(task, attempt));
        if let Some(watch) = table.watches.remove(&(task, attempt)) {
            watch.abort();
        }
    }

    fn look(&self, place: Place) -> Flight<'_, Fact> {
        Box::pin(async move { self.look_at(&place).await })
    }

    fn abort(&self, place: Place) -> Flight<'_, Fact> {
        Box::pin(async move { self.stop(&place).await })
    }

    fn answer<'a>(&'a self, _: Place, _: &'a str, _: &'a Answer) -> Flight<'a, Result<(), String>> {
        Box::pin(std::future::ready(Err("a command asks nothing".to_owned())))
    }

    fn transcript(&self, place: Place) -> Flight<'_, Result<Vec<u8>, String>> {
        let told = self.wrote(&place, output::transcript);
        Box::pin(std::future::ready(told))
    }

    fn piece(&self, place: Place, from: u64, most: usize) -> Flight<'_, Result<Piece, String>> {
        let told = self.wrote(&place, |run, exit| output::piece(run, exit, from, most));
        Box::pin(std::future::ready(told))
    }

    fn kept(&self) -> Flight<'_, Vec<TaskId>> {
        let host = self.clone();
        Box::pin(async move {
            let kept = tokio::task::spawn_blocking(move || host.kept_runs()).await;
            // What cannot be listed is looked at by the next start.
            kept.ok().and_then(Result::ok).unwrap_or_default().into_iter().collect()
        })
    }

    fn forget(&self, task: TaskId) -> Flight<'_, ()> {
        let host = self.clone();
        Box::pin(async move {
            // What cannot be removed is tried again by the next start.
            drop(tokio::task::spawn_blocking(move || host.forget_runs(task)).await);
        })
    }
}
