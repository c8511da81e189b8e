//! The lines of a plan, as inputs at the doors.

use std::sync::Arc;

use homing_core::fact::{ErrorClass, Fact, Fence, HostError};
use homing_core::ids::TaskId;
use homing_core::input::{Input, ParentFact, Receipt};
use homing_core::payload::{Digest, Payload};
use homing_core::reason::Caller;
use homing_core::refs::ParentRef;
use homing_core::spec::{Brief, Budget, Caps, Model, Order, Overrides, Spec};
use homing_core::task::Answer;
use homing_core::words::Notify;

use super::{Ev, History, Waits};
use crate::invariants::Violation;
use crate::plan::{Job, Op, parent};

pub(super) fn spec(job: &Job, launched_by: Option<TaskId>, jobs: &[Job]) -> Spec {
    let models = (0..job.models)
        .map(|n| Model { provider: "p".into(), id: format!("m{}", n % 3).into(), variant: None })
        .collect();
    let parent = match launched_by {
        Some(above) if job.priority > 0 => ParentRef::Task(above),
        Some(_) | None => job.parent.clone(),
    };
    let parent = if job.converses { ParentRef::None } else { parent };
    let turn =
        job.parent_turn && matches!(parent, ParentRef::Session { .. } | ParentRef::Conversation(_));
    Spec {
        brief: Brief {
            host: if job.prompts { "agent".into() } else { "process".into() },
            agent: None,
            name: Some("job".into()),
            models,
            origin: job.origin.and_then(|text| text.parse().ok()),
            notify: if job.converses { Notify::Silent } else { job.notify },
            key: job.key.map(|key| Digest::of(&key.to_be_bytes())),
            request: Digest::of(&job.id.bits().to_be_bytes()),
            priority: job.priority,
            budget: if job.budget {
                Budget { calls: Some(3), tokens: Some(500), ..Budget::default() }.into()
            } else {
                Budget::default().into()
            },
            over: Overrides {
                timeout_ms: job.timeout.then_some(90_000),
                retry_interrupted: Some(job.retry_interrupted),
                ..Overrides::default()
            }
            .into(),
            caps: Caps {
                prompts: job.prompts,
                goes_on: job.prompts,
                // Every other command keeps its standard input open.
                words: !job.prompts && job.id.bits() & 1 == 0,
                ..Caps::default()
            },
            parent_turn: turn.then(|| Arc::from("turn-of-launch")),
            batch: None,
            converses: job.converses,
        },
        order: Order { prompt: "do it".into(), ..Order::default() },
        parent,
        launched_by,
        after: job
            .after
            .filter(|_| launched_by.is_none())
            .map(|n| jobs[n].id)
            .into_iter()
            .collect(),
    }
}

impl History<'_> {
    pub(super) fn launch(&mut self, n: usize, launched_by: Option<TaskId>) {
        let job = &self.plan.jobs[n];
        self.launched.insert(n);
        let spec = Box::new(spec(job, launched_by, &self.plan.jobs));
        let id = job.id;
        if spec.brief.parent_turn.is_some() {
            self.parent_turn_begins(&spec.parent.clone(), "turn-of-launch");
        }
        let request = self.request(Waits::Launch(n));
        self.input(match job.converses {
            true => Input::Converse { request, id, spec },
            false => Input::Launch { request, id, spec, reservation: None },
        });
    }

    /// The same key with a fresh id, as a caller sends it who does not know whether it was heard.
    fn launch_again(&mut self, n: usize) {
        let spec = Box::new(spec(&self.plan.jobs[n], None, &self.plan.jobs));
        let id = TaskId::from_bits(self.rng.bits());
        self.again.insert(id, n);
        self.checker.ids.push(id);
        let request = self.request(Waits::LaunchAgain(n));
        self.input(Input::Launch { request, id, spec, reservation: None });
    }

    /// Nobody takes it: the runtime is down, or died before it did.
    pub(super) fn unreachable(&mut self, msg: &super::Msg) {
        if let super::Msg::Input(input) = msg
            && let Some(request) = input.request()
        {
            self.requests.remove(&request);
        }
        if let super::Msg::Input(input) = msg
            && let Input::Launch { id, .. } | Input::Converse { id, .. } = &**input
            && let Some(n) = self.plan.jobs.iter().position(|job| job.id == *id)
        {
            self.after(2_000, Ev::Repeat(n));
        }
    }

    /// The same launch again, unless it was accepted after all.
    pub(super) fn repeat(&mut self, n: usize) {
        let asked = self
            .requests
            .values()
            .any(|waits| matches!(waits, Waits::Launch(other) if *other == n));
        let id = self.plan.jobs[n].id;
        let there = self.store.tasks.contains_key(&id) || self.checker.gone.tasks.contains(&id);
        if !asked && !there {
            self.launch(n, None);
        }
    }

    pub(super) fn op(&mut self, n: usize) -> Result<(), Violation> {
        let op = self.op_at(n);
        match op {
            Op::Crash { in_recovery, apply } => return self.crash(in_recovery, apply),
            Op::CommitFails { unknown, applied } => self.set_fault(unknown, applied),
            Op::WallJump(ms) => self.wall_off += ms,
            Op::RestartHost => self.restart_host(),
            Op::Sweep(age) => self.sweep(age),
            Op::Launch(job) if self.launched.contains(&job) => {}
            Op::Launch(job) => self.launch(job, None),
            Op::LaunchAgain(job)
                if self.store.tasks.contains_key(&self.plan.jobs[job].id)
                    && self.plan.jobs[job].key.is_some()
                    && !self.plan.jobs[job].converses =>
            {
                self.launch_again(job);
            }
            Op::Adopt(job)
                if !self.launched.contains(&job)
                    && self.plan.jobs[job].prompts
                    && !self.plan.jobs[job].converses =>
            {
                self.adopt(job);
            }
            Op::LaunchAgain(_) | Op::Adopt(_) => {}
            Op::PersonTurn(n) => {
                let (who, name) = (parent(n % 2), format!("person-{n}-{}", self.now.tick));
                self.parent_turn_begins(&who, &name);
            }
            Op::PersonWaits(n) => self.person_waits(&parent(n % 2)),
            Op::DeleteParent(n) => {
                let who = parent(n % 2);
                self.parents.get(&who).deleted = true;
                self.input(Input::Parent { parent: who, fact: ParentFact::Deleted });
            }
            Op::Lease(n) => {
                let who = parent(if n % 2 == 0 { 2 } else { 4 });
                self.consume(&who, true);
            }
            Op::AckDebrief => self.ack_leased(),
            Op::Forget => {
                let waits =
                    |waits: &Waits| matches!(waits, Waits::Other | Waits::Wait | Waits::Lease(_));
                let waiting = self.requests.iter().find(|(_, what)| waits(what));
                if let Some(request) = waiting.map(|(request, _)| *request) {
                    self.requests.remove(&request);
                    self.input(Input::Forget { request });
                }
            }
            Op::Cancel(job)
            | Op::Resume(job)
            | Op::Retry(job)
            | Op::Send(job)
            | Op::Speak(job, _)
            | Op::Close(job)
            | Op::AnswerAsk(job)
            | Op::AnswerLate(job)
            | Op::DeleteSession(job)
            | Op::EndEarly(job, _)
            | Op::Recant(job, _)
            | Op::Read(job)
            | Op::Wait(job)
            | Op::Ack(job)
            | Op::Reserve(job)
            | Op::Reroute(job)
            | Op::Lie(job, _) => self.task_op(&op, self.plan.jobs[job].id),
        }
        Ok(())
    }

    fn task_op(&mut self, op: &Op, task: TaskId) {
        let by = Caller::Person;
        let input = match op {
            Op::Cancel(_) => {
                let request = self.request(Waits::Cancel(task));
                Input::Cancel { request, task, by, text: None, quiet: self.rng.chance(20) }
            }
            Op::Resume(_) => {
                let request = self.request(Waits::Other);
                let parent = self.rng.chance(20).then(|| parent(2));
                Input::Resume { request, task, prompt: Payload::from("more"), parent, by }
            }
            Op::Retry(_) => Input::Retry { request: self.request(Waits::Other), task, by },
            Op::Send(_) => return self.say(task),
            Op::Speak(_, key) => self.speak(task, *key),
            Op::Close(_) => Input::Close { request: self.request(Waits::Other), task },
            Op::AnswerAsk(_) => return self.answer_ask(task),
            Op::AnswerLate(_) => return self.answer_late(),
            Op::DeleteSession(_) => return self.delete_session(task),
            Op::EndEarly(_, end) => return self.end_early(task, *end),
            Op::Recant(_, class) => return self.recant(task, *class),
            Op::Read(_) => Input::Read { request: self.request(Waits::Read), task },
            Op::Wait(_) => {
                let endless = self.rng.chance(50);
                let ms = if endless { u64::MAX } else { self.rng.below(100_000) };
                let waits = if endless { Waits::Wait } else { Waits::Other };
                Input::Wait { request: self.request(waits), task, ms, by }
            }
            Op::Ack(_) => {
                let generation = self.store.tasks.get(&task).map_or(1, |task| task.generation);
                let receipt = Receipt::Notice { task, generation };
                Input::Ack { request: self.request(Waits::Other), receipt }
            }
            Op::Reserve(_) => {
                let request = self.request(Waits::Reserve);
                if self.rng.chance(50) {
                    self.input(Input::Release { reservation: request });
                }
                Input::Reserve { request, root: task }
            }
            Op::Reroute(_) => {
                let Ok(origin) = "group:room/!other".parse() else {
                    return;
                };
                let post = self.store.closed_to(task);
                Input::Reroute { request: self.request(Waits::Other), task, origin, post }
            }
            Op::Lie(_, n) => return self.lie(task, *n),
            Op::Launch(_)
            | Op::LaunchAgain(_)
            | Op::Adopt(_)
            | Op::Forget
            | Op::Lease(_)
            | Op::AckDebrief
            | Op::PersonTurn(_)
            | Op::PersonWaits(_)
            | Op::DeleteParent(_)
            | Op::RestartHost
            | Op::Sweep(_)
            | Op::WallJump(_)
            | Op::Crash { .. }
            | Op::CommitFails { .. } => return,
        };
        self.input(input);
    }

    /// The same words under the same key, or others each time.
    fn speak(&mut self, task: TaskId, key: Option<u64>) -> Input {
        let words = match key {
            Some(key) => format!("said {key}"),
            None => format!("said at {}", self.now.tick),
        };
        let (text, key) =
            (Payload::from(words.as_str()), key.map(|key| Digest::of(&key.to_be_bytes())));
        Input::Turn { request: self.request(Waits::Other), task, text, key }
    }

    /// One who can be told anything at any time is told several things at once.
    fn say(&mut self, task: TaskId) {
        let known = self.store.tasks.get(&task);
        let more = known.is_some_and(|task| task.brief.caps.words);
        let last = known.is_some_and(|task| task.sends_made > 4);
        for last in [false, false, last].into_iter().skip(if more { 0 } else { 2 }) {
            let request = self.request(Waits::Other);
            self.input(Input::Send { request, task, text: Payload::from("word"), last });
        }
    }

    fn answer_ask(&mut self, task: TaskId) {
        let Some(ask) =
            self.store.tasks.get(&task).and_then(|task| task.open_asks().next()).map(|ask| ask.id)
        else {
            return;
        };
        self.answered.push(ask);
        let own = self.rng.chance(20);
        let by = if own { Caller::Task(task) } else { Caller::Person };
        let request = self.request(Waits::Other);
        let input = Input::Answer { request, ask, answer: Answer::Allow, by };
        self.input(input);
    }

    fn answer_late(&mut self) {
        if let Some(ask) = self.answered.last().copied() {
            let request = self.request(Waits::Other);
            let answer = Answer::Deny;
            self.input(Input::Answer { request, ask, answer, by: Caller::Person });
        }
    }

    /// A hint that is not true, or a fact of an older run: neither may change what is decided.
    fn lie(&mut self, task: TaskId, n: u8) {
        let Some(known) = self.store.tasks.get(&task) else {
            return;
        };
        let mut fence = known.fence();
        let fact = match n {
            0 => Fact::EndHint,
            1 => Fact::OddWord { word: "dozing".into() },
            2 => {
                Fact::ErrorHint { error: HostError::new(ErrorClass::Other, "hint", "not the end") }
            }
            3 => Fact::LookFailed { why: "lie".into() },
            4 => Fact::Busy,
            5 => Fact::ToolEnded { id: 99 },
            6 => {
                fence = Fence { attempt: fence.attempt.saturating_sub(1), turn: fence.turn };
                Fact::Ended { end: crate::host::good_end(task, fence.attempt, fence.turn) }
            }
            _ => {
                fence = Fence { attempt: fence.attempt, turn: fence.turn + 7 };
                Fact::Ended { end: crate::host::good_end(task, fence.attempt, fence.turn) }
            }
        };
        self.input(Input::Observed { task, fence, fact });
    }

    fn adopt(&mut self, n: usize) {
        let mut job = self.plan.jobs[n].clone();
        job.prompts = true;
        self.launched.insert(n);
        let session: Arc<str> = format!("foreign-{n}").into();
        self.host.insert(job.id, 1, Arc::clone(&session));
        self.begin_turn(job.id, 1, 1);
        let spec = Box::new(spec(&job, None, &self.plan.jobs));
        let request = self.request(Waits::Other);
        self.input(Input::Adopt { request, id: job.id, spec, session, known: None });
    }

    /// What is found may have come back to life when the word of it arrives.
    fn sweep(&mut self, age: u64) {
        let before = self.now.wall.saturating_sub(age as i64);
        let purge = self.store.purgeable(before);
        if !purge.is_empty() {
            let request = self.request(Waits::Other);
            self.input(Input::Expired { request, purge });
        }
    }

    pub(super) fn poll_later(&mut self, who: &ParentRef) {
        if self.polls.insert(who.clone()) {
            let wait = 1_000 + self.rng.below(40_000);
            self.after(wait, Ev::Poll(who.clone()));
        }
    }
}
