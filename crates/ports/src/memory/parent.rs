//! Parents in memory, each with its turns and what it was told, and the faults that a test asks for.
//! Never wakes anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_core::ids::DebriefId;
use homing_core::input::{DeliveryFact, ParentFact};
use homing_core::payload::Payload;
use homing_core::refs::ParentRef;

use crate::host::Flight;
use crate::parent::{Delivery, Parent};

/// What a parent does with a debrief that it takes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Manner {
    /// Takes it; a turn may answer it later.
    #[default]
    Accepts,
    /// Answers in a turn of its own, at once.
    Answers(Arc<str>),
    /// Has it in view of a turn that another began.
    Shares,
}

/// One debrief as a parent has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub key: DebriefId,
    pub text: Vec<u8>,
}

/// All parents of a test.
#[derive(Debug, Default)]
pub struct MemoryParent {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    parents: BTreeMap<ParentRef, One>,
    deliveries: u32,
    asked: BTreeMap<DebriefId, u32>,
}

#[derive(Debug, Default)]
struct One {
    told: Vec<Told>,
    keys: BTreeSet<DebriefId>,
    manner: Manner,
    turn: Option<Arc<str>>,
    deleted: bool,
    unreachable: bool,
    refusals: u32,
    lost_replies: u32,
}

impl MemoryParent {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn begin_turn(&self, parent: &ParentRef, turn: &str) {
        self.with(parent, |one| one.turn = Some(turn.into()));
    }

    pub fn end_turn(&self, parent: &ParentRef) {
        self.with(parent, |one| one.turn = None);
    }

    pub fn behave(&self, parent: &ParentRef, manner: Manner) {
        self.with(parent, |one| one.manner = manner);
    }

    pub fn delete(&self, parent: &ParentRef) {
        self.with(parent, |one| one.deleted = true);
    }

    pub fn set_unreachable(&self, parent: &ParentRef, unreachable: bool) {
        self.with(parent, |one| one.unreachable = unreachable);
    }

    /// The next `times` deliveries fail and leave nothing.
    pub fn refuse(&self, parent: &ParentRef, times: u32) {
        self.with(parent, |one| one.refusals = times);
    }

    /// The next `times` deliveries are taken, but the one who delivers hears of a failure.
    pub fn lose_replies(&self, parent: &ParentRef, times: u32) {
        self.with(parent, |one| one.lost_replies = times);
    }

    /// What it was told, in the order it came.
    pub fn told(&self, parent: &ParentRef) -> Vec<Told> {
        self.lock().parents.get(parent).map(|one| one.told.clone()).unwrap_or_default()
    }

    /// How often a delivery was tried, with anybody.
    pub fn deliveries(&self) -> u32 {
        self.lock().deliveries
    }

    /// How often a parent was asked whether it has this key before it was sent again.
    pub fn asked(&self, key: DebriefId) -> u32 {
        self.lock().asked.get(&key).copied().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with(&self, parent: &ParentRef, change: impl FnOnce(&mut One)) {
        change(self.lock().parents.entry(parent.clone()).or_default());
    }

    fn seen(&self, parent: &ParentRef) -> ParentFact {
        match self.lock().parents.get(parent) {
            Some(one) if one.deleted => ParentFact::Deleted,
            Some(one) if one.unreachable => ParentFact::Unreachable,
            Some(One { turn: Some(turn), .. }) => ParentFact::TurnBegan { turn: Arc::clone(turn) },
            Some(_) | None => ParentFact::Between,
        }
    }

    fn take(&self, delivery: Delivery) -> DeliveryFact {
        let mut inner = self.lock();
        inner.deliveries += 1;
        if delivery.tries > 0 {
            *inner.asked.entry(delivery.key).or_default() += 1;
        }
        inner.parents.entry(delivery.parent.clone()).or_default().take(delivery)
    }
}

impl One {
    fn take(&mut self, delivery: Delivery) -> DeliveryFact {
        let failed = |why: &str| DeliveryFact::Failed { why: why.into(), retry_after_ms: None };
        if self.deleted {
            return DeliveryFact::Gone;
        }
        if self.unreachable {
            return failed("it cannot be reached");
        }
        if self.refusals > 0 {
            self.refusals -= 1;
            return failed("it takes nothing now");
        }
        if !self.keys.contains(&delivery.key) {
            if self.turn.is_some() {
                return DeliveryFact::Busy;
            }
            self.keys.insert(delivery.key);
            self.told.push(Told { key: delivery.key, text: delivery.text });
        }
        if self.lost_replies > 0 {
            self.lost_replies -= 1;
            return failed("the reply was lost");
        }
        match &self.manner {
            Manner::Accepts => DeliveryFact::Accepted,
            Manner::Answers(text) => DeliveryFact::Answered { text: Some(Payload::from(&**text)) },
            Manner::Shares => DeliveryFact::Shared,
        }
    }
}

impl Parent for MemoryParent {
    fn look(&self, parent: ParentRef) -> Flight<'_, ParentFact> {
        Box::pin(async move { self.seen(&parent) })
    }

    fn deliver(&self, delivery: Delivery) -> Flight<'_, DeliveryFact> {
        Box::pin(async move { self.take(delivery) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::parent::ParentFactory;
    use crate::contract::run::block_on;

    #[derive(Default)]
    struct Family {
        parents: Arc<MemoryParent>,
        born: u32,
    }

    impl ParentFactory for Family {
        fn parent(&mut self) -> Arc<dyn Parent> {
            Arc::<MemoryParent>::clone(&self.parents)
        }

        fn somebody(&mut self) -> ParentRef {
            self.born += 1;
            format!("opencode:ses_{}", self.born).parse().unwrap_or(ParentRef::None)
        }

        fn told(&mut self, who: &ParentRef) -> Vec<(DebriefId, Vec<u8>)> {
            self.parents.told(who).into_iter().map(|told| (told.key, told.text)).collect()
        }

        fn begin_turn(&mut self, who: &ParentRef) {
            self.parents.begin_turn(who, "turn");
        }

        fn end_turn(&mut self, who: &ParentRef) {
            self.parents.end_turn(who);
        }

        fn delete(&mut self, who: &ParentRef) {
            self.parents.delete(who);
        }

        fn set_unreachable(&mut self, who: &ParentRef, unreachable: bool) {
            self.parents.set_unreachable(who, unreachable);
        }

        fn lose_reply(&mut self, who: &ParentRef) {
            self.parents.lose_replies(who, 1);
        }

        fn asked(&mut self, key: DebriefId) -> u32 {
            self.parents.asked(key)
        }
    }

    crate::parent_contract!(Family::default());

    #[test]
    fn a_parent_behaves_as_the_test_says() {
        let mut family = Family::default();
        let (who, parents) = (family.somebody(), Arc::clone(&family.parents));
        let send = || {
            let parent = who.clone();
            let (key, notices) = (DebriefId::from_bits(1), Vec::new());
            Delivery { key, parent, notices, text: Vec::new(), sealed: None, tries: 0 }
        };
        block_on(Box::pin(async {
            parents.refuse(&who, 1);
            assert!(matches!(parents.deliver(send()).await, DeliveryFact::Failed { .. }));
            assert_eq!(parents.told(&who), []);
            parents.behave(&who, Manner::Answers("thanks".into()));
            let text = Some(Payload::from("thanks"));
            assert_eq!(parents.deliver(send()).await, DeliveryFact::Answered { text });
            parents.behave(&who, Manner::Shares);
            assert_eq!(parents.deliver(send()).await, DeliveryFact::Shared);
            assert_eq!(parents.deliveries(), 3);
        }));
    }
}
