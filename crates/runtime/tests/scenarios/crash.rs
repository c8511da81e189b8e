//! A kill at every commit of a whole story: nothing is lost, nothing comes twice to whoever goes by the key.

use std::collections::BTreeSet;

use homing_core::input::ParentFact;
use homing_ports::store::{StoreError, TaskQuery};
use homing_runtime::{
    Code, Homing, Launch, Model, Notify, ParentRef, Receipt, Refused, State, Task, TaskId,
};
use homing_store::SqliteStore;

use crate::faulty::{Fault, Plan};
use crate::stage::{Disk, LONG, Stage, answering, ask, end, inbox, is_done, launch, soon};

/// Three tasks for a conversation, of which one goes on with another model, and one for an inbox.
fn works(parent: &ParentRef) -> [Launch; 4] {
    let model = |text: &str| text.parse::<Model>().unwrap();
    let group = |prompt: &str| {
        ask(prompt)
            .parent(parent.clone())
            .in_turn("one")
            .notify(Notify::Debrief)
            .origin("group:lobby/here".parse().unwrap())
    };
    [
        group("Simple.").key("simple"),
        group("@fail rate_limited")
            .model(model("acme/large"))
            .model(model("acme/small"))
            .key("model"),
        group("@tool sh ls\n@tool-end\n@say listed\n@end").key("tool"),
        ask("For the inbox.").parent(inbox("bot")).key("inbox"),
    ]
}

/// Tries again what the store did not confirm: with a key, it is the same task.
async fn surely(homing: &Homing, launch: Launch) -> Result<TaskId, Refused> {
    loop {
        match homing.launch(launch.clone()).await {
            Err(Refused::Because { code: Code::Unsure | Code::Unavailable, .. }) => {}
            other => return other,
        }
    }
}

/// Drives the story as far as this runtime lives. All of it may be said again.
async fn act(
    stage: &Stage,
    homing: &Homing,
    parent: &ParentRef,
) -> Result<(Vec<TaskId>, Vec<Task>), Refused> {
    let mut ids = Vec::new();
    for launch in works(parent) {
        ids.push(surely(homing, launch).await?);
    }
    stage.parents.end_turn(parent);
    homing.parent(parent.clone(), ParentFact::TurnEnded { turn: "one".into() }).await?;
    let mut head = homing.head();
    loop {
        head.mark_unchanged();
        match homing.take("bot", &inbox("bot")).await {
            Ok(Some(debrief)) => drop(homing.ack(Receipt::Debrief(debrief.key)).await),
            Ok(None) => {}
            Err(Refused::Because { code: Code::Unsure | Code::Unavailable, .. }) => continue,
            Err(other) => return Err(other),
        }
        let all = homing.list(TaskQuery { limit: 100, ..TaskQuery::default() }).await?;
        let over = all.iter().all(|task| !task.is_living() && !task.is_owed());
        if over && stage.room.posts() > 0 {
            return Ok((ids, all));
        }
        head.changed().await.map_err(|_| Refused::Stopped)?;
    }
}

/// The whole story on one disk, with one fault; tells whether the fault came.
async fn story(disk: Disk, commit: u32, fault: Fault) -> bool {
    let mut stage = Stage::on(disk);
    stage.plan = Plan::new().at(commit, fault);
    // A consumer that died with its runtime is waited for this long.
    stage.limits.lease_ms = 20;
    let parent = answering(&stage, "cv_1");
    stage.parents.begin_turn(&parent, "one");
    let mut homing = stage.start();
    let (ids, all) = loop {
        match soon(act(&stage, &homing, &parent)).await {
            Ok(done) => break done,
            // Closed for reading as well: it died between.
            Err(Refused::Stopped | Refused::Store(StoreError::Unavailable { .. })) => {}
            Err(other) => panic!("{fault:?} at {commit}: {other}"),
        }
        homing = stage.revive(&homing).await;
    };
    let place = format!("{fault:?} at {commit}");
    check(&stage, &parent, &ids, &all, &place);
    soon(homing.stop()).await;
    stage.plan.met() > 0
}

fn check(stage: &Stage, parent: &ParentRef, ids: &[TaskId], all: &[Task], place: &str) {
    let known: BTreeSet<TaskId> = all.iter().map(|task| task.id).collect();
    assert_eq!(known, ids.iter().copied().collect(), "{place}: one task a key, and no other");
    for task in all {
        let expected = if task.id == ids[1] { State::Failed } else { State::Completed };
        assert_eq!(task.state, expected, "{place}: {}", task.id);
    }
    let told = stage.parents.told(parent);
    for id in &ids[..3] {
        let of_it = told
            .iter()
            .filter(|told| String::from_utf8_lossy(&told.text).contains(&id.to_string()));
        assert_eq!(of_it.count(), 1, "{place}: {id} is told once");
    }
    assert_eq!(told.len(), 1, "{place}: one debrief");
    assert_eq!(stage.room.messages().len(), 1, "{place}: one message in the room");
    assert_eq!(stage.telemetry.records().len(), 4, "{place}: one record each");
    let prompts: Vec<_> =
        stage.host.prompts().iter().map(|ran| (ran.task, ran.attempt, ran.turn)).collect();
    let once: BTreeSet<_> = prompts.iter().copied().collect();
    assert_eq!(prompts.len(), once.len(), "{place}: no turn runs twice");
}

/// The fault at every commit there is, until a story has fewer.
async fn everywhere(disk: impl Fn() -> Disk, fault: Fault) {
    let mut commit = 0;
    while story(disk(), commit, fault).await {
        commit += 1;
    }
    assert!(commit >= 5, "a story has many commits, and every one was met: {commit}");
}

#[tokio::test]
async fn r1_killed_before_any_commit_nothing_is_lost_or_told_twice() {
    everywhere(Disk::memory, Fault::KilledBefore).await;
}

#[tokio::test]
async fn r1_killed_after_any_commit_nothing_is_lost_or_told_twice() {
    everywhere(Disk::memory, Fault::KilledAfter).await;
}

#[tokio::test]
async fn r1_killed_at_any_commit_on_a_real_disk_nothing_is_lost_or_told_twice() {
    everywhere(Disk::sqlite, Fault::KilledBefore).await;
    everywhere(Disk::sqlite, Fault::KilledAfter).await;
}

#[tokio::test]
async fn r6_any_commit_that_fails_loses_nothing_and_tells_nothing_twice() {
    everywhere(Disk::memory, Fault::Failed).await;
}

#[tokio::test]
async fn r6_any_commit_that_may_be_there_loses_nothing_and_tells_nothing_twice() {
    everywhere(Disk::memory, Fault::UnknownApplied).await;
    everywhere(Disk::memory, Fault::UnknownNotApplied).await;
}

#[tokio::test]
async fn r2_a_second_runtime_on_one_store_is_refused_and_does_no_harm() {
    let stage = Stage::on(Disk::sqlite());
    let homing = stage.start();
    let id = launch(&homing, ask("@gate a\n@say x\n@end")).await;
    soon(stage.host.reached(id, "a")).await;
    let Disk::Sqlite(dir) = &stage.disk else {
        panic!("a disk was asked for");
    };
    let second = SqliteStore::open(dir.path().join("ledger.db"));
    assert!(matches!(second, Err(StoreError::Held { .. })), "{second:?}");
    assert_eq!(soon(homing.show(id)).await.unwrap().task.state, State::Running);
    stage.host.release(id, "a");
    assert!(is_done(&end(&homing, id).await));
    assert_eq!(stage.host.prompts().len(), 1);
    assert_eq!(soon(homing.wait(id, LONG)).await, Ok(homing_runtime::Waited::Ended));
}
