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
use homing_core::refs::ParentRef;
use homing_ports::host::Host;
use homing_ports::parent::{Parent, Room, Telemetry};
use tokio::sync::mpsc;

use crate::decider::Msg;
use crate::figures::{Figures, Kind};
use crate::fresh::Fresh;
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

impl Ports {
    /// Who brings debriefs to this parent.
    pub(crate) fn parent(&self, parent: &ParentRef) -> Option<Arc<dyn Parent>> {
        let word = parent.to_string();
        let word = word.split([':', '@']).next().unwrap_or_default();
        self.parents.get(word).cloned()
    }
}

#[derive(Clone)]
pub(crate) struct Performer {
    pub ports: Arc<Ports>,
    pub readers: Readers,
    pub inbox: mpsc::Sender<Msg>,
    pub time: Timekeeper,
    pub tasks: tokio::runtime::Handle,
    pub limits: Arc<Limits>,
    pub fresh: Fresh,
    pub figures: Arc<Figures>,
}

impl Performer {
    pub(crate) fn perform(&self, effect: Effect) {
        let this = self.clone();
        let kind = Kind::from(&effect);
        self.figures.effects.of(kind).add(1);
        self.figures.in_flight.of(kind).add(1);
        self.tasks.spawn(async move {
            let key = effect.key();
            if let Some(ok) = this.act(effect).await {
                this.tell(Msg::Flew { key, ok }).await;
            }
            this.figures.in_flight.of(kind).take(1);
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
            lasting @ (Effect::Watch { .. } | Effect::Unwatch { .. }) => self.turn_to(lasting),
            Effect::Load { task } => self.load(task).await,
            hosted @ (Effect::Open { .. }
            | Effect::Prompt { .. }
            | Effect::Look { .. }
            | Effect::Abort { .. }
            | Effect::Answer { .. }
            | Effect::Say { .. }) => return Some(self.on_host(hosted).await),
            told @ (Effect::Compose { .. }
            | Effect::LookParent { .. }
            | Effect::Deliver { .. }
            | Effect::Post { .. }
            | Effect::Emit { .. }) => return Some(self.bring(told).await),
        }
        None
    }

    async fn load(&self, task: TaskId) {
        let read = self.readers.read(move |reader| texts::task_now(reader, task)).await;
        let msg = match read {
            Ok((task_now, as_of)) => Msg::Loaded { id: task, task: task_now, as_of },
            Err(_) => Msg::Flew { key: EffectKey::Load(task), ok: false },
        };
        self.tell(msg).await;
    }
}
