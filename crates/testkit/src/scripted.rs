//! A host that obeys scripts, for tests of whatever drives hosts. Deterministic: nothing moves but by a
//! prompt, an answer, a release or a crash, and nothing waits for time.
//!
//! Each turn takes the next script that the test queued for its task, else the directives of its prompt
//! (see `Script`). A gate stands until the test releases it; `reached` tells when it stands there.

mod script;
mod session;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_core::fact::{ErrorClass, Fact, HostError, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::spec::{Caps, Model};
use homing_core::task::Answer;
use homing_core::words::TurnKind;
use homing_ports::host::{Flight, Host, Opening, Place, Prompting, Reports};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

pub use script::{Act, Fault, Script};
use session::Session;

type Key = (TaskId, u32);

/// The host. Clones are the same one.
#[derive(Debug, Clone)]
pub struct ScriptedHost {
    name: Arc<str>,
    caps: Caps,
    agents: Option<Arc<[String]>>,
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    /// Something moved.
    moved: Notify,
}

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<Key, Session>,
    /// Aborted before they were opened.
    void: BTreeSet<Key>,
    scripts: BTreeMap<TaskId, VecDeque<Script>>,
    releases: BTreeMap<(TaskId, Arc<str>), u32>,
    faults: BTreeMap<(TaskId, Fault), u32>,
    faults_read: BTreeSet<(TaskId, u32, u32)>,
    prompts: Vec<Prompted>,
    watches: BTreeMap<Key, Watch>,
    calls: Calls,
}

#[derive(Debug)]
struct Watch {
    /// The session that is watched, by the attempt that made it.
    session: Key,
    telling: AbortHandle,
}

/// A prompt that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompted {
    pub task: TaskId,
    pub attempt: u32,
    pub turn: u32,
    pub kind: TurnKind,
    pub text: String,
}

/// How often the host was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    pub opens: u32,
    pub prompts: u32,
    pub looks: u32,
    pub aborts: u32,
    pub answers: u32,
}

impl ScriptedHost {
    pub fn new(name: &str) -> Self {
        let caps = Caps { prompts: true, goes_on: true };
        Self { name: name.into(), caps, agents: None, inner: Arc::default() }
    }

    #[must_use]
    pub fn with_caps(mut self, caps: Caps) -> Self {
        self.caps = caps;
        self
    }

    /// Knows these agents and no others.
    #[must_use]
    pub fn with_agents(mut self, agents: &[&str]) -> Self {
        self.agents = Some(agents.iter().map(|agent| (*agent).to_owned()).collect());
        self
    }

    /// The next turn of this task obeys `script`, whatever its prompt says.
    pub fn script(&self, task: TaskId, script: Script) {
        self.with(|state| state.scripts.entry(task).or_default().push_back(script));
    }

    /// The next `times` calls for this task go wrong.
    pub fn fault(&self, task: TaskId, fault: Fault, times: u32) {
        self.with(|state| *state.faults.entry((task, fault)).or_default() += times);
    }

    /// Lets the task pass a gate, now or when it gets there.
    pub fn release(&self, task: TaskId, step: &str) {
        self.with(|state| {
            *state.releases.entry((task, step.into())).or_default() += 1;
            state.go_on(task);
        });
    }

    /// Resolves when the task stands at a gate, or has passed it.
    pub async fn reached(&self, task: TaskId, step: &str) {
        self.until(|state| state.sessions_of(task).any(|(_, session)| session.reached.contains(step))).await;
    }

    /// Resolves when so many prompts of the task ran.
    pub async fn prompted(&self, task: TaskId, count: usize) {
        self.until(|state| state.prompts.iter().filter(|ran| ran.task == task).count() >= count).await;
    }

    /// The program is killed and comes back: every turn under way is a ghost from now on.
    pub fn crash(&self) {
        self.with(|state| state.sessions.values_mut().for_each(Session::die));
    }

    /// Every prompt that ran, in order.
    pub fn prompts(&self) -> Vec<Prompted> {
        self.lock().prompts.clone()
    }

    /// Every session that was made.
    pub fn sessions(&self) -> Vec<Arc<str>> {
        self.lock().sessions.values().map(|session| Arc::clone(&session.id)).collect()
    }

    /// Whether a turn of the task is under way.
    pub fn is_running(&self, task: TaskId) -> bool {
        self.lock().sessions_of(task).any(|(_, session)| session.is_running())
    }

    /// What reached the asks of a task.
    pub fn answers(&self, task: TaskId) -> Vec<(Arc<str>, Answer)> {
        self.lock().sessions_of(task).flat_map(|(_, session)| session.answers.clone()).collect()
    }

    pub fn calls(&self) -> Calls {
        self.lock().calls
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let out = change(&mut self.lock());
        self.inner.moved.notify_waiters();
        out
    }

    async fn until(&self, mut there: impl FnMut(&State) -> bool) {
        loop {
            let moved = self.inner.moved.notified();
            if there(&self.lock()) {
                return;
            }
            moved.await;
        }
    }

    /// Tells a watcher everything, in order, until it is aborted.
    async fn tell(self, key: Key, reports: Arc<dyn Reports>) {
        loop {
            let moved = self.inner.moved.notified();
            let next = self.lock().sessions.get_mut(&key).and_then(Session::next_event);
            match next {
                Some((fence, fact)) => reports.report(key.0, fence, fact).await,
                None => moved.await,
            }
        }
    }
}

impl State {
    fn sessions_of(&self, task: TaskId) -> impl Iterator<Item = (&Key, &Session)> {
        self.sessions.range((task, 0)..=(task, u32::MAX))
    }

    fn go_on(&mut self, task: TaskId) {
        for (_, session) in self.sessions.range_mut((task, 0)..=(task, u32::MAX)) {
            let releases = &mut self.releases;
            session.go_on(|step| match releases.get_mut(&(task, Arc::from(step))) {
                Some(left) if *left > 0 => {
                    *left -= 1;
                    true
                }
                Some(_) | None => false,
            });
        }
    }

    fn watched(&self, session: Key) -> Vec<Key> {
        let of_it = self.watches.iter().filter(|(_, watch)| watch.session == session);
        of_it.map(|(key, _)| *key).collect()
    }

    fn unwatch(&mut self, key: Key) {
        let Some(watch) = self.watches.remove(&key) else {
            return;
        };
        watch.telling.abort();
        if let Some(session) = self.sessions.get_mut(&watch.session) {
            session.unhear();
        }
    }

    /// Whether this call goes wrong.
    fn goes_wrong(&mut self, task: TaskId, fault: Fault) -> bool {
        match self.faults.get_mut(&(task, fault)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Faults that a prompt asks for count once, however often it is sent.
    fn read_faults(&mut self, task: TaskId, attempt: u32, turn: u32, faults: &[(Fault, u32)]) {
        if self.faults_read.insert((task, attempt, turn)) {
            for (fault, times) in faults {
                *self.faults.entry((task, *fault)).or_default() += times;
            }
        }
    }

    fn open(&mut self, opening: &Opening) -> Vec<Fact> {
        self.calls.opens += 1;
        let key = (opening.task, opening.attempt);
        if let Ok(script) = Script::read(&String::from_utf8_lossy(&opening.prompt)) {
            self.read_faults(key.0, key.1, 1, &script.faults);
        }
        let failed = |name: &str, why: &str| {
            vec![Fact::StartFailed { error: HostError::new(ErrorClass::Other, name, why) }]
        };
        if self.void.contains(&key) {
            return failed("aborted", "it was aborted before it was opened");
        }
        if self.goes_wrong(key.0, Fault::OpenFails) {
            return failed("scripted", "no session can be made");
        }
        let session = self.sessions.entry(key).or_insert_with(|| Session::new(key.0, key.1));
        let session = Arc::clone(&session.id);
        if self.goes_wrong(key.0, Fault::OpenLost) {
            return vec![Fact::StartUnsure { why: "the reply was lost".into() }];
        }
        vec![Fact::SessionMade { session }]
    }

    fn prompt(&mut self, prompting: Prompting) -> Fact {
        self.calls.prompts += 1;
        let refused = |name: &str, why: &str| Fact::PromptRefused {
            error: HostError::new(ErrorClass::BadRequest, name, why),
        };
        let (task, turn) = (prompting.task, prompting.fence.turn);
        let text = String::from_utf8_lossy(&prompting.text).into_owned();
        let Some(key) = self.key_of(&prompting.session) else {
            return refused("session", "there is no such session");
        };
        let read = match prompting.kind {
            TurnKind::Debrief => Ok(Script::answer("noted")),
            TurnKind::First | TurnKind::GoOn | TurnKind::Resume | TurnKind::Send | TurnKind::Foreign => {
                Script::read(&text)
            }
        };
        let script = match read {
            Ok(script) => script,
            Err(why) => return refused("script", &why),
        };
        self.read_faults(task, prompting.fence.attempt, turn, &script.faults);
        if self.goes_wrong(task, Fault::PromptRefused) {
            return refused("scripted", "the prompt is refused");
        }
        if self.goes_wrong(task, Fault::PromptDropped) {
            return Fact::PromptUnsure { why: "the connection broke".into() };
        }
        self.run(key, &prompting, text, script);
        if self.goes_wrong(task, Fault::PromptLost) {
            return Fact::PromptUnsure { why: "the reply was lost".into() };
        }
        Fact::PromptTaken
    }

    /// Sent twice, it runs once.
    fn run(&mut self, key: Key, prompting: &Prompting, text: String, script: Script) {
        let fence = prompting.fence;
        if self.sessions.get(&key).is_none_or(|session| session.has_turn(fence)) {
            return;
        }
        let queued = self.scripts.get_mut(&prompting.task).and_then(VecDeque::pop_front);
        let acts = queued.unwrap_or(script).acts;
        if let Some(session) = self.sessions.get_mut(&key) {
            session.take(fence, acts);
        }
        let Prompting { task, kind, .. } = *prompting;
        self.prompts.push(Prompted { task, attempt: fence.attempt, turn: fence.turn, kind, text });
        self.go_on(task);
    }

    /// A session goes by its name: an attempt that goes on in it has another number.
    fn key_of(&self, session: &str) -> Option<Key> {
        self.sessions.iter().find(|(_, known)| &*known.id == session).map(|(key, _)| *key)
    }

    /// By its name, or by the mark that its launch left.
    fn find(&self, place: &Place) -> Option<Key> {
        match &place.session {
            Some(session) => self.key_of(session),
            None => Some((place.task, place.fence.attempt)).filter(|key| self.sessions.contains_key(key)),
        }
    }

    fn look(&mut self, place: &Place) -> Fact {
        self.calls.looks += 1;
        if self.goes_wrong(place.task, Fault::LookFails) {
            return Fact::LookFailed { why: "the host does not answer".into() };
        }
        let unreadable = self.goes_wrong(place.task, Fault::Unreadable);
        let Some(session) = self.find(place).and_then(|key| self.sessions.get(&key)) else {
            return Fact::LookFailed { why: "there is no such session".into() };
        };
        match session.look(place.fence) {
            Fact::Looked { mut picture } if unreadable => {
                picture.turn = TurnRecord::Unreadable;
                Fact::Looked { picture }
            }
            fact => fact,
        }
    }

    fn abort(&mut self, place: &Place) -> Fact {
        self.calls.aborts += 1;
        if self.goes_wrong(place.task, Fault::AbortRefused) {
            return Fact::StopRefused { why: "scripted".into() };
        }
        match self.find(place).and_then(|key| self.sessions.get_mut(&key)) {
            Some(session) => drop(session.stop()),
            None if place.session.is_none() => drop(self.void.insert((place.task, place.fence.attempt))),
            None => {}
        }
        Fact::Stopped
    }

    fn answer(&mut self, place: &Place, key: &str, answer: &Answer) -> Result<(), String> {
        self.calls.answers += 1;
        let lost = self.goes_wrong(place.task, Fault::AnswerLost);
        let found = self.find(place).and_then(|key| self.sessions.get_mut(&key));
        let session = found.ok_or_else(|| "there is no such session".to_owned())?;
        let known = session.answer(key, answer) || session.answers.iter().any(|(had, _)| &**had == key);
        self.go_on(place.task);
        match (known, lost) {
            (_, true) => Err("the reply was lost".to_owned()),
            (true, false) => Ok(()),
            (false, false) => Err(format!("nothing is asked under {key:?}")),
        }
    }
}

impl Host for ScriptedHost {
    fn name(&self) -> &str {
        &self.name
    }

    fn caps(&self) -> Caps {
        self.caps
    }

    fn check<'a>(&'a self, agent: Option<&'a str>, _: Option<&'a Model>) -> Flight<'a, Result<(), String>> {
        let known = match (agent, &self.agents) {
            (Some(agent), Some(agents)) if agents.iter().all(|known| known != agent) => {
                Err(format!("agent: there is no {agent:?}; there are {}", agents.join(", ")))
            }
            (Some(_) | None, _) => Ok(()),
        };
        Box::pin(std::future::ready(known))
    }

    fn open(&self, opening: Opening) -> Flight<'_, Vec<Fact>> {
        Box::pin(async move { self.with(|state| state.open(&opening)) })
    }

    fn prompt(&self, prompting: Prompting) -> Flight<'_, Fact> {
        Box::pin(async move { self.with(|state| state.prompt(prompting)) })
    }

    fn watch(&self, place: Place, reports: Arc<dyn Reports>) {
        let mut state = self.lock();
        let Some(key) = state.find(&place) else {
            return;
        };
        let telling = tokio::spawn(self.clone().tell(key, reports)).abort_handle();
        // One stream per session: an attempt that goes on in it takes it over.
        let before: Vec<Key> = state.watched(key);
        for watched in &before {
            state.unwatch(*watched);
        }
        if let Some(session) = state.sessions.get_mut(&key) {
            session.hear();
        }
        state.watches.insert((place.task, place.fence.attempt), Watch { session: key, telling });
    }

    fn unwatch(&self, task: TaskId, attempt: u32) {
        self.lock().unwatch((task, attempt));
    }

    fn look(&self, place: Place) -> Flight<'_, Fact> {
        Box::pin(async move { self.with(|state| state.look(&place)) })
    }

    fn abort(&self, place: Place) -> Flight<'_, Fact> {
        Box::pin(async move { self.with(|state| state.abort(&place)) })
    }

    fn answer<'a>(&'a self, place: Place, key: &'a str, answer: &'a Answer) -> Flight<'a, Result<(), String>> {
        Box::pin(async move { self.with(|state| state.answer(&place, key, answer)) })
    }

    fn transcript(&self, place: Place) -> Flight<'_, Result<Vec<u8>, String>> {
        let state = self.lock();
        let session = state.find(&place).and_then(|key| state.sessions.get(&key));
        let text = session.map(|session| session.text().as_bytes().to_vec());
        Box::pin(std::future::ready(text.ok_or_else(|| "there is no such session".to_owned())))
    }
}
