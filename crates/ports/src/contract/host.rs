//! What every host must do. Owns the cases, what they need of a host under test, and the macro that runs
//! them; never a host.
//!
//! A host that cannot show a case says so in `HostFactory::lacks`, with the reason.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use homing_core::fact::{Fact, Fence, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::payload::Payload;
use homing_core::words::TurnKind;

use super::run::{Runner, block_on};
use crate::host::{Flight, Host, Opening, Place, Prompting, Reports};

pub mod hear;
pub mod order;
pub mod report;
pub mod start;

/// What the first turn of a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Says `ANSWER` and ends.
    Answers,
    /// Stands until it is released, then says `ANSWER` and ends.
    Stands,
    /// Asks for a permission, then says `ANSWER` and ends.
    Asks,
    /// No session can be made.
    CannotStart,
}

/// What a turn says that ends well.
pub const ANSWER: &str = "the answer is 4";

/// Makes the host that a case needs, and shows what really happened on it.
pub trait HostFactory: Send {
    fn host(&mut self) -> Arc<dyn Host>;
    /// Another driver on the same program, as after a restart of homing.
    fn restarted(&mut self) -> Arc<dyn Host>;
    fn opening(&mut self, task: TaskId, attempt: u32, does: Does) -> Opening;
    /// Lets a turn that stands go on.
    fn release(&mut self, task: TaskId);
    /// How often a first prompt of this task ran.
    fn runs(&mut self, task: TaskId) -> u32;
    /// Whether anything of this task runs now.
    fn is_running(&mut self, task: TaskId) -> bool;
    /// The next look at this task fails.
    fn break_look(&mut self, task: TaskId);
    /// Cases that this host cannot show, with the reason.
    fn lacks(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    fn runner(&self) -> Runner {
        block_on
    }
}

/// One `#[test]` for each case, against what the factory makes.
#[macro_export]
macro_rules! host_contract {
    ($factory:expr) => {
        $crate::host_contract!(@each $factory;
            start::l12_the_same_attempt_opened_twice_is_one_session,
            start::l14_a_restarted_driver_finds_the_session_by_its_mark,
            start::attempts_have_sessions_of_their_own,
            start::l8_a_prompt_sent_twice_runs_once,
            start::l2_a_start_that_fails_says_so_and_runs_nothing,
            start::a_prompt_to_no_session_is_not_taken,
            start::a_launch_that_names_nothing_special_is_fine,
            report::t4_a_turn_that_runs_looks_open,
            report::t11_a_watch_tells_of_the_end,
            report::t1_a_look_after_the_end_shows_the_record,
            report::t24_a_watch_that_begins_after_the_end_tells_of_it,
            report::the_record_outlives_the_driver,
            report::t12_a_look_that_fails_says_so,
            report::t3_a_look_at_no_session_is_no_success,
            report::reports_carry_the_task_and_turn_they_are_of,
            report::a_watch_that_is_ended_reports_no_more,
            report::a_transcript_holds_what_was_said,
            report::r5_garbage_is_answered_and_never_panics,
            hear::u7_what_was_said_in_a_turn_that_is_over_is_told_whole,
            hear::u7_one_who_listens_while_a_turn_runs_hears_it_to_its_end,
            hear::u1_a_turn_is_told_without_any_other,
            hear::nobody_is_told_anything_of_no_session,
            order::c2_an_abort_is_confirmed_when_nothing_runs,
            order::c6_a_second_abort_is_harmless,
            order::c7_an_abort_after_the_end_leaves_the_record,
            order::l6_an_abort_without_a_session_finds_it_by_its_mark,
            order::an_abort_of_what_never_was_is_confirmed,
            order::an_abort_leaves_other_tasks_alone,
            order::c8_an_ask_is_shown_and_its_answer_reaches,
            order::an_answer_to_nothing_is_refused,
        );
    };
    (@each $factory:expr; $($group:ident :: $case:ident),+ $(,)?) => {
        $(
            #[test]
            fn $case() {
                use $crate::contract::host::{HostFactory as _, is_lacking, $group};
                let mut factory = $factory;
                if is_lacking(&factory, stringify!($case)) {
                    return;
                }
                let run = factory.runner();
                run(Box::pin($group::$case(&mut factory)));
            }
        )+

        #[test]
        fn what_is_lacking_is_a_case() {
            use $crate::contract::host::HostFactory as _;
            let cases = [$(stringify!($case)),+];
            for (name, _) in ($factory).lacks() {
                assert!(cases.contains(name), "{name} is not a case");
            }
        }
    };
}

/// Whether the host says it cannot show this case.
pub fn is_lacking(factory: &dyn HostFactory, case: &str) -> bool {
    let lacks = factory.lacks().iter().find(|(name, _)| *name == case);
    lacks.is_some_and(|(_, why)| {
        assert!(!why.is_empty(), "{case} is lacking without a reason");
        println!("not shown: {case}: {why}");
        true
    })
}

/// The first turn of the first attempt.
const FENCE: Fence = Fence { attempt: 1, turn: 1 };

fn task(number: u64) -> TaskId {
    TaskId::from_bits(number)
}

fn no_session() -> Place {
    Place { task: task(1), fence: FENCE, session: Some("no such session".into()) }
}

fn session(facts: &[Fact]) -> Arc<str> {
    let [Fact::SessionMade { session }, ..] = facts else {
        unreachable!("no session was made: {facts:?}");
    };
    Arc::clone(session)
}

fn prompting(opening: &Opening, session: &Arc<str>) -> Prompting {
    Prompting {
        task: opening.task,
        fence: Fence { attempt: opening.attempt, turn: 1 },
        session: Arc::clone(session),
        kind: TurnKind::First,
        wanted: opening.wanted.clone(),
        text: opening.prompt.clone(),
    }
}

/// Opens a session and sees to it that its first prompt is taken.
async fn begin(host: &dyn Host, opening: Opening) -> Place {
    let facts = host.open(opening.clone()).await;
    let session = session(&facts);
    if !facts.contains(&Fact::PromptTaken) {
        assert_eq!(host.prompt(prompting(&opening, &session)).await, Fact::PromptTaken);
    }
    let fence = Fence { attempt: opening.attempt, turn: 1 };
    Place { task: opening.task, fence, session: Some(session) }
}

/// The end that a fact shows: what was said, whatever shape the record has.
fn end_of(fact: &Fact) -> Option<Option<Payload>> {
    let ended = matches!(fact, Fact::Ended { .. } | Fact::Exited { .. })
        || matches!(fact, Fact::Looked { picture } if matches!(picture.turn, TurnRecord::Ended(_)));
    ended.then(|| fact.text().cloned())
}

fn assert_answered(fact: &Fact) {
    let text = end_of(fact).flatten();
    let said = text.as_ref().map(|text| String::from_utf8_lossy(&text.bytes).trim().to_owned());
    assert_eq!(said.as_deref(), Some(ANSWER), "{fact:?}");
}

/// Follows a watch until the end is shown; a hint is a reason to look.
async fn ended(host: &dyn Host, place: &Place, reports: &Inbox) -> Fact {
    loop {
        let (_, _, fact) = reports.next().await;
        if end_of(&fact).is_some() {
            return fact;
        }
        if fact == Fact::EndHint {
            let looked = host.look(place.clone()).await;
            if end_of(&looked).is_some() {
                return looked;
            }
        }
    }
}

/// Starts a turn and waits for its end.
async fn run_to_end(host: &dyn Host, opening: Opening) -> (Place, Fact) {
    let place = begin(host, opening).await;
    let reports = Inbox::new();
    host.watch(place.clone(), reports.clone());
    let end = ended(host, &place, &reports).await;
    (place, end)
}

/// Keeps what is reported until the case asks for it.
#[derive(Debug, Default)]
struct Inbox {
    inner: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    reports: VecDeque<(TaskId, Fence, Fact)>,
    waker: Option<Waker>,
}

impl Inbox {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn next(&self) -> (TaskId, Fence, Fact) {
        poll_fn(|context| {
            let mut kept = self.lock();
            match kept.reports.pop_front() {
                Some(report) => Poll::Ready(report),
                None => {
                    kept.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// All that came and was not asked for.
    fn rest(&self) -> Vec<(TaskId, Fence, Fact)> {
        self.lock().reports.drain(..).collect()
    }
}

impl Reports for Inbox {
    fn report(&self, task: TaskId, fence: Fence, fact: Fact) -> Flight<'_, ()> {
        let mut kept = self.lock();
        kept.reports.push_back((task, fence, fact));
        if let Some(waker) = kept.waker.take() {
            waker.wake();
        }
        Box::pin(std::future::ready(()))
    }
}
