//! Effects on hosts: performed on the true sessions, reported with noise.

use std::sync::Arc;

use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{Call, Exit, Fact, Fence};
use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::reason::Caller;
use homing_core::spec::Spend;

use super::{Ev, History, Msg, Waits};
use crate::host::{Turn, ask, end_record, error};
use crate::invariants::Violation;
use crate::plan::{Beat, End, Job};

/// Replies to openings are cut off so often in a row at most: more would outlast the time to start.
const CUTS_MAX: u32 = 3;

impl History<'_> {
    pub(super) fn job(&self, task: TaskId) -> Option<&Job> {
        let again = self.again.get(&task).map(|n| &self.plan.jobs[*n]);
        self.plan.jobs.iter().find(|job| job.id == task).or(again)
    }

    /// Performs an effect; unheard, when the runtime died meanwhile.
    pub(super) fn perform(&mut self, effect: Effect, heard: bool) -> Result<(), Violation> {
        self.checker.performs(&effect, &self.store)?;
        let key = effect.key();
        let facts: Vec<(TaskId, Fence, Fact)> = match &effect {
            Effect::Open { task, attempt, turn, host, .. } => {
                self.open(*task, Fence { attempt: *attempt, turn: *turn }, host)
            }
            Effect::Prompt { task, attempt, turn, session, .. } => {
                self.host.ensure(*task, *attempt, session);
                let fact = self.prompt(*task, Fence { attempt: *attempt, turn: *turn });
                vec![(*task, Fence { attempt: *attempt, turn: *turn }, fact)]
            }
            Effect::Watch { task, attempt, session, .. } => {
                if heard {
                    self.host.ensure(*task, *attempt, session);
                    if let Some(session) = self.host.sessions.get_mut(&(*task, *attempt)) {
                        session.watched = Some(self.epoch);
                    }
                }
                return Ok(());
            }
            Effect::Unwatch { task, attempt, .. } => {
                if let Some(session) = self.host.sessions.get_mut(&(*task, *attempt)) {
                    session.watched = None;
                }
                return Ok(());
            }
            Effect::Look { task, attempt, turn, session, .. } => {
                if let Some(session) = session {
                    self.host.ensure(*task, *attempt, session);
                }
                let mut fact = self.look(*task, *attempt, *turn);
                if session.is_none() {
                    fact = fact.without_name();
                }
                vec![(*task, Fence { attempt: *attempt, turn: *turn }, fact)]
            }
            Effect::Abort { task, attempt, .. } => {
                let fact = self.abort(*task, *attempt);
                vec![(*task, Fence { attempt: *attempt, turn: 0 }, fact)]
            }
            Effect::Answer { ask, task, attempt, key, .. } => {
                self.answer(*task, *attempt, key);
                if heard {
                    self.input(Input::AnswerTaken { ask: *ask });
                }
                Vec::new()
            }
            Effect::Say { task, attempt, n, .. } => match self.hears(*task, *attempt, *n)? {
                Some(fact) => vec![(*task, Fence { attempt: *attempt, turn: 0 }, fact)],
                None => return self.flew_badly(key, heard),
            },
            Effect::Load { task } => {
                let found = self.store.tasks.get(task).cloned().map(Box::new);
                let msg = Msg::Loaded(*task, found, self.store.head());
                if heard {
                    self.tell(msg);
                }
                return Ok(());
            }
            Effect::Compose { .. }
            | Effect::LookParent { .. }
            | Effect::Deliver { .. }
            | Effect::Post { .. }
            | Effect::Emit { .. } => return self.bring(effect, heard),
        };
        self.report_back(key, facts, heard);
        Ok(())
    }

    /// What came of it, late or twice, and that it is over.
    fn report_back(&mut self, key: EffectKey, facts: Vec<(TaskId, Fence, Fact)>, heard: bool) {
        let bad = |fact: &Fact| matches!(fact, Fact::StopRefused { .. } | Fact::StartUnsure { .. });
        let ok = !facts.iter().any(|(_, _, fact)| bad(fact));
        if heard {
            // One performer says it all, in order, and that it is done.
            let last = self.slow_start(&key) + self.delay();
            for (task, fence, fact) in facts {
                let epoch = self.epoch;
                // That a start failed is said before the next try, not after it: tries have no fence.
                let again = if matches!(fact, Fact::StartFailed { .. }) { 0 } else { 500 };
                let msg = Msg::Input(Box::new(Input::Observed { task, fence, fact }));
                if self.noisy(5) {
                    self.after(last + again, Ev::Msg(epoch, msg.clone()));
                }
                self.after(last, Ev::Msg(epoch, msg));
            }
            let epoch = self.epoch;
            self.after(last, Ev::Msg(epoch, Msg::Flew(key, ok)));
        }
    }

    fn slow_start(&self, key: &EffectKey) -> u64 {
        match key {
            EffectKey::Open(task, 1) => self.job(*task).map_or(0, |job| job.script.slow_start),
            _ => 0,
        }
    }

    fn open(&mut self, task: TaskId, fence: Fence, host: &str) -> Vec<(TaskId, Fence, Fact)> {
        let Some(script) = self.job(task).map(|job| job.script.clone()) else {
            return Vec::new();
        };
        let whole = Fence { attempt: fence.attempt, turn: 0 };
        let failed = self.host.open_failures.entry(task).or_default();
        if *failed < script.open_fails && !self.host.sessions.contains_key(&(task, fence.attempt)) {
            *failed += 1;
            let mut said = crate::rng::Rng::new(task.bits() ^ u64::from(fence.attempt));
            let error = error(script.open_class, self.now.wall, &mut said);
            return vec![(task, whole, Fact::StartFailed { error })];
        }
        let session = self.host.open(task, fence.attempt);
        let mut facts = vec![(task, whole, Fact::SessionMade { session })];
        if host == "process" {
            self.begin_turn(task, fence.attempt, fence.turn);
            facts.push((task, fence, Fact::PromptTaken));
        }
        let cuts = self.host.cuts.get(&(task, fence.attempt)).copied().unwrap_or(0);
        if cuts < CUTS_MAX && self.noisy(8) {
            self.host.cuts.insert((task, fence.attempt), cuts + 1);
            facts = vec![(task, whole, Fact::StartUnsure { why: "the reply was cut off".into() })];
        }
        facts
    }

    fn flew_badly(&mut self, key: EffectKey, heard: bool) -> Result<(), Violation> {
        if heard {
            let (wait, epoch) = (self.delay(), self.epoch);
            self.after(wait, Ev::Msg(epoch, Msg::Flew(key, false)));
        }
        Ok(())
    }

    /// A command has these words, as far as the one who told it knows; told twice, it has them once.
    fn hears(&mut self, task: TaskId, attempt: u32, n: u32) -> Result<Option<Fact>, Violation> {
        if self.noisy(10) {
            return Ok(None);
        }
        let Some(session) = self.host.sessions.get_mut(&(task, attempt)) else {
            return Ok(None);
        };
        if session.deleted || session.exit.is_some() {
            return Ok(None);
        }
        if !session.words.contains(&n) {
            self.checker.words(task, &session.words, n)?;
            session.words.push(n);
        }
        Ok((!self.noisy(10)).then_some(Fact::WordsTaken { n }))
    }

    fn prompt(&mut self, task: TaskId, fence: Fence) -> Fact {
        let cut = self.noisy(8);
        if cut && self.rng.chance(50) {
            return Fact::PromptUnsure { why: "never arrived".into() };
        }
        let refuses = self.job(task).and_then(|job| job.script.refuses);
        if let Some(class) = refuses.filter(|_| fence.attempt == 1 && fence.turn == 1) {
            let mut said = crate::rng::Rng::new(task.bits() ^ 0x7e_f05e);
            return Fact::PromptRefused { error: error(class, self.now.wall, &mut said) };
        }
        self.begin_turn(task, fence.attempt, fence.turn);
        if cut {
            Fact::PromptUnsure { why: "the reply was cut off".into() }
        } else {
            Fact::PromptTaken
        }
    }

    /// One turn is begun once, however often its prompt arrives.
    pub(super) fn begin_turn(&mut self, task: TaskId, attempt: u32, n: u32) {
        let Some(session) = self.host.sessions.get_mut(&(task, attempt)) else {
            return;
        };
        if session.deleted || session.exit.is_some() || session.turns.iter().any(|turn| turn.n == n)
        {
            return;
        }
        let begun = self.host.begun.entry(task).or_default();
        session.turns.push(Turn {
            n,
            beat: 0,
            script: *begun,
            end: None,
            ended_at: 0,
            calls: Vec::new(),
            ask: None,
            blocked: false,
            ghost: false,
            well: false,
        });
        *begun += 1;
        self.beat_later(task, attempt, n);
    }

    fn beat_later(&mut self, task: TaskId, attempt: u32, turn: u32) {
        let wait =
            1 + if self.rng.chance(10) { self.rng.below(60_000) } else { self.rng.below(300) };
        self.after(wait, Ev::Beat(task, attempt, turn));
    }

    fn look(&mut self, task: TaskId, attempt: u32, turn: u32) -> Fact {
        if self.noisy(10) {
            return Fact::LookFailed { why: "the host did not answer".into() };
        }
        // A host leaves a session out now and then, not in one answer after the other that is heard.
        let hidden = self.noisy(2) && self.host.hidden.insert((task, attempt));
        match self.host.sessions.get(&(task, attempt)) {
            Some(_) if hidden => crate::host::missing(),
            Some(session) => session.picture(turn, &mut self.rng),
            None => crate::host::missing(),
        }
    }

    fn abort(&mut self, task: TaskId, attempt: u32) -> Fact {
        let refusals = self.job(task).map_or(0, |job| job.script.abort_refusals);
        let Some(session) = self.host.sessions.get_mut(&(task, attempt)) else {
            return Fact::Stopped;
        };
        session.aborts += 1;
        if session.aborts <= refusals && session.is_running() {
            return Fact::StopRefused { why: "no".into() };
        }
        let running = session.is_running();
        if let Some(turn) = session.turns.last_mut().filter(|turn| running && turn.end.is_none()) {
            turn.end = Some(crate::host::aborted_end());
            turn.calls.clear();
            turn.ask = None;
        }
        Fact::Stopped
    }

    fn answer(&mut self, task: TaskId, attempt: u32, key: &str) {
        let Some(session) = self.host.sessions.get_mut(&(task, attempt)) else {
            return;
        };
        let Some(turn) = session.turns.last_mut().filter(|turn| turn.ask.as_deref() == Some(key))
        else {
            return;
        };
        turn.ask = None;
        let n = turn.n;
        self.report(task, Fence { attempt, turn: n }, Fact::AskClosed { key: key.into() });
        self.beat_later(task, attempt, n);
    }

    /// Tells whoever watches, late, twice or not at all.
    pub(super) fn report(&mut self, task: TaskId, fence: Fence, fact: Fact) {
        let watched =
            self.host.sessions.get(&(task, fence.attempt)).and_then(|session| session.watched);
        if watched != Some(self.epoch) || self.noisy(8) {
            return;
        }
        let msg = Msg::Input(Box::new(Input::Observed { task, fence, fact }));
        if self.noisy(8) {
            self.tell(msg.clone());
        }
        self.tell(msg);
    }

    pub(super) fn unblock(&mut self, task: TaskId, attempt: u32, n: u32) {
        let turn =
            self.host.sessions.get_mut(&(task, attempt)).and_then(|session| {
                session.turns.iter_mut().find(|turn| turn.n == n && turn.blocked)
            });
        if let Some(turn) = turn {
            turn.blocked = false;
            self.beat_later(task, attempt, n);
        }
    }

    /// The daemon died: children that waited in a read go on.
    pub(super) fn unblock_children(&mut self) {
        let blocked: Vec<(TaskId, u32, u32)> = self
            .host
            .sessions
            .iter()
            .flat_map(|((task, attempt), session)| {
                session
                    .turns
                    .iter()
                    .filter(|turn| turn.blocked)
                    .map(|turn| (*task, *attempt, turn.n))
            })
            .collect();
        for (task, attempt, n) in blocked {
            self.unblock(task, attempt, n);
        }
    }

    /// One more thing happens in a turn, or it ends.
    pub(super) fn beat(&mut self, task: TaskId, attempt: u32, n: u32) {
        let Some(turns) = self.job(task).map(|job| job.script.turns.clone()) else {
            return;
        };
        let Some(session) = self.host.sessions.get_mut(&(task, attempt)) else {
            return;
        };
        if session.deleted || session.exit.is_some() {
            return;
        }
        let Some(turn) = session.turns.iter_mut().find(|turn| turn.n == n) else {
            return;
        };
        if turn.end.is_some() || turn.ghost || turn.ask.is_some() || turn.blocked {
            return;
        }
        let (beats, end) = &turns[turn.script % turns.len()];
        let fence = Fence { attempt, turn: n };
        match beats.get(turn.beat) {
            Some(beat) => {
                let at = turn.beat;
                turn.beat += 1;
                self.play(task, fence, *beat, at);
            }
            None => self.end_turn(task, fence, *end),
        }
    }

    fn play(&mut self, task: TaskId, fence: Fence, beat: Beat, at: usize) {
        let wall = self.now.wall;
        let id = u64::from(fence.attempt) << 32 | u64::from(fence.turn) << 16 | at as u64;
        let mut goes_on = true;
        let fact = match beat {
            Beat::Active => Fact::Active,
            Beat::Tool { same } => {
                let input = Some(if same { 7 } else { id });
                let call = Call { id, tool: "tool".into(), input };
                self.report(task, fence, Fact::ToolBegan { call });
                Fact::ToolEnded { id }
            }
            Beat::Ask => {
                let key: Arc<str> = format!("ask-{id}").into();
                if let Some(turn) = self.turn_mut(task, fence) {
                    turn.ask = Some(key.clone());
                }
                goes_on = false;
                Fact::AskOpened { ask: ask(&key) }
            }
            Beat::EarlyIdle => Fact::EndHint,
            Beat::OddWord => Fact::OddWord { word: "musing".into() },
            Beat::ErrorHint => Fact::ErrorHint {
                error: error(homing_core::fact::ErrorClass::Transient, wall, &mut self.rng),
            },
            Beat::Busy => Fact::Busy,
            Beat::Compact => Fact::Compacted,
            Beat::Spend => {
                Fact::Spent { total: Spend { calls: 0, tokens: 200 * (at as u64 + 1), cost: 10 } }
            }
            Beat::Todos => {
                if let Some(session) = self.host.sessions.get_mut(&(task, fence.attempt)) {
                    session.todos = 1;
                }
                Fact::Todos { open: 1 }
            }
            Beat::ProviderWait(class) => {
                Fact::ProviderWait { error: error(class, wall, &mut self.rng) }
            }
            Beat::Child(n) => {
                if !self.launched.contains(&n) {
                    self.launch(n, Some(task));
                }
                Fact::Active
            }
            Beat::Await(n) => {
                let waited = self.plan.jobs[n].id;
                let request = self.request(Waits::Child(task, fence.attempt, fence.turn));
                if let Some(turn) = self.turn_mut(task, fence) {
                    turn.blocked = true;
                }
                let ms = 1_000 + self.rng.below(200_000);
                self.input(Input::Wait { request, task: waited, ms, by: Caller::Task(task) });
                goes_on = false;
                Fact::Active
            }
        };
        self.report(task, fence, fact);
        if goes_on {
            self.beat_later(task, fence.attempt, fence.turn);
        }
    }

    pub(super) fn turn_mut(&mut self, task: TaskId, fence: Fence) -> Option<&mut Turn> {
        let session = self.host.sessions.get_mut(&(task, fence.attempt))?;
        session.turns.iter_mut().find(|turn| turn.n == fence.turn)
    }

    /// Whether the turn called a tool: its record says so.
    fn used_tools(&self, task: TaskId, fence: Fence) -> bool {
        let session = self.host.sessions.get(&(task, fence.attempt));
        let turn =
            session.and_then(|session| session.turns.iter().find(|turn| turn.n == fence.turn));
        let (Some(job), Some(turn)) = (self.job(task), turn) else {
            return false;
        };
        let (beats, _) = &job.script.turns[turn.script % job.script.turns.len()];
        beats.iter().any(|beat| matches!(beat, Beat::Tool { .. }))
    }

    pub(super) fn end_turn(&mut self, task: TaskId, fence: Fence, end: End) {
        let place = (task, fence.attempt, fence.turn);
        let (wall, tick) = (self.now.wall, self.now.tick);
        let mut record = end_record(end, place, wall);
        if let Some(record) = &mut record {
            record.tools_ran |= self.used_tools(task, fence);
        }
        match end {
            End::Hang => return,
            End::Ghost => {
                if let Some(turn) = self.turn_mut(task, fence) {
                    turn.ghost = true;
                    turn.calls.clear();
                }
                let process = self.job(task).is_some_and(|job| !job.prompts);
                if process || self.rng.chance(50) {
                    self.report(task, fence, Fact::Interrupted { why: "the program died".into() });
                }
                return;
            }
            End::Deleted => {
                if let Some(session) = self.host.sessions.get_mut(&(task, fence.attempt)) {
                    session.deleted = true;
                }
                return self.report(
                    task,
                    Fence { attempt: fence.attempt, turn: 0 },
                    Fact::SessionDeleted,
                );
            }
            End::Answer
            | End::NoText
            | End::Empty
            | End::Length
            | End::Refusal
            | End::Error(_)
            | End::Aborted
            | End::Exit(_) => {}
        }
        let Some(record) = record else {
            return;
        };
        if let Some(turn) = self.turn_mut(task, fence) {
            turn.ends(record.clone(), tick);
        }
        if let End::Exit(code) = end {
            let exit = Exit { code: Some(code), signal: None };
            if let Some(session) = self.host.sessions.get_mut(&(task, fence.attempt)) {
                session.exit = Some(exit);
            }
            return self.report(task, fence, Fact::Exited { exit, text: record.text });
        }
        if self.rng.chance(30) {
            self.report(task, fence, Fact::EndHint);
        }
        self.report(task, fence, Fact::Ended { end: record });
    }
}
