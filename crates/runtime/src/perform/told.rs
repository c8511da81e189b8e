//! What goes to those who are told: debriefs to parents, posts to rooms, records to telemetry.

use std::sync::Arc;

use homing_core::decision::names;
use homing_core::effect::Effect;
use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_core::input::{DeliveryFact, Input, ParentFact, PostFact};
use homing_core::payload::Payload;
use homing_core::refs::{Origin, ParentRef};
use homing_core::task::BatchId;
use homing_core::telemetry::Completion;
use homing_ports::parent::{Delivery, Message};
use tracing::debug;

use super::Performer;
use crate::codec;
use crate::decider::Msg;
use crate::fresh::Composed;
use crate::logged::{self, DELIVERY};
use crate::shown;
use crate::texts;

impl Performer {
    pub(super) async fn bring(&self, effect: Effect) -> bool {
        match effect {
            Effect::Compose { parent, id, batch, notices, running } => {
                self.compose(parent, id, batch, notices, running).await
            }
            Effect::LookParent { parent } => self.look_parent(parent).await,
            Effect::Deliver { debrief, parent, tries } => {
                self.deliver(debrief, parent, tries).await
            }
            Effect::Post { post, origin, tries } => self.post(post, origin, tries).await,
            Effect::Emit { task, generation } => self.emit(task, generation).await,
            Effect::Open { .. }
            | Effect::Prompt { .. }
            | Effect::Watch { .. }
            | Effect::Unwatch { .. }
            | Effect::Look { .. }
            | Effect::Abort { .. }
            | Effect::Answer { .. }
            | Effect::Say { .. }
            | Effect::Load { .. } => true,
        }
    }

    async fn compose(
        &self,
        parent: ParentRef,
        id: DebriefId,
        batch: Box<(BatchId, Option<Origin>)>,
        notices: Vec<(TaskId, u32)>,
        running: Vec<TaskId>,
    ) -> bool {
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
        let this = self.clone();
        let composed = self.readers.read(move |reader| {
            let text = texts::debrief(reader, &about, &limits)?;
            let (key, count) = (about.id, about.notices.len());
            debug!(target: DELIVERY, %key, notices = count, "context found");
            if parent.is_drained() {
                let (parent, notices) = (parent.clone(), notices.clone());
                this.fresh.put(Composed { parent, notices, text: text.clone() });
            }
            let input = Input::Composed { parent, batch, notices, id, nonce, text };
            // From here, as the way back over another thread takes its time. Gone: the runtime ends.
            drop(this.inbox.blocking_send(Msg::Input(Box::new(input))));
            Ok(())
        });
        composed.await.is_ok()
    }

    async fn look_parent(&self, parent: ParentRef) -> bool {
        let fact = match self.ports.parent(&parent) {
            Some(driver) => driver.look(parent.clone()).await,
            None => ParentFact::Unreachable,
        };
        debug!(target: DELIVERY, reachable = fact != ParentFact::Unreachable, "parent asked");
        self.input(Input::Parent { parent, fact }).await;
        true
    }

    async fn deliver(&self, debrief: DebriefId, parent: ParentRef, tries: u32) -> bool {
        let read = self.readers.read(move |reader| {
            let text = reader.blob(&debrief.to_string())?;
            Ok(text.zip(shown::find_debrief(reader, debrief)?))
        });
        let Ok(Some((text, row))) = read.await else {
            return false;
        };
        let (key, notices, sealed) = (debrief, row.notices, row.sealed);
        if let Some((task, said)) = row.answer {
            // A conversation took it as a turn, and its words are in the store.
            let Some(said) = self.text(names::text(task, said.digest)).await else {
                return false;
            };
            let fact = DeliveryFact::Answered { text: Some(Payload::new(said)) };
            logged::synthesis(key, &fact);
            self.input(Input::Delivery { debrief, fact }).await;
            return true;
        }
        let told = notices.clone();
        let fact = match self.ports.parent(&parent) {
            Some(driver) => {
                debug!(target: DELIVERY, %key, tries, "session resolved");
                driver.deliver(Delivery { key, parent, notices, text, sealed, tries }).await
            }
            None => {
                let why = "no such parent is set up".into();
                DeliveryFact::Failed { why, retry_after_ms: None }
            }
        };
        self.figures.sends.of((&fact).into()).add(1);
        if logged::sent(key, tries, &fact) && logged::steps() {
            self.tell_telemetry(key, told).await;
        }
        logged::synthesis(key, &fact);
        self.input(Input::Delivery { debrief, fact }).await;
        true
    }

    async fn post(&self, post: PostId, origin: Origin, tries: u32) -> bool {
        let Some(text) = self.text(post.to_string()).await else {
            return false;
        };
        let fact = match self.ports.rooms.get(&*origin.room) {
            Some(room) => room.post(Message { key: post, origin, text, tries }).await,
            None => {
                let why = format!("no room named {} is set up", origin.room).into();
                PostFact::Closed { why }
            }
        };
        self.figures.tries.of((&fact).into()).add(1);
        logged::posted(post, tries, &fact);
        self.input(Input::Posted { post, fact }).await;
        true
    }

    async fn emit(&self, task: TaskId, generation: u32) -> bool {
        if !self.ports.telemetry.is_empty() {
            let ended = self.readers.read(move |reader| codec::at_end_of(reader, task, generation));
            let Ok(Some(ended)) = ended.await else {
                return false;
            };
            let record = Completion::of(&ended);
            for sink in &self.ports.telemetry {
                if sink.emit(record.clone()).await.is_err() {
                    return false;
                }
            }
        }
        debug!(target: DELIVERY, %task, generation, "completion record emitted");
        self.input(Input::TelemetryTaken { task, generation }).await;
        true
    }

    /// Says whether every end that a debrief tells of was given to telemetry.
    async fn tell_telemetry(&self, key: DebriefId, notices: Vec<(TaskId, u32)>) {
        // Said where it is read: nobody waits for the log but the words that follow this one.
        let told = self.readers.read(move |reader| {
            logged::telemetry(key, &notices, reader);
            Ok(())
        });
        drop(told.await);
    }

    pub(super) async fn text(&self, name: String) -> Option<Vec<u8>> {
        self.readers.read(move |reader| reader.blob(&name)).await.ok().flatten()
    }
}
