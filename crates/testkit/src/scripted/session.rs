//! One scripted session: a machine that acts until it stands, and keeps the records that a look reads.
//! Does nothing by itself: a prompt, a release or an answer moves it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use homing_core::fact::{
    AskSeen, Call, End, Exit, Fact, Fence, Finish, HostError, Picture, Presence, TurnRecord,
};
use homing_core::ids::TaskId;
use homing_core::payload::{Digest, Payload};
use homing_core::spec::Spend;
use homing_core::task::Answer;
use homing_core::words::Tri;
use homing_ports::host::PartKind;

use super::script::Act;

/// More events than this are lost, as a real stream would lose them: the watcher looks instead.
const EVENTS_MAX: usize = 1024;

/// One session and its records.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: Arc<str>,
    turns: BTreeMap<Fence, TurnRecord>,
    /// The latest turn; an attempt that goes on in this session counts anew.
    now: Fence,
    acts: VecDeque<Act>,
    text: String,
    /// What was said in each turn, part by part.
    said: BTreeMap<Fence, Vec<(PartKind, String)>>,
    calls: VecDeque<Call>,
    calls_made: u64,
    tools_ran: bool,
    asks: Vec<AskSeen>,
    todos: Option<u32>,
    busy: Tri,
    same_host: Tri,
    presence: Presence,
    over: Option<Fact>,
    spent: Spend,
    events: VecDeque<(Fence, Fact)>,
    /// Events were missed: a watcher looks first.
    missed: bool,
    /// The stream was given up: what happens now is heard by nobody.
    unheard: bool,
    pub(super) reached: BTreeSet<Arc<str>>,
    pub(super) answers: Vec<(Arc<str>, Answer)>,
}

impl Session {
    pub(super) fn new(task: TaskId, attempt: u32) -> Self {
        Self {
            id: format!("ses_{task}_{attempt}").into(),
            turns: BTreeMap::new(),
            now: Fence { attempt, turn: 0 },
            acts: VecDeque::new(),
            text: String::new(),
            said: BTreeMap::new(),
            calls: VecDeque::new(),
            calls_made: 0,
            tools_ran: false,
            asks: Vec::new(),
            todos: None,
            busy: Tri::No,
            same_host: Tri::Yes,
            presence: Presence::Present,
            over: None,
            spent: Spend::default(),
            events: VecDeque::new(),
            missed: false,
            unheard: false,
            reached: BTreeSet::new(),
            answers: Vec::new(),
        }
    }

    pub(super) fn has_turn(&self, turn: Fence) -> bool {
        self.turns.contains_key(&turn)
    }

    pub(super) fn is_running(&self) -> bool {
        self.over.is_none() && self.busy == Tri::Yes
    }

    /// Takes a prompt. The program that takes it is the one that runs now.
    pub(super) fn take(&mut self, turn: Fence, acts: Vec<Act>) {
        self.turns.insert(turn, TurnRecord::Open);
        self.now = turn;
        self.acts = acts.into();
        self.text.clear();
        self.tools_ran = false;
        self.busy = Tri::Yes;
        self.same_host = Tri::Yes;
    }

    /// Acts until it stands. `released` takes one release of a step, if there is one.
    pub(super) fn go_on(&mut self, mut released: impl FnMut(&str) -> bool) {
        while self.over.is_none() {
            match self.acts.front() {
                Some(Act::Gate(step)) => {
                    self.reached.insert(Arc::clone(step));
                    if !released(step) {
                        return;
                    }
                }
                Some(Act::Ask(ask)) if self.asks.iter().any(|open| open.key == ask.key) => return,
                Some(Act::Silence) | None => return,
                Some(_) => {}
            }
            if let Some(act) = self.acts.pop_front() {
                self.perform(act);
            }
        }
    }

    fn perform(&mut self, act: Act) {
        match act {
            Act::Gate(_) | Act::Silence => {}
            Act::Say(text) => {
                self.text.push_str(&text);
                self.says(PartKind::Text, &text);
                self.event(Fact::Active);
            }
            Act::Tool { name, input } => self.call(name, &input),
            Act::ToolEnd => {
                if let Some(call) = self.calls.pop_front() {
                    self.event(Fact::ToolEnded { id: call.id });
                }
            }
            Act::Ask(ask) => {
                self.asks.push(ask.clone());
                self.event(Fact::AskOpened { ask: ask.clone() });
                self.acts.push_front(Act::Ask(ask));
            }
            Act::Idle => self.event(Fact::EndHint),
            Act::End(finish) => {
                let end = self.end(finish, None);
                self.event(Fact::Ended { end });
            }
            Act::QuietEnd(finish) => drop(self.end(finish, None)),
            Act::Fail(error) => {
                let end = self.end(Finish::Unknown, Some(error));
                self.event(Fact::Ended { end });
            }
            Act::ErrorHint(error) => self.event(Fact::ErrorHint { error }),
            Act::Wait(error) => self.event(Fact::ProviderWait { error }),
            Act::Exit(exit) => self.exit(exit),
            Act::Die => self.die(),
            Act::Delete => {
                self.over = Some(Fact::SessionDeleted);
                self.event(Fact::SessionDeleted);
            }
            Act::Vanish => {
                self.presence = Presence::Missing;
                self.busy = Tri::Unknown;
            }
            Act::Todos(open) => {
                self.todos = Some(open);
                self.event(Fact::Todos { open });
            }
            Act::Spend(spend) => {
                self.spent = self.spent.plus(spend);
                self.event(Fact::Spent { total: self.spent });
            }
            Act::Odd(word) => self.event(Fact::OddWord { word }),
            Act::Busy => self.event(Fact::Busy),
            Act::Compact => self.event(Fact::Compacted),
        }
    }

    /// Words go on in the part that has words; a tool has a part of its own.
    fn says(&mut self, kind: PartKind, text: &str) {
        let parts = self.said.entry(self.now).or_default();
        match parts.last_mut() {
            Some((PartKind::Text, words)) if kind == PartKind::Text => words.push_str(text),
            Some(_) | None => parts.push((kind, text.to_owned())),
        }
    }

    /// What is said of a turn so far; none: it was never taken.
    pub(super) fn said(&self, turn: Fence) -> Option<(Vec<(PartKind, String)>, bool)> {
        let open = *self.turns.get(&turn)? == TurnRecord::Open && self.over.is_none();
        Some((self.said.get(&turn).cloned().unwrap_or_default(), open && self.busy == Tri::Yes))
    }

    fn call(&mut self, name: Arc<str>, input: &str) {
        self.says(PartKind::Tool, &name);
        self.calls_made += 1;
        let id = (u64::from(self.now.attempt) << 32) | self.calls_made;
        let digest = Digest::of(format!("{name} {input}").as_bytes()).0;
        let input = digest.first_chunk().map(|first| u64::from_be_bytes(*first));
        let call = Call { id, tool: name, input };
        self.tools_ran = true;
        self.calls.push_back(call.clone());
        self.event(Fact::ToolBegan { call });
    }

    fn end(&mut self, finish: Finish, error: Option<HostError>) -> End {
        let text = (!self.text.is_empty()).then(|| Payload::from(&*self.text));
        let end = End { finish, error, text, tools_ran: self.tools_ran };
        self.turns.insert(self.now, TurnRecord::Ended(end.clone()));
        if finish != Finish::ToolCalls {
            self.busy = Tri::No;
        }
        end
    }

    fn exit(&mut self, exit: Exit) {
        let text = (!self.text.is_empty()).then(|| Payload::from(&*self.text));
        self.calls.clear();
        self.busy = Tri::No;
        let fact = Fact::Exited { exit, text };
        self.over = Some(fact.clone());
        self.event(fact);
    }

    /// The program is killed and comes back. What ran stands in the records as if it ran.
    pub(super) fn die(&mut self) {
        if self.over.is_some() {
            return;
        }
        self.acts.clear();
        self.asks.clear();
        self.busy = Tri::No;
        self.same_host = Tri::No;
        self.events.clear();
        self.missed = true;
    }

    /// Ends all of it.
    pub(super) fn stop(&mut self) {
        let open = self.turns.get(&self.now) == Some(&TurnRecord::Open);
        self.acts.clear();
        self.asks.clear();
        self.calls.clear();
        self.busy = Tri::No;
        if open && self.over.is_none() {
            let end = self.end(Finish::Cancelled, None);
            self.event(Fact::Ended { end });
        }
    }

    pub(super) fn answer(&mut self, key: &str, answer: &Answer) -> bool {
        let Some(at) = self.asks.iter().position(|ask| &*ask.key == key) else {
            return false;
        };
        let ask = self.asks.remove(at);
        self.answers.push((Arc::clone(&ask.key), answer.clone()));
        if matches!(self.acts.front(), Some(Act::Ask(open)) if open.key == ask.key) {
            self.acts.pop_front();
        }
        self.event(Fact::AskClosed { key: ask.key });
        true
    }

    pub(super) fn look(&self, turn: Fence) -> Fact {
        if let Some(over) = &self.over {
            return over.clone();
        }
        let record = self.turns.get(&turn).cloned().unwrap_or(TurnRecord::Absent);
        Fact::Looked {
            picture: Picture {
                turn: record,
                busy: self.busy,
                calls: self.calls.iter().cloned().collect(),
                asks: Some(self.asks.clone()),
                todos: self.todos,
                session: self.presence,
                same_host: self.same_host,
            },
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn event(&mut self, fact: Fact) {
        if self.unheard || self.events.len() == EVENTS_MAX {
            self.events.clear();
            self.missed = true;
        }
        if !self.unheard {
            self.events.push_back((self.now, fact));
        }
    }

    /// Somebody listens. What happened before the first stream is in it; after a lost one, a look is.
    pub(super) fn hear(&mut self) {
        self.unheard = false;
    }

    pub(super) fn unhear(&mut self) {
        self.unheard = true;
        self.events.clear();
        self.missed = self.now.turn > 0;
    }

    /// What a watcher is told next.
    pub(super) fn next_event(&mut self) -> Option<(Fence, Fact)> {
        if std::mem::take(&mut self.missed) {
            return Some((self.now, self.look(self.now)));
        }
        self.events.pop_front()
    }
}
