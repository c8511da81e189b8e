//! The engine: group, commit, release, rebuild, re-derive and timers, as one struct that its caller steps.
//!
//! The runtime's threads and the simulation drive this same struct. It does no IO and reads no clock:
//! inputs and moments come in, groups to commit and effects to perform go out. Decide, commit, then act:
//! what a group brings about is released only once the group is durable, in order.

mod digest;
mod flights;
mod start;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use homing_core::bugs::{Bug, active};
use homing_core::decision::Text;
use homing_core::effect::{Effect, EffectKey};
use homing_core::ids::TaskId;
use homing_core::input::{Input, Purge, Request};
use homing_core::outbox::{Debrief, Post};
use homing_core::record::{OutboxRecord, Record};
use homing_core::reply::{Reply, Told};
use homing_core::rules::Event;
use homing_core::step::{self, Outcome, Touched, Written};
use homing_core::task::Task;
use homing_core::time::Moment;
use homing_core::words::{Code, State};
use homing_core::world::World;

use flights::Flights;
pub use start::Memory;

/// What commits together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Of the group; ascending.
    pub no: u64,
    pub written: Vec<Written>,
    /// Each task, debrief and post that the lines speak of, as it stands after them.
    pub tasks: Vec<Task>,
    pub debriefs: Vec<Debrief>,
    pub posts: Vec<Post>,
    pub texts: Vec<Text>,
    pub purge: Purge,
    pub now: Moment,
}

/// What a durable group brings about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Release {
    pub effects: Vec<Effect>,
    pub replies: Vec<Reply>,
    /// The journal is durable up to here.
    pub head: u64,
    /// Memory was made anew: whoever waited in it asks again.
    pub anew: bool,
}

/// A group on its way to durability.
#[derive(Clone, Debug, Default)]
struct Held {
    no: u64,
    durable: bool,
    release: Release,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    world: World,
    open: Open,
    held: VecDeque<Held>,
    next_no: u64,
    flights: Flights,
    parked: BTreeMap<TaskId, Vec<Input>>,
    /// Tasks that left memory, with the line they left at, until that line is durable.
    evicted: BTreeMap<TaskId, u64>,
    /// Tasks that are being read and may be gone from the store, or written anew, by the time it is told.
    outdated: BTreeSet<TaskId>,
    /// Requests that have no reply yet.
    asked: BTreeSet<Request>,
    /// The last moment that came in.
    now: Moment,
    /// Pairs of the table that were asked; kept only when someone looks.
    visits: Option<BTreeSet<(State, Event)>>,
}

/// The group that is being filled.
#[derive(Clone, Debug, Default)]
struct Open {
    written: Vec<Written>,
    texts: Vec<Text>,
    tasks: BTreeMap<TaskId, Option<Box<Task>>>,
    debriefs: BTreeMap<homing_core::ids::DebriefId, Option<Debrief>>,
    posts: BTreeMap<homing_core::ids::PostId, Option<Post>>,
    purge: Purge,
    release: Release,
    now: Moment,
}

impl Open {
    fn is_empty(&self) -> bool {
        self.written.is_empty()
            && self.purge.is_empty()
            && self.release.effects.is_empty()
            && self.release.replies.is_empty()
    }
}

impl Engine {
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Takes one input: decides it with all that follows, and adds that to the open group.
    pub fn take(&mut self, mut input: Input, now: Moment) {
        if let Some(request) = input.request() {
            self.asked.insert(request);
        }
        if let Input::Forget { request } = &input {
            self.asked.remove(request);
        }
        if let Input::Expired { purge, .. } = &mut input {
            // What may still begin to run, or is heard of now, is somebody's to stop. One who only asks keeps nothing.
            let reports = |input: &Input| input.request().is_none();
            let heard = |id: &TaskId| {
                let parked = self.parked.get(id).is_some_and(|parked| parked.iter().any(reports));
                parked && !active(Bug::StaleLoadCounts)
            };
            purge.tasks.retain(|id| !self.flights.is_starting_any(*id) && !heard(id));
        }
        self.run(input, now);
    }

    fn run(&mut self, input: Input, now: Moment) {
        let kept = input.clone();
        let outcome = step::step(&mut self.world, input, now);
        match outcome.load {
            Some(id) => self.park(id, kept),
            None => self.absorb(outcome, now),
        }
    }

    fn park(&mut self, id: TaskId, input: Input) {
        if input.request().is_some() {
            self.flights.forget_failure(&EffectKey::Load(id));
        }
        self.parked.entry(id).or_default().push(input);
        self.load(id);
    }

    /// Reads a task, if something still waits for it.
    fn load(&mut self, id: TaskId) {
        if self.parked.contains_key(&id) {
            self.flights.want(Effect::Load { task: id }, &mut self.open.release.effects);
        }
    }

    /// A task that was asked for, as the store had it at journal line `as_of`.
    pub fn loaded(&mut self, id: TaskId, task: Option<Box<Task>>, as_of: u64, now: Moment) {
        self.flights.land(&EffectKey::Load(id));
        let left = self.evicted.get(&id).is_some_and(|left| *left > as_of);
        let outdated = self.outdated.remove(&id) && !active(Bug::StaleLoadCounts);
        if (outdated || left) && self.world.task(id).is_none() {
            return self.load(id);
        }
        let absent = task.is_none() && self.world.task(id).is_none();
        self.run(Input::Loaded { id, task }, now);
        for input in self.parked.remove(&id).unwrap_or_default() {
            if absent && self.frees_key(&input, id) {
                self.run(input, now);
            } else if absent {
                let outcome = step::step_absent(&mut self.world, &input, id, now);
                self.absorb(outcome, now);
            } else {
                self.run(input, now);
            }
        }
        self.run(Input::Then(homing_core::input::Then::Evict(id)), now);
    }

    /// A launch whose key belongs to a task that retention took is a new launch.
    fn frees_key(&mut self, input: &Input, gone: TaskId) -> bool {
        if let Input::Launch { spec, .. } = input
            && let Some(key) = spec.brief.key
        {
            return self.world.free_key(key, gone);
        }
        false
    }

    fn absorb(&mut self, outcome: Outcome, now: Moment) {
        self.open.now = now;
        self.now = now;
        for written in &outcome.written {
            self.mark(&written.record);
        }
        for task in outcome.left.tasks {
            self.evicted.insert(task.id, self.world.head);
            if let Some(dirty) = self.open.tasks.get_mut(&task.id) {
                *dirty = Some(task);
            }
        }
        for debrief in outcome.left.debriefs {
            self.open.debriefs.insert(debrief.id, Some(debrief));
        }
        for post in outcome.left.posts {
            self.open.posts.insert(post.id, Some(post));
        }
        self.open.written.extend(outcome.written);
        self.open.texts.extend(outcome.texts);
        let read = |id: &&TaskId| self.flights.has(&EffectKey::Load(**id));
        self.outdated.extend(outcome.purge.tasks.iter().filter(read));
        self.open.purge.add(outcome.purge);
        self.open.release.replies.extend(outcome.replies);
        if let Some(visits) = &mut self.visits {
            visits.extend(outcome.asked);
        }
        self.derive(&outcome.touched, now);
    }

    fn mark(&mut self, record: &Record) {
        match record {
            Record::Task(id, _) => drop(self.open.tasks.insert(*id, None)),
            Record::Outbox(OutboxRecord::Sealed { debrief }) => {
                self.open.debriefs.insert(debrief.id, None);
            }
            Record::Outbox(
                OutboxRecord::DebriefMoved { debrief, .. }
                | OutboxRecord::DebriefAnswered { debrief, .. }
                | OutboxRecord::DebriefAgain { debrief, .. },
            ) => {
                self.open.debriefs.insert(*debrief, None);
            }
            Record::Outbox(OutboxRecord::PostSealed { post }) => {
                drop(self.open.posts.insert(post.id, None))
            }
            Record::Outbox(
                OutboxRecord::PostMoved { post, .. } | OutboxRecord::PostAgain { post, .. },
            ) => drop(self.open.posts.insert(*post, None)),
        }
    }

    /// Adds what the touched want done, unless it is under way.
    fn derive(&mut self, touched: &Touched, now: Moment) {
        let wanted = step::wants(&self.world, touched, now);
        self.flights.rewatch(&touched.tasks, &wanted, &self.world, &mut self.open.release.effects);
        for effect in wanted {
            self.flights.want(effect, &mut self.open.release.effects);
        }
    }

    /// The performer of an effect is done with it; not `ok`: it is tried again after a while.
    pub fn flew(&mut self, key: &EffectKey, ok: bool, now: Moment) {
        self.flights.land(key);
        if let (EffectKey::Load(id), false) = (key, ok) {
            return self.load_failed(*id, now);
        }
        let touched = flights::touched_by(key);
        let wanted = step::wants(&self.world, &touched, now);
        if !ok && wanted.iter().any(|effect| effect.key() == *key) {
            self.flights.cool(key.clone(), &self.world.limits, now);
        } else {
            self.flights.forget_failure(key);
        }
        // Others may have waited for it to land.
        self.derive(&touched, now);
    }

    /// The store could not be read: whoever asks hears so, what was reported waits for another try.
    fn load_failed(&mut self, id: TaskId, now: Moment) {
        for input in self.parked.remove(&id).unwrap_or_default() {
            let Some(request) = input.request() else {
                self.parked.entry(id).or_default().push(input);
                continue;
            };
            let why = format!("{id} could not be read from the store; try again").into();
            let answer = Told::Refused { code: Code::Unavailable, why };
            self.open.release.replies.push(Reply { request, answer });
        }
        if self.parked.contains_key(&id) {
            self.flights.cool(EffectKey::Load(id), &self.world.limits, now);
        }
    }

    /// Fires what is due. Called when no other input waits.
    pub fn fire(&mut self, now: Moment) {
        for key in self.flights.cooled(now.tick) {
            if let EffectKey::Load(id) = key {
                self.load(id);
            } else {
                self.derive(&flights::touched_by(&key), now);
            }
        }
        while let Some((who, timer)) = self.world.next_due(now) {
            self.run(Input::Timer { who, timer }, now);
        }
    }

    /// When to call `fire` next, on the ledger's clock and on the wall.
    pub fn next_look(&self) -> (Option<u64>, Option<i64>) {
        let (tick, wall) = self.world.next_look();
        let cooling = self.flights.next_cooled();
        (tick.into_iter().chain(cooling).min(), wall)
    }

    /// The lines of the open group.
    pub fn open_written(&self) -> &[Written] {
        &self.open.written
    }

    /// How many lines the open group holds.
    pub fn open_lines(&self) -> usize {
        self.open.written.len()
    }

    /// Whether there is anything to close.
    pub fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Closes the open group. What is to be committed comes back; a group that writes nothing needs no commit
    /// and is released in its turn.
    pub fn close(&mut self) -> Option<Batch> {
        if self.open.is_empty() {
            return None;
        }
        let open = std::mem::take(&mut self.open);
        self.next_no += 1;
        let no = self.next_no;
        let durable = open.written.is_empty() && open.purge.is_empty();
        let mut release = open.release;
        release.head = self.world.head;
        if active(Bug::AnsweredEarly) {
            let replies = std::mem::take(&mut release.replies);
            self.held.push_front(Held {
                no: 0,
                durable: true,
                release: Release { replies, ..Release::default() },
            });
        }
        if active(Bug::ActsEarly) || active(Bug::SentEarly) {
            let early = |effect: &mut Effect| {
                active(Bug::ActsEarly) || matches!(effect, Effect::Deliver { .. })
            };
            let effects = release.effects.extract_if(.., early).collect();
            self.held.push_front(Held {
                no: 0,
                durable: true,
                release: Release { effects, ..Release::default() },
            });
        }
        self.held.push_back(Held { no, durable, release });
        if durable {
            return None;
        }
        Some(self.batch(
            no,
            open.written,
            open.texts,
            (open.tasks, open.debriefs, open.posts),
            open.purge,
            open.now,
        ))
    }

    #[expect(
        clippy::type_complexity,
        reason = "the three maps of the open group, taken apart once"
    )]
    fn batch(
        &self,
        no: u64,
        written: Vec<Written>,
        texts: Vec<Text>,
        (tasks, debriefs, posts): (
            BTreeMap<TaskId, Option<Box<Task>>>,
            BTreeMap<homing_core::ids::DebriefId, Option<Debrief>>,
            BTreeMap<homing_core::ids::PostId, Option<Post>>,
        ),
        purge: Purge,
        now: Moment,
    ) -> Batch {
        let world = &self.world;
        Batch {
            no,
            written,
            tasks: tasks
                .into_iter()
                .filter(|(id, _)| !purge.tasks.contains(id))
                .skip(usize::from(active(Bug::RowForgotten)))
                .filter_map(|(id, left)| left.map(|task| *task).or_else(|| world.task(id).cloned()))
                .collect(),
            debriefs: debriefs
                .into_iter()
                .filter(|_| !active(Bug::OutboxForgotten))
                .filter_map(|(id, left)| left.or_else(|| world.debrief(id).cloned()))
                .collect(),
            posts: posts
                .into_iter()
                .filter_map(|(id, left)| left.or_else(|| world.post(id).cloned()))
                .collect(),
            texts,
            purge,
            now,
        }
    }

    /// The group is durable.
    pub fn committed(&mut self, no: u64) {
        if let Some(held) = self.held.iter_mut().find(|held| held.no == no) {
            held.durable = true;
        }
    }

    /// The next release whose group, and all before it, are durable.
    pub fn release(&mut self) -> Option<Release> {
        if !self.held.front().is_some_and(|held| held.durable) {
            return None;
        }
        let mut release = self.held.pop_front()?.release;
        let mut dropped = Touched::default();
        release.effects.retain(|effect| self.is_wanted(effect, &mut dropped));
        self.flights.released(&release.effects);
        // Others may have waited for what is not done after all.
        self.derive(&dropped, self.now);
        for reply in &release.replies {
            self.asked.remove(&reply.request);
        }
        // A load that is under way may have read the row as it was before.
        let flights = &self.flights;
        self.evicted.retain(|id, left| *left > release.head || flights.has(&EffectKey::Load(*id)));
        Some(release)
    }

    /// Whether an effect is still wanted when its group is durable. A parent may have begun a turn, a
    /// task may have been cancelled meanwhile: then it is not done, and derived again when it is.
    fn is_wanted(&mut self, effect: &Effect, dropped: &mut Touched) -> bool {
        let key = effect.key();
        if matches!(effect, Effect::Load { .. } | Effect::Unwatch { .. }) {
            return true;
        }
        let touched = flights::touched_by(&key);
        let wanted = step::wants(&self.world, &touched, self.now);
        let still = wanted.iter().any(|other| other.key() == key);
        if !still {
            self.flights.land(&key);
            dropped.join(touched);
        }
        still
    }

    /// Nobody listens for this reply any more: a lease that nobody heard of is nobody's, and another consumer may wait.
    pub fn unheard(&mut self, told: &Told, now: Moment) {
        if let Told::Leased { lease: Some(lease) } = told {
            self.take(Input::LetGo(*lease), now);
        }
    }

    /// Pairs of the table asked so far; starts to keep them.
    pub fn visits(&mut self) -> &BTreeSet<(State, Event)> {
        self.visits.get_or_insert_with(BTreeSet::new)
    }
}
