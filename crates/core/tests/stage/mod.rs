//! A stage for the pure core: a World, a virtual clock, and methods that read like sentences. Plays the
//! runtime's part (loads, timers, composing) without a thread, a sleep or a chance, and checks after every
//! step that rows are folds of the journal, that counts count, and that nothing is wanted unnoticed.

#![expect(dead_code, reason = "every test file uses a part of the stage")]
#![expect(clippy::panic, reason = "a stage that cannot go on must fail its test")]

mod check;
pub mod delivery;
pub mod host;
pub mod launch;
pub mod talk;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use homing_core::decision::Text;
use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{Fact, Fence};
use homing_core::ids::{AskId, DebriefId, PostId, TaskId};
use homing_core::input::{DeliveryFact, Input, ParentFact, Receipt};
use homing_core::limits::Limits;
use homing_core::outbox::Debrief;
use homing_core::payload::Payload;
use homing_core::reason::Caller;
use homing_core::record::{Record, TaskRecord};
use homing_core::refs::ParentRef;
use homing_core::reply::{Lease, Reply, Told};
use homing_core::rules::Event;
use homing_core::step::{Outcome, Written, step, step_absent, wants};
use homing_core::task::{Answer, Notice, Task};
use homing_core::time::{Moment, mix};
use homing_core::words::{Cause, Code, State};
use homing_core::world::{Key, World};

use launch::Launch;

pub const SECOND: u64 = 1_000;
pub const MINUTE: u64 = 60 * SECOND;
pub const HOUR: u64 = 60 * MINUTE;

/// The clock begins here, well away from zero.
const BEGIN_TICK: u64 = 1_000_000;
const BEGIN_WALL: i64 = 1_800_000_000_000;
/// More timers than this without the clock moving: it does not settle.
const FIRED_MAX: usize = 10_000;

/// See the module.
pub struct Stage {
    pub world: World,
    pub now: Moment,
    pub journal: Vec<Written>,
    pub texts: Vec<Text>,
    pub replies: Vec<Reply>,
    /// Every effect, when it became wanted.
    pub wished: Vec<Effect>,
    /// Every pair of the table that was asked.
    pub asked: BTreeSet<(State, Event)>,
    wanted: BTreeMap<EffectKey, Effect>,
    ledger: check::Ledger,
    given: Option<Input>,
    requests: u64,
    ids: u64,
}

impl Stage {
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        Self {
            world: World::new(limits),
            now: Moment { tick: BEGIN_TICK, wall: BEGIN_WALL, dice: 7 },
            journal: Vec::new(),
            texts: Vec::new(),
            replies: Vec::new(),
            wished: Vec::new(),
            asked: BTreeSet::new(),
            wanted: BTreeMap::new(),
            ledger: check::Ledger::default(),
            given: None,
            requests: 0,
            ids: 0,
        }
    }

    /// As many slots per key as said.
    pub fn slots(limit: u32) -> Self {
        Self::with(Limits { default: limit, ..Limits::default() })
    }

    /// Gives one input, with the loads it asks for, and checks the World afterwards.
    pub fn give(&mut self, input: Input) -> Outcome {
        self.now.dice = mix(self.now.dice);
        let mut outcome = step(&mut self.world, input.clone(), self.now);
        while let Some(missing) = outcome.load {
            let Some(row) = self.ledger.row(missing) else {
                outcome = step_absent(&mut self.world, &input, missing, self.now);
                break;
            };
            let loaded = Input::Loaded { id: missing, task: Some(Box::new(row)) };
            let load = step(&mut self.world, loaded, self.now);
            self.note(&load);
            outcome = step(&mut self.world, input.clone(), self.now);
        }
        self.given = Some(input);
        self.note(&outcome);
        outcome
    }

    fn note(&mut self, outcome: &Outcome) {
        self.ledger.take(&outcome.written);
        self.journal.extend(outcome.written.iter().cloned());
        self.texts.extend(outcome.texts.iter().cloned());
        self.replies.extend(outcome.replies.iter().cloned());
        self.asked.extend(outcome.asked.iter().copied());
        let told: Vec<Effect> = wants(&self.world, &outcome.touched, self.now);
        let mut all = self.ledger.wanted(&self.world, self.now);
        let fresh = |(key, effect): &(&EffectKey, &Effect)| self.wanted.get(*key) != Some(*effect);
        let (new, unseen): (Vec<Effect>, Vec<Effect>) = all
            .iter()
            .filter(fresh)
            .map(|(_, effect)| effect.clone())
            .partition(|effect| told.contains(effect));
        // What time alone makes wanted is seen when its timer fires.
        let due = self.has_looks_due();
        assert!(due || unseen.is_empty(), "{unseen:?} is wanted, untouched by {:?}", self.given);
        for effect in unseen {
            all.remove(&effect.key());
        }
        self.wished.extend(new);
        self.wanted = all;
        self.ledger.check(&self.world);
    }

    fn has_looks_due(&self) -> bool {
        let (tick, wall) = self.world.next_look();
        tick.is_some_and(|tick| tick <= self.now.tick)
            || wall.is_some_and(|wall| wall <= self.now.wall)
    }

    fn request(&mut self) -> u64 {
        self.requests += 1;
        self.requests
    }

    /// Gives a request and returns what it was told at once.
    pub fn ask(&mut self, make: impl FnOnce(u64) -> Input) -> Told {
        let request = self.request();
        let outcome = self.give(make(request));
        let mut own = outcome.replies.into_iter().filter(|reply| reply.request == request);
        let told = own.next().unwrap_or_else(|| panic!("request {request} was told nothing"));
        assert!(own.next().is_none(), "request {request} was told twice");
        told.answer
    }

    /// What a request was told so far.
    pub fn told(&self, request: u64) -> Option<&Told> {
        self.replies.iter().find(|reply| reply.request == request).map(|reply| &reply.answer)
    }

    // Doors.

    pub fn try_launch(&mut self, launch: Launch) -> Told {
        self.ids += 1;
        let id = TaskId::from_bits(self.ids);
        self.try_launch_as(id, launch)
    }

    pub fn try_launch_as(&mut self, id: TaskId, launch: Launch) -> Told {
        let spec = Box::new(launch.into_spec());
        self.ask(|request| Input::Launch { request, id, spec, reservation: None })
    }

    pub fn launch(&mut self, launch: Launch) -> TaskId {
        let told = self.try_launch(launch);
        let Told::Accepted { task, existing: false } = told else {
            panic!("not accepted as a new task: {told:?}");
        };
        task
    }

    /// Launches, and plays the host until its first turn runs.
    pub fn launch_running(&mut self, launch: Launch) -> TaskId {
        let id = self.launch(launch);
        self.start(id);
        id
    }

    pub fn adopt(&mut self, session: &str, launch: Launch) -> Told {
        self.ids += 1;
        let id = TaskId::from_bits(self.ids);
        let spec = Box::new(launch.into_spec());
        let known = self.ledger.of_session(&spec.brief.host, session);
        self.ask(|request| Input::Adopt { request, id, spec, session: session.into(), known })
    }

    pub fn cancel(&mut self, task: TaskId) -> Told {
        self.ask(|request| Input::Cancel {
            request,
            task,
            by: Caller::Person,
            text: None,
            quiet: false,
        })
    }

    pub fn resume(&mut self, task: TaskId, prompt: &str) -> Told {
        self.resume_for(task, prompt, None)
    }

    pub fn resume_for(&mut self, task: TaskId, prompt: &str, parent: Option<&str>) -> Told {
        let (prompt, parent) = (Payload::from(prompt), parent.map(parent_ref));
        self.ask(|request| Input::Resume { request, task, prompt, parent, by: Caller::Person })
    }

    pub fn retry(&mut self, task: TaskId) -> Told {
        self.ask(|request| Input::Retry { request, task, by: Caller::Person })
    }

    pub fn send(&mut self, task: TaskId, text: &str) -> Told {
        self.ask(|request| Input::Send { request, task, text: Payload::from(text), last: false })
    }

    pub fn answer_ask(&mut self, ask: AskId, answer: Answer, by: Caller) -> Told {
        self.ask(|request| Input::Answer { request, ask, answer, by })
    }

    /// Reads a task; the reply may come later, under the request that is returned.
    pub fn read(&mut self, task: TaskId) -> u64 {
        let request = self.request();
        self.give(Input::Read { request, task });
        request
    }

    pub fn wait(&mut self, task: TaskId, ms: u64, by: Caller) -> u64 {
        let request = self.request();
        self.give(Input::Wait { request, task, ms, by });
        request
    }

    pub fn forget(&mut self, request: u64) {
        self.give(Input::Forget { request });
    }

    pub fn reserve(&mut self, root: TaskId) -> (u64, Told) {
        let told = self.ask(|request| Input::Reserve { request, root });
        (self.requests, told)
    }

    pub fn release(&mut self, reservation: u64) {
        self.give(Input::Release { reservation });
    }

    pub fn ack_debrief(&mut self, id: DebriefId) -> Told {
        self.ask(|request| Input::Ack { request, receipt: Receipt::Debrief(id) })
    }

    pub fn ack_notice(&mut self, task: TaskId, generation: u32) -> Told {
        self.ask(|request| Input::Ack { request, receipt: Receipt::Notice { task, generation } })
    }

    pub fn lease(&mut self, parent: &str) -> Option<DebriefId> {
        let request = self.take(parent, false);
        let Some(lease) = self.leased(request) else {
            panic!("no answer at once");
        };
        lease.map(|lease| lease.debrief)
    }

    /// A consumer's request; one that stays may wait.
    pub fn take(&mut self, parent: &str, stays: bool) -> u64 {
        let (request, parent) = (self.request(), parent_ref(parent));
        self.give(Input::Lease { request, consumer: "reader".into(), parent, stays });
        request
    }

    /// What a consumer's request was told so far.
    pub fn leased(&self, request: u64) -> Option<Option<Lease>> {
        self.told(request).map(|told| {
            let Told::Leased { lease } = told else {
                panic!("no lease: {told:?}");
            };
            *lease
        })
    }

    pub fn let_go(&mut self, lease: Lease) {
        self.give(Input::LetGo(lease));
    }

    // The world.

    /// A fact of the task's own attempt and turn.
    pub fn observe(&mut self, task: TaskId, fact: Fact) -> Outcome {
        let fence = self.task(task).fence();
        self.observe_at(task, fence, fact)
    }

    pub fn observe_at(&mut self, task: TaskId, fence: Fence, fact: Fact) -> Outcome {
        self.give(Input::Observed { task, fence, fact })
    }

    pub fn parent(&mut self, parent: &str, fact: ParentFact) {
        let parent = parent_ref(parent);
        self.give(Input::Parent { parent, fact });
    }

    pub fn turn_began(&mut self, parent: &str, turn: &str) {
        self.parent(parent, ParentFact::TurnBegan { turn: turn.into() });
    }

    pub fn turn_ended(&mut self, parent: &str, turn: &str) {
        self.parent(parent, ParentFact::TurnEnded { turn: turn.into() });
    }

    pub fn between_turns(&mut self, parent: &str) {
        self.parent(parent, ParentFact::Between);
    }

    /// Composes every debrief that is wanted now, and those that become wanted by it; returns the sealed.
    pub fn compose(&mut self) -> Vec<Debrief> {
        let mut sealed = Vec::new();
        while let Some(effect) = self.first_wanted(|key| matches!(key, EffectKey::Compose(_))) {
            let Effect::Compose { parent, id, batch, notices, .. } = effect else {
                panic!("a compose of another kind: {effect:?}");
            };
            let text = Payload::from(format!("debrief of {notices:?}").as_str());
            let nonce = format!("n{}", id.bits() % 1_000_000).into();
            self.give(Input::Composed { parent, batch, notices, id, nonce, text });
            let debrief = self.world.debrief(id).unwrap_or_else(|| panic!("{id} was not sealed"));
            sealed.push(debrief.clone());
        }
        sealed
    }

    pub fn delivery(&mut self, debrief: DebriefId, fact: DeliveryFact) {
        self.give(Input::Delivery { debrief, fact });
    }

    pub fn answer_taken(&mut self, ask: AskId) {
        self.give(Input::AnswerTaken { ask });
    }

    pub fn telemetry_taken(&mut self, task: TaskId, generation: u32) {
        self.give(Input::TelemetryTaken { task, generation });
    }

    // Time.

    /// Lets time pass; every timer fires when it is due.
    pub fn advance(&mut self, ms: u64) {
        let target = self.now.tick + ms;
        let mut fired = 0;
        loop {
            let (tick, wall) = self.world.next_look();
            let walled = wall.map(|wall| self.now.tick + (wall - self.now.wall).max(0) as u64);
            let next = [tick, walled].into_iter().flatten().min();
            let Some(at) = next.filter(|at| *at <= target) else {
                break;
            };
            if at > self.now.tick {
                fired = 0;
                self.move_to(at);
            }
            self.fire();
            fired += 1;
            assert!(fired < FIRED_MAX, "looks do not settle at {}", self.now.tick);
        }
        self.move_to(target);
    }

    /// The wall clock jumps; the ledger's does not.
    pub fn jump_wall(&mut self, ms: i64) {
        self.now.wall += ms;
        self.fire();
    }

    /// Fires what is due now.
    pub fn fire(&mut self) {
        for fired in 0..FIRED_MAX {
            let Some((who, timer)) = self.world.next_due(self.now) else {
                return;
            };
            assert!(
                fired + 1 < FIRED_MAX,
                "{timer} of {who:?} does not settle: {:?}",
                self.world.deadlines(&who)
            );
            self.give(Input::Timer { who, timer });
        }
    }

    fn move_to(&mut self, tick: u64) {
        self.now.wall += (tick - self.now.tick) as i64;
        self.now.tick = tick;
    }

    // What there is to see.

    /// The task as the World has it, or as its journal folds once it has left memory.
    pub fn task(&self, id: TaskId) -> Task {
        let known = self.world.task(id).cloned().or_else(|| self.ledger.row(id));
        known.unwrap_or_else(|| panic!("no task {id}"))
    }

    pub fn state(&self, id: TaskId) -> State {
        self.task(id).state
    }

    pub fn states(&self, ids: &[TaskId]) -> Vec<State> {
        ids.iter().map(|id| self.state(*id)).collect()
    }

    pub fn cause(&self, id: TaskId) -> Option<Cause> {
        self.task(id).cause
    }

    /// State and cause in one.
    pub fn end(&self, id: TaskId) -> (State, Option<Cause>) {
        let task = self.task(id);
        (task.state, task.cause)
    }

    pub fn notices(&self, id: TaskId) -> Vec<Notice> {
        self.task(id).notices.to_vec()
    }

    /// How often a parent came to be owed something about this task.
    pub fn times_told(&self, id: TaskId) -> usize {
        let told = |record: &&TaskRecord| matches!(record, TaskRecord::Moved { told: Some(_), .. });
        self.records(id).filter(told).count()
    }

    pub fn records(&self, id: TaskId) -> impl Iterator<Item = &TaskRecord> {
        self.journal.iter().filter_map(move |written| match &written.record {
            Record::Task(of, record) if *of == id => Some(record),
            Record::Task(..) | Record::Outbox(_) => None,
        })
    }

    /// The kinds of a task's lines, in order.
    pub fn lines(&self, id: TaskId) -> Vec<&'static str> {
        self.records(id).map(TaskRecord::word).collect()
    }

    pub fn count(&self, id: TaskId, word: &str) -> usize {
        self.records(id).filter(|record| record.word() == word).count()
    }

    /// The states a task went through.
    pub fn path(&self, id: TaskId) -> Vec<State> {
        let adopted =
            |record: &TaskRecord| matches!(record, TaskRecord::Accepted { adopted: Some(_), .. });
        let first = if self.records(id).any(adopted) { State::Running } else { State::Queued };
        let moves = self.records(id).filter_map(|record| {
            if let TaskRecord::Moved { to, .. } = record { Some(*to) } else { None }
        });
        [first].into_iter().chain(moves).collect()
    }

    /// The text that a reference stands for.
    pub fn text(&self, text: Option<homing_core::payload::TextRef>) -> Option<String> {
        let digest = text?.digest;
        let found =
            self.texts.iter().find(|text| homing_core::payload::Digest::of(&text.bytes) == digest);
        let found =
            found.unwrap_or_else(|| panic!("the text {digest:?} was never given to the store"));
        Some(String::from_utf8_lossy(&found.bytes).into_owned())
    }

    pub fn result(&self, id: TaskId) -> Option<String> {
        self.text(self.task(id).result)
    }

    pub fn late(&self, id: TaskId) -> Option<String> {
        self.text(self.task(id).late)
    }

    pub fn key(&self, name: &str) -> Key {
        self.world.key(name).cloned().unwrap_or_default()
    }

    /// Slots held over all keys.
    pub fn held(&self) -> u32 {
        self.world.keys().map(|(_, key)| key.held).sum()
    }

    pub fn wanted(&self) -> Vec<Effect> {
        self.wanted.values().cloned().collect()
    }

    pub fn first_wanted(&self, which: impl Fn(&EffectKey) -> bool) -> Option<Effect> {
        self.wanted.iter().find(|(key, _)| which(key)).map(|(_, effect)| effect.clone())
    }

    pub fn wants(&self, key: &EffectKey) -> bool {
        self.wanted.contains_key(key)
    }

    pub fn wants_open(&self, id: TaskId) -> bool {
        self.wants(&EffectKey::Open(id, self.task(id).attempt))
    }

    pub fn wants_prompt(&self, id: TaskId) -> bool {
        let task = self.task(id);
        self.wants(&EffectKey::Prompt(id, task.attempt, task.turn.n))
    }

    pub fn wants_look(&self, id: TaskId) -> bool {
        self.wants(&EffectKey::Look(id, self.task(id).attempt))
    }

    pub fn wants_abort(&self, id: TaskId) -> bool {
        self.wants(&EffectKey::Abort(id, self.task(id).attempt))
    }

    pub fn wants_compose(&self, parent: &str) -> bool {
        self.wants(&EffectKey::Compose(Box::new(parent_ref(parent))))
    }

    pub fn wants_deliver(&self, debrief: DebriefId) -> bool {
        self.wants(&EffectKey::Deliver(debrief))
    }

    /// How often an effect became wanted.
    pub fn times_wished(&self, key: &EffectKey) -> usize {
        self.wished.iter().filter(|effect| effect.key() == *key).count()
    }

    pub fn posts(&self) -> Vec<PostId> {
        self.ledger.posts()
    }

    /// The one open ask of a task.
    pub fn open_ask(&self, id: TaskId) -> AskId {
        let task = self.task(id);
        let open: Vec<AskId> = task.open_asks().map(|ask| ask.id).collect();
        assert_eq!(open.len(), 1, "one open ask: {open:?}");
        open[0]
    }

    /// Nothing is held, lent or queued anywhere.
    pub fn assert_at_rest(&self) {
        let keys: Vec<(&Arc<str>, &Key)> = self.world.keys().collect();
        assert!(keys.is_empty(), "slots are not at rest: {keys:?}");
    }
}

pub fn parent_ref(text: &str) -> ParentRef {
    text.parse().unwrap_or_else(|why| panic!("{why}"))
}

/// The code of a refusal.
pub fn refused(told: &Told) -> Code {
    let Told::Refused { code, .. } = told else {
        panic!("not refused: {told:?}");
    };
    *code
}

/// The words of a refusal.
pub fn refusal(told: &Told) -> String {
    let Told::Refused { why, .. } = told else {
        panic!("not refused: {told:?}");
    };
    why.to_string()
}
