//! Debriefs of inboxes that no consumer has, and consumers that wait for one. Never both of one inbox.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::World;
use crate::ids::DebriefId;
use crate::index::Index;
use crate::outbox::Debrief;
use crate::refs::ParentRef;

/// An inbox, `NAME` or `NAME/KEY`.
type Inbox = (Arc<str>, Option<Arc<str>>);

/// Debriefs under one inbox's name that no consumer has, each with its inbox's key.
type Unleased = BTreeSet<(Option<Arc<str>>, DebriefId)>;

/// A consumer that waits for the next debrief of an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taker {
    pub consumer: Arc<str>,
    pub name: Arc<str>,
    /// Without one it drains the name and all its keys.
    pub key: Option<Arc<str>>,
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offers {
    /// By the inbox's name; those of one key stand together.
    unleased: BTreeMap<Arc<str>, Unleased>,
    takers: Index<u64, Taker>,
    /// Requests, in the order in which they came.
    waiting: BTreeMap<Inbox, BTreeSet<u64>>,
}

impl Offers {
    pub(crate) fn add(&mut self, debrief: &Debrief) {
        if let ParentRef::Inbox { name, key } = &debrief.parent {
            let unleased = self.unleased.entry(Arc::clone(name)).or_default();
            unleased.insert((key.clone(), debrief.id));
        }
    }

    pub(crate) fn remove(&mut self, debrief: &Debrief) {
        if let ParentRef::Inbox { name, key } = &debrief.parent
            && let Some(unleased) = self.unleased.get_mut(name)
        {
            unleased.remove(&(key.clone(), debrief.id));
            if unleased.is_empty() {
                self.unleased.remove(name);
            }
        }
    }

    pub(crate) fn taker_came(&mut self, request: u64, taker: &Taker) {
        let inbox = (Arc::clone(&taker.name), taker.key.clone());
        self.waiting.entry(inbox).or_default().insert(request);
        self.takers.insert(request, taker.clone());
    }

    pub(crate) fn taker_went(&mut self, request: u64) {
        let Some(Taker { name, key, .. }) = self.takers.remove(&request) else {
            return;
        };
        let inbox = (name, key);
        if let Some(waiting) = self.waiting.get_mut(&inbox) {
            waiting.remove(&request);
            if waiting.is_empty() {
                self.waiting.remove(&inbox);
            }
        }
    }

    fn first(&self, inbox: &Inbox) -> Option<u64> {
        self.waiting.get(inbox)?.first().copied()
    }
}

impl World {
    /// A debrief that no consumer has, of an inbox: of `NAME/KEY` exactly, or of `NAME` and all its keys.
    pub(crate) fn unleased(&self, name: &Arc<str>, key: Option<&Arc<str>>) -> Option<&Debrief> {
        let unleased = self.offers.unleased.get(name)?;
        let (_, id) = match key {
            None => unleased.first()?,
            Some(key) => {
                let from = (Some(Arc::clone(key)), DebriefId::from_bits(0));
                unleased.range(from..).next().filter(|(of, _)| of.as_ref() == Some(key))?
            }
        };
        self.debrief(*id)
    }

    pub(crate) fn taker(&self, request: u64) -> Option<&Taker> {
        self.offers.takers.get(&request)
    }

    /// Who has waited longest for what comes to this inbox: of its key, or of its whole name.
    pub(crate) fn first_taker(&self, parent: &ParentRef) -> Option<(u64, &Taker)> {
        let ParentRef::Inbox { name, key } = parent else {
            return None;
        };
        let of_name = self.offers.first(&(Arc::clone(name), None));
        let of_key = key
            .as_ref()
            .and_then(|key| self.offers.first(&(Arc::clone(name), Some(Arc::clone(key)))));
        let request = of_name.into_iter().chain(of_key).min()?;
        self.taker(request).map(|taker| (request, taker))
    }
}
