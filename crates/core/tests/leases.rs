//! Consumers of inboxes: one at a time has a debrief, for a while or until its receipt.

mod stage;

use homing_core::input::Input;
use homing_core::reply::Told;
use homing_core::words::{Code, DeliveryState};
use stage::launch::task;
use stage::{MINUTE, Stage, parent_ref};

/// A stage with a debrief sealed for an inbox.
fn sealed_for(stage: &mut Stage, inbox: &str) -> homing_core::ids::DebriefId {
    let id = stage.launch_running(task(inbox).parent(inbox));
    stage.answer(id, "done");
    stage.seal(inbox).id
}

/// What a consumer that waits has been given.
fn given(stage: &Stage, request: u64) -> Option<homing_core::ids::DebriefId> {
    stage.leased(request).flatten().map(|lease| lease.debrief)
}

#[test]
fn n12_a_lease_that_runs_out_gives_the_debrief_to_the_next_consumer() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a"));
    stage.answer(id, "done");
    let debrief = stage.seal("inbox:cli");
    assert_eq!(stage.lease("inbox:cli"), Some(debrief.id));
    stage.advance(MINUTE - 1);
    assert_eq!(stage.lease("inbox:cli"), None);
    stage.advance(1);
    assert_eq!(stage.lease("inbox:cli"), Some(debrief.id));
    stage.ack_debrief(debrief.id);
    assert_eq!(stage.times_notice(id, DeliveryState::Settled), 1);
}

#[test]
fn n12_what_a_lost_consumer_had_is_offered_again_and_nothing_settled_stays_in_the_way() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a"));
    stage.answer(id, "done");
    let debrief = stage.seal("inbox:cli");
    for _ in 0..3 {
        let request = stage.take("inbox:cli", false);
        let lease = stage.leased(request).flatten().expect("offered at once");
        assert_eq!(lease.debrief, debrief.id);
        stage.let_go(lease);
    }
    assert_eq!(stage.world.debrief(debrief.id).map(|known| known.tries), Some(0), "no try failed");
    stage.ack_notice(id, 1);
    assert_eq!(stage.lease("inbox:cli"), None, "nothing of it is owed any more");
}

#[test]
fn n12_a_lease_does_not_outlive_the_daemon_that_gave_it() {
    let mut stage = Stage::new();
    let id = stage.launch_running(task("a"));
    stage.answer(id, "done");
    let debrief = stage.seal("inbox:cli");
    assert_eq!(stage.lease("inbox:cli"), Some(debrief.id));
    stage.restart();
    assert_eq!(stage.lease("inbox:cli"), Some(debrief.id), "its consumer comes again at once");
    stage.ack_debrief(debrief.id);
    assert_eq!(stage.times_notice(id, DeliveryState::Settled), 1);
}

#[test]
fn n12_the_consumer_of_a_name_drains_its_keys_and_the_consumer_of_a_key_only_that() {
    let mut stage = Stage::new();
    let all = ["inbox:me", "inbox:me/a", "inbox:me/b", "inbox:mean"];
    for parent in all {
        let id = stage.launch_running(task(parent).parent(parent));
        stage.answer(id, "done");
    }
    let sealed = all.map(|parent| stage.seal(parent).id);
    assert_eq!(stage.lease("inbox:me/aa"), None, "no such key, though others come after it");
    assert_eq!(stage.lease("inbox:me/b"), Some(sealed[2]));
    let mut drained = [stage.lease("inbox:me"), stage.lease("inbox:me")];
    drained.sort();
    let mut expected = [Some(sealed[0]), Some(sealed[1])];
    expected.sort();
    assert_eq!(drained, expected);
    assert_eq!(stage.lease("inbox:me"), None, "another name is another inbox");
    stage.advance(MINUTE);
    assert_eq!(stage.lease("inbox:me/b"), Some(sealed[2]), "its lease ran out");
}

#[test]
fn n12_a_consumer_that_waits_has_the_debrief_with_the_commit_that_seals_it() {
    let mut stage = Stage::new();
    let waits = stage.take("inbox:cli", true);
    assert_eq!(given(&stage, waits), None);
    let debrief = sealed_for(&mut stage, "inbox:cli");
    assert_eq!(given(&stage, waits), Some(debrief));
    let known = stage.world.debrief(debrief).expect("it is not settled");
    assert_eq!(known.state, DeliveryState::Sent);
    assert!(known.lease.is_some());
    assert_eq!(stage.lease("inbox:cli"), None, "one consumer has it");
}

#[test]
fn n12_of_several_that_wait_the_first_that_came_is_given_it_and_the_next_one_the_next() {
    let mut stage = Stage::new();
    let waits =
        ["inbox:me", "inbox:me/a", "inbox:me", "inbox:mean"].map(|inbox| stage.take(inbox, true));
    let first = sealed_for(&mut stage, "inbox:me/a");
    assert_eq!(waits.map(|request| given(&stage, request)), [Some(first), None, None, None]);
    let other = sealed_for(&mut stage, "inbox:me/b");
    assert_eq!(waits.map(|request| given(&stage, request)), [Some(first), None, Some(other), None]);
    stage.ack_debrief(first);
    let again = sealed_for(&mut stage, "inbox:me/a");
    assert_eq!(given(&stage, waits[1]), Some(again), "the key's own consumer");
    assert_eq!(given(&stage, waits[3]), None, "another name is another inbox");
}

#[test]
fn n12_a_lease_that_ends_goes_on_to_the_one_that_waits() {
    let mut stage = Stage::new();
    let debrief = sealed_for(&mut stage, "inbox:cli");
    let [first, second, third] = [(); 3].map(|()| stage.take("inbox:cli", true));
    assert_eq!(given(&stage, first), Some(debrief));
    let lease = stage.leased(first).flatten().expect("leased");
    stage.let_go(lease);
    assert_eq!(given(&stage, second), Some(debrief), "its consumer went away");
    stage.advance(MINUTE);
    assert_eq!(given(&stage, third), Some(debrief), "its time ran out");
}

#[test]
fn n12_a_consumer_that_went_away_is_given_nothing() {
    let mut stage = Stage::new();
    let [gone, stays] = [(); 2].map(|()| stage.take("inbox:cli", true));
    stage.give(Input::Forget { request: gone });
    let debrief = sealed_for(&mut stage, "inbox:cli");
    assert_eq!(given(&stage, gone), None);
    assert_eq!(given(&stage, stays), Some(debrief));
}

#[test]
fn n12_the_end_of_a_lease_that_is_over_ends_no_other() {
    let mut stage = Stage::new();
    let debrief = sealed_for(&mut stage, "inbox:cli");
    let old = stage.take("inbox:cli", true);
    let old = stage.leased(old).flatten().expect("leased");
    stage.advance(MINUTE);
    let new = stage.take("inbox:cli", true);
    assert_eq!(given(&stage, new), Some(debrief));
    stage.let_go(old);
    assert_eq!(stage.lease("inbox:cli"), None, "the other consumer still has it");
    stage.ack_debrief(debrief);
    stage.let_go(old);
    assert_eq!(stage.world.parent(&parent_ref("inbox:cli")), None, "settled it stays");
}

#[test]
fn n12_only_an_inbox_is_fetched_from() {
    let mut stage = Stage::new();
    for stays in [true, false] {
        let request = stage.take("opencode:c1", stays);
        let told = stage.told(request).expect("an answer at once");
        assert!(matches!(told, Told::Refused { code: Code::Invalid, .. }), "{told:?}");
    }
}
