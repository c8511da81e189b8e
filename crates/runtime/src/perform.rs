//! Performs effects, each on a task of its own, so that one slow host, parent or room never delays
//! another. Reports back what came of it; decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{ErrorClass, Fact, Fence, HostError};
use homing_core::ids::TaskId;
use homing_core::input::{DeliveryFact, Input, ParentFact, PostFact};
use homing_core::limits::Limits;
use homing_core::refs::ParentRef;
use homing_ports::host::{Flight, Host, Place, Reports};
use homing_ports::parent::{Delivery, Message, Parent, Room, Telemetry};
use tokio::sync::mpsc;

use crate::decider::Msg;
use crate::readers::Readers;
use crate::texts;
use crate::time::Timekeeper;

/// Everything effects are performed on.
#[derive(Default)]
pub(crate) struct Ports {
    pub hosts: BTreeMap<String, Arc<dyn Host>>,
    /// By the word a parent's reference begins with: `opencode`, `conv`, `webhook`, …
    pub parents: BTreeMap<String, Arc<dyn Parent>>,
    pub rooms: BTreeMap<String, Arc<dyn Room>>,
    pub telemetry: Vec<Arc<dyn Telemetry>>,
}

#[derive(Clone)]
pub(crate) struct Performer {
    pub ports: Arc<Ports>,
    pub readers: Readers,
    pub inbox: mpsc::Sender<Msg>,
    pub time: Timekeeper,
    pub tasks: tokio::runtime::Handle,
    pub limits: Arc<Limits>,
}

/// Drivers report through the decider's inbox: a full inbox makes them wait.
struct Inbox(mpsc::Sender<Msg>);

impl Reports for Inbox {
    fn report(&self, task: TaskId, fence: Fence, fact: Fact) -> Flight<'_, ()> {
        Box::pin(async move {
            // The decider is gone only when the runtime ends.
            let _ = self.0.send(Msg::Input(Box::new(Input::Observed { task, fence, fact }))).await;
        })
    }
}

impl Performer {
    pub(crate) fn perform(&self, effect: Effect) {
        let this = self.clone();
        self.tasks.spawn(async move {
            let key = effect.key();
            if let Some(ok) = this.act(effect).await {
                this.tell(Msg::Flew { key, ok }).await;
            }
        });
    }

    async fn tell(&self, msg: Msg) {
        // The decider is gone only when the runtime ends.
        let _ = self.inbox.send(msg).await;
    }

    async fn input(&self, input: Input) {
        self.tell(Msg::Input(Box::new(input))).await;
    }

    async fn observed(&self, task: TaskId, fence: Fence, fact: Fact) {
        self.input(Input::Observed { task, fence, fact }).await;
    }

    /// Performs one effect; none when it goes on by itself, else whether it could be performed.
    async fn act(&self, effect: Effect) -> Option<bool> {
        match effect {
            Effect::Open { task, attempt, turn, host, .. } => Some(self.open(task, attempt, turn, &host).await),
            Effect::Prompt { task, attempt, turn, host, session } => {
                let fence = Fence { attempt, turn };
                Some(self.prompt(&host, Place { task, fence, session: Some(session) }).await)
            }
            Effect::Watch { task, attempt, host, session } => {
                let place = Place { task, fence: Fence { attempt, turn: 0 }, session: Some(session) };
                if let Some(host) = self.host(&host) {
                    host.watch(place, Arc::new(Inbox(self.inbox.clone())));
                }
                None
            }
            Effect::Unwatch { task, attempt, host } => {
                if let Some(host) = self.host(&host) {
                    host.unwatch(task, attempt);
                }
                None
            }
            Effect::Look { task, attempt, turn, host, session } => {
                let place = Place { task, fence: Fence { attempt, turn }, session };
                self.look(&host, place).await;
                Some(true)
            }
            Effect::Abort { task, attempt, host, session } => {
                let place = Place { task, fence: Fence { attempt, turn: 0 }, session };
                Some(self.abort(&host, place).await)
            }
            Effect::Answer { ask, task, attempt, host, session, key, answer } => {
                let place = Place { task, fence: Fence { attempt, turn: 0 }, session };
                let host = self.host(&host)?;
                let taken = host.answer(place, &key, &answer).await.is_ok();
                if taken {
                    self.input(Input::AnswerTaken { ask }).await;
                }
                Some(taken)
            }
            Effect::Load { task } => {
                self.load(task).await;
                None
            }
            told @ (Effect::Compose { .. }
            | Effect::LookParent { .. }
            | Effect::Deliver { .. }
            | Effect::Post { .. }
            | Effect::Emit { .. }) => Some(self.bring(told).await),
        }
    }

    fn host(&self, name: &str) -> Option<Arc<dyn Host>> {
        self.ports.hosts.get(name).cloned()
    }

    async fn open(&self, task: TaskId, attempt: u32, turn: u32, host: &str) -> bool {
        let session = Fence { attempt, turn: 0 };
        let Some(driver) = self.host(host) else {
            let error = HostError::new(ErrorClass::Other, "unknown_host", &format!("no host named {host} is set up"));
            self.observed(task, session, Fact::StartFailed { error }).await;
            return true;
        };
        let opening = match self.readers.read(move |reader| texts::opening(reader, task, attempt)).await {
            Ok(Some(opening)) => opening,
            Ok(None) => return true,
            Err(error) => {
                self.observed(task, session, Fact::StartUnsure { why: error.to_string().into() }).await;
                return false;
            }
        };
        let facts = driver.open(opening).await;
        let unsure = facts.iter().any(|fact| matches!(fact, Fact::StartUnsure { .. }));
        for fact in facts {
            let of_turn = matches!(fact, Fact::PromptTaken | Fact::PromptRefused { .. });
            self.observed(task, Fence { attempt, turn: if of_turn { turn } else { 0 } }, fact).await;
        }
        !unsure
    }

    async fn prompt(&self, host: &str, place: Place) -> bool {
        let (task, fence) = (place.task, place.fence);
        let Some(driver) = self.host(host) else {
            return false;
        };
        let prompting = self.readers.read(move |reader| texts::prompting(reader, &place)).await;
        let fact = match prompting {
            Ok(Some(prompting)) => driver.prompt(prompting).await,
            // The turn is not the current one any more.
            Ok(None) => return true,
            Err(_) => return false,
        };
        self.observed(task, fence, fact).await;
        true
    }

    async fn look(&self, host: &str, place: Place) {
        let (task, fence) = (place.task, place.fence);
        let fact = match self.host(host) {
            Some(driver) => driver.look(place).await,
            None => Fact::LookFailed { why: format!("no host named {host} is set up").into() },
        };
        self.observed(task, fence, fact).await;
    }

    async fn abort(&self, host: &str, place: Place) -> bool {
        let (task, fence) = (place.task, place.fence);
        let fact = match self.host(host) {
            Some(driver) => driver.abort(place).await,
            None => Fact::StopRefused { why: format!("no host named {host} is set up").into() },
        };
        let stopped = matches!(fact, Fact::Stopped);
        self.observed(task, fence, fact).await;
        stopped
    }

    async fn load(&self, task: TaskId) {
        let msg = match self.readers.read(move |reader| texts::task_now(reader, task)).await {
            Ok((task_now, as_of)) => Msg::Loaded { id: task, task: task_now, as_of },
            Err(_) => Msg::Flew { key: EffectKey::Load(task), ok: false },
        };
        self.tell(msg).await;
    }

    /// What goes to those who are told.
    async fn bring(&self, effect: Effect) -> bool {
        match effect {
            Effect::Compose { parent, id, batch, notices, running } => {
                let nonce: Arc<str> = format!("{:016x}", self.time.bits()).into();
                let about = texts::Debriefing {
                    id,
                    parent: parent.clone(),
                    origin: batch.1.clone(),
                    notices: notices.clone(),
                    running,
                    nonce: Arc::clone(&nonce),
                    wall: self.time.now().wall,
                };
                let limits = Arc::clone(&self.limits);
                match self.readers.read(move |reader| texts::debrief(reader, &about, &limits)).await {
                    Ok(text) => {
                        self.input(Input::Composed { parent, batch, notices, id, nonce, text }).await;
                        true
                    }
                    Err(_) => false,
                }
            }
            Effect::LookParent { parent } => {
                let fact = match self.parent(&parent) {
                    Some(driver) => driver.look(parent.clone()).await,
                    None => ParentFact::Unreachable,
                };
                self.input(Input::Parent { parent, fact }).await;
                true
            }
            Effect::Deliver { debrief, parent, tries } => {
                let text = match self.text(debrief.to_string()).await {
                    Some(text) => text,
                    None => return false,
                };
                let fact = match self.parent(&parent) {
                    Some(driver) => driver.deliver(Delivery { key: debrief, parent, text, tries }).await,
                    None => DeliveryFact::Failed { why: "no such parent is set up".into(), retry_after_ms: None },
                };
                self.input(Input::Delivery { debrief, fact }).await;
                true
            }
            Effect::Post { post, origin, tries } => {
                let Some(text) = self.text(post.to_string()).await else {
                    return false;
                };
                let fact = match self.ports.rooms.get(&*origin.room) {
                    Some(room) => room.post(Message { key: post, origin, text, tries }).await,
                    None => PostFact::Closed { why: format!("no room named {} is set up", origin.room).into() },
                };
                self.input(Input::Posted { post, fact }).await;
                true
            }
            Effect::Emit { task, generation } => self.emit(task, generation).await,
            Effect::Open { .. }
            | Effect::Prompt { .. }
            | Effect::Watch { .. }
            | Effect::Unwatch { .. }
            | Effect::Look { .. }
            | Effect::Abort { .. }
            | Effect::Answer { .. }
            | Effect::Load { .. } => true,
        }
    }

    async fn text(&self, name: String) -> Option<Vec<u8>> {
        self.readers.read(move |reader| reader.blob(&name)).await.ok().flatten()
    }

    fn parent(&self, parent: &ParentRef) -> Option<Arc<dyn Parent>> {
        let word = parent.to_string();
        let word = word.split([':', '@']).next().unwrap_or_default();
        self.ports.parents.get(word).cloned()
    }

    async fn emit(&self, task: TaskId, generation: u32) -> bool {
        if !self.ports.telemetry.is_empty() {
            let ended = self.readers.read(move |reader| crate::codec::at_end_of(reader, task, generation)).await;
            let Ok(Some(ended)) = ended else {
                return false;
            };
            let record = homing_core::telemetry::Completion::of(&ended);
            for sink in &self.ports.telemetry {
                if sink.emit(record.clone()).await.is_err() {
                    return false;
                }
            }
        }
        self.input(Input::TelemetryTaken { task, generation }).await;
        true
    }
}
