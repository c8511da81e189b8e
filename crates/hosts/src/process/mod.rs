//! Plain commands, for `homing run -- COMMAND` until children run under a supervisor of their own. Never
//! starts an attempt twice; never knows how a command ended that outlived the process which started it.
//!
//! What holds: a command runs in a process group of its own, reads nothing, has an allow-listed
//! environment, and its output is kept in memory, bounded. Its exit ends the task; what it left in its
//! group is ended with it. A claim file per attempt keeps a crash from starting it again.
//!
//! What does not: a command that outlives this process loses its output and its exit, and is reported as
//! interrupted when it ends. What leaves the process group (`setsid`) is not seen. A crash between the
//! start and the note of it leaves a command that cannot be found.

mod capture;
mod claim;
mod run;
mod watch;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_core::fact::{ErrorClass, Fact, HostError, Picture, Presence, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::spec::{Caps, Model};
use homing_core::task::Answer;
use homing_core::words::Tri;
use homing_ports::host::{Flight, Host, Opening, Place, Prompting, Reports};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use claim::{Claimed, Claims, Mark};
use run::Run;
use watch::Watch;

use crate::system::processes::Leader;

/// Between asking a command to end and insisting.
const GRACE: Duration = Duration::from_secs(5);
/// Insisting takes its time too; longer than this, and the abort is not confirmed.
const STOP_MAX: Duration = Duration::from_secs(20);
/// So many commands that are over can still be asked about.
const OVER_MAX: usize = 64;

/// The host that runs plain commands. Its methods need a tokio runtime around them.
#[derive(Debug)]
pub struct ProcessHost {
    claims: Claims,
    table: Mutex<Table>,
    grace: Duration,
}

type Key = (TaskId, u32);

#[derive(Debug, Default)]
struct Table {
    known: BTreeMap<Key, Known>,
    watches: BTreeMap<Key, AbortHandle>,
    /// No longer watched, oldest first.
    over: VecDeque<Key>,
}

#[derive(Debug, Clone)]
enum Known {
    Run(Arc<Run>),
    /// Aborted before it was opened: it is never started.
    Void,
}

/// What is known of an attempt.
enum Found {
    Run(Arc<Run>),
    /// Started by a process before this one.
    Left(Leader),
    /// Claimed by a process before this one, which wrote nothing down.
    Blank,
    Nothing,
    Odd(Arc<str>),
}

impl ProcessHost {
    /// Claims are kept in `directory`, which is made if it is not there.
    pub fn new(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let claims = Claims::new(directory.into())?;
        Ok(Self { claims, table: Mutex::default(), grace: GRACE })
    }

    /// How long a command that is asked to end may take before it is killed.
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_now(&self, opening: &Opening) -> Vec<Fact> {
        let key = (opening.task, opening.attempt);
        let mut table = self.lock();
        match table.known.get(&key) {
            Some(Known::Run(run)) => return made(run.leader()),
            Some(Known::Void) => {
                return vec![not_started("aborted", "it was aborted before it started")];
            }
            None => {}
        }
        let claim = match self.claims.take(opening.task, opening.attempt) {
            Ok(Claimed::Now(claim)) => claim,
            Ok(Claimed::Before(mark)) => return found_again(mark),
            Err(why) => {
                let error = HostError::new(ErrorClass::Transient, "claim", &why.to_string());
                return vec![Fact::StartFailed { error }];
            }
        };
        let run = match Run::start(opening, self.grace) {
            Ok(run) => Arc::new(run),
            Err(error) => {
                claim.give_up();
                return vec![Fact::StartFailed { error }];
            }
        };
        table.known.insert(key, Known::Run(Arc::clone(&run)));
        if let Err(why) = claim.note(run.leader()) {
            run.stop();
            let error = HostError::new(ErrorClass::Transient, "claim", &why.to_string());
            return vec![Fact::StartFailed { error }];
        }
        made(run.leader())
    }

    fn find(&self, place: &Place) -> Found {
        let key = (place.task, place.fence.attempt);
        match self.lock().known.get(&key) {
            Some(Known::Run(run)) => return Found::Run(Arc::clone(run)),
            Some(Known::Void) => return Found::Nothing,
            None => {}
        }
        if let Some(session) = &place.session {
            let odd =
                || Found::Odd(format!("{session:?} is not a session of the process host").into());
            return Leader::parse(session).map_or_else(odd, Found::Left);
        }
        match self.claims.find(key.0, key.1) {
            Ok(Some(Mark::Started(leader))) => Found::Left(leader),
            Ok(Some(Mark::Blank)) => Found::Blank,
            Ok(None) => Found::Nothing,
            Err(why) => Found::Odd(why.to_string().into()),
        }
    }

    async fn stop(&self, place: &Place) -> Fact {
        match self.find(place) {
            Found::Run(run) => {
                run.stop();
                match timeout(STOP_MAX.max(self.grace * 2), run.ended()).await {
                    Ok(Fact::LookFailed { why }) => Fact::StopRefused { why },
                    Ok(_) => Fact::Stopped,
                    Err(_) => Fact::StopRefused { why: "the command does not end".into() },
                }
            }
            Found::Left(leader) => match leader.end_group(self.grace).await {
                Ok(()) => Fact::Stopped,
                Err(why) => Fact::StopRefused { why: why.to_string().into() },
            },
            Found::Blank => Fact::StopRefused { why: UNKNOWN_START.into() },
            Found::Nothing => {
                let key = (place.task, place.fence.attempt);
                self.lock().known.entry(key).or_insert(Known::Void);
                Fact::Stopped
            }
            Found::Odd(why) => Fact::StopRefused { why },
        }
    }
}

const UNKNOWN_START: &str =
    "homing ended while it started the command; whether it was started, and runs, is not known";
const UNKNOWN_END: &str =
    "the command outlived the homing that started it; how it ended is not known";

fn made(leader: &Leader) -> Vec<Fact> {
    vec![Fact::SessionMade { session: leader.to_string().into() }, Fact::PromptTaken]
}

fn not_started(name: &str, why: &str) -> Fact {
    Fact::StartFailed { error: HostError::new(ErrorClass::Other, name, why) }
}

/// An attempt that was opened before: never started again.
fn found_again(mark: Mark) -> Vec<Fact> {
    match mark {
        Mark::Blank => vec![Fact::Interrupted { why: UNKNOWN_START.into() }],
        Mark::Started(leader) => match leader.group_runs() {
            Ok(true) => made(&leader),
            Ok(false) => vec![Fact::Interrupted { why: UNKNOWN_END.into() }],
            Err(why) => vec![Fact::StartUnsure { why: why.to_string().into() }],
        },
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

fn look_at(found: Found) -> Fact {
    match found {
        Found::Run(run) => run.end().unwrap_or_else(|| running(Tri::Yes)),
        Found::Left(leader) => match leader.group_runs() {
            Ok(true) => running(Tri::Unknown),
            Ok(false) => Fact::Interrupted { why: UNKNOWN_END.into() },
            Err(why) => Fact::LookFailed { why: why.to_string().into() },
        },
        Found::Blank => Fact::Interrupted { why: UNKNOWN_START.into() },
        Found::Nothing => {
            Fact::LookFailed { why: "nothing of this attempt was started here".into() }
        }
        Found::Odd(why) => Fact::LookFailed { why },
    }
}

impl Host for ProcessHost {
    fn name(&self) -> &str {
        "process"
    }

    fn caps(&self) -> Caps {
        Caps { prompts: false, goes_on: false }
    }

    fn check<'a>(
        &'a self,
        agent: Option<&'a str>,
        _: Option<&'a Model>,
    ) -> Flight<'a, Result<(), String>> {
        let known = match agent {
            Some(agent) => {
                Err(format!("agent: the process host runs commands and knows no agent {agent:?}"))
            }
            None => Ok(()),
        };
        Box::pin(std::future::ready(known))
    }

    fn open(&self, opening: Opening) -> Flight<'_, Vec<Fact>> {
        Box::pin(async move { self.open_now(&opening) })
    }

    /// The first prompt came with the command; there is no other.
    fn prompt(&self, prompting: Prompting) -> Flight<'_, Fact> {
        let why = match (prompting.fence.turn, Leader::parse(&prompting.session)) {
            (0 | 1, Some(_)) => return Box::pin(std::future::ready(Fact::PromptTaken)),
            (_, Some(_)) => "a command takes no further prompts",
            (_, None) => "it is not a session of the process host",
        };
        let fact = Fact::PromptRefused { error: HostError::new(ErrorClass::Other, "prompt", why) };
        Box::pin(std::future::ready(fact))
    }

    fn watch(&self, place: Place, reports: Arc<dyn Reports>) {
        let key = (place.task, place.fence.attempt);
        let found = self.find(&place);
        let watch = Watch { place, reports, grace: self.grace };
        let watch = tokio::spawn(watch.watch(found)).abort_handle();
        if let Some(before) = self.lock().watches.insert(key, watch) {
            before.abort();
        }
    }

    fn unwatch(&self, task: TaskId, attempt: u32) {
        let key = (task, attempt);
        let mut table = self.lock();
        if let Some(watch) = table.watches.remove(&key) {
            watch.abort();
        }
        table.let_go(key);
        if !table.runs(key) {
            self.claims.forget(task, attempt);
        }
    }

    fn look(&self, place: Place) -> Flight<'_, Fact> {
        Box::pin(async move { look_at(self.find(&place)) })
    }

    fn abort(&self, place: Place) -> Flight<'_, Fact> {
        Box::pin(async move { self.stop(&place).await })
    }

    fn answer<'a>(&'a self, _: Place, _: &'a str, _: &'a Answer) -> Flight<'a, Result<(), String>> {
        Box::pin(std::future::ready(Err("a command asks nothing".to_owned())))
    }

    fn transcript(&self, place: Place) -> Flight<'_, Result<Vec<u8>, String>> {
        let told = match self.find(&place) {
            Found::Run(run) => Ok(run.transcript()),
            Found::Left(_) => {
                Err("its output went to the homing that started it, and is gone".to_owned())
            }
            Found::Blank | Found::Nothing => {
                Err("nothing of this attempt was started here".to_owned())
            }
            Found::Odd(why) => Err(why.to_string()),
        };
        Box::pin(std::future::ready(told))
    }
}

impl Table {
    fn runs(&self, key: Key) -> bool {
        match self.known.get(&key) {
            Some(Known::Run(run)) => run.end().is_none(),
            Some(Known::Void) | None => false,
        }
    }

    /// Nobody watches it any more: of those that are over, only the latest are kept.
    fn let_go(&mut self, key: Key) {
        if !self.over.contains(&key) {
            self.over.push_back(key);
        }
        for _ in OVER_MAX..self.over.len() {
            let Some(oldest) = self.over.pop_front() else {
                return;
            };
            if self.runs(oldest) || self.watches.contains_key(&oldest) {
                self.over.push_back(oldest);
            } else {
                self.known.remove(&oldest);
            }
        }
    }
}
