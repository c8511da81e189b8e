//! Cases of listening: what is said in a turn is told as it comes, whole, and nothing of another turn with it.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};

use homing_core::fact::{Fact, Fence};

use super::{
    ANSWER, Does, HostFactory, Inbox, begin, ended, no_session, prompting, run_to_end, task,
};
use crate::host::{Ears, Flight, Host, PartKind, Place, Said};

pub async fn u7_what_was_said_in_a_turn_that_is_over_is_told_whole(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Answers);
    let (place, _) = run_to_end(&*host, opening).await;
    assert_eq!(heard(&*host, &place).await.words(), ANSWER);
    drop(host);
    let again = factory.restarted();
    assert_eq!(heard(&*again, &place).await.words(), ANSWER, "it is stored, not remembered");
}

pub async fn u7_one_who_listens_while_a_turn_runs_hears_it_to_its_end(
    factory: &mut dyn HostFactory,
) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Stands);
    let place = begin(&*host, opening).await;
    let ears = Heard::new();
    let mut hearing = host.hear(place.clone(), ears.clone(), true);
    let mut listens = false;
    // It goes on once somebody listens.
    let told = poll_fn(|context| {
        let polled = hearing.as_mut().poll(context);
        if polled.is_pending() && !std::mem::replace(&mut listens, true) {
            assert!(!ears.words().contains(ANSWER), "nothing is told before it is said");
            factory.release(task(1));
        }
        polled
    });
    assert_eq!(told.await, Ok(()));
    drop(hearing);
    assert!(listens, "a turn that stands has no end to be told of");
    assert_eq!(ears.words(), ANSWER);
    assert_eq!(heard(&*host, &place).await.words(), ANSWER, "what is stored says the same");
}

pub async fn u1_a_turn_is_told_without_any_other(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Answers);
    let (first, _) = run_to_end(&*host, opening.clone()).await;
    let fence = Fence { attempt: 1, turn: 2 };
    let second = Place { fence, ..first.clone() };
    let session = first.session.clone().unwrap_or_default();
    let prompt = crate::host::Prompting { fence, ..prompting(&opening, &session) };
    assert_eq!(host.prompt(prompt).await, Fact::PromptTaken);
    let reports = Inbox::new();
    host.watch(second.clone(), reports.clone());
    ended(&*host, &second, &reports).await;
    let (one, two) = (heard(&*host, &first).await, heard(&*host, &second).await);
    assert_eq!((one.words().as_str(), two.words().as_str()), (ANSWER, ANSWER));
    assert!(one.names().iter().all(|name| !two.names().contains(name)), "{one:?} {two:?}");
}

pub async fn nobody_is_told_anything_of_no_session(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let ears = Heard::new();
    drop(host.hear(no_session(), ears.clone(), false).await);
    assert_eq!(ears.names(), Vec::<Arc<str>>::new());
}

/// All that is stored of a turn.
async fn heard(host: &dyn Host, place: &Place) -> Arc<Heard> {
    let ears = Heard::new();
    assert_eq!(host.hear(place.clone(), ears.clone(), false).await, Ok(()));
    ears
}

/// Parts as they were told, in the order in which each was first spoken of.
#[derive(Debug, Default)]
struct Heard(Mutex<Parts>);

#[derive(Debug, Default)]
struct Parts {
    order: Vec<Arc<str>>,
    said: BTreeMap<Arc<str>, (PartKind, String)>,
}

impl Heard {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    fn with<T>(&self, take: impl FnOnce(&mut Parts) -> T) -> T {
        take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The words for people, in the order of their parts' names.
    fn words(&self) -> String {
        self.with(|parts| {
            let text = parts.said.values().filter(|(kind, _)| *kind == PartKind::Text);
            text.map(|(_, text)| text.as_str()).collect::<String>().trim().to_owned()
        })
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.with(|parts| {
            assert!(parts.order.is_sorted(), "parts are named in their order: {:?}", parts.order);
            parts.order.clone()
        })
    }
}

impl Ears for Heard {
    fn hear(&self, said: Said) -> Flight<'_, bool> {
        self.with(|parts| {
            if !parts.said.contains_key(&said.part) {
                parts.order.push(Arc::clone(&said.part));
            }
            let (_, text) = parts.said.entry(said.part).or_insert((said.kind, String::new()));
            let from = usize::try_from(said.from).unwrap_or(usize::MAX);
            assert!(from <= text.len(), "a gap in what is told: {text:?}, then from {from}");
            text.truncate(from);
            text.push_str(&said.text);
        });
        Box::pin(std::future::ready(true))
    }
}
