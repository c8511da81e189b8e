//! The decider thread: takes every input in order, keeps one group in flight, releases in order.
//! No periodic tick: it sleeps until an input, a finished commit, or the next deadline.

use std::sync::Arc;
use std::time::Duration;

use homing_core::effect::EffectKey;
use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::reply::Told;
use homing_core::task::Task;
use homing_core::time::backoff_ms;
use homing_core::words::Code;
use homing_ports::store::CommitError;
use tokio::sync::{mpsc, watch};

use crate::committer::{Done, Job};
use crate::engine::Engine;
use crate::perform::Performer;
use crate::replies::Replies;
use crate::time::Timekeeper;

/// What reaches the decider.
pub(crate) enum Msg {
    Input(Box<Input>),
    Flew { key: EffectKey, ok: bool },
    Loaded { id: TaskId, task: Option<Box<Task>>, as_of: u64 },
    Stop,
}

/// Inputs taken before the group is handed on, so that a flood cannot hold a commit back.
const DRAIN_MAX: usize = 4_096;
/// Lines after which no more inputs are taken while a commit is under way.
const GROUP_MAX: usize = 16_384;
/// A wall-clock deadline is looked at again at least this often: somebody may set the clock.
const WALL_LOOK_MS: u64 = 60_000;

pub(crate) struct Decider {
    pub engine: Engine,
    pub time: Timekeeper,
    pub inbox: mpsc::Receiver<Msg>,
    pub jobs: std::sync::mpsc::Sender<Job>,
    pub done: mpsc::Receiver<Done>,
    pub performer: Performer,
    pub replies: Arc<Replies>,
    pub head: watch::Sender<u64>,
    pub on_fatal: Arc<dyn Fn(&CommitError) + Send + Sync>,
    /// What those who wait hear when a commit did not come about.
    pub doubt: Told,
}

/// A commit that surely failed is said to have failed; one that may be there is not known.
fn told_of(error: &CommitError) -> Told {
    let code = match error {
        CommitError::Failed { .. } => Code::Unavailable,
        CommitError::Unknown { .. } | CommitError::Fatal { .. } => Code::Unsure,
    };
    Told::Refused { code, why: error.to_string().into() }
}

/// What the committer is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Committer {
    Idle,
    Busy,
    /// Not before this tick again, after so many failures.
    Cooling { until: u64, failures: u32 },
}

impl Decider {
    pub(crate) async fn run(mut self) {
        self.turn_over().await;
        self.replies.close();
    }

    async fn turn_over(&mut self) {
        let mut committer = Committer::Idle;
        let mut failures = 0;
        let mut stopping = false;
        loop {
            committer = self.hand_on(committer, failures);
            self.release();
            if stopping && committer == Committer::Idle && !self.engine.has_open() {
                return;
            }
            let sleep = self.sleep(committer);
            let full = committer != Committer::Idle && self.engine.open_lines() > GROUP_MAX;
            tokio::select! {
                biased;
                done = self.done.recv() => match done {
                    Some(done) => committer = self.finished(done, &mut failures),
                    None => return,
                },
                msg = self.inbox.recv(), if !full && !stopping => match msg {
                    Some(msg) => stopping |= self.drain(msg),
                    None => stopping = true,
                },
                () = tokio::time::sleep(sleep) => {}
            }
            self.engine.fire(self.time.now());
        }
    }

    /// Takes what waits, in order; tells whether it was the last.
    fn drain(&mut self, first: Msg) -> bool {
        let mut next = first;
        let mut taken = 0;
        loop {
            let now = self.time.now();
            match next {
                Msg::Input(input) => self.engine.take(*input, now),
                Msg::Flew { key, ok } => self.engine.flew(&key, ok, now),
                Msg::Loaded { id, task, as_of } => self.engine.loaded(id, task, as_of, now),
                Msg::Stop => return true,
            }
            taken += 1;
            if taken == DRAIN_MAX {
                return false;
            }
            match self.inbox.try_recv() {
                Ok(msg) => next = msg,
                Err(_) => return false,
            }
        }
    }

    /// Gives the committer the next group, if it is free.
    fn hand_on(&mut self, committer: Committer, failures: u32) -> Committer {
        match committer {
            Committer::Busy => return Committer::Busy,
            Committer::Cooling { until, .. } if self.time.tick() < until => {
                return Committer::Cooling { until, failures };
            }
            Committer::Idle | Committer::Cooling { .. } => {}
        }
        while self.engine.has_open() {
            if let Some(batch) = self.engine.close() {
                return match self.jobs.send(Job::Commit(Box::new(batch))) {
                    Ok(()) => Committer::Busy,
                    Err(_) => Committer::Idle,
                };
            }
        }
        Committer::Idle
    }

    fn finished(&mut self, done: Done, failures: &mut u32) -> Committer {
        match done {
            Done::Committed(no) => {
                *failures = 0;
                self.engine.committed(no);
                Committer::Idle
            }
            Done::Failed(error) => {
                if matches!(error, CommitError::Fatal { .. }) {
                    (self.on_fatal)(&error);
                }
                self.doubt = told_of(&error);
                self.recover()
            }
            Done::Recovered(memory) => {
                *failures += 1;
                self.engine.rebuild(*memory, &self.doubt, self.time.now());
                let limits = &self.engine.world().limits;
                let wait = backoff_ms(*failures - 1, limits.backoff_first_ms, limits.backoff_most_ms);
                Committer::Cooling { until: self.time.tick() + wait, failures: *failures }
            }
            Done::RecoverFailed(_) => self.recover(),
        }
    }

    fn recover(&self) -> Committer {
        match self.jobs.send(Job::Recover) {
            Ok(()) => Committer::Busy,
            Err(_) => Committer::Idle,
        }
    }

    fn release(&mut self) {
        while let Some(release) = self.engine.release() {
            self.head.send_replace(release.head);
            for reply in release.replies {
                self.replies.answer(reply);
            }
            for effect in release.effects {
                self.performer.perform(effect);
            }
        }
    }

    fn sleep(&self, committer: Committer) -> Duration {
        let now = self.time.now();
        let (tick, wall) = self.engine.next_look();
        let mut ms = u64::MAX;
        if let Some(tick) = tick {
            ms = ms.min(tick.saturating_sub(now.tick));
        }
        if let Some(wall) = wall {
            ms = ms.min(u64::try_from(wall - now.wall).unwrap_or(0).min(WALL_LOOK_MS));
        }
        if let Committer::Cooling { until, .. } = committer {
            ms = ms.min(until.saturating_sub(now.tick));
        }
        // Tokio counts whole milliseconds from its own reading: one more never wakes too early twice.
        Duration::from_millis(ms.saturating_add(1).min(86_400_000))
    }
}
