//! OpenCode: sessions on its server, watched over one stream of events. Events wake this driver, the stored messages say what is
//! true. Keeps nothing that matters: a session is found by its marker, a turn by the name of its prompt, and the prompt says
//! which program took it.
//!
//! - `server`: the program: one that runs, or one of our own.
//! - `http`, `hub`: requests, and the stream with those who listen to it.
//! - `ids`: names of prompts and sessions.
//! - `turn`, `errors`, `look`: what the stored messages say.
//! - `open`, `watch`, `hear`, `stop`, `transcript`: what is done; `attach`: how people look in.
//! - `arms`, `hands`: programs with our plugin in them, and what they tell; `parent`: sessions that are told.

mod arms;
mod attach;
mod errors;
mod hands;
mod hear;
mod http;
mod hub;
mod ids;
mod look;
mod open;
mod parent;
mod server;
mod stop;
mod transcript;
mod turn;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_core::fact::Fact;
use homing_core::ids::TaskId;
use homing_core::spec::Caps;
use homing_core::task::Answer;
use homing_ports::host::{
    Ears, Flight, Host, Messages, Opening, Place, Prompting, Reading, Reports, Wanted,
};
use tokio::task::AbortHandle;

use crate::marks::Marks;
use crate::process::ProcessHost;
use arms::Arms;
use hub::Hub;
use look::{Session, Sight, Which};
use server::Servers;
pub use server::Settings;
use watch::Watch;

/// Stored of a result, at most.
const RESULT: usize = 1 << 20;
/// What it is called in references and records.
const NAME: &str = "opencode";
const LOG: &str = "homing::opencode";
/// A session that is busy after the end of its turn is idle within this, or something else goes on there.
const SETTLES: Duration = Duration::from_millis(500);
/// Sessions that are known at once; of more the server is asked again.
const KNOWN: usize = 4_096;

/// The host that runs sessions of OpenCode. Its methods need a tokio runtime around them.
#[derive(Debug, Clone)]
pub struct OpenCode {
    servers: Arc<Servers>,
    hub: Arc<Hub>,
    table: Arc<Mutex<Table>>,
    arms: Arc<Arms>,
    marks: Marks,
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
        let servers = Arc::new(Servers::new(settings, beside));
        let hub = Hub::new(Arc::clone(&servers));
        let (arms, marks) = (Arc::default(), beside.marks());
        Self { servers, hub, table: Arc::default(), arms, marks, result: RESULT }
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

    /// As it looks when it says that it is idle, or after a while.
    async fn sight_settled(
        &self,
        task: TaskId,
        session: &str,
        which: Which,
    ) -> Result<Sight, String> {
        let mut hears = self.hub.listen(session);
        // What it said before somebody listened is seen now.
        let idle = async {
            while self.look_at(task, session, which, None).await?.settles() {
                if hears.next().await.is_none() {
                    break;
                }
            }
            Ok::<(), String>(())
        };
        // Whether it came or not, what is told is what is seen after that.
        drop(tokio::time::timeout(SETTLES, idle).await);
        self.look_at(task, session, which, None).await
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
        let mut sight = self.look_at(place.task, &session, which, None).await;
        if sight.as_ref().is_ok_and(Sight::settles) {
            sight = self.sight_settled(place.task, &session, which).await;
        }
        match sight {
            Ok(sight) => sight.fact,
            Err(why) => failed(why),
        }
    }
}

impl Host for OpenCode {
    fn name(&self) -> &str {
        NAME
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

    fn hear(
        &self,
        place: Place,
        ears: Arc<dyn Ears>,
        follows: bool,
    ) -> Flight<'_, Result<(), String>> {
        Box::pin(async move { self.hear_turn(&place, &*ears, follows).await })
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

    fn messages(&self, place: Place, reading: Reading) -> Flight<'_, Result<Messages, String>> {
        Box::pin(async move { self.messages_of(&place, &reading).await })
    }
}
