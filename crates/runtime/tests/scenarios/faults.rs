//! A store that fails: a clear error, nothing lost, and work goes on when it works again.

use homing_core::words::Code;
use homing_ports::store::TaskQuery;
use homing_runtime::{Homing, Launch, Refused, TaskId};

use crate::faulty::Fault;
use crate::stage::{Stage, ask, end, is_done, launch, soon};

/// Asks until the store works again.
async fn accepted(homing: &Homing, launch: Launch) -> TaskId {
    soon(async {
        loop {
            match homing.launch(launch.clone()).await {
                Ok(id) => return id,
                Err(refused) => assert_eq!(refused.code(), Code::Unavailable),
            }
        }
    })
    .await
}

async fn count(homing: &Homing) -> usize {
    soon(homing.list(TaskQuery { limit: 100, ..TaskQuery::default() })).await.unwrap().len()
}

#[tokio::test]
async fn r6_a_store_that_fails_refuses_new_work_keeps_the_old_and_recovers() {
    let stage = Stage::new();
    let homing = stage.start();
    let id = launch(&homing, ask("@gate a\n@say x\n@end")).await;
    soon(stage.host.reached(id, "a")).await;
    stage.plan.set_down(true);
    let refused = soon(homing.launch(ask("More."))).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unavailable);
    assert!(refused.to_string().contains("not committed"), "{refused}");
    stage.host.release(id, "a");
    assert_eq!(count(&homing).await, 1, "what is there is kept, and can be read");
    stage.plan.set_down(false);
    let more = accepted(&homing, ask("More.").key("more")).await;
    assert!(is_done(&end(&homing, id).await), "what ended meanwhile was not forgotten");
    assert!(is_done(&end(&homing, more).await));
    assert_eq!(count(&homing).await, 2);
}

#[tokio::test]
async fn r6_a_commit_that_may_be_there_is_said_so_and_the_same_key_is_the_same_task() {
    for fault in [Fault::UnknownApplied, Fault::UnknownNotApplied] {
        let stage = Stage::new();
        let homing = stage.start();
        stage.plan.on("accepted", fault);
        let unsure = soon(homing.launch(ask("Count.").key("k"))).await.unwrap_err();
        assert_eq!(unsure.code(), Code::Unsure, "{fault:?}");
        let id = launch(&homing, ask("Count.").key("k")).await;
        assert!(is_done(&end(&homing, id).await));
        assert_eq!((count(&homing).await, stage.host.sessions().len()), (1, 1), "{fault:?}");
    }
}

#[tokio::test]
async fn r6_a_store_that_cannot_be_read_either_is_asked_now_and_then_and_said_to_be_away() {
    let stage = Stage::new();
    let homing = stage.start();
    let id = launch(&homing, ask("@gate a\n@say x\n@end")).await;
    soon(stage.host.reached(id, "a")).await;
    stage.plan.set_down(true);
    stage.plan.set_unreadable(true);
    let before = stage.plan.recovers();
    let mut refusals = 0;
    // Each time the store was asked in vain, whoever asks hears that it is away.
    while stage.plan.recovers() < before + 3 {
        let refused = soon(homing.launch(ask("More."))).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable, "{refused}");
        assert_ne!(refused, Refused::Stopped);
        refusals += 1;
    }
    assert!(refusals > 3, "it is not asked as often as people ask: {refusals}");
    stage.plan.set_down(false);
    stage.plan.set_unreadable(false);
    let more = accepted(&homing, ask("More.").key("more")).await;
    stage.host.release(id, "a");
    assert!(is_done(&end(&homing, id).await));
    assert!(is_done(&end(&homing, more).await));
}

#[tokio::test]
async fn a_disk_that_does_not_confirm_ends_the_runtime_and_releases_nothing() {
    let stage = Stage::new();
    let homing = stage.start();
    stage.plan.on("accepted", Fault::KilledBefore);
    assert_eq!(soon(homing.launch(ask("Count."))).await, Err(Refused::Stopped));
    soon(homing.stop()).await;
    assert_eq!(soon(homing.launch(ask("Count."))).await, Err(Refused::Stopped));
    assert_eq!(stage.host.calls().opens, 0);
}
