//! One stream of events per server, for all who watch a session there. It runs while somebody watches.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::http::Heard;
use super::server::Servers;

/// Events that wait for one who watches; who is further behind looks instead.
const WAITING: usize = 512;
/// Between two tries to reach a server, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What one who watches hears.
#[derive(Debug, Clone)]
pub(super) enum Word {
    Event(Arc<Value>),
    /// What happened before may have been missed.
    Missed,
    /// The stream is there, and there is nothing to say.
    Beat,
    /// A session that nobody listens to asks something, or does not any more: it may be below this one.
    Asks,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Hub {
    servers: Arc<Servers>,
    ears: Mutex<Ears>,
    /// Whether the stream is there.
    open: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Ears {
    /// By session.
    all: BTreeMap<String, Vec<Ear>>,
    last: u64,
    streams: bool,
}

#[derive(Debug)]
struct Ear {
    id: u64,
    words: mpsc::Sender<Word>,
    /// It was told less than happened.
    behind: bool,
}

/// One who hears what happens in a session, until it is dropped.
#[derive(Debug)]
pub(super) struct Listening {
    hub: Arc<Hub>,
    session: String,
    id: u64,
    words: mpsc::Receiver<Word>,
}

impl Listening {
    pub(super) async fn next(&mut self) -> Option<Word> {
        self.words.recv().await
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut ears = self.hub.lock();
        if let Some(of_session) = ears.all.get_mut(&self.session) {
            of_session.retain(|ear| ear.id != self.id);
            if of_session.is_empty() {
                ears.all.remove(&self.session);
            }
        }
    }
}

impl Hub {
    pub(super) fn new(servers: Arc<Servers>) -> Arc<Self> {
        Arc::new(Self { servers, ears: Mutex::default(), open: watch::Sender::new(false) })
    }

    fn lock(&self) -> MutexGuard<'_, Ears> {
        self.ears.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on; the stream is begun if it is not there.
    pub(super) fn listen(self: &Arc<Self>, session: &str) -> Listening {
        let (sender, words) = mpsc::channel(WAITING);
        let mut ears = self.lock();
        ears.last += 1;
        let id = ears.last;
        let ear = Ear { id, words: sender, behind: false };
        ears.all.entry(session.to_owned()).or_default().push(ear);
        if !std::mem::replace(&mut ears.streams, true) {
            let hub = Arc::clone(self);
            tokio::spawn(async move { hub.stream().await });
        }
        drop(ears);
        Listening { hub: Arc::clone(self), session: session.to_owned(), id, words }
    }

    /// Resolves when the stream is there: what happens from then on is heard.
    pub(super) async fn is_open(&self) {
        drop(self.open.subscribe().wait_for(|open| *open).await);
    }

    async fn stream(&self) {
        let mut pause = PAUSE_MIN;
        while !self.is_over() {
            if let Ok(server) = self.servers.get().await {
                if let Ok(mut events) = server.door.events().await {
                    pause = PAUSE_MIN;
                    // Its first word says that it is there: whoever watches looks then, and is told what happens after.
                    let mut first = true;
                    while let Some(heard) = events.next().await {
                        if std::mem::take(&mut first) {
                            self.tell_all();
                            self.open.send_replace(true);
                        }
                        match heard {
                            // It comes now and then: one who listens soon after another left finds the stream as it was.
                            Heard::Event(event) if is_beat(&event) => {
                                if self.nobody() {
                                    break;
                                }
                                self.beat();
                            }
                            Heard::Event(event) => self.tell(event),
                            Heard::Garbage => self.tell_all(),
                        }
                    }
                    self.open.send_replace(false);
                }
                self.servers.doubt(&server).await;
            }
            if !self.nobody() {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
    }

    fn nobody(&self) -> bool {
        self.lock().all.is_empty()
    }

    /// Whether nobody listens; whoever listens next begins a stream.
    fn is_over(&self) -> bool {
        let mut ears = self.lock();
        let over = ears.all.is_empty();
        if over {
            ears.streams = false;
        }
        over
    }

    fn tell(&self, mut event: Value) {
        // With the directory around it, which the session knows.
        if event.get("payload").is_some() {
            event = event["payload"].take();
        }
        let Some(session) = session_of(&event) else {
            return;
        };
        let session = session.to_owned();
        let event = Arc::new(event);
        let mut ears = self.lock();
        if let Some(of_session) = ears.all.get_mut(&session) {
            for ear in of_session {
                ear.tell(Word::Event(Arc::clone(&event)));
            }
        } else if is_ask(&event) {
            ears.all.values_mut().flatten().for_each(|ear| ear.tell(Word::Asks));
        }
    }

    fn beat(&self) {
        for ear in self.lock().all.values_mut().flatten() {
            ear.tell(Word::Beat);
        }
    }

    fn tell_all(&self) {
        for ear in self.lock().all.values_mut().flatten() {
            ear.behind = true;
            ear.catch_up();
        }
    }
}

impl Ear {
    fn tell(&mut self, word: Word) {
        self.catch_up();
        if !self.behind && self.words.try_send(word).is_err() {
            self.behind = true;
        }
    }

    fn catch_up(&mut self) {
        if self.behind && self.words.try_send(Word::Missed).is_ok() {
            self.behind = false;
        }
    }
}

/// What a server says when there is nothing to say.
fn is_beat(event: &Value) -> bool {
    event["payload"]["type"] == "server.heartbeat"
}

/// Whether it speaks of something that a session asks.
fn is_ask(event: &Value) -> bool {
    let kind = event["type"].as_str().unwrap_or_default();
    kind.starts_with("permission.") || kind.starts_with("question.")
}

/// The session that an event speaks of.
fn session_of(event: &Value) -> Option<&str> {
    let properties = &event["properties"];
    properties["sessionID"].as_str().or_else(|| properties["info"]["id"].as_str())
}
