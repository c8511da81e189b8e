//! Adopted sessions: scenarios A.

#![expect(clippy::panic, reason = "a test that cannot go on must fail")]

mod stage;

use homing_core::fact::{Fact, Picture, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::reply::Told;
use homing_core::words::{Cause, Code, State, Tri};
use stage::host::{good, open_picture};
use stage::launch::task;
use stage::{SECOND, Stage, parent_ref, refused};

fn adopted(told: &Told) -> TaskId {
    let Told::Accepted { task, .. } = told else {
        panic!("not adopted: {told:?}");
    };
    *task
}

#[test]
fn a1_a_session_adopted_twice_is_one_task() {
    let mut stage = Stage::new();
    let first = stage.adopt("ses_x", task("x"));
    let x = adopted(&first);
    assert_eq!(first, Told::Accepted { task: x, existing: false });
    assert_eq!(stage.adopt("ses_x", task("x")), Told::Accepted { task: x, existing: true });
    assert_eq!((stage.state(x), stage.held()), (State::Running, 1));
    assert!(stage.wants_look(x), "the host is asked what it is doing");
    assert!(!stage.wants_open(x) && !stage.wants_prompt(x), "nothing is sent to it");
    let elsewhere = adopted(&stage.adopt("ses_x", task("x").host("other")));
    assert_ne!(elsewhere, x, "of another host it is another session");
}

#[test]
fn a1_a_session_whose_task_ended_long_ago_is_still_that_task() {
    let mut stage = Stage::new();
    let x = adopted(&stage.adopt("ses_x", task("x")));
    stage.answer(x, "done");
    stage.telemetry_taken(x, 1);
    stage.ack_notice(x, 1);
    assert!(stage.world.task(x).is_none(), "it left memory");
    assert_eq!(stage.adopt("ses_x", task("x")), Told::Accepted { task: x, existing: true });
}

#[test]
fn a1_a_task_of_our_own_is_not_adopted_as_a_second_one() {
    let mut stage = Stage::new();
    let a = stage.launch_running(task("a"));
    let session = stage.task(a).session.unwrap();
    assert_eq!(stage.adopt(&session, task("again")), Told::Accepted { task: a, existing: true });
    assert_eq!(refused(&stage.adopt("", task("x"))), Code::Invalid);
}

#[test]
fn a1_an_adopted_session_completes_on_the_same_evidence() {
    let mut stage = Stage::new();
    let x = adopted(&stage.adopt("ses_x", task("x")));
    stage.looked(x, open_picture());
    assert_eq!(stage.state(x), State::Running);
    stage.observe(x, Fact::EndHint);
    assert_eq!(stage.state(x), State::Running);
    stage.looked(
        x,
        Picture { turn: TurnRecord::Ended(good("42")), busy: Tri::No, ..open_picture() },
    );
    assert_eq!(stage.end(x), (State::Completed, Some(Cause::Answered)));
    assert_eq!(stage.times_told(x), 1);
    stage.assert_at_rest();
}

#[test]
fn a2_adopted_by_another_parent_what_is_owed_moves_and_the_old_batch_shrinks() {
    let mut stage = Stage::new();
    let [p, q] = ["opencode:ses_p", "opencode:ses_q"];
    let done = stage.launch_running(task("done").parent(p));
    let a = stage.launch_running(task("a").parent(p));
    stage.between_turns(p);
    stage.answer(done, "done");
    assert!(!stage.wants_compose(p), "its batch has a living one");
    let session = stage.task(a).session.unwrap();
    stage.adopt(&session, task("a").parent(q));
    assert_eq!(*stage.task(a).parent, parent_ref(q));
    assert!(stage.wants_compose(p), "the batch has shrunk to what is done");
    let sealed = stage.compose();
    assert_eq!(
        (&sealed[0].parent, sealed[0].notices.as_slice()),
        (&parent_ref(p), &[(done, 1)][..])
    );
    stage.answer(a, "done");
    stage.between_turns(q);
    let sealed = stage.compose();
    assert_eq!((&sealed[0].parent, sealed[0].notices.as_slice()), (&parent_ref(q), &[(a, 1)][..]));
}

#[test]
fn a2_what_an_ended_task_owes_moves_with_it() {
    let mut stage = Stage::new();
    let [p, q] = ["opencode:ses_p", "opencode:ses_q"];
    let a = stage.launch_running(task("a").parent(p));
    stage.answer(a, "done");
    let session = stage.task(a).session.unwrap();
    stage.adopt(&session, task("a").parent(q));
    assert_eq!(stage.notices(a)[0].to, parent_ref(q));
    stage.between_turns(p);
    stage.between_turns(q);
    assert!(!stage.wants_compose(p) && stage.wants_compose(q));
    assert_eq!((stage.compose().len(), stage.times_told(a)), (1, 1));
}

#[test]
fn a3_adopted_over_the_limit_it_is_counted_and_nothing_new_starts() {
    let mut stage = Stage::slots(1);
    let a = stage.launch_running(task("a"));
    let x = adopted(&stage.adopt("ses_x", task("x")));
    let b = stage.launch(task("b"));
    let key = stage.key("agent:script");
    assert_eq!((key.held, key.debt(1)), (2, 1));
    stage.answer(a, "done");
    assert_eq!((stage.state(b), stage.held()), (State::Queued, 1), "still at its limit");
    stage.looked(
        x,
        Picture { turn: TurnRecord::Ended(good("42")), busy: Tri::No, ..open_picture() },
    );
    assert_eq!(stage.states(&[x, b]), [State::Completed, State::Starting]);
    assert_eq!(stage.held(), 1);
}

#[test]
fn a4_a_ghost_left_by_a_crash_is_interrupted_not_running_and_not_done() {
    let mut stage = Stage::new();
    let x = adopted(&stage.adopt("ses_x", task("x")));
    stage.advance(SECOND);
    stage.looked(x, Picture { busy: Tri::No, same_host: Tri::No, ..open_picture() });
    assert_eq!(stage.end(x), (State::Failed, Some(Cause::Interrupted)));
    assert_eq!((stage.times_told(x), stage.held()), (1, 0));
}

#[test]
fn a4_a_ghost_whose_host_cannot_tell_stays_unknown() {
    let mut stage = Stage::new();
    let x = adopted(&stage.adopt("ses_x", task("x")));
    stage.looked(x, Picture { busy: Tri::Unknown, same_host: Tri::Unknown, ..open_picture() });
    assert_eq!(stage.state(x), State::Running);
}
