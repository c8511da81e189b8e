//! Owns what is on its way to a parent or a room: debriefs and posts, each sealed before its first send.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{DebriefId, PostId, TaskId};
use crate::payload::{Digest, TextRef};
use crate::refs::{Origin, ParentRef};
use crate::task::BatchId;
use crate::words::{Code, DeliveryState};

/// One delivery of a batch's notices to its parent. Its bytes never change once sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Debrief {
    pub id: DebriefId,
    pub parent: ParentRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    pub batch: BatchId,
    /// Task and generation, in commit order.
    pub notices: Vec<(TaskId, u32)>,
    pub text: TextRef,
    /// Stands in the token by which the parent may choose silence.
    pub nonce: Arc<str>,
    /// When it was sealed, by the wall clock; none where that was not kept yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<i64>,
    pub state: DeliveryState,
    /// Sends so far.
    pub tries: u32,
    /// Not before this tick.
    pub next: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_sent: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<u64>,
    /// The consumer that has it, until its acknowledgement or this tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<(Arc<str>, u64)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// When it was over, by the wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<i64>,
    /// A marker was posted in its place: it stays in the inbox and is not sent by itself any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parked: bool,
    /// Why its last send came to nothing, as the driver says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
    /// It rests, and somebody wants it sent again: it goes, in the order of these lines, once nothing else is on
    /// its way to its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<u64>,
    /// What a conversation answered: the task that carries it, and its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<(TaskId, TextRef)>,
}

impl Debrief {
    /// Whether its next send has no time to wait for.
    pub fn is_to_be_sent(&self) -> bool {
        let out = matches!(self.state, DeliveryState::Sealed | DeliveryState::Sent);
        out && self.next == 0 && self.lease.is_none() && !self.parked
    }

    /// A restart came between: what was to be pushed may be at its parent, which is asked first; a consumer's
    /// connection is gone, and its lease with it.
    pub(crate) fn perhaps_sent(&mut self) {
        if self.lease.take().is_some() {
            self.state = DeliveryState::Sealed;
            self.next = 0;
        }
        if self.parent.is_pushed_to() && self.state == DeliveryState::Sealed {
            self.tries = self.tries.max(1);
        }
    }

    /// Whether it stays where it is until somebody acknowledges it.
    pub fn is_resting(&self) -> bool {
        self.parked || self.state == DeliveryState::Undeliverable
    }
}

/// What a post says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PostKind {
    /// The parent's answer to a debrief.
    Answer { debrief: DebriefId },
    /// One plain line in place of an answer, with the code that says why.
    Marker { task: TaskId, generation: u32, code: Code },
}

/// The same message has the same id.
pub(crate) fn post_id(name: &str) -> PostId {
    let digest = Digest::of(name.as_bytes()).0;
    PostId::from_bits(u64::from_le_bytes([
        digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7],
    ]))
}

/// The post of a parent's answer to a debrief.
pub fn answer_id(debrief: DebriefId) -> PostId {
    post_id(&format!("answer|{debrief}"))
}

/// The post of the one line that stands in for an answer.
pub fn marker_id(task: TaskId, generation: u32) -> PostId {
    post_id(&format!("marker|{task}|{generation}"))
}

/// The post of the one line that an operator has told at another place.
pub fn reroute_id(task: TaskId, generation: u32, origin: &Origin) -> PostId {
    post_id(&format!("reroute|{task}|{generation}|{origin}"))
}

/// One message to a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    pub id: PostId,
    pub origin: Origin,
    pub kind: PostKind,
    pub text: TextRef,
    /// Order within its room: the number of the row that sealed it.
    pub seq: u64,
    pub state: DeliveryState,
    pub tries: u32,
    pub next: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Why its last try came to nothing, as the room says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Arc<str>>,
    /// When it was over, by the wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<i64>,
}
