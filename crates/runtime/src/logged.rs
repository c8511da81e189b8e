//! What the runtime says of its work, as `tracing` events for whoever embeds it; nothing is said where nobody listens. Ids,
//! keys, words and reasons of ours: never what a child or a caller wrote.

use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_core::input::{DeliveryFact, PostFact};
use homing_core::record::{OutboxRecord, Record, TaskRecord};
use homing_core::refs::ParentRef;
use homing_core::words::{DeliveryState, State};
use homing_ports::store::{CommitError, Reader, Store, StoreError};
use tracing::{Level, debug, error, info, warn};

use crate::engine::Batch;
use crate::texts;

pub(crate) const TASK: &str = "homing::task";
pub(crate) const DELIVERY: &str = "homing::delivery";
pub(crate) const STORE: &str = "homing::store";

/// Whether the steps of a delivery are listened to.
pub(crate) fn steps() -> bool {
    tracing::enabled!(target: DELIVERY, Level::DEBUG)
}

/// How a debrief that is a turn of a conversation goes on: its session is ours, and has it when the host does.
fn in_turn(batch: &Batch, store: &dyn Store) {
    for written in &batch.written {
        if let Record::Task(_, TaskRecord::GenerationOpened { debrief: Some(key), .. }) =
            &written.record
        {
            debug!(target: DELIVERY, %key, "session resolved");
        }
        if let Record::Outbox(OutboxRecord::DebriefMoved { debrief: key, to, .. }) = &written.record
            && *to == DeliveryState::Accepted
            && let Some(debrief) = batch.debriefs.iter().find(|known| known.id == *key)
            && matches!(debrief.parent, ParentRef::Conversation(_))
        {
            debug!(target: DELIVERY, %key, "context delivered");
            match store.reader() {
                Ok(reader) => telemetry(*key, &debrief.notices, &*reader),
                Err(why) => debug!(target: DELIVERY, %key, %why, "telemetry unknown"),
            }
            debug!(target: DELIVERY, %key, "parent synthesising");
        }
    }
}

/// Whether every end that a debrief tells of was given to telemetry.
pub(crate) fn telemetry(key: DebriefId, notices: &[(TaskId, u32)], reader: &dyn Reader) {
    let owes = |(id, generation): &(TaskId, u32)| {
        let (task, _) = texts::task_now(reader, *id)?;
        Ok(usize::from(task.is_some_and(|task| task.telemetry.contains(generation))))
    };
    let records = notices.len();
    match notices.iter().map(owes).sum::<Result<usize, StoreError>>() {
        Ok(0) => debug!(target: DELIVERY, %key, records, "telemetry emitted"),
        Ok(left) => debug!(target: DELIVERY, %key, records, left, "telemetry owed"),
        Err(why) => debug!(target: DELIVERY, %key, %why, "telemetry unknown"),
    }
}

/// What a group that is durable tells of tasks.
pub(crate) fn committed(batch: &Batch, store: &dyn Store) {
    if steps() {
        in_turn(batch, store);
    }
    if !tracing::enabled!(target: TASK, Level::INFO) {
        return;
    }
    for written in &batch.written {
        let Record::Task(task, record) = &written.record else {
            continue;
        };
        if let TaskRecord::Accepted { brief, .. } = record {
            info!(target: TASK, %task, host = %brief.host, "accepted");
        } else if let TaskRecord::Moved { to, cause, .. } = record {
            let cause = cause.map(|cause| cause.word());
            if to.is_terminal() {
                info!(target: TASK, %task, state = %to, cause, "ended");
            } else if *to == State::Starting {
                info!(target: TASK, %task, state = %to, "started");
            } else {
                debug!(target: TASK, %task, state = %to, cause, "moved");
            }
        }
    }
}

pub(crate) fn commit_failed(why: &CommitError) {
    error!(target: STORE, %why, "a commit failed");
}

pub(crate) fn read_anew() {
    warn!(target: STORE, "memory was read anew");
}

pub(crate) fn unreadable(why: &StoreError) {
    error!(target: STORE, %why, "the store cannot be read; it is tried again");
}

/// What a send came to; whether its parent has the debrief now.
pub(crate) fn sent(key: DebriefId, tries: u32, fact: &DeliveryFact) -> bool {
    match fact {
        DeliveryFact::Accepted | DeliveryFact::Answered { .. } | DeliveryFact::Shared => {
            debug!(target: DELIVERY, %key, tries, "context delivered");
            return true;
        }
        DeliveryFact::Busy => debug!(target: DELIVERY, %key, "its parent is in a turn"),
        DeliveryFact::Failed { why, .. } => {
            info!(target: DELIVERY, %key, tries, %why, "a delivery failed; it is tried again");
        }
        DeliveryFact::Refused { why } => {
            warn!(target: DELIVERY, %key, tries, %why, "a delivery was refused; it rests");
        }
        DeliveryFact::Gone => warn!(target: DELIVERY, %key, "its parent is gone"),
    }
    false
}

/// How far the parent that has it has come.
pub(crate) fn synthesis(key: DebriefId, fact: &DeliveryFact) {
    match fact {
        DeliveryFact::Accepted => debug!(target: DELIVERY, %key, "parent synthesising"),
        DeliveryFact::Answered { .. } => debug!(target: DELIVERY, %key, "parent answered"),
        DeliveryFact::Shared
        | DeliveryFact::Busy
        | DeliveryFact::Failed { .. }
        | DeliveryFact::Refused { .. }
        | DeliveryFact::Gone => {}
    }
}

pub(crate) fn posted(key: PostId, tries: u32, fact: &PostFact) {
    match fact {
        PostFact::Posted => debug!(target: DELIVERY, %key, tries, "posted"),
        PostFact::Failed { why, .. } => {
            info!(target: DELIVERY, %key, tries, %why, "a post failed; it is tried again");
        }
        PostFact::Closed { why } => {
            warn!(target: DELIVERY, %key, tries, %why, "a post was refused; it rests");
        }
    }
}
