//! Delivery across kills and lost records: once to a receiver that goes by the key.

use std::sync::Arc;

use homing_core::input::ParentFact;
use homing_ports::memory::parent::Manner;
use homing_ports::store::TaskQuery;
use homing_runtime::Notify;

use crate::faulty::Fault;
use crate::stage::{Disk, Stage, answering, ask, end, launch, session, settled, soon};

#[tokio::test]
async fn n8_g20_killed_between_the_end_and_the_hand_off_it_is_delivered_once() {
    for disk in [Disk::memory(), Disk::sqlite()] {
        let stage = Stage::on(disk);
        let parent = answering(&stage, "cv_1");
        let homing = stage.start();
        stage.plan.on("result", Fault::KilledAfter);
        let id = launch(&homing, ask("Count.").parent(parent.clone())).await;
        let homing = stage.revive(&homing).await;
        assert_eq!(stage.plan.met(), 1);
        settled(&homing, id).await;
        let told = stage.parents.told(&parent);
        assert_eq!(told.len(), 1);
        assert!(String::from_utf8_lossy(&told[0].text).contains(&id.to_string()));
        soon(homing.stop()).await;
    }
}

#[tokio::test]
async fn g20_two_stores_know_nothing_of_each_other() {
    let (one, two) = (Stage::on(Disk::sqlite()), Stage::on(Disk::sqlite()));
    let (first, second) = (one.start(), two.start());
    let id = launch(&first, ask("Count.").key("k")).await;
    end(&first, id).await;
    let all = TaskQuery { limit: 10, ..TaskQuery::default() };
    assert_eq!(soon(second.list(all)).await, Ok(Vec::new()));
    let other = launch(&second, ask("Count twice.").key("k")).await;
    assert!(soon(first.show(other)).await.is_err() || other == id);
}

#[tokio::test]
async fn n9_a_parent_that_died_before_taking_it_gets_it_again_under_the_same_key() {
    let stage = Stage::new();
    let parent = session("cv_1");
    // It has the text, and dies before any turn takes it up.
    stage.parents.behave(&parent, Manner::Accepts);
    let homing = stage.start();
    stage.plan.on("notice_moved", Fault::KilledAfter);
    let id = launch(&homing, ask("Count.").parent(parent.clone())).await;
    let homing = stage.revive(&homing).await;
    let accepted =
        |task: &homing_runtime::Task| !task.is_living() && stage.parents.deliveries() > 0;
    crate::stage::until(&homing, id, accepted).await.unwrap();
    let homing = stage.restart(&homing).await;
    let before = stage.parents.deliveries();
    stage.parents.behave(&parent, Manner::Answers("thanks".into()));
    settled(&homing, id).await;
    assert!(stage.parents.deliveries() > before, "it was woken again");
    let told = stage.parents.told(&parent);
    assert_eq!(told.len(), 1, "one key, one text");
    assert!(stage.parents.asked(told[0].key) > 0, "and asked first whether it has it");
}

#[tokio::test]
async fn n13_a_record_lost_after_the_send_is_one_message_under_one_key() {
    for fault in [Fault::Failed, Fault::UnknownNotApplied, Fault::UnknownApplied] {
        let stage = Stage::new();
        let parent = answering(&stage, "cv_1");
        let homing = stage.start();
        stage.plan.on("debrief_moved", fault);
        let id = launch(&homing, ask("Count.").parent(parent.clone())).await;
        settled(&homing, id).await;
        assert_eq!(stage.plan.met(), 1, "{fault:?}");
        let told = stage.parents.told(&parent);
        assert_eq!(told.len(), 1, "{fault:?}");
        let again = stage.parents.deliveries() - 1;
        assert_eq!(stage.parents.asked(told[0].key), again, "{fault:?}: asked before each repeat");
        let expected = if fault == Fault::UnknownApplied { 0 } else { 1 };
        assert_eq!(again, expected, "{fault:?}");
    }
}

#[tokio::test]
async fn u1_what_ends_during_a_later_turn_stays_out_of_it() {
    let stage = Stage::new();
    let parent = answering(&stage, "cv_1");
    let homing = stage.start();
    let turn = |turn: &str| ParentFact::TurnBegan { turn: Arc::from(turn) };
    let over = |turn: &str| ParentFact::TurnEnded { turn: Arc::from(turn) };
    stage.parents.begin_turn(&parent, "one");
    soon(homing.parent(parent.clone(), turn("one"))).await.unwrap();
    let work = ask("@gate a\n@say x\n@end").parent(parent.clone()).in_turn("one");
    let id = launch(&homing, work.notify(Notify::Debrief)).await;
    soon(stage.host.reached(id, "a")).await;
    stage.parents.end_turn(&parent);
    soon(homing.parent(parent.clone(), over("one"))).await.unwrap();
    stage.parents.begin_turn(&parent, "two");
    soon(homing.parent(parent.clone(), turn("two"))).await.unwrap();
    stage.host.release(id, "a");
    end(&homing, id).await;
    // Whatever the end brought about was decided before this is answered.
    soon(homing.show(id)).await.unwrap();
    assert_eq!(stage.parents.told(&parent), [], "nothing is put into turn two");
    stage.parents.end_turn(&parent);
    soon(homing.parent(parent.clone(), over("two"))).await.unwrap();
    settled(&homing, id).await;
    assert_eq!(stage.parents.told(&parent).len(), 1, "a turn of its own");
}
