//! Performs effects, each on a task of its own, so that one slow host, parent or room never delays
//! another. Reports back what came of it; decides nothing.

mod hosts;
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{Fact, Fence};
use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::limits::Limits;
use homing_ports::host::{Host, Place};
use homing_ports::parent::{Parent, Room, Telemetry};
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
        let place = |task, attempt, turn, session| {
            let fence = Fence { attempt, turn };
            Place {
                task,
                fence,
                session,
            }
        };
        Some(match effect {
            Effect::Open {
                task,
                attempt,
                turn,
                host,
                ..
            } => self.open(task, Fence { attempt, turn }, &host).await,
            Effect::Prompt {
                task,
                attempt,
                turn,
                host,
                session,
            } => {
                self.prompt(&host, place(task, attempt, turn, Some(session)))
                    .await
            }
            Effect::Watch {
                task,
                attempt,
                host,
                session,
            } => {
                self.watch(&host, place(task, attempt, 0, Some(session)));
                return None;
            }
            Effect::Unwatch {
                task,
                attempt,
                host,
            } => {
                self.unwatch(&host, task, attempt);
                return None;
            }
            Effect::Look {
                task,
                attempt,
                turn,
                host,
                session,
            } => {
                self.look(&host, place(task, attempt, turn, session)).await;
                true
            }
            Effect::Abort {
                task,
                attempt,
                host,
                session,
            } => self.abort(&host, place(task, attempt, 0, session)).await,
            Effect::Answer {
                ask,
                task,
                attempt,
                host,
                session,
                key,
                answer,
            } => {
                self.answer(&host, place(task, attempt, 0, session), ask, &key, &answer)
                    .await
            }
            Effect::Load { task } => {
                self.load(task).await;
                return None;
            }
            Effect::Compose {
                parent,
                id,
                batch,
                notices,
                running,
            } => self.compose(parent, id, batch, notices, running).await,
            Effect::LookParent { parent } => self.look_parent(parent).await,
            Effect::Deliver {
                debrief,
                parent,
                tries,
            } => self.deliver(debrief, parent, tries).await,
            Effect::Post {
                post,
                origin,
                tries,
            } => self.post(post, origin, tries).await,
            Effect::Emit { task, generation } => self.emit(task, generation).await,
        })
    }

    async fn load(&self, task: TaskId) {
        let read = self
            .readers
            .read(move |reader| texts::task_now(reader, task))
            .await;
        let msg = match read {
            Ok((task_now, as_of)) => Msg::Loaded {
                id: task,
                task: task_now,
                as_of,
            },
            Err(_) => Msg::Flew {
                key: EffectKey::Load(task),
                ok: false,
            },
        };
        self.tell(msg).await;
    }
}
