//! The decider thread: takes every input in order, keeps one group in flight, releases in order.
//! No periodic tick: it sleeps until an input, a finished commit, or the next deadline.

use std::sync::Arc;
use std::time::Duration;

use homing_core::effect::EffectKey;
use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::reply::{Reply, Told};
use homing_core::task::Task;
use homing_core::time::{Moment, backoff_ms};
use homing_core::words::Code;
use homing_ports::store::CommitError;
use tokio::sync::{mpsc, oneshot, watch};

use crate::around::Around;
use crate::committer::{Done, Job};
use crate::engine::Engine;
use crate::figures::Figures;
use crate::perform::Performer;
use crate::replies::Replies;
use crate::slots::{self, KeySlots};
use crate::time::Timekeeper;

/// What reaches the decider.
pub(crate) enum Msg {
    Input(Box<Input>),
    /// Taken together: nothing comes between them.
    Inputs(Vec<Input>),
    Flew {
        key: EffectKey,
        ok: bool,
    },
    Loaded {
        id: TaskId,
        task: Option<Box<Task>>,
        as_of: u64,
    },
    /// What memory knows around a task; none while memory is worth nothing.
    Peek {
        id: TaskId,
        tell: oneshot::Sender<Option<Around>>,
    },
    /// The slots of every key; none while memory is worth nothing.
    Slots {
        tell: oneshot::Sender<Option<Vec<KeySlots>>>,
    },
    Stop,
}

/// Inputs taken before the group is handed on, so that a flood cannot hold a commit back.
const DRAIN_MAX: usize = 4_096;
/// Rounds that a flood of inputs can put deadlines off for.
const UNFIRED_MAX: u32 = 8;
/// Lines after which no more inputs are taken while a commit is under way.
const GROUP_MAX: usize = 16_384;
/// A wall-clock deadline is looked at again at least this often: somebody may set the clock.
const WALL_LOOK_MS: u64 = 60_000;
/// A store that failed is left alone for a while, less and less often asked.
const STORE_FIRST_MS: u64 = 100;
const STORE_MOST_MS: u64 = 5_000;
const DAY_MS: u64 = 86_400_000;

pub(crate) struct Decider {
    pub engine: Engine,
    pub time: Timekeeper,
    pub inbox: mpsc::Receiver<Msg>,
    pub jobs: std::sync::mpsc::Sender<Job>,
    pub done: mpsc::Receiver<Done>,
    pub performer: Performer,
    pub replies: Arc<Replies>,
    pub figures: Arc<Figures>,
    pub head: watch::Sender<u64>,
    /// Moves when memory was made anew.
    pub anew: watch::Sender<()>,
    pub on_fatal: Arc<dyn Fn(&CommitError) + Send + Sync>,
    pub committer: Committer,
    /// Commits that failed since the last good one.
    pub failures: u32,
    /// Rounds since deadlines were last looked at.
    pub unfired: u32,
}

/// What the committer is doing.
#[derive(Debug, Default)]
pub(crate) enum Committer {
    #[default]
    Idle,
    Busy,
    /// A commit failed. What the store holds is being read; whoever waits hears `doubt` afterwards.
    Recovering {
        doubt: Told,
    },
    /// Memory is what the store holds again. No commit before this tick.
    Cooling {
        until: u64,
    },
    /// What the store holds could not be read: memory is worth nothing until it is, from this tick on.
    Lost {
        until: u64,
        why: Arc<str>,
    },
}

impl Decider {
    /// Until it is stopped. The store is let go of before this ends.
    pub(crate) async fn run(mut self) {
        self.turn_over().await;
        self.performer.readers.close().await;
        drop(self.jobs);
        while self.done.recv().await.is_some() {}
    }

    async fn turn_over(&mut self) {
        let mut stopping = false;
        loop {
            self.hand_on();
            self.release(stopping);
            // What a release let go of may have been waited for by something else.
            if self.engine.has_open() && matches!(self.committer, Committer::Idle) {
                continue;
            }
            if stopping && self.is_settled() {
                return;
            }
            let sleep = self.sleep();
            let takes = !stopping && self.takes();
            tokio::select! {
                biased;
                done = self.done.recv() => match done {
                    Some(done) => if !self.finished(done) { return },
                    None => return,
                },
                msg = self.inbox.recv(), if takes => match msg {
                    Some(msg) => stopping = self.drain(msg),
                    None => stopping = true,
                },
                () = tokio::time::sleep(sleep) => {}
            }
            if !stopping {
                self.fire();
            }
        }
    }

    /// Whether all that was taken is durable, or never will be: those who wait hear that it stopped.
    fn is_settled(&self) -> bool {
        match self.committer {
            Committer::Busy => false,
            Committer::Idle => !self.engine.has_open(),
            Committer::Recovering { .. } | Committer::Cooling { .. } | Committer::Lost { .. } => {
                true
            }
        }
    }

    /// Inputs wait in the inbox while memory is read anew, and while too much waits for a commit.
    fn takes(&self) -> bool {
        match self.committer {
            Committer::Idle | Committer::Lost { .. } => true,
            Committer::Busy | Committer::Cooling { .. } => self.engine.open_lines() <= GROUP_MAX,
            Committer::Recovering { .. } => false,
        }
    }

    /// Takes what waits, in order, until a commit is done; tells whether it was the last.
    fn drain(&mut self, first: Msg) -> bool {
        let mut next = Some(first);
        for taken in 1.. {
            let now = self.time.now();
            match next {
                Some(Msg::Input(input)) => self.input(*input, now),
                Some(Msg::Inputs(inputs)) => {
                    inputs.into_iter().for_each(|input| self.input(input, now));
                }
                Some(Msg::Flew { key, ok }) => self.engine.flew(&key, ok, now),
                Some(Msg::Loaded { id, task, as_of }) => self.engine.loaded(id, task, as_of, now),
                Some(Msg::Peek { id, tell }) => {
                    let world = self.is_alive().then(|| self.engine.world());
                    // Whoever asked may have gone.
                    drop(tell.send(world.and_then(|world| Around::of(world, id))));
                }
                Some(Msg::Slots { tell }) => {
                    let world = self.is_alive().then(|| self.engine.world());
                    drop(tell.send(world.map(slots::of)));
                }
                Some(Msg::Stop) => return true,
                None => return false,
            }
            let goes_on = taken < DRAIN_MAX && self.done.is_empty();
            next = if goes_on { self.inbox.try_recv().ok() } else { None };
        }
        false
    }

    fn input(&mut self, input: Input, now: Moment) {
        let Committer::Lost { why, .. } = &self.committer else {
            self.figures.decisions.add(1);
            return self.engine.take(input, now);
        };
        // What the world reports meanwhile is asked for again once memory is back.
        if let Some(request) = input.request() {
            let answer = away(why);
            drop(self.replies.answer(Reply { request, answer }));
        }
    }

    /// Gives the committer the next group, if it is free.
    fn hand_on(&mut self) {
        match &self.committer {
            Committer::Busy | Committer::Recovering { .. } => return,
            Committer::Cooling { until } | Committer::Lost { until, .. }
                if self.time.tick() < *until =>
            {
                return;
            }
            Committer::Lost { why, .. } => return self.recover(away(why)),
            Committer::Idle | Committer::Cooling { .. } => self.committer = Committer::Idle,
        }
        while self.engine.has_open() {
            if let Some(batch) = self.engine.close() {
                if self.jobs.send(Job::Commit(Box::new(batch))).is_ok() {
                    self.committer = Committer::Busy;
                }
                return;
            }
        }
    }

    /// What the committer did; false when nothing can go on.
    fn finished(&mut self, done: Done) -> bool {
        match done {
            Done::Committed(no) => {
                self.failures = 0;
                self.engine.committed(no);
                self.committer = Committer::Idle;
            }
            Done::Failed(error) => {
                if matches!(error, CommitError::Fatal { .. }) {
                    (self.on_fatal)(&error);
                    return false;
                }
                self.recover(told_of(&error));
            }
            Done::Recovered(memory) => {
                let until = self.time.tick() + self.backoff();
                let before = std::mem::replace(&mut self.committer, Committer::Cooling { until });
                if let Committer::Recovering { doubt } = before {
                    self.engine.rebuild(*memory, &doubt, self.time.now());
                }
            }
            Done::RecoverFailed(why) => {
                let until = self.time.tick() + self.backoff();
                let before = std::mem::take(&mut self.committer);
                if let Committer::Recovering { doubt } = before {
                    for reply in self.engine.let_go(&doubt) {
                        drop(self.replies.answer(reply));
                    }
                    let why = why.into();
                    self.committer = Committer::Lost { until, why };
                }
            }
        }
        true
    }

    fn backoff(&mut self) -> u64 {
        self.failures += 1;
        backoff_ms(self.failures - 1, STORE_FIRST_MS, STORE_MOST_MS)
    }

    fn recover(&mut self, doubt: Told) {
        if self.jobs.send(Job::Recover).is_ok() {
            self.committer = Committer::Recovering { doubt };
        }
    }

    /// What a stop leaves undone is derived again by the next start.
    fn release(&mut self, stopping: bool) {
        while let Some(release) = self.engine.release() {
            // Nobody is woken by a group that wrote nothing: whoever asks again when woken would never rest.
            self.head
                .send_if_modified(|head| std::mem::replace(head, release.head) != release.head);
            for reply in release.replies {
                self.answer(reply);
            }
            if release.anew {
                self.anew.send_replace(());
            }
            if stopping {
                continue;
            }
            for effect in release.effects {
                self.performer.perform(effect);
            }
        }
    }

    fn answer(&mut self, reply: Reply) {
        if let Some(unheard) = self.replies.answer(reply) {
            self.engine.unheard(&unheard, self.time.now());
        }
    }

    /// A deadline ends nobody while inputs wait, but a flood does not put it off for ever.
    fn fire(&mut self) {
        if !self.is_alive() {
            return;
        }
        self.unfired += 1;
        if self.inbox.is_empty() || self.unfired > UNFIRED_MAX {
            self.unfired = 0;
            self.engine.fire(self.time.now());
        }
    }

    /// Whether memory is worth something.
    fn is_alive(&self) -> bool {
        match self.committer {
            Committer::Idle | Committer::Busy | Committer::Cooling { .. } => true,
            Committer::Recovering { .. } | Committer::Lost { .. } => false,
        }
    }

    fn sleep(&self) -> Duration {
        let now = self.time.now();
        let mut ms = DAY_MS;
        if self.is_alive() {
            let (tick, wall) = self.engine.next_look();
            if let Some(tick) = tick {
                ms = ms.min(tick.saturating_sub(now.tick));
            }
            if let Some(wall) = wall {
                ms = ms.min(u64::try_from(wall - now.wall).unwrap_or(0).min(WALL_LOOK_MS));
            }
        }
        if let Committer::Cooling { until } | Committer::Lost { until, .. } = &self.committer {
            ms = ms.min(until.saturating_sub(now.tick));
        }
        // Tokio counts whole milliseconds from its own reading: one more never wakes too early twice.
        Duration::from_millis(ms + 1)
    }
}

/// A commit that surely failed is said to have failed; one that may be there is not known.
fn told_of(error: &CommitError) -> Told {
    let code = match error {
        CommitError::Failed { .. } => Code::Unavailable,
        CommitError::Unknown { .. } | CommitError::Fatal { .. } => Code::Unsure,
    };
    Told::Refused { code, why: error.to_string().into() }
}

/// Nothing was decided: the store is not there to decide on.
fn away(why: &Arc<str>) -> Told {
    let why = Arc::clone(why);
    Told::Refused { code: Code::Unavailable, why }
}
