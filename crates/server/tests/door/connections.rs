//! One connection for requests that follow each other, and another one when the daemon is another.

use std::sync::atomic::Ordering;

use homing_client::Client;
use homing_ports::door::Calling;

use crate::scene::{Scene, ask, problem, soon};

#[tokio::test]
async fn requests_that_follow_each_other_share_a_connection_and_who_calls_is_found_out_once() {
    let scene = Scene::new();
    let open = scene.open();
    let client = Client::new(scene.socket());
    for _ in 0..20 {
        soon(client.status()).await.unwrap();
        assert_eq!(problem(soon(client.show("nobody")).await).status, 404);
    }
    assert_eq!(scene.around.asked.load(Ordering::Relaxed), 1);
    // Whoever has the number of that process later is another.
    *scene.around.calling.lock().unwrap() = Calling::Unknown;
    soon(client.launch(&ask("Count."))).await.unwrap();
    let other = Client::new(scene.socket());
    assert_eq!(problem(soon(other.status()).await).code, "E_CALLER_UNKNOWN");
    // One of whom nobody could tell is asked about again.
    *scene.around.calling.lock().unwrap() = Calling::Outside;
    soon(other.status()).await.unwrap();
    open.close().await;
}

#[tokio::test]
async fn a_client_goes_on_with_the_next_daemon() {
    let scene = Scene::new();
    let client = Client::new(scene.socket());
    for _ in 0..3 {
        let open = scene.open();
        let id = soon(client.launch(&ask("Count."))).await.unwrap().id;
        soon(client.show(&id.to_string())).await.unwrap();
        open.close().await;
    }
}

#[tokio::test]
async fn requests_at_the_same_time_have_a_connection_each() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("@gate on\n@say done\n@end").await.to_string();
    scene.host.reached(id.parse().unwrap(), "on").await;
    let waiting = tokio::spawn({
        let (client, id) = (open.client.clone(), id.clone());
        async move { client.wait(&id, crate::scene::LONG).await }
    });
    // Answered while the other one waits.
    soon(open.client.show(&id)).await.unwrap();
    scene.host.release(id.parse().unwrap(), "on");
    assert!(soon(waiting).await.unwrap().unwrap());
    open.close().await;
}
