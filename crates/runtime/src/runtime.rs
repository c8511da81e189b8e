//! Sets a runtime up: a store, what it talks to, and its two threads.

use std::sync::Arc;

use homing_core::limits::Limits;
use homing_core::reason::Caller;
use homing_ports::clock::{Clock, Ids};
use homing_ports::host::Host;
use homing_ports::parent::{Onlooker, Parent, Room, Telemetry};
use homing_ports::store::{CommitError, Store, StoreError};
use tokio::sync::{mpsc, watch};

use crate::codec;
use crate::committer;
use crate::decider::{Committer, Decider};
use crate::engine::{Engine, Memory};
use crate::figures::Figures;
use crate::fresh::Fresh;
use crate::homing::Homing;
use crate::perform::{Performer, Ports};
use crate::readers::Readers;
use crate::replies::{Closing, Replies};
use crate::retention::Retention;
use crate::tally::Tally;
use crate::time::Timekeeper;

/// Inputs that may wait for the decider; whoever brings more waits with them.
const INBOX: usize = 1_024;
/// Connections that read.
const READERS: usize = 4;

/// A runtime in the making.
pub struct Runtime {
    store: Box<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    limits: Limits,
    ports: Ports,
    onlookers: Vec<Arc<dyn Onlooker>>,
    on_fatal: Arc<dyn Fn(&CommitError) + Send + Sync>,
}

impl Runtime {
    pub fn new(store: Box<dyn Store>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self {
            store,
            clock,
            ids,
            limits: Limits::default(),
            ports: Ports::default(),
            onlookers: Vec::new(),
            on_fatal: Arc::new(|_| std::process::abort()),
        }
    }

    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    pub fn host(mut self, host: Arc<dyn Host>) -> Self {
        self.ports.hosts.insert(host.name().to_owned(), host);
        self
    }

    /// Who brings debriefs to parents whose reference begins with this word: `opencode`, `conv`, …
    pub fn parent(mut self, word: &str, parent: Arc<dyn Parent>) -> Self {
        self.ports.parents.insert(word.to_owned(), parent);
        self
    }

    pub fn room(mut self, name: &str, room: Arc<dyn Room>) -> Self {
        self.ports.rooms.insert(name.to_owned(), room);
        self
    }

    pub fn telemetry(mut self, sink: Arc<dyn Telemetry>) -> Self {
        self.ports.telemetry.push(sink);
        self
    }

    /// Who sees tasks start and end, and is owed nothing.
    pub fn onlooker(mut self, onlooker: Arc<dyn Onlooker>) -> Self {
        self.onlookers.push(onlooker);
        self
    }

    /// What is done when the disk did not confirm a write; by default the process ends. Whatever it is,
    /// nothing is decided any more.
    pub fn on_fatal(mut self, act: impl Fn(&CommitError) + Send + Sync + 'static) -> Self {
        self.on_fatal = Arc::new(act);
        self
    }

    /// Reads the store, derives again what is to be done, and begins. Must be called within tokio. It
    /// runs until [`Homing::stop`], whoever drops the handle.
    pub fn start(mut self) -> Result<Homing, StoreError> {
        let recovered = self.store.recover()?;
        let time = Timekeeper::new(self.clock, self.ids, &recovered.clock);
        let rebooted = time.rebooted(&recovered.clock);
        let memory = Memory { rebooted, ..codec::decode(recovered)? };
        let readers = (0..READERS).map(|_| self.store.reader()).collect::<Result<Vec<_>, _>>()?;
        let readers = Readers::new(readers);
        let figures = Arc::new(Figures::default());
        let tally = Tally::new(Arc::clone(&figures), &memory);
        let engine = Engine::start(memory, self.limits, time.now());

        let (inbox, take) = mpsc::channel(INBOX);
        let (jobs, work) = std::sync::mpsc::channel();
        let (finished, done) = mpsc::channel(1);
        let (head, seen) = watch::channel(engine.world().head);
        let (anew, made) = watch::channel(());
        let replies = Arc::new(Replies::default());
        let fresh = Fresh::default();
        let ports = Arc::new(self.ports);
        let performer = Performer {
            ports: Arc::clone(&ports),
            readers: readers.clone(),
            inbox: inbox.clone(),
            time: time.clone(),
            tasks: tokio::runtime::Handle::current(),
            limits: Arc::clone(&engine.world().limits),
            fresh: fresh.clone(),
            figures: Arc::clone(&figures),
        };
        tokio::spawn(retention(&performer, &seen, &replies).run());
        let limits = Arc::clone(&engine.world().limits);
        let (store, clock) = (self.store, time.clone());
        let onlookers = self.onlookers;
        spawn("homing-committer", move || {
            committer::run(store, &clock, &work, &finished, tally, &onlookers);
        })?;
        let decider = Decider {
            engine,
            time: time.clone(),
            inbox: take,
            jobs,
            done,
            performer,
            replies: Arc::clone(&replies),
            figures: Arc::clone(&figures),
            head,
            anew,
            on_fatal: self.on_fatal,
            committer: Committer::default(),
            failures: 0,
            unfired: 0,
        };
        decide(decider, Closing(Arc::clone(&replies)))?;
        // Someone at a door, as far as the library can tell.
        let by = Caller::Person;
        Ok(Homing {
            inbox,
            replies,
            readers,
            time,
            head: seen,
            anew: made,
            fresh,
            ports,
            limits,
            figures,
            by,
        })
    }
}

fn retention(
    performer: &Performer,
    head: &watch::Receiver<u64>,
    replies: &Arc<Replies>,
) -> Retention {
    Retention {
        readers: performer.readers.clone(),
        inbox: performer.inbox.clone(),
        head: head.clone(),
        time: performer.time.clone(),
        limits: Arc::clone(&performer.limits),
        replies: Arc::clone(replies),
        ports: Arc::clone(&performer.ports),
    }
}

/// On a thread of its own.
fn decide(decider: Decider, closing: Closing) -> Result<(), StoreError> {
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let loop_ = loop_.map_err(|error| StoreError::Unavailable { what: error.to_string() })?;
    spawn("homing-decider", move || {
        // Falls after the decider, whatever ends it: then nobody can ask any more.
        let _closing = closing;
        loop_.block_on(decider.run());
    })
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    started.map(drop).map_err(|error| StoreError::Unavailable { what: error.to_string() })
}
