//! What every parent must do.

use std::sync::Arc;

use homing_core::ids::{DebriefId, TaskId};
use homing_core::input::{DeliveryFact, ParentFact};
use homing_core::refs::ParentRef;

use super::run::{Runner, block_on};
use crate::parent::{Delivery, Parent};

/// Makes parents, and shows what each was told.
pub trait ParentFactory: Send {
    fn parent(&mut self) -> Arc<dyn Parent>;
    /// Somebody who is there, between turns, and was told nothing; each time another.
    fn somebody(&mut self) -> ParentRef;
    /// What it was told, in the order it came.
    fn told(&mut self, who: &ParentRef) -> Vec<(DebriefId, Vec<u8>)>;
    /// Begins a turn of its own.
    fn begin_turn(&mut self, who: &ParentRef);
    fn end_turn(&mut self, who: &ParentRef);
    fn delete(&mut self, who: &ParentRef);
    fn set_unreachable(&mut self, who: &ParentRef, unreachable: bool);
    /// The next delivery is taken and its reply lost.
    fn lose_reply(&mut self, who: &ParentRef);
    /// How often it was asked whether it has this key.
    fn asked(&mut self, key: DebriefId) -> u32;
    fn runner(&self) -> Runner {
        block_on
    }
}

/// One `#[test]` for each case, against what the factory makes.
#[macro_export]
macro_rules! parent_contract {
    ($factory:expr) => {
        $crate::parent_contract!(@each $factory;
            a_debrief_is_told_as_it_was_sealed,
            n13_the_same_key_twice_is_one_message,
            n9_before_a_second_send_the_parent_is_asked_whether_it_has_the_key,
            what_never_arrived_is_sent_again_under_its_key,
            two_debriefs_are_told_in_order,
            nobody_is_told_what_another_is_owed,
            n3_a_parent_in_a_turn_is_left_alone,
            n2_a_parent_that_cannot_be_reached_proves_nothing,
            g9_a_deleted_parent_is_gone,
        );
    };
    (@each $factory:expr; $($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                let mut factory = $factory;
                let run = $crate::contract::parent::ParentFactory::runner(&factory);
                run(Box::pin($crate::contract::parent::$case(&mut factory)));
            }
        )+
    };
}

fn delivery(parent: &ParentRef, key: u64, text: &str) -> Delivery {
    let text = text.as_bytes().to_vec();
    let notices = vec![(TaskId::from_bits(key), 1)];
    Delivery {
        key: DebriefId::from_bits(key),
        parent: parent.clone(),
        notices,
        text,
        sealed: None,
        tries: 0,
    }
}

fn told(factory: &mut dyn ParentFactory, who: &ParentRef) -> Vec<(DebriefId, String)> {
    let told = factory.told(who).into_iter();
    told.map(|(key, text)| (key, String::from_utf8_lossy(&text).into_owned())).collect()
}

fn key(bits: u64) -> DebriefId {
    DebriefId::from_bits(bits)
}

/// It is there: seen, answered, or in view of an answer.
fn assert_taken(fact: &DeliveryFact) {
    let taken = match fact {
        DeliveryFact::Accepted | DeliveryFact::Answered { .. } | DeliveryFact::Shared => true,
        DeliveryFact::Busy
        | DeliveryFact::Failed { .. }
        | DeliveryFact::Refused { .. }
        | DeliveryFact::Gone => false,
    };
    assert!(taken, "{fact:?}");
}

pub async fn a_debrief_is_told_as_it_was_sealed(factory: &mut dyn ParentFactory) {
    let (parent, who) = (factory.parent(), factory.somebody());
    assert_eq!(parent.look(who.clone()).await, ParentFact::Between);
    let text = "One task ended.\n```\n<data> & \"quotes\" ünïcode \u{1f6f0}\n```\n";
    assert_taken(&parent.deliver(delivery(&who, 1, text)).await);
    assert_eq!(told(factory, &who), [(key(1), text.to_owned())]);
}

pub async fn n13_the_same_key_twice_is_one_message(factory: &mut dyn ParentFactory) {
    let (parent, who) = (factory.parent(), factory.somebody());
    for tries in 0..3 {
        let again = Delivery { tries, ..delivery(&who, 1, "once") };
        assert_taken(&parent.deliver(again).await);
    }
    assert_eq!(told(factory, &who), [(key(1), "once".to_owned())]);
}

pub async fn n9_before_a_second_send_the_parent_is_asked_whether_it_has_the_key(
    factory: &mut dyn ParentFactory,
) {
    let (parent, who) = (factory.parent(), factory.somebody());
    let first = delivery(&who, 1, "once");
    factory.lose_reply(&who);
    assert!(matches!(parent.deliver(first.clone()).await, DeliveryFact::Failed { .. }));
    assert_eq!(factory.asked(key(1)), 0);
    assert_taken(&parent.deliver(Delivery { tries: 1, ..first }).await);
    assert_eq!(factory.asked(key(1)), 1);
    assert_eq!(told(factory, &who), [(key(1), "once".to_owned())]);
}

pub async fn what_never_arrived_is_sent_again_under_its_key(factory: &mut dyn ParentFactory) {
    let (parent, who) = (factory.parent(), factory.somebody());
    assert_taken(&parent.deliver(Delivery { tries: 4, ..delivery(&who, 1, "late") }).await);
    assert_eq!(told(factory, &who), [(key(1), "late".to_owned())]);
}

pub async fn two_debriefs_are_told_in_order(factory: &mut dyn ParentFactory) {
    let (parent, who) = (factory.parent(), factory.somebody());
    assert_taken(&parent.deliver(delivery(&who, 9, "first")).await);
    assert_taken(&parent.deliver(delivery(&who, 1, "second")).await);
    let expected = [(key(9), "first".to_owned()), (key(1), "second".to_owned())];
    assert_eq!(told(factory, &who), expected);
}

pub async fn nobody_is_told_what_another_is_owed(factory: &mut dyn ParentFactory) {
    let (parent, who, other) = (factory.parent(), factory.somebody(), factory.somebody());
    assert_taken(&parent.deliver(delivery(&who, 1, "yours")).await);
    assert_eq!(told(factory, &other), []);
}

pub async fn n3_a_parent_in_a_turn_is_left_alone(factory: &mut dyn ParentFactory) {
    let (parent, who) = (factory.parent(), factory.somebody());
    factory.begin_turn(&who);
    assert!(matches!(parent.look(who.clone()).await, ParentFact::TurnBegan { .. }));
    assert_eq!(parent.deliver(delivery(&who, 1, "later")).await, DeliveryFact::Busy);
    assert_eq!(told(factory, &who), []);
    factory.end_turn(&who);
    assert_eq!(parent.look(who.clone()).await, ParentFact::Between);
    assert_taken(&parent.deliver(delivery(&who, 1, "later")).await);
    assert_eq!(told(factory, &who).len(), 1);
}

pub async fn n2_a_parent_that_cannot_be_reached_proves_nothing(factory: &mut dyn ParentFactory) {
    let (parent, who) = (factory.parent(), factory.somebody());
    factory.set_unreachable(&who, true);
    assert_eq!(parent.look(who.clone()).await, ParentFact::Unreachable);
    let failed = parent.deliver(delivery(&who, 1, "later")).await;
    assert!(matches!(failed, DeliveryFact::Failed { .. }), "{failed:?}");
    factory.set_unreachable(&who, false);
    assert_taken(&parent.deliver(Delivery { tries: 1, ..delivery(&who, 1, "later") }).await);
    assert_eq!(told(factory, &who).len(), 1);
}

pub async fn g9_a_deleted_parent_is_gone(factory: &mut dyn ParentFactory) {
    let (parent, who) = (factory.parent(), factory.somebody());
    factory.delete(&who);
    assert_eq!(parent.look(who.clone()).await, ParentFact::Deleted);
    for tries in 0..2 {
        let never = Delivery { tries, ..delivery(&who, 1, "never") };
        assert_eq!(parent.deliver(never).await, DeliveryFact::Gone);
    }
}
