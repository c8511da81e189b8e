//! Consumers that wait for debriefs: what comes finds them, and nothing is lost with one that goes.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use homing_runtime::{Homing, Receipt, Task, TaskId};

use crate::faulty::Fault;
use crate::stage::{Disk, LONG, Stage, ask, end, inbox, launch, settled, soon, until};

/// Looks once at something that cannot be there yet.
async fn is_waiting<T>(coming: &mut Pin<Box<impl Future<Output = T>>>) -> bool {
    poll_fn(|context| Poll::Ready(coming.as_mut().poll(context).is_pending())).await
}

/// Waits until the debrief of a task is sealed, and whoever waited for it was answered.
async fn is_answered(homing: &Homing, id: TaskId) {
    let sealed = |task: &Task| task.notices.iter().any(|notice| notice.debrief.is_some());
    until(homing, id, sealed).await.unwrap();
    // What is asked after the commit is answered after all that it released.
    soon(homing.show(id)).await.unwrap();
}

#[tokio::test]
async fn n12_a_consumer_that_waits_gets_what_comes_although_the_store_failed_meanwhile() {
    for fault in [Fault::Failed, Fault::UnknownApplied, Fault::UnknownNotApplied] {
        for kind in ["accepted", "sealed"] {
            let stage = Stage::on(Disk::sqlite());
            let homing = stage.start();
            let bot = inbox("bot");
            let mut coming = Box::pin(homing.next("bot", &bot, LONG));
            assert!(is_waiting(&mut coming).await);
            stage.plan.on(kind, fault);
            let work = ask("@say done\n@end").parent(inbox("bot")).key("one");
            while homing.launch(work.clone()).await.is_err() {}
            let debrief = soon(coming).await.unwrap().unwrap();
            assert_eq!(stage.plan.met(), 1, "{fault:?} at {kind}");
            soon(homing.ack(Receipt::Debrief(debrief.key))).await.unwrap();
            settled(&homing, debrief.notices[0].0).await;
            soon(homing.stop()).await;
        }
    }
}

#[tokio::test]
async fn n12_what_was_given_to_one_who_is_gone_is_anothers_at_once() {
    let stage = Stage::new();
    let homing = stage.start();
    let bot = inbox("bot");
    let mut gone = Box::pin(homing.next("bot", &bot, LONG));
    assert!(is_waiting(&mut gone).await);
    let id = launch(&homing, ask("@say done\n@end").parent(inbox("bot"))).await;
    end(&homing, id).await;
    is_answered(&homing, id).await;
    // It was answered, and goes without having looked.
    drop(gone);
    let debrief = soon(homing.next("bot", &bot, LONG)).await.unwrap().unwrap();
    assert_eq!(debrief.notices, [(id, 1)]);
    soon(homing.stop()).await;
}

#[tokio::test]
async fn n12_one_who_went_before_anything_came_is_not_waited_for() {
    let stage = Stage::new();
    let homing = stage.start();
    let bot = inbox("bot");
    let mut gone = Box::pin(homing.next("bot", &bot, LONG));
    assert!(is_waiting(&mut gone).await);
    let mut stays = Box::pin(homing.next("bot", &bot, LONG));
    assert!(is_waiting(&mut stays).await);
    drop(gone);
    let id = launch(&homing, ask("@say done\n@end").parent(inbox("bot"))).await;
    let debrief = soon(stays).await.unwrap().unwrap();
    assert_eq!(debrief.notices, [(id, 1)]);
    soon(homing.stop()).await;
}

#[tokio::test]
async fn n12_a_lease_that_is_let_go_of_is_given_to_the_next() {
    let stage = Stage::new();
    let homing = stage.start();
    let bot = inbox("bot");
    launch(&homing, ask("@say done\n@end").parent(inbox("bot"))).await;
    let first = soon(homing.next("bot", &bot, LONG)).await.unwrap().unwrap();
    let mut second = Box::pin(homing.next("bot", &bot, LONG));
    assert!(is_waiting(&mut second).await);
    soon(homing.let_go(first.lease)).await.unwrap();
    assert_eq!(soon(second).await.unwrap().unwrap().key, first.key);
    soon(homing.stop()).await;
}
