//! Webhooks: a debrief, or a message of a room, as one signed request to a program elsewhere. The same key is the same
//! request however often it is sent, so whoever takes it must know the key: at least once, deduplicated by key.
//!
//! - `place` says which addresses may be called at all.
//! - `sign` proves that a request is ours and not old.
//! - `send` makes one request, and follows a redirect only where it may.

mod place;
mod send;
mod sign;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use homing_core::input::{DeliveryFact, ParentFact, PostFact};
use homing_core::nearest;
use homing_core::refs::ParentRef;
use homing_core::view::OriginView;
use homing_core::wire::{Delivered, Hook, Posting};
use homing_ports::door::Token;
use homing_ports::host::Flight;
use homing_ports::parent::{Delivery, Message, Parent, Room};

pub use place::{BadPlace, Place};
pub use sign::{BadSecret, Secret};

/// One receiver.
pub struct Webhook {
    pub place: Place,
    /// Read for each request: a new one counts at once.
    pub secret: Arc<dyn Token>,
    /// For one request, its answer included.
    pub within: Duration,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Came {
    Taken,
    /// Another time, perhaps.
    Failed {
        why: String,
        retry_after_ms: Option<u64>,
    },
    /// Never, as things are set up.
    Refused {
        why: String,
    },
}

impl Webhook {
    async fn bring(&self, key: &str, body: &Hook) -> Came {
        // Plain data with text keys: it always has a form as JSON, and the same one each time.
        let body = serde_json::to_vec(body).unwrap_or_default();
        let secret = match self.secret.token().map_err(|why| why.to_string()) {
            Ok(secret) => secret.parse::<Secret>().map_err(|why| why.to_string()),
            Err(why) => Err(why),
        };
        let secret = match secret {
            Ok(secret) => secret,
            Err(why) => {
                let why = format!("its secret cannot be used: {why}");
                return Came::Failed { why, retry_after_ms: None };
            }
        };
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let signed = send::Signed {
            id: key.to_owned(),
            at,
            signature: secret.sign(key, at, &body),
            body: Bytes::from(body),
        };
        match tokio::time::timeout(self.within, send::post(&self.place, &signed)).await {
            Ok(came) => came,
            Err(_) => {
                let why = format!("no answer within {} s", self.within.as_secs_f32());
                Came::Failed { why, retry_after_ms: None }
            }
        }
    }
}

impl Room for Webhook {
    fn post(&self, message: Message) -> Flight<'_, PostFact> {
        Box::pin(async move {
            let Message { key, origin, text, tries: _ } = message;
            let text = String::from_utf8_lossy(&text).into_owned();
            let body = Posting { key, origin: OriginView::of(&origin), text };
            match self.bring(&key.to_string(), &Hook::Message(body)).await {
                Came::Taken => PostFact::Posted,
                Came::Failed { why, retry_after_ms } => {
                    PostFact::Failed { why: why.into(), retry_after_ms }
                }
                Came::Refused { why } => PostFact::Closed { why: why.into() },
            }
        })
    }
}

/// Every receiver that is set up, by its name.
#[derive(Default)]
pub struct Webhooks(pub BTreeMap<String, Arc<Webhook>>);

impl Webhooks {
    fn get(&self, who: &ParentRef) -> Option<&Webhook> {
        match who {
            ParentRef::Webhook(name) => self.0.get(&**name).map(|webhook| &**webhook),
            ParentRef::None
            | ParentRef::Inbox { .. }
            | ParentRef::Task(_)
            | ParentRef::Conversation(_)
            | ParentRef::Session { .. } => None,
        }
    }
}

impl Parent for Webhooks {
    fn check(&self, parent: &ParentRef) -> Result<(), String> {
        let ParentRef::Webhook(name) = parent else {
            return Ok(());
        };
        match self.get(parent) {
            Some(_) => Ok(()),
            None => Err(nearest::unknown("webhook", name, self.0.keys().map(String::as_str))),
        }
    }

    /// It has no turns; one that is not set up may be again.
    fn look(&self, parent: ParentRef) -> Flight<'_, ParentFact> {
        let known = self.get(&parent).is_some();
        let fact = if known { ParentFact::Between } else { ParentFact::Unreachable };
        Box::pin(async move { fact })
    }

    fn deliver(&self, delivery: Delivery) -> Flight<'_, DeliveryFact> {
        Box::pin(async move {
            let Delivery { key, parent, notices, text, tries: _ } = delivery;
            let Some(webhook) = self.get(&parent) else {
                let why = format!("[webhooks.NAME] of homing.toml has no {parent}");
                return DeliveryFact::Failed { why: why.into(), retry_after_ms: None };
            };
            let text = String::from_utf8_lossy(&text).into_owned();
            let body = Delivered { key, parent: Some(parent), notices, text };
            match webhook.bring(&key.to_string(), &Hook::Debrief(body)).await {
                // Its answer is the receipt.
                Came::Taken => DeliveryFact::Shared,
                Came::Failed { why, retry_after_ms } => {
                    DeliveryFact::Failed { why: why.into(), retry_after_ms }
                }
                Came::Refused { why } => DeliveryFact::Refused { why: why.into() },
            }
        })
    }
}
