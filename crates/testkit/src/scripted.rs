//! A host that obeys scripts, for tests of whatever drives hosts. Deterministic: nothing moves but by a
//! prompt, an answer, a release or a crash, and nothing waits for time.
//!
//! Each turn takes the next script that the test queued for its task, else the directives of its prompt
//! (see `Script`). A gate stands until the test releases it; `reached` tells when it stands there.

mod script;
mod session;
mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_core::fact::Fact;
use homing_core::ids::TaskId;
use homing_core::spec::Caps;
use homing_core::task::Answer;
use homing_ports::host::{Ears, Flight, Host, Opening, Place, Prompting, Reports, Said, Wanted};
use tokio::sync::Notify;

pub use script::{Act, Fault, Script};
use session::Session;
pub use state::{Calls, Prompted};
use state::{Key, State, Watch};

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

impl ScriptedHost {
    pub fn new(name: &str) -> Self {
        let caps = Caps { prompts: true, goes_on: true, ..Caps::default() };
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
        self.until(|state| {
            state.sessions_of(task).any(|(_, session)| session.reached.contains(step))
        })
        .await;
    }

    /// Resolves when so many prompts of the task ran.
    pub async fn prompted(&self, task: TaskId, count: usize) {
        self.until(|state| state.prompts.iter().filter(|ran| ran.task == task).count() >= count)
            .await;
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

    /// Tells a listener what is said in a turn, from its first word on.
    async fn tell_words(
        &self,
        place: &Place,
        ears: &dyn Ears,
        follows: bool,
    ) -> Result<(), String> {
        let mut told: Vec<usize> = Vec::new();
        loop {
            let moved = self.inner.moved.notified();
            let said = {
                let state = self.lock();
                let session = state.find(place).and_then(|key| state.sessions.get(&key));
                session.ok_or("there is no such session")?.said(place.fence)
            };
            let (parts, goes_on) = said.unwrap_or((Vec::new(), true));
            told.resize(parts.len(), 0);
            for (n, ((kind, text), from)) in parts.into_iter().zip(&mut told).enumerate() {
                let part = format!("{}-{}-{n:04}", place.fence.attempt, place.fence.turn).into();
                let new = text[*from..].to_owned();
                let said = Said { part, kind, from: *from as u64, text: new };
                *from = text.len();
                if !said.text.is_empty() && !ears.hear(said).await {
                    return Ok(());
                }
            }
            if !(follows && goes_on) {
                return Ok(());
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

impl Host for ScriptedHost {
    fn name(&self) -> &str {
        &self.name
    }

    fn caps(&self) -> Caps {
        self.caps
    }

    fn check(&self, wanted: Wanted) -> Flight<'_, Result<(), String>> {
        let known = match (wanted.agent, &self.agents) {
            (Some(agent), Some(agents)) if agents.iter().all(|known| **known != *agent) => {
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

    fn hear(
        &self,
        place: Place,
        ears: Arc<dyn Ears>,
        follows: bool,
    ) -> Flight<'_, Result<(), String>> {
        Box::pin(async move { self.tell_words(&place, &*ears, follows).await })
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

    fn answer<'a>(
        &'a self,
        place: Place,
        key: &'a str,
        answer: &'a Answer,
    ) -> Flight<'a, Result<(), String>> {
        Box::pin(async move { self.with(|state| state.answer(&place, key, answer)) })
    }

    fn transcript(&self, place: Place) -> Flight<'_, Result<Vec<u8>, String>> {
        let state = self.lock();
        let session = state.find(&place).and_then(|key| state.sessions.get(&key));
        let text = session.map(|session| session.text().as_bytes().to_vec());
        Box::pin(std::future::ready(text.ok_or_else(|| "there is no such session".to_owned())))
    }
}
