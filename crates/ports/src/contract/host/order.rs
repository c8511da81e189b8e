//! Cases of orders: aborts that are confirmed truly, answers that arrive.

use homing_core::fact::{AskSeen, Fact, TurnRecord};
use homing_core::task::Answer;
use homing_core::words::Tri;

use super::{
    Does, FENCE, HostFactory, Inbox, assert_answered, begin, end_of, ended, run_to_end, task,
};
use crate::host::{Host, Place};

/// Whatever the host shows of it, it does not run.
async fn assert_over(host: &dyn Host, place: &Place) {
    let fact = host.look(place.clone()).await;
    let runs = matches!(
        &fact,
        Fact::Looked { picture } if picture.turn == TurnRecord::Open && picture.busy != Tri::No
    );
    assert!(!runs, "{fact:?}");
}

pub async fn c2_an_abort_is_confirmed_when_nothing_runs(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Stands);
    let place = begin(&*host, opening).await;
    assert!(factory.is_running(task(1)));
    assert_eq!(host.abort(place.clone()).await, Fact::Stopped);
    assert!(!factory.is_running(task(1)));
    assert_over(&*host, &place).await;
}

pub async fn c6_a_second_abort_is_harmless(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Stands);
    let place = begin(&*host, opening).await;
    for _ in 0..3 {
        assert_eq!(host.abort(place.clone()).await, Fact::Stopped);
    }
    assert_over(&*host, &place).await;
}

pub async fn c7_an_abort_after_the_end_leaves_the_record(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Answers);
    let (place, _) = run_to_end(&*host, opening).await;
    assert_eq!(host.abort(place.clone()).await, Fact::Stopped);
    assert_answered(&host.look(place).await);
}

pub async fn l6_an_abort_without_a_session_finds_it_by_its_mark(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Stands);
    let place = begin(&*host, opening).await;
    let unnamed = Place { session: None, ..place.clone() };
    assert_eq!(host.abort(unnamed.clone()).await, Fact::Stopped);
    assert!(!factory.is_running(task(1)));
    assert_over(&*host, &place).await;
    assert_eq!(factory.restarted().abort(unnamed).await, Fact::Stopped);
}

pub async fn an_abort_of_what_never_was_is_confirmed(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let never = Place { task: task(1), fence: FENCE, session: None };
    assert_eq!(host.abort(never).await, Fact::Stopped);
    assert_eq!(factory.runs(task(1)), 0);
}

pub async fn an_abort_leaves_other_tasks_alone(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let (one, other) =
        (factory.opening(task(1), 1, Does::Stands), factory.opening(task(2), 1, Does::Stands));
    let (one, other) = (begin(&*host, one).await, begin(&*host, other).await);
    let reports = Inbox::new();
    host.watch(other.clone(), reports.clone());
    assert_eq!(host.abort(one).await, Fact::Stopped);
    assert!(factory.is_running(task(2)));
    factory.release(task(2));
    assert_answered(&ended(&*host, &other, &reports).await);
}

/// What a report shows somebody is asked.
fn asked(fact: Fact) -> Option<AskSeen> {
    if let Fact::AskOpened { ask } = fact {
        return Some(ask);
    }
    if let Fact::Looked { picture } = fact {
        return picture.asks?.into_iter().next();
    }
    None
}

pub async fn c8_an_ask_is_shown_and_its_answer_reaches(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Asks);
    let place = begin(&*host, opening).await;
    let reports = Inbox::new();
    host.watch(place.clone(), reports.clone());
    let ask = loop {
        let (_, _, fact) = reports.next().await;
        assert!(end_of(&fact).is_none(), "it ended without an answer: {fact:?}");
        if let Some(ask) = asked(fact) {
            break ask;
        }
    };
    let Fact::Looked { picture } = host.look(place.clone()).await else {
        unreachable!("a turn that stands on an ask can be looked at");
    };
    assert_eq!(picture.asks.as_deref(), Some(&[ask.clone()][..]));
    assert_eq!(host.answer(place.clone(), &ask.key, &Answer::Allow).await, Ok(()));
    assert_answered(&ended(&*host, &place, &reports).await);
}

pub async fn an_answer_to_nothing_is_refused(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Stands);
    let place = begin(&*host, opening).await;
    assert!(host.answer(place.clone(), "no such ask", &Answer::Allow).await.is_err());
    assert!(factory.is_running(task(1)));
    assert_eq!(host.abort(place).await, Fact::Stopped);
}
