//! Runs one plan on the production engine, in virtual time. The engine is the runtime's own; everything
//! around it is simulated, and everything random comes from the plan's seed.

mod doors;
mod hosting;
mod mishaps;
mod telling;

use std::collections::{BTreeMap, BTreeSet};

use homing_core::effect::{Effect, EffectKey};
use homing_core::ids::{AskId, TaskId};
use homing_core::input::{Input, Outgoing, Request};
use homing_core::limits::Limits;
use homing_core::refs::ParentRef;
use homing_core::reply::{Reply, Told};
use homing_core::task::Task;
use homing_core::time::Moment;
use homing_core::words::Code;
use homing_runtime::engine::{Batch, Engine};

use crate::coverage::{Coverage, CrashPoint};
use crate::host::Host;
use crate::invariants::{Checker, Violation};
use crate::parents::Parents;
use crate::plan::{Op, Plan};
use crate::rng::Rng;
use crate::store::{Fault, Store};

/// What reaches the engine.
#[derive(Debug, Clone)]
pub(crate) enum Msg {
    Input(Box<Input>),
    Flew(EffectKey, bool),
    Loaded(TaskId, Option<Box<Task>>, u64),
}

/// What happens next somewhere.
#[derive(Debug, Clone)]
pub(crate) enum Ev {
    Op(usize),
    Msg(u32, Msg),
    Perform(u32, Box<Effect>),
    Commit(u32),
    Restart,
    /// A caller who heard nothing asks again.
    Repeat(usize),
    Beat(TaskId, u32, u32),
    ParentTurnEnds(ParentRef, std::sync::Arc<str>),
    ParentAnswers(ParentRef, homing_core::ids::DebriefId),
    Poll(ParentRef),
    /// Somebody sees to what was refused.
    Redrive(Outgoing),
}

/// After this tick nothing fails any more.
pub const CALM: u64 = 4_100_000;
/// By then everything must have come to rest: the largest deadline and the delivery bound lie well within.
pub const HORIZON: u64 = 40 * 24 * 3_600_000;
const STEPS_MAX: u64 = 60_000;

/// A history under way.
pub struct History<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) rng: Rng,
    pub(crate) now: Moment,
    pub(crate) wall_off: i64,
    pub(crate) queue: BTreeMap<(u64, u64), Ev>,
    order: u64,
    pub(crate) engine: Option<Engine>,
    /// Which run of the runtime this is; what belongs to an earlier one is lost.
    pub(crate) epoch: u32,
    pub store: Store,
    pub(crate) host: Host,
    pub(crate) parents: Parents,
    pub(crate) flying: Option<Batch>,
    next_fault: Fault,
    pub(crate) requests: BTreeMap<Request, Waits>,
    next_request: Request,
    pub(crate) launched: BTreeSet<usize>,
    /// Tasks that came to be by the key of another: which job they repeat.
    pub(crate) again: BTreeMap<TaskId, usize>,
    /// Asks that somebody answered.
    pub(crate) answered: Vec<AskId>,
    pub(crate) polls: BTreeSet<ParentRef>,
    pub checker: Checker,
    pub steps: u64,
    crash_in_recovery: u32,
    pub(crate) points: BTreeSet<CrashPoint>,
    pub trace: Option<Vec<String>>,
}

/// What a request was for.
#[derive(Debug, Clone)]
pub(crate) enum Waits {
    Launch(usize),
    LaunchAgain(usize),
    Cancel(TaskId),
    /// A child that waits inside its turn.
    Child(TaskId, u32, u32),
    /// A consumer of this inbox.
    Lease(ParentRef),
    Read,
    /// A person that waits for a task's end without a limit.
    Wait,
    Reserve,
    Other,
}

pub(crate) fn limits(plan: &Plan) -> Limits {
    Limits { default: plan.limit, living_max: 4, ..Limits::default() }
}

impl<'p> History<'p> {
    pub fn new(plan: &'p Plan, noise_seed: u64) -> Self {
        let mut history = Self {
            plan,
            rng: Rng::new(plan.seed ^ noise_seed.wrapping_mul(0x1234_5677)),
            now: Moment { tick: 1, wall: 1_700_000_000_000, dice: 1 },
            wall_off: 0,
            queue: BTreeMap::new(),
            order: 0,
            engine: None,
            epoch: 0,
            store: Store::default(),
            host: Host::default(),
            parents: Parents::default(),
            flying: None,
            next_fault: Fault::None,
            requests: BTreeMap::new(),
            next_request: 0,
            launched: BTreeSet::new(),
            again: BTreeMap::new(),
            answered: Vec::new(),
            polls: BTreeSet::new(),
            checker: Checker::default(),
            steps: 0,
            crash_in_recovery: 0,
            points: BTreeSet::new(),
            trace: None,
        };
        for (n, (at, _)) in plan.ops.iter().enumerate() {
            history.at(*at, Ev::Op(n));
        }
        history.at(1, Ev::Restart);
        history.checker.ids = plan.jobs.iter().map(|job| job.id).collect();
        history
    }

    pub(crate) fn at(&mut self, tick: u64, ev: Ev) {
        self.order += 1;
        self.queue.insert((tick.max(self.now.tick), self.order), ev);
    }

    pub(crate) fn after(&mut self, ms: u64, ev: Ev) {
        let tick = self.now.tick + ms;
        self.at(tick, ev);
    }

    pub(crate) fn noisy(&mut self, percent: u64) -> bool {
        let percent = percent * self.plan.noise / 20;
        self.now.tick < CALM && self.rng.chance(percent)
    }

    pub(crate) fn delay(&mut self) -> u64 {
        if self.noisy(10) { self.rng.below(self.plan.delay_most) } else { self.rng.below(40) }
    }

    pub(crate) fn tell(&mut self, msg: Msg) {
        let wait = self.delay();
        let epoch = self.epoch;
        self.after(wait, Ev::Msg(epoch, msg));
    }

    pub(crate) fn input(&mut self, input: Input) {
        self.tell(Msg::Input(Box::new(input)));
    }

    pub(crate) fn request(&mut self, waits: Waits) -> Request {
        self.next_request += 1;
        self.requests.insert(self.next_request, waits);
        self.next_request
    }

    /// Runs to the end, or to the first broken promise.
    pub fn run(&mut self, coverage: &mut Coverage) -> Result<(), Violation> {
        while let Some(tick) = self.next_tick() {
            if tick > HORIZON || self.steps > STEPS_MAX {
                break;
            }
            self.step(tick)?;
        }
        let waiting = self
            .requests
            .values()
            .filter(|waits| matches!(waits, Waits::Child(..) | Waits::Read | Waits::Wait))
            .count();
        self.checker.all_heard(waiting)?;
        let result =
            self.checker.at_rest(self.engine.as_ref(), &self.store, &self.host, &self.parents);
        let mut asked = std::mem::take(&mut self.checker.visits);
        if let Some(engine) = &mut self.engine {
            asked.extend(engine.visits().iter().copied());
        }
        coverage.asked(asked);
        coverage.points.append(&mut self.points);
        result
    }

    fn next_tick(&self) -> Option<u64> {
        let queued = self.queue.first_key_value().map(|((tick, _), _)| *tick);
        let timer = self.engine.as_ref().and_then(|engine| {
            let (tick, wall) = engine.next_look();
            let wall = wall.map(|wall| {
                let left = u64::try_from(wall - self.now.wall).unwrap_or(0);
                self.now.tick + left
            });
            tick.into_iter().chain(wall).min()
        });
        queued.into_iter().chain(timer).min().map(|tick| tick.max(self.now.tick))
    }

    fn set_clock(&mut self, tick: u64) {
        self.now = Moment {
            tick,
            wall: 1_700_000_000_000 + tick as i64 + self.wall_off,
            dice: self.rng.bits(),
        };
    }

    fn step(&mut self, tick: u64) -> Result<(), Violation> {
        self.set_clock(tick);
        let due = self.queue.first_key_value().is_some_and(|((at, _), _)| *at <= tick);
        let since = self.engine.as_ref().map_or(0, |engine| engine.world().head);
        let mut by = None;
        if due && let Some((_, ev)) = self.queue.pop_first() {
            if let Some(trace) = &mut self.trace {
                trace.push(format!("{tick:>9} {ev:?}"));
            }
            by = self.happen(ev)?;
        } else if let Some(engine) = &mut self.engine {
            engine.fire(self.now);
        }
        self.steps += 1;
        self.checker.after_input(self.engine.as_ref(), by.as_ref(), since)?;
        self.checker.at_host(&self.store, &self.host)?;
        self.move_on()
    }

    fn happen(&mut self, ev: Ev) -> Result<Option<Input>, Violation> {
        match ev {
            Ev::Op(n) => self.op(n)?,
            Ev::Msg(epoch, msg) if epoch == self.epoch && self.engine.is_some() => {
                return Ok(self.take(msg));
            }
            Ev::Msg(_, msg) => self.unreachable(&msg),
            Ev::Perform(epoch, effect) if epoch == self.epoch => self.perform(*effect, true)?,
            Ev::Commit(epoch) if epoch == self.epoch => self.commit()?,
            Ev::Perform(..) | Ev::Commit(_) => {}
            Ev::Restart => self.restart()?,
            Ev::Repeat(n) => self.repeat(n),
            Ev::Beat(task, attempt, turn) => self.beat(task, attempt, turn),
            Ev::ParentTurnEnds(who, turn) => self.parent_turn_ends(&who, &turn),
            Ev::ParentAnswers(who, key) => self.parent_answers(&who, key),
            Ev::Poll(who) => self.poll(&who),
            Ev::Redrive(what) => self.redrive(what),
        }
        Ok(None)
    }

    fn take(&mut self, msg: Msg) -> Option<Input> {
        let engine = self.engine.as_mut()?;
        match msg {
            Msg::Input(input) => {
                self.parents.taken(&input);
                self.host.heard(&input);
                self.checker.before_input(engine.world(), &input);
                engine.take((*input).clone(), self.now);
                Some(*input)
            }
            Msg::Flew(key, ok) => {
                self.checker.orders.landed(&key);
                engine.flew(&key, ok, self.now);
                None
            }
            Msg::Loaded(id, task, as_of) => {
                engine.loaded(id, task, as_of, self.now);
                None
            }
        }
    }

    /// Closes, hands to the committer, releases.
    fn move_on(&mut self) -> Result<(), Violation> {
        loop {
            let Some(engine) = &mut self.engine else {
                return Ok(());
            };
            if self.flying.is_none()
                && engine.has_open()
                && let Some(batch) = engine.close()
            {
                self.flying = Some(batch);
                let (wait, epoch) = (self.rng.below(4), self.epoch);
                self.after(wait, Ev::Commit(epoch));
            }
            let Some(engine) = &mut self.engine else {
                return Ok(());
            };
            let Some(release) = engine.release() else {
                if self.flying.is_none() && engine.has_open() {
                    continue;
                }
                return Ok(());
            };
            for reply in release.replies {
                self.replied(reply)?;
            }
            for effect in release.effects {
                self.checker.orders(&effect, &self.parents)?;
                let (wait, epoch) = (self.delay(), self.epoch);
                self.after(wait, Ev::Perform(epoch, Box::new(effect)));
            }
        }
    }

    fn commit(&mut self) -> Result<(), Violation> {
        let Some(batch) = self.flying.take() else {
            return Ok(());
        };
        let fault = if self.now.tick < CALM {
            std::mem::replace(&mut self.next_fault, Fault::None)
        } else {
            Fault::None
        };
        match fault {
            Fault::None => {
                self.durable(&batch)?;
                if let Some(engine) = &mut self.engine {
                    engine.committed(batch.no);
                }
            }
            Fault::Failed => self.rebuild(Code::Unavailable),
            Fault::Unknown { applied } => {
                if applied {
                    self.durable(&batch)?;
                }
                self.rebuild(Code::Unsure);
            }
        }
        Ok(())
    }

    pub(crate) fn durable(&mut self, batch: &Batch) -> Result<(), Violation> {
        self.checker.commits(batch, &self.store, &self.host)?;
        self.checker.purges(batch, &self.store)?;
        self.store.apply(batch);
        self.checker.committed(batch, &self.store)?;
        for debrief in &batch.debriefs {
            if matches!(debrief.parent, ParentRef::Inbox { .. }) && !debrief.state.is_over() {
                self.poll_later(&debrief.parent);
            }
        }
        Ok(())
    }

    fn rebuild(&mut self, code: Code) {
        self.points.insert(CrashPoint::RebuiltInPlace);
        let memory = self.store.memory();
        let told = Told::Refused { code, why: "sim".into() };
        if let Some(engine) = &mut self.engine {
            engine.rebuild(memory, &told, self.now);
        }
    }

    /// The process dies. What it was doing was done or not, and nobody heard of it.
    pub(crate) fn crash(&mut self, in_recovery: u32, apply: bool) -> Result<(), Violation> {
        let Some(mut engine) = self.engine.take() else {
            return Ok(());
        };
        self.checker.visits.extend(engine.visits().iter().copied());
        let point = match (&self.flying, apply) {
            (Some(_), true) => CrashPoint::CommittedUnreleased,
            (Some(_), false) => CrashPoint::BeforeCommit,
            (None, _) => CrashPoint::AtRest,
        };
        self.points.insert(point);
        if let Some(batch) = self.flying.take().filter(|_| apply) {
            self.durable(&batch)?;
        }
        let pending: Vec<Effect> = self
            .queue
            .values()
            .filter_map(|ev| match ev {
                Ev::Perform(epoch, effect) if *epoch == self.epoch => Some((**effect).clone()),
                _ => None,
            })
            .collect();
        for effect in pending {
            if self.rng.chance(50) {
                self.points.insert(CrashPoint::PerformedUnreported);
                self.perform(effect, false)?;
            } else {
                self.points.insert(CrashPoint::ReleasedUnperformed);
            }
        }
        self.epoch += 1;
        for waits in std::mem::take(&mut self.requests).into_values() {
            if let Waits::Launch(n) = waits {
                self.after(3_000, Ev::Repeat(n));
            }
        }
        self.unblock_children();
        self.parents.forget_told();
        self.crash_in_recovery = in_recovery;
        let down = self.rng.below(2_000);
        self.after(down, Ev::Restart);
        Ok(())
    }

    fn restart(&mut self) -> Result<(), Violation> {
        if self.engine.is_some() {
            return Ok(());
        }
        let mut engine = Engine::start(self.store.memory(), limits(self.plan), self.now);
        crate::pairs::recovery_is_idempotent(&self.store, self.plan, self.now, self.checker.off)?;
        engine.visits();
        if self.crash_in_recovery > 0 {
            self.crash_in_recovery -= 1;
            // It dies again while it comes up, before or after its first commit.
            let mut after = false;
            while let Some(batch) = engine.close() {
                after = self.rng.chance(50);
                if !after {
                    break;
                }
                self.durable(&batch)?;
                engine.committed(batch.no);
            }
            self.points.insert(if after {
                CrashPoint::RecoveryCommitted
            } else {
                CrashPoint::InRecovery
            });
            self.epoch += 1;
            let down = self.rng.below(500);
            self.after(down, Ev::Restart);
            return Ok(());
        }
        self.checker.orders.restarted();
        self.engine = Some(engine);
        Ok(())
    }

    fn replied(&mut self, reply: Reply) -> Result<(), Violation> {
        if let Told::WaitOver { task, ended: true } = &reply.answer {
            self.checker.heard_end(*task)?;
        }
        let waits = self.requests.remove(&reply.request);
        match (waits, &reply.answer) {
            (Some(Waits::Launch(n) | Waits::LaunchAgain(n)), Told::Accepted { task, existing }) => {
                self.checker.promised(*task, &self.plan.jobs[n], *existing, &self.store)?;
            }
            (
                Some(Waits::Launch(n)),
                Told::Refused { code: Code::Unsure | Code::Unavailable, .. },
            ) => {
                self.after(1_000, Ev::Repeat(n));
            }
            (Some(Waits::Cancel(task)), Told::Cancelling { .. }) => {
                self.checker.cancelled(task, &self.store)
            }
            (Some(Waits::Cancel(task)), Told::AlreadyEnded { state, .. }) => {
                self.checker.too_late(task, *state, &self.store)?;
            }
            (Some(Waits::Child(task, attempt, turn)), _) => self.unblock(task, attempt, turn),
            (Some(Waits::Lease(_)), Told::Leased { lease: Some(lease) }) => self.leased(*lease),
            (None, told) => {
                if let Some(engine) = &mut self.engine {
                    engine.unheard(told, self.now);
                }
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn set_fault(&mut self, unknown: bool, applied: bool) {
        self.next_fault = if unknown { Fault::Unknown { applied } } else { Fault::Failed };
    }

    pub(crate) fn op_at(&self, n: usize) -> Op {
        self.plan.ops[n].1.clone()
    }
}
