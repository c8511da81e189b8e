//! Cases of starting: one attempt, one session; one prompt, one run.

use homing_core::fact::{Fact, Fence};
use homing_core::words::TurnKind;

use super::{ANSWER, Does, HostFactory, Inbox, begin, ended, prompting, run_to_end, session, task};
use crate::host::{Prompting, Wanted};

pub async fn l12_the_same_attempt_opened_twice_is_one_session(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Answers);
    let (place, _) = run_to_end(&*host, opening.clone()).await;
    let again = host.open(opening).await;
    assert_eq!(Some(session(&again)), place.session);
    assert_eq!(factory.runs(task(1)), 1);
}

pub async fn l14_a_restarted_driver_finds_the_session_by_its_mark(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Stands);
    let place = begin(&*host, opening.clone()).await;
    let later = factory.restarted();
    assert_eq!(Some(session(&later.open(opening).await)), place.session);
    assert_eq!(later.abort(place).await, Fact::Stopped);
    assert!(factory.runs(task(1)) <= 1);
}

pub async fn attempts_have_sessions_of_their_own(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let first = factory.opening(task(1), 1, Does::Answers);
    let second = factory.opening(task(1), 2, Does::Answers);
    let other = factory.opening(task(2), 1, Does::Answers);
    let mut sessions = Vec::new();
    for opening in [first, second, other] {
        sessions.push(run_to_end(&*host, opening).await.0.session);
    }
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), 3);
    assert_eq!((factory.runs(task(1)), factory.runs(task(2))), (2, 1));
}

pub async fn l8_a_prompt_sent_twice_runs_once(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::Stands);
    let place = begin(&*host, opening.clone()).await;
    let again = prompting(&opening, place.session.as_ref().unwrap_or(&ANSWER.into()));
    assert_eq!(host.prompt(again.clone()).await, Fact::PromptTaken);
    let reports = Inbox::new();
    host.watch(place.clone(), reports.clone());
    factory.release(task(1));
    ended(&*host, &place, &reports).await;
    assert_eq!(host.prompt(again).await, Fact::PromptTaken);
    assert_eq!(factory.runs(task(1)), 1);
}

pub async fn l2_a_start_that_fails_says_so_and_runs_nothing(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let opening = factory.opening(task(1), 1, Does::CannotStart);
    let facts = host.open(opening).await;
    assert!(matches!(&*facts, [Fact::StartFailed { .. }]), "{facts:?}");
    assert_eq!(factory.runs(task(1)), 0);
    assert!(!factory.is_running(task(1)));
}

pub async fn a_prompt_to_no_session_is_not_taken(factory: &mut dyn HostFactory) {
    let host = factory.host();
    let fact = host
        .prompt(Prompting {
            task: task(1),
            fence: Fence { attempt: 1, turn: 1 },
            session: "no such session".into(),
            kind: TurnKind::First,
            wanted: Wanted::default(),
            text: b"Hello?".to_vec(),
        })
        .await;
    let refused = matches!(fact, Fact::PromptRefused { .. } | Fact::PromptUnsure { .. });
    assert!(refused || fact == Fact::SessionDeleted, "{fact:?}");
}

pub async fn a_launch_that_names_nothing_special_is_fine(factory: &mut dyn HostFactory) {
    let host = factory.host();
    assert_eq!(host.check(Wanted::default()).await, Ok(()));
    assert!(!host.name().is_empty());
}
