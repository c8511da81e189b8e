//! Cancel, resume, retry, send, stop.

use homing_core::wire::{Cancel, Resume};
use homing_core::words::State;
use homing_ports::door::Calling;

use crate::scene::{Scene, ask, problem, soon};

fn words(prompt: &str) -> Resume {
    Resume { prompt: prompt.to_owned(), parent: None }
}

#[tokio::test]
async fn c3_a_cancel_names_what_is_cancelled_with_it_and_c6_says_what_had_ended() {
    let scene = Scene::new();
    let mut open = scene.open();
    let above = open.launch("@gate on").await;
    scene.host.reached(above, "on").await;
    scene.call_from(&mut open, Calling::Inside(above));
    let child = soon(open.client.launch(&ask("@gate on"))).await.unwrap().id;
    scene.call_from(&mut open, Calling::Outside);
    scene.host.reached(child, "on").await;
    let body = Cancel { reason: Some("enough".to_owned()), quiet: false };
    let told = soon(open.client.cancel(&above.to_string(), &body)).await.unwrap();
    assert_eq!((told.already_ended, told.below), (false, vec![child]));
    for id in [above, child] {
        assert_eq!(open.end(id).await.state, State::Cancelled);
    }
    let told = soon(open.client.cancel(&above.to_string(), &body)).await.unwrap();
    assert_eq!((told.already_ended, told.state), (true, State::Cancelled));
    let task = soon(open.client.show(&above.to_string())).await.unwrap();
    assert!(task.reason.unwrap().contains("enough"));
    open.close().await;
}

#[tokio::test]
async fn a_cancel_that_is_quiet_owes_nothing() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("@gate on").await;
    let body = Cancel { reason: None, quiet: true };
    soon(open.client.cancel(&id.to_string(), &body)).await.unwrap();
    assert_eq!(open.end(id).await.state, State::Cancelled);
    let inbox = soon(open.client.inbox(&"inbox:cli".parse().unwrap())).await.unwrap();
    assert_eq!(inbox.notices, []);
    open.close().await;
}

#[tokio::test]
async fn an_ended_task_is_resumed_and_retried_and_a_living_one_refuses() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("Count.").await;
    let name = id.to_string();
    open.end(id).await;
    let told = soon(open.client.resume(&name, &words("Count more."))).await.unwrap();
    assert_eq!((told.id, told.generation), (id, 2));
    let task = open.end(id).await;
    assert_eq!(task.result.unwrap().text.as_deref(), Some("done: Count more."));
    assert_eq!(soon(open.client.retry(&name)).await.unwrap().generation, 3);
    open.end(id).await;
    let moved = Resume { parent: Some("inbox:other".to_owned()), ..words("@gate on") };
    soon(open.client.resume(&name, &moved)).await.unwrap();
    let task = soon(open.client.show(&name)).await.unwrap();
    assert_eq!(task.parent.to_string(), "inbox:other");
    let refused = problem(soon(open.client.retry(&name)).await);
    assert_eq!((refused.status, refused.code.as_str()), (409, "E_NOT_ENDED"));
    let refused = problem(soon(open.client.resume(&name, &words(" "))).await);
    assert_eq!((refused.status, refused.detail.starts_with("prompt: ")), (400, true));
    open.close().await;
}

#[tokio::test]
async fn words_reach_a_living_task_and_not_an_ended_one() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("@gate on\n@say done\n@end").await;
    let name = id.to_string();
    scene.host.reached(id, "on").await;
    soon(open.client.say(&name, "And this.", false)).await.unwrap();
    scene.host.release(id, "on");
    soon(scene.host.prompted(id, 2)).await;
    assert_eq!(open.end(id).await.result.unwrap().text.as_deref(), Some("done: And this."));
    let refused = problem(soon(open.client.say(&name, "Too late.", false)).await);
    assert_eq!((refused.status, refused.code.as_str()), (409, "E_ENDED"));
    let refused = problem(soon(open.client.say(&name, "", false)).await);
    assert_eq!(refused.detail, "text: it is empty");
    open.close().await;
}

#[tokio::test]
async fn a_stop_lets_go_of_whoever_waits_and_leaves_tasks_living() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("@gate on").await;
    scene.host.reached(id, "on").await;
    let client = open.client.clone();
    let waiting = tokio::spawn(async move {
        client.output(&id.to_string(), Some(std::time::Duration::from_secs(600))).await
    });
    let mut events = soon(open.client.events(None)).await.unwrap();
    soon(events.next()).await.unwrap();
    soon(open.client.stop(false)).await.unwrap();
    soon(open.homing.stop()).await;
    let refused = problem(soon(waiting).await.unwrap());
    assert_eq!((refused.status, refused.code.as_str()), (503, "E_UNAVAILABLE"));
    let mut last = None;
    while let Some(event) = soon(events.next()).await.unwrap() {
        last = Some(event.kind);
    }
    assert_eq!(last.as_deref(), Some("stopped"));
    soon(open.serving).await.unwrap().unwrap();
    let open = scene.open();
    assert!(!soon(open.client.show(&id.to_string())).await.unwrap().state.is_terminal());
    let told = soon(open.client.stop(true)).await.unwrap();
    assert_eq!((told.cancelled, told.left), (1, Vec::new()));
    open.close().await;
}
