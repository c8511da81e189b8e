//! The small world: the runtime's own engine, and around it a store, a host and a parent that do as they
//! are told, each at any moment it could.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use homing_core::effect::EffectKey;
use homing_core::ids::{DebriefId, TaskId};
use homing_core::input::Input;
use homing_core::limits::Limits;
use homing_core::payload::Digest;
use homing_core::reason::Caller;
use homing_core::record::{Record, TaskRecord};
use homing_core::refs::ParentRef;
use homing_core::reply::{Reply, Told};
use homing_core::spec::{Brief, Budget, Caps, Order, Overrides, Spec};
use homing_core::task::{BatchId, Task};
use homing_core::time::Moment;
use homing_core::words::{Code, Notify};
use homing_core::world::{At, Who};
use homing_runtime::engine::{Batch, Engine};
use homing_sim::store::Store;

/// The two tasks. A caller who heard nothing asks again, with the same key and another id.
pub const IDS: [[TaskId; 2]; 2] =
    [[TaskId::from_bits(1), TaskId::from_bits(3)], [TaskId::from_bits(2), TaskId::from_bits(4)]];

pub fn ids() -> impl Iterator<Item = TaskId> {
    IDS.iter().flatten().copied()
}

pub fn parent() -> ParentRef {
    ParentRef::Webhook("ops".into())
}

/// What was released and is not performed yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Job {
    Prompt(TaskId, u32, u32),
    Look(TaskId, u32, u32),
    Abort(TaskId, u32),
    Emit(TaskId, u32),
    Load(TaskId),
    Compose(DebriefId, BatchId, Vec<(TaskId, u32)>),
}

/// What a look at a session shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shown {
    Missing,
    Absent,
    Open,
    Ended,
    Aborted,
}

/// What is on its way to the engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word {
    Made(TaskId, u32),
    Taken(TaskId, u32, u32),
    Looked(TaskId, u32, u32, Shown),
    /// With the last words, when the turn had ended before.
    Stopped(TaskId, u32, Option<(u32, Shown)>),
    Ended(TaskId, u32, u32),
    Delivered(DebriefId),
    Loaded(TaskId),
    /// The performer is done.
    Landed(EffectKey),
}

#[derive(Debug, Clone)]
pub struct Mail {
    pub word: Word,
    /// A task that was read, and the line up to which it was.
    pub row: Option<Arc<Task>>,
    pub as_of: u64,
}

impl Mail {
    pub fn is_read(&self) -> bool {
        matches!(self.word, Word::Loaded(_))
    }
}

/// How far the turn of a session has come. No task here has a second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Turn {
    None,
    Running,
    Ended,
    Aborted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Session {
    pub turn: Turn,
    pub watched: bool,
}

/// One launch, from its caller's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Launch {
    pub asked: bool,
    /// The first call was not answered.
    pub again: bool,
    pub promised: Option<TaskId>,
}

/// The one cancel, from its caller's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Cancel {
    #[default]
    Not,
    Asked(TaskId),
    /// It wins.
    Said(TaskId),
    /// It lost, or was not answered.
    Over,
}

/// What is out of the ordinary from the start: each is a disturbance, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Plain,
    /// Telemetry takes its time; else it takes a record at once.
    SlowTelemetry,
    /// Between the report of an order and the word that its performer is done, anything can come.
    LateLanding,
    /// The parent is told of both tasks together.
    Batched,
}

/// All there is.
#[derive(Clone)]
pub struct Scene {
    pub engine: Option<Arc<Engine>>,
    pub store: Arc<Store>,
    /// The group on its way to the store.
    pub flying: Option<Arc<Batch>>,
    /// In order, so that two scenes that differ in nothing else are one.
    pub jobs: Vec<Job>,
    pub mail: Vec<Mail>,
    pub host: BTreeMap<(TaskId, u32), Session>,
    /// What the parent has, by key.
    pub received: BTreeMap<DebriefId, Vec<(TaskId, u32)>>,
    /// Whose end telemetry has.
    pub emitted: BTreeSet<TaskId>,
    pub launches: [Launch; 2],
    pub cancel: Cancel,
    /// Crashes and failed commits so far.
    pub faults: u8,
    /// It was a failed commit.
    pub rebuilt: bool,
    /// The first group after a restart is not durable yet.
    pub recovering: bool,
    /// A deadline passed while something was still on its way.
    pub hurried: bool,
    pub tick: u64,
    /// Terminal states entered, by task.
    pub ends: BTreeMap<TaskId, u8>,
    /// The promise that was seen to break on the way here.
    pub broken: Option<&'static str>,
    pub kind: Kind,
    /// Disturbances that may still come.
    pub left: u8,
    pub print: u64,
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rows: Vec<_> = self.store.tasks.values().map(short).collect();
        let live: Option<Vec<_>> = self.engine.as_ref().map(|engine| {
            ids().filter_map(|id| engine.world().task(id)).map(short).collect::<Vec<_>>()
        });
        let debriefs: Vec<_> =
            self.store.debriefs.values().map(|debrief| (debrief.id, debrief.state)).collect();
        let words: Vec<_> = self.mail.iter().map(|mail| &mail.word).collect();
        out.debug_struct("Scene")
            .field("stored", &rows)
            .field("memory", &live)
            .field("debriefs", &debriefs)
            .field("flying", &self.flying.as_ref().map(|batch| batch.written.len()))
            .field("jobs", &self.jobs)
            .field("mail", &words)
            .field("host", &self.host)
            .field("received", &self.received)
            .field("launches", &self.launches)
            .field("cancel", &self.cancel)
            .field("tick", &self.tick)
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

fn short(task: &Task) -> String {
    format!(
        "{} {} {:?} turn {:?} owed {} telemetry {} probe {:?}",
        task.id,
        task.state,
        task.cause,
        task.turn.phase,
        task.notices.len(),
        task.telemetry.len(),
        task.live.probe
    )
}

pub fn limits() -> Limits {
    Limits { default: 1, ..Limits::default() }
}

impl Scene {
    pub fn first(kind: Kind, left: u8) -> Self {
        let mut scene = Self {
            engine: None,
            store: Arc::default(),
            flying: None,
            jobs: Vec::new(),
            mail: Vec::new(),
            host: BTreeMap::new(),
            received: BTreeMap::new(),
            emitted: BTreeSet::new(),
            launches: [Launch::default(); 2],
            cancel: Cancel::Not,
            faults: 0,
            rebuilt: false,
            recovering: false,
            hurried: false,
            tick: 100,
            ends: BTreeMap::new(),
            broken: None,
            kind,
            left,
            print: 0,
        };
        scene.start();
        scene
    }

    pub fn now(&self) -> Moment {
        Moment { tick: self.tick, wall: 1_700_000_000_000 + self.tick as i64, dice: 7 }
    }

    pub fn start(&mut self) {
        let engine = Engine::start(self.store.memory(), limits(), self.now());
        self.engine = Some(Arc::new(engine));
        self.settle();
        self.recovering = self.flying.is_some();
    }

    pub fn with(&mut self, step: impl FnOnce(&mut Engine, Moment)) {
        let now = self.now();
        if let Some(engine) = &mut self.engine {
            step(Arc::make_mut(engine), now);
        }
    }

    pub fn take(&mut self, input: Input) {
        self.with(|engine, now| engine.take(input, now));
    }

    /// Closes the open group as soon as the committer is free, and hands out what is released. A group of
    /// several inputs is met whenever one group flies while the next one fills.
    pub fn settle(&mut self) {
        while let Some(engine) = &mut self.engine {
            let engine = Arc::make_mut(engine);
            if self.flying.is_none() && engine.has_open() {
                self.flying = engine.close().map(Arc::new);
            }
            let Some(release) = engine.release() else {
                break;
            };
            for effect in release.effects {
                self.released(effect);
            }
            for reply in release.replies {
                self.replied(reply);
            }
        }
        self.jobs.sort_unstable();
        self.mail.sort_by(|one, other| one.word.cmp(&other.word));
    }

    fn replied(&mut self, reply: Reply) {
        let Reply { request, answer } = reply;
        match answer {
            Told::Accepted { task, .. } => {
                let promised = Some(task);
                self.launches[(request - 1) as usize] =
                    Launch { asked: true, again: false, promised };
            }
            Told::Cancelling { task, .. } => self.cancel = Cancel::Said(task),
            Told::AlreadyEnded { task, state } => {
                self.cancel = Cancel::Over;
                if self.store.tasks.get(&task).is_none_or(|row| row.state != state) {
                    self.broken = Some("a cancel that lost says how it ended");
                }
            }
            Told::Refused { .. } => self.unheard(request),
            other => panic!("not in this small world: {other:?}"),
        }
    }

    /// The caller of this request heard nothing, or that nothing is known.
    fn unheard(&mut self, request: u64) {
        match self.launches.get_mut((request - 1) as usize) {
            Some(launch) => *launch = Launch { asked: false, again: true, promised: None },
            None => self.cancel = Cancel::Over,
        }
    }

    pub fn durable(&mut self, batch: &Batch) {
        for written in &batch.written {
            if let Record::Task(id, TaskRecord::Moved { to, .. }) = &written.record
                && to.is_terminal()
            {
                *self.ends.entry(*id).or_default() += 1;
            }
        }
        let store = Arc::make_mut(&mut self.store);
        store.apply(batch);
        // Nothing here reads the journal but for its last number, or a text.
        let old = store.journal.len().saturating_sub(1);
        store.journal.drain(..old);
        store.texts.clear();
    }

    /// One fault, and one more crash while the first one is recovered from.
    pub fn may_fail(&self) -> bool {
        (self.faults == 0 && self.left > 0) || (self.faults == 1 && self.recovering)
    }

    /// The process is gone, with all that it had in mind or on its way. What was performed is done.
    pub fn crash(&mut self, applied: bool) {
        self.left -= u8::from(self.faults == 0);
        self.faults += 1;
        if let Some(batch) = self.flying.take().filter(|_| applied) {
            self.durable(&batch);
        }
        self.engine = None;
        self.recovering = false;
        self.jobs.clear();
        self.mail.clear();
        for session in self.host.values_mut() {
            session.watched = false;
        }
        for n in 0..2 {
            if self.launches[n].asked && self.launches[n].promised.is_none() {
                self.unheard(n as u64 + 1);
            }
        }
        if matches!(self.cancel, Cancel::Asked(_)) {
            self.cancel = Cancel::Over;
        }
    }

    /// The commit failed, or nobody knows: memory is made anew, what is under way goes on.
    pub fn rebuild(&mut self, applied: bool) {
        self.left -= 1;
        self.faults += 1;
        self.rebuilt = true;
        if let Some(batch) = self.flying.take().filter(|_| applied) {
            self.durable(&batch);
        }
        let (memory, why) = (self.store.memory(), "the disk".into());
        let told = Told::Refused { code: Code::Unsure, why };
        self.with(|engine, now| engine.rebuild(memory, &told, now));
    }

    /// The next deadline of anything.
    pub fn deadline(&self) -> Option<u64> {
        let world = self.engine.as_ref()?.world();
        let mut all: Vec<Who> = ids().map(Who::Task).collect();
        all.push(Who::Parent(Box::new(parent())));
        if let Some(parent) = world.parent(&parent()) {
            all.extend(parent.flight.iter().chain(&parent.resting).map(|id| Who::Debrief(*id)));
        }
        let ticks =
            all.iter().flat_map(|who| world.deadlines(who)).filter_map(|(_, at)| match at {
                At::Tick(tick) => Some(tick.max(self.tick)),
                At::Wall(_) => None,
            });
        ticks.min()
    }

    pub fn launch(&mut self, n: usize) {
        self.launches[n].asked = true;
        let id = IDS[n][usize::from(self.launches[n].again)];
        let (request, spec) = (n as u64 + 1, spec(n, self.kind));
        self.take(Input::Launch { request, id, spec, reservation: None });
    }

    pub fn cancel(&mut self, task: TaskId) {
        self.left -= 1;
        self.cancel = Cancel::Asked(task);
        let by = Caller::Person;
        self.take(Input::Cancel { request: 9, task, by, text: None, quiet: false });
    }
}

fn spec(n: usize, kind: Kind) -> Box<Spec> {
    Box::new(Spec {
        brief: Brief {
            host: "agent".into(),
            agent: None,
            name: None,
            models: Vec::new().into(),
            origin: None,
            notify: if kind == Kind::Batched { Notify::Debrief } else { Notify::Each },
            key: Some(Digest::of(&[n as u8, 1])),
            request: Digest::of(&[n as u8]),
            priority: 0,
            budget: Budget::default().into(),
            over: Overrides::default().into(),
            caps: Caps { prompts: true, goes_on: true, ..Caps::default() },
            parent_turn: None,
            // A name instead of a number that only grows.
            batch: Some("batch".into()),
            converses: false,
        },
        order: Order { prompt: "do it".to_owned(), ..Order::default() },
        parent: parent(),
        launched_by: None,
        after: Vec::new(),
    })
}
