//! OpenCode: sessions on its server, watched over one stream of events. Events wake this driver, the stored messages say what is
//! true. Keeps nothing that matters: a session is found by its marker, a turn by the name of its prompt, and the prompt says
//! which program took it.
//!
//! - `server`: the program: one that runs, or one of our own.
//! - `http`, `hub`: requests, and the stream with those who listen to it.
//! - `ids`: names of prompts and sessions.
//! - `turn`, `errors`, `look`: what the stored messages say.
//! - `open`, `watch`, `stop`, `transcript`: what is done; `attach`: how people look in.

mod attach;
mod errors;
mod http;
mod hub;
mod ids;
mod look;
mod open;
mod server;
mod stop;
mod transcript;
mod turn;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_core::fact::Fact;
use homing_core::ids::TaskId;
use homing_core::spec::Caps;
use homing_core::task::Answer;
use homing_ports::host::{Flight, Host, Opening, Place, Prompting, Reports, Wanted};
use tokio::task::AbortHandle;

use crate::process::ProcessHost;
use hub::Hub;
use look::{Session, Which};
use server::Servers;
pub use server::Settings;
use watch::Watch;

/// Stored of a result, at most.
const RESULT: usize = 1 << 20;

/// The host that runs sessions of OpenCode. Its methods need a tokio runtime around them.
#[derive(Debug, Clone)]
pub struct OpenCode {
    servers: Arc<Servers>,
    hub: Arc<Hub>,
    table: Arc<Mutex<Table>>,
    elsewhere: bool,
    result: usize,
}

#[derive(Debug, Default)]
struct Table {
    watches: BTreeMap<(TaskId, u32), AbortHandle>,
    sessions: BTreeMap<String, Arc<Session>>,
    /// Servers, and the directories whose settings they have read.
    warm: BTreeSet<(String, String)>,
}

impl OpenCode {
    /// A server of our own lives beside the commands, under a shim as they have it.
    pub fn new(settings: Settings, beside: &ProcessHost) -> Self {
        let elsewhere = settings.url.is_some();
        let servers = Servers::new(settings, beside.servers(), beside.nursery());
        let servers = Arc::new(servers);
        let hub = Hub::new(Arc::clone(&servers));
        Self { servers, hub, table: Arc::default(), elsewhere, result: RESULT }
    }

    /// How many bytes of a result are stored.
    #[must_use]
    pub fn with_result(mut self, bytes: usize) -> Self {
        self.result = bytes;
        self
    }

    /// Ends the servers that were started here, with all that runs on them.
    pub async fn end(&self) -> std::io::Result<()> {
        self.servers.end_all().await
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether its server is not ours.
    fn named_elsewhere(&self) -> bool {
        self.elsewhere
    }

    async fn look_now(&self, place: &Place) -> Fact {
        let failed = |why: String| Fact::LookFailed { why: why.into() };
        let session = match &place.session {
            Some(session) => session.to_string(),
            None => {
                let server = match self.servers.get().await {
                    Ok(server) => server,
                    Err(why) => return failed(why),
                };
                match self.find(&server, place.task, place.fence.attempt).await {
                    Ok(Some(session)) => session,
                    Ok(None) => return failed("no session of this attempt was made".to_owned()),
                    Err(why) => return failed(format!("OpenCode: {why}")),
                }
            }
        };
        let which = match place.fence.turn {
            0 => Which::Latest { attempt: place.fence.attempt },
            _ => Which::This(place.fence),
        };
        match self.look_at(place.task, &session, which, None).await {
            Ok(sight) => sight.fact,
            Err(why) => failed(why),
        }
    }
}

impl Host for OpenCode {
    fn name(&self) -> &str {
        "opencode"
    }

    fn caps(&self) -> Caps {
        Caps { prompts: true, goes_on: true, ..Caps::default() }
    }

    fn check(&self, wanted: Wanted) -> Flight<'_, Result<(), String>> {
        Box::pin(async move { self.check_now(&wanted).await })
    }

    fn open(&self, opening: Opening) -> Flight<'_, Vec<Fact>> {
        Box::pin(async move { self.open_now(&opening).await })
    }

    fn prompt(&self, prompting: Prompting) -> Flight<'_, Fact> {
        Box::pin(async move { self.prompt_now(&prompting).await })
    }

    fn watch(&self, place: Place, reports: Arc<dyn Reports>) {
        let Some(session) = place.session else {
            return;
        };
        let (task, attempt) = (place.task, place.fence.attempt);
        let hears = self.hub.listen(&session);
        let watch = Watch { host: self.clone(), task, attempt, session, reports };
        let handle = tokio::spawn(watch.watch(hears)).abort_handle();
        if let Some(before) = self.table().watches.insert((task, attempt), handle) {
            before.abort();
        }
    }

    fn unwatch(&self, task: TaskId, attempt: u32) {
        if let Some(watch) = self.table().watches.remove(&(task, attempt)) {
            watch.abort();
        }
    }

    fn look(&self, place: Place) -> Flight<'_, Fact> {
        Box::pin(async move { self.look_now(&place).await })
    }

    fn abort(&self, place: Place) -> Flight<'_, Fact> {
        Box::pin(async move { self.stop_now(&place).await })
    }

    fn answer<'a>(
        &'a self,
        place: Place,
        key: &'a str,
        answer: &'a Answer,
    ) -> Flight<'a, Result<(), String>> {
        Box::pin(async move { self.answer_now(&place, key, answer).await })
    }

    fn transcript(&self, place: Place) -> Flight<'_, Result<Vec<u8>, String>> {
        Box::pin(async move { self.transcript_of(&place).await })
    }
}
