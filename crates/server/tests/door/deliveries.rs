//! What is owed: read, drained, acknowledged.

use homing_core::wire::{Delivered, Launch};

use crate::scene::{Scene, ask, next, problem, soon};

fn to(parent: &str, prompt: &str) -> Launch {
    Launch { parent: Some(parent.to_owned()), ..ask(prompt) }
}

#[tokio::test]
async fn a_consumer_drains_its_inbox_and_its_keys_until_each_is_acknowledged() {
    let scene = Scene::new();
    let open = scene.open();
    let mut stream = soon(open.client.deliveries("bot")).await.unwrap();
    let mut ids = Vec::new();
    for parent in ["inbox:bot", "inbox:bot/room-7", "inbox:other"] {
        let id = soon(open.client.launch(&to(parent, "Count."))).await.unwrap().id;
        open.end(id).await;
        ids.push(id);
    }
    let mut keys = Vec::new();
    for (id, parent) in [(ids[0], "inbox:bot"), (ids[1], "inbox:bot/room-7")] {
        let event = next(&mut stream).await;
        let told: Delivered = event.json().unwrap();
        assert_eq!((event.kind.as_str(), event.id), ("debrief", Some(told.key.to_string())));
        assert_eq!(told.notices, [(id, 1)]);
        assert_eq!(told.parent.unwrap().to_string(), parent);
        assert!(told.text.contains("done: Count."), "{}", told.text);
        keys.push(told.key.to_string());
    }
    let bot = "inbox:bot".parse().unwrap();
    let owed = soon(open.client.inbox(&bot)).await.unwrap();
    assert_eq!(owed.notices.len(), 2, "seen is not settled");
    assert!(soon(open.client.ack(&keys[0])).await.unwrap().known);
    assert!(!soon(open.client.ack(&keys[0])).await.unwrap().known, "harmless");
    let owed = soon(open.client.inbox(&bot)).await.unwrap();
    assert_eq!((owed.notices.len(), owed.notices[0].task), (1, ids[1]));
    assert!(soon(open.client.ack(&owed.notices[0].key)).await.unwrap().known);
    assert_eq!(soon(open.client.inbox(&bot)).await.unwrap().notices, []);
    let path = format!("/v1/deliveries/{}/1/ack", ids[2]);
    let told = soon(open.client.post(&path, &serde_json::json!({}))).await.unwrap();
    assert_eq!(told["known"], true);
    open.close().await;
}

#[tokio::test]
async fn n9_what_was_taken_and_not_acknowledged_comes_again_under_its_key() {
    let mut scene = Scene::new();
    scene.limits.lease_ms = 50;
    let open = scene.open();
    let id = soon(open.client.launch(&to("inbox:bot", "Count."))).await.unwrap().id;
    open.end(id).await;
    let mut first = soon(open.client.deliveries("bot")).await.unwrap();
    let key = next(&mut first).await.id;
    drop(first);
    let mut second = soon(open.client.deliveries("bot")).await.unwrap();
    assert_eq!(next(&mut second).await.id, key);
    open.close().await;
    // Neither is it lost with the daemon.
    let open = scene.open();
    let mut third = soon(open.client.deliveries("bot")).await.unwrap();
    assert_eq!(next(&mut third).await.id, key);
    open.close().await;
}

#[tokio::test]
async fn n2_what_a_consumer_that_went_away_had_is_offered_again_before_its_lease_is_over() {
    let mut scene = Scene::new();
    scene.limits.lease_ms = 3_600_000;
    let open = scene.open();
    for prompt in ["One.", "Two."] {
        let id = soon(open.client.launch(&to("inbox:bot", prompt))).await.unwrap().id;
        open.end(id).await;
    }
    let mut first = soon(open.client.deliveries("bot")).await.unwrap();
    let kept = next(&mut first).await.id.unwrap();
    assert!(soon(open.client.ack(&kept)).await.unwrap().known);
    let lost = next(&mut first).await.id.unwrap();
    let mut second = soon(open.client.deliveries("bot")).await.unwrap();
    drop(first);
    assert_eq!(next(&mut second).await.id, Some(lost.clone()));
    assert!(soon(open.client.ack(&lost)).await.unwrap().known);
    assert!(!soon(open.client.ack(&kept)).await.unwrap().known, "it was settled, and stayed so");
    open.close().await;
}

#[tokio::test]
async fn what_is_no_consumer_or_no_key_is_refused() {
    let scene = Scene::new();
    let open = scene.open();
    for (path, says) in [
        ("/v1/deliveries", "consumer: say whose inbox"),
        ("/v1/deliveries?consumer=", "1 to 128"),
        ("/v1/deliveries?consumer=a%20b", "1 to 128"),
        ("/v1/deliveries?consumr=a", "there is no parameter \"consumr\""),
        ("/v1/parents/nobody/inbox", "is not a parent"),
        ("/v1/parents/emacs:1/owned", "is not a host"),
    ] {
        let refused = problem(soon(open.client.get(path)).await);
        assert_eq!(refused.status, 400);
        assert!(refused.detail.contains(says), "{refused:?}");
    }
    for (key, says) in [
        ("x", "is not a debrief id"),
        ("bg_000000000000", "names a task"),
        ("bg_000000000000/x", "a generation is a number"),
    ] {
        let refused = problem(soon(open.client.ack(key)).await);
        assert!(refused.detail.contains(says), "{refused:?}");
    }
    for unknown in ["db_000000000000", "bg_000000000000/1"] {
        assert!(!soon(open.client.ack(unknown)).await.unwrap().known, "{unknown}");
    }
    open.close().await;
}
