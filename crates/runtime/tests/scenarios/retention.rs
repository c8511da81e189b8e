//! Retention: what was over long ago leaves the store with all that belonged to it, and nothing else does.

use homing_ports::store::{StoreError, TaskQuery};
use homing_runtime::{Launch, ParentRef};

use crate::stage::{Disk, Stage, answering, ask, inbox, launch, settled, soon, until};

/// Keeps everything, until a test says otherwise.
fn keeping(disk: Disk) -> Stage {
    let mut stage = Stage::on(disk);
    stage.limits.retention_ms = u64::MAX;
    stage
}

/// A task that its parent was told of, and the keys it was told under.
async fn told(stage: &Stage, parent: &ParentRef) -> (homing_runtime::TaskId, Vec<String>) {
    let homing = stage.start();
    let id = launch(&homing, ask("Count.").parent(parent.clone()).key("k")).await;
    settled(&homing, id).await;
    let keys = stage.parents.told(parent).iter().map(|told| told.key.to_string()).collect();
    soon(homing.stop()).await;
    (id, keys)
}

#[tokio::test]
async fn what_is_over_leaves_with_its_lines_its_texts_and_its_debrief() {
    for disk in [Disk::memory(), Disk::sqlite()] {
        let mut stage = keeping(disk);
        let parent = answering(&stage, "cv_1");
        let (id, keys) = told(&stage, &parent).await;
        {
            let reader = stage.disk.open().reader().unwrap();
            assert_eq!(keys.len(), 1);
            assert!(reader.outbox(&keys[0]).unwrap().is_some_and(|row| !row.is_open()));
            assert!(reader.blob(&keys[0]).unwrap().is_some());
        }
        stage.limits.retention_ms = 0;
        let homing = stage.start();
        // It speaks to someone who does not take it: that stays.
        let kept = launch(&homing, ask("Count again.").parent(inbox("nobody"))).await;
        until(&homing, kept, |task| !task.is_living()).await.unwrap();
        soon(homing.stop()).await;
        let homing = stage.start();
        let gone = async {
            while homing.show(id).await.is_ok() {
                tokio::task::yield_now().await;
            }
        };
        soon(gone).await;
        assert!(soon(homing.show(kept)).await.is_ok(), "what is owed is kept");
        let again = launch(&homing, ask("Count.").parent(parent).key("k")).await;
        assert_ne!(again, id, "its key is free");
        soon(homing.stop()).await;
        let reader = stage.disk.open().reader().unwrap();
        assert_eq!(reader.outbox(&keys[0]).unwrap(), None);
        assert_eq!(reader.blob(&keys[0]).unwrap(), None);
        assert!(matches!(reader.journal(0, 10), Err(StoreError::BelowFloor { .. })));
        assert_eq!(reader.check().unwrap(), []);
    }
}

#[tokio::test]
async fn more_than_one_sweep_takes_are_taken_in_several() {
    let mut stage = keeping(Disk::sqlite());
    stage.limits.default = 0;
    let homing = stage.start();
    let parent = ParentRef::None;
    let many = (0..1_100).map(|_| ask("Count.").parent(parent.clone()));
    let ids = soon(homing.launch_all(many.collect::<Vec<Launch>>())).await;
    for id in ids {
        settled(&homing, id.unwrap()).await;
    }
    soon(homing.stop()).await;
    stage.limits.retention_ms = 0;
    let homing = stage.start();
    let all = || TaskQuery { limit: 1, ..TaskQuery::default() };
    let gone = async {
        while !homing.list(all()).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    soon(gone).await;
    soon(homing.stop()).await;
}
