//! A room in memory, with the faults that a test asks for. Never durable.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_core::ids::PostId;
use homing_core::input::PostFact;
use homing_core::refs::Origin;
use homing_ports::host::Flight;
use homing_ports::parent::{Message, Room};

/// One message as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    pub key: PostId,
    pub origin: Origin,
    pub text: Vec<u8>,
}

/// A room whose messages can be looked at.
#[derive(Debug, Default)]
pub struct MemoryRoom {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    messages: Vec<Posted>,
    keys: BTreeSet<PostId>,
    posts: u32,
    closed: Option<Arc<str>>,
    refusals: u32,
    retry_after_ms: Option<u64>,
    lost_replies: u32,
}

impl MemoryRoom {
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on it takes nothing, for good.
    pub fn close(&self, why: &str) {
        self.lock().closed = Some(why.into());
    }

    /// The next `times` posts fail, leave nothing, and are asked to wait.
    pub fn refuse(&self, times: u32, retry_after_ms: Option<u64>) {
        let mut inner = self.lock();
        inner.refusals = times;
        inner.retry_after_ms = retry_after_ms;
    }

    /// The next `times` posts are taken, but the one who posts hears of a failure.
    pub fn lose_replies(&self, times: u32) {
        self.lock().lost_replies = times;
    }

    /// In the order they came.
    pub fn messages(&self) -> Vec<Posted> {
        self.lock().messages.clone()
    }

    /// How often somebody posted, repeats included.
    pub fn posts(&self) -> u32 {
        self.lock().posts
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, message: Message) -> PostFact {
        let mut inner = self.lock();
        inner.posts += 1;
        if let Some(why) = &inner.closed {
            return PostFact::Closed { why: Arc::clone(why) };
        }
        if inner.refusals > 0 {
            inner.refusals -= 1;
            let retry_after_ms = inner.retry_after_ms;
            return PostFact::Failed { why: "too many messages".into(), retry_after_ms };
        }
        if inner.keys.insert(message.key) {
            let Message { key, origin, text, tries: _ } = message;
            inner.messages.push(Posted { key, origin, text });
        }
        if inner.lost_replies > 0 {
            inner.lost_replies -= 1;
            return PostFact::Failed { why: "the reply was lost".into(), retry_after_ms: None };
        }
        PostFact::Posted
    }
}

impl Room for MemoryRoom {
    fn post(&self, message: Message) -> Flight<'_, PostFact> {
        Box::pin(async move { self.take(message) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use homing_ports::contract::room::RoomFactory;

    struct One(Arc<MemoryRoom>);

    impl RoomFactory for One {
        fn room(&mut self) -> Arc<dyn Room> {
            Arc::<MemoryRoom>::clone(&self.0)
        }

        fn texts(&mut self) -> Vec<Vec<u8>> {
            self.0.messages().into_iter().map(|message| message.text).collect()
        }

        fn close(&mut self) {
            self.0.close("removed from the room");
        }

        fn limit(&mut self, retry_after_ms: u64) {
            self.0.refuse(1, Some(retry_after_ms));
        }

        fn lose_reply(&mut self) {
            self.0.lose_replies(1);
        }
    }

    homing_ports::room_contract!(One(Arc::new(MemoryRoom::new())));
}
