//! Webhooks: a debrief, or a message of a room, as one signed request to a program elsewhere. The same key is the same
//! request however often it is sent, so whoever takes it must know the key: at least once, deduplicated by key.
//!
//! - `sign` proves that a request is ours and not old.
//! - `send` makes one request, and follows a redirect only where it may.

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

use crate::http::{Place, Untaken, failed, post_fact, within};

pub use sign::{BadSecret, Secret};

/// One receiver.
pub struct Webhook {
    pub place: Place,
    /// Read for each request: a new one counts at once.
    pub secret: Arc<dyn Token>,
    /// For one request, its answer included.
    pub within: Duration,
}

impl Webhook {
    async fn bring(&self, key: &str, body: &Hook) -> Result<(), Untaken> {
        // Plain data with text keys: it always has a form as JSON, and the same one each time.
        let body = serde_json::to_vec(body).unwrap_or_default();
        let secret = match self.secret.token().map_err(|why| why.to_string()) {
            Ok(secret) => secret.parse::<Secret>().map_err(|why| why.to_string()),
            Err(why) => Err(why),
        };
        let secret = secret.map_err(|why| failed(format!("its secret cannot be used: {why}")))?;
        let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let signed = send::Signed {
            id: key.to_owned(),
            at,
            signature: secret.sign(key, at, &body),
            body: Bytes::from(body),
        };
        within(self.within, send::post(&self.place, &signed)).await
    }
}

impl Room for Webhook {
    fn post(&self, message: Message) -> Flight<'_, PostFact> {
        Box::pin(async move {
            let Message { key, origin, text, tries: _ } = message;
            let text = String::from_utf8_lossy(&text).into_owned();
            let body = Posting { key, origin: OriginView::of(&origin), text };
            post_fact(self.bring(&key.to_string(), &Hook::Message(body)).await)
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
            let Delivery { key, parent, notices, text, sealed: _, tries: _ } = delivery;
            let Some(webhook) = self.get(&parent) else {
                let why = format!("[webhooks.NAME] of homing.toml has no {parent}");
                return DeliveryFact::Failed { why: why.into(), retry_after_ms: None };
            };
            let text = String::from_utf8_lossy(&text).into_owned();
            let body = Delivered { key, parent: Some(parent), notices, text };
            match webhook.bring(&key.to_string(), &Hook::Debrief(body)).await {
                // Its answer is the receipt.
                Ok(()) => DeliveryFact::Shared,
                Err(Untaken::Failed { why, retry_after_ms }) => {
                    DeliveryFact::Failed { why: why.into(), retry_after_ms }
                }
                Err(Untaken::Refused { why }) => DeliveryFact::Refused { why: why.into() },
            }
        })
    }
}
