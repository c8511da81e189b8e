//! What every room must do.

use std::sync::Arc;

use homing_core::ids::PostId;
use homing_core::input::PostFact;
use homing_core::refs::{Origin, OriginKind, Place};

use super::run::{Runner, block_on};
use crate::parent::{Message, Room};

/// Makes the room that a case needs, and shows what people read in it.
pub trait RoomFactory: Send {
    fn room(&mut self) -> Arc<dyn Room>;
    /// Where messages of a case go.
    fn origin(&mut self) -> Origin {
        let (room, address) = ("room".into(), "!a:b".into());
        Place { kind: OriginKind::Group, room, address, thread: None }.into()
    }
    /// Texts, in the order people read them.
    fn texts(&mut self) -> Vec<Vec<u8>>;
    /// From now on the room takes nothing, for good.
    fn close(&mut self);
    /// The next post is turned away, to come again after so long.
    fn limit(&mut self, retry_after_ms: u64);
    /// The next post is taken and its reply lost.
    fn lose_reply(&mut self);
    fn runner(&self) -> Runner {
        block_on
    }
}

/// One `#[test]` for each case, against what the factory makes.
#[macro_export]
macro_rules! room_contract {
    ($factory:expr) => {
        $crate::room_contract!(@each $factory;
            a_message_is_read_as_it_was_sealed,
            n13_the_same_key_twice_is_one_message,
            a_lost_reply_posted_again_is_one_message,
            messages_are_read_in_the_order_they_were_posted,
            the_same_words_under_two_keys_are_two_messages,
            g16_a_room_that_limits_says_how_long_and_takes_nothing,
            g17_a_closed_room_says_so_for_good,
        );
    };
    (@each $factory:expr; $($case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                let mut factory = $factory;
                let run = $crate::contract::room::RoomFactory::runner(&factory);
                run(Box::pin($crate::contract::room::$case(&mut factory)));
            }
        )+
    };
}

fn message(factory: &mut dyn RoomFactory, key: u64, text: &str) -> Message {
    let origin = factory.origin();
    Message { key: PostId::from_bits(key), origin, text: text.as_bytes().to_vec(), tries: 0 }
}

fn texts(factory: &mut dyn RoomFactory) -> Vec<String> {
    let texts = factory.texts().into_iter();
    texts.map(|text| String::from_utf8_lossy(&text).into_owned()).collect()
}

pub async fn a_message_is_read_as_it_was_sealed(factory: &mut dyn RoomFactory) {
    let room = factory.room();
    let text = "Tests pass.\nTwo lines, <b>no markup</b>, @nobody, ünïcode \u{1f6f0}.";
    let message = message(factory, 1, text);
    assert_eq!(room.post(message).await, PostFact::Posted);
    assert_eq!(texts(factory), [text]);
}

pub async fn n13_the_same_key_twice_is_one_message(factory: &mut dyn RoomFactory) {
    let room = factory.room();
    for tries in 0..3 {
        let message = Message { tries, ..message(factory, 1, "once") };
        assert_eq!(room.post(message).await, PostFact::Posted);
    }
    assert_eq!(texts(factory), ["once"]);
}

pub async fn a_lost_reply_posted_again_is_one_message(factory: &mut dyn RoomFactory) {
    let room = factory.room();
    let first = message(factory, 1, "once");
    factory.lose_reply();
    assert!(matches!(room.post(first.clone()).await, PostFact::Failed { .. }));
    assert_eq!(room.post(Message { tries: 1, ..first }).await, PostFact::Posted);
    assert_eq!(texts(factory), ["once"]);
}

pub async fn messages_are_read_in_the_order_they_were_posted(factory: &mut dyn RoomFactory) {
    let room = factory.room();
    for (key, text) in [(9, "first"), (1, "second"), (5, "third")] {
        let message = message(factory, key, text);
        assert_eq!(room.post(message).await, PostFact::Posted);
    }
    assert_eq!(texts(factory), ["first", "second", "third"]);
}

pub async fn the_same_words_under_two_keys_are_two_messages(factory: &mut dyn RoomFactory) {
    let room = factory.room();
    for key in [1, 2] {
        let message = message(factory, key, "the same");
        assert_eq!(room.post(message).await, PostFact::Posted);
    }
    assert_eq!(texts(factory), ["the same", "the same"]);
}

pub async fn g16_a_room_that_limits_says_how_long_and_takes_nothing(factory: &mut dyn RoomFactory) {
    let room = factory.room();
    let message = message(factory, 1, "later");
    factory.limit(7_000);
    let PostFact::Failed { retry_after_ms, .. } = room.post(message.clone()).await else {
        unreachable!("a room that limits took the message");
    };
    assert_eq!(retry_after_ms, Some(7_000));
    assert_eq!(texts(factory), [""; 0]);
    assert_eq!(room.post(Message { tries: 1, ..message }).await, PostFact::Posted);
    assert_eq!(texts(factory), ["later"]);
}

pub async fn g17_a_closed_room_says_so_for_good(factory: &mut dyn RoomFactory) {
    let room = factory.room();
    let message = message(factory, 1, "never");
    factory.close();
    for _ in 0..2 {
        assert!(matches!(room.post(message.clone()).await, PostFact::Closed { .. }));
    }
    assert_eq!(texts(factory), [""; 0]);
}
