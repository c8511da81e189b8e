//! Cases of reporting: what a watch tells, what a look shows, and what neither claims.

use std::sync::Arc;

use homing_core::fact::{Fact, TurnRecord};
use homing_core::task::Answer;
use homing_core::words::Tri;

use super::{
    ANSWER, Does, FENCE, HostFactory, Inbox, assert_answered, begin, end_of, ended, no_session,
    run_to_end, task,
};
use crate::host::{Host, Place, Wanted};

pub async fn t4_a_turn_that_runs_looks_open(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Stands);
    let place = begin(&*host, opening).await;
    let Fact::Looked { picture } = host.look(place.clone()).await else {
        unreachable!("a turn that runs can be looked at");
    };
    assert_eq!(picture.turn, TurnRecord::Open);
    assert_ne!(picture.busy, Tri::No);
    assert_eq!(host.abort(place).await, Fact::Stopped);
}

pub async fn t11_a_watch_tells_of_the_end(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Stands);
    let place = begin(&*host, opening).await;
    let reports = Inbox::new();
    host.watch(place.clone(), reports.clone());
    factory.release(task(1));
    assert_answered(&ended(&*host, &place, &reports).await);
}

pub async fn t1_a_look_after_the_end_shows_the_record(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Answers);
    let (place, _) = run_to_end(&*host, opening).await;
    for _ in 0..2 {
        assert_answered(&host.look(place.clone()).await);
    }
    host.unwatch(task(1), 1);
    assert_answered(&host.look(place).await);
}

pub async fn t24_a_watch_that_begins_after_the_end_tells_of_it(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Answers);
    let (place, _) = run_to_end(&*host, opening).await;
    host.unwatch(task(1), 1);
    let late = Inbox::new();
    host.watch(place.clone(), late.clone());
    assert_answered(&ended(&*host, &place, &late).await);
}

pub async fn the_record_outlives_the_driver(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Answers);
    let (place, _) = run_to_end(&*host, opening).await;
    drop(host);
    assert_answered(&factory.restarted().look(place).await);
}

pub async fn t12_a_look_that_fails_says_so(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Answers);
    let (place, _) = run_to_end(&*host, opening).await;
    factory.break_look(task(1));
    let failed = host.look(place.clone()).await;
    assert!(matches!(failed, Fact::LookFailed { .. }), "{failed:?}");
    assert_answered(&host.look(place).await);
}

pub async fn t3_a_look_at_no_session_is_no_success(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let fact = host.look(no_session()).await;
    assert!(end_of(&fact).is_none(), "{fact:?}");
    let reports = Inbox::new();
    host.watch(no_session(), reports.clone());
    host.unwatch(task(1), 1);
    assert!(reports.rest().iter().all(|(_, _, fact)| end_of(fact).is_none()));
}

pub async fn reports_carry_the_task_and_turn_they_are_of(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(3), 1, Does::Answers);
    let place = begin(&*host, opening).await;
    let reports = Inbox::new();
    host.watch(place, reports.clone());
    let (of, fence, _) = reports.next().await;
    assert_eq!((of, fence), (task(3), FENCE));
}

pub async fn a_watch_that_is_ended_reports_no_more(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Stands);
    let place = begin(&*host, opening).await;
    let reports = Inbox::new();
    host.watch(place.clone(), reports.clone());
    host.unwatch(task(1), 1);
    reports.rest();
    factory.release(task(1));
    let other = Inbox::new();
    host.watch(place.clone(), other.clone());
    ended(&*host, &place, &other).await;
    assert_eq!(reports.rest(), []);
    host.unwatch(task(1), 1);
    host.unwatch(task(1), 1);
}

pub async fn a_transcript_holds_what_was_said(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Answers);
    let (place, _) = run_to_end(&*host, opening).await;
    let transcript = host.transcript(place.clone()).await.unwrap_or_default();
    assert!(String::from_utf8_lossy(&transcript).contains(ANSWER));
    let mut pieces = Vec::new();
    loop {
        let from = pieces.len() as u64;
        let piece = host.piece(place.clone(), from, 3).await.unwrap_or_default();
        assert!(
            piece.first == from && piece.bytes.len() <= 3,
            "nothing is missing, nothing is more: {piece:?}"
        );
        if piece.bytes.is_empty() {
            assert_eq!(piece.written, Some(from));
            break;
        }
        pieces.extend(piece.bytes);
    }
    assert!(String::from_utf8_lossy(&pieces).contains(ANSWER));
}

pub async fn r5_garbage_is_answered_and_never_panics(factory: &mut dyn HostFactory) {
    let host: Arc<dyn Host> = factory.host();
    let long = "x".repeat(100_000);
    let garbage =
        ["", " ", "\0", "../../etc/passwd", "-1.-1.ffffffff", "ses_\u{202e}\u{1f6f0}\n", &long];
    for session in garbage {
        let place = Place { session: Some(session.into()), ..no_session() };
        let looked = host.look(place.clone()).await;
        assert!(end_of(&looked).is_none(), "{looked:?}");
        let stopped = host.abort(place.clone()).await;
        assert!(matches!(stopped, Fact::Stopped | Fact::StopRefused { .. }), "{stopped:?}");
        assert!(host.answer(place.clone(), session, &Answer::Text(session.into())).await.is_err());
        drop(host.transcript(place.clone()).await);
        let wanted = Wanted { agent: Some(session.into()), ..Wanted::default() };
        drop(host.check(wanted).await);
        host.watch(place, Inbox::new());
        host.unwatch(task(1), 1);
    }
    host.unwatch(task(9), 9);
}
