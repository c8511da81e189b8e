//! Lists, one task, its output, why, its logs, its parent's view.

use std::time::Duration;

use homing_core::wire::{Launch, ListQuery};
use homing_core::words::State;

use crate::scene::{LONG, Scene, ask, problem, soon};
use crate::tcp::{bearer, listen};

#[tokio::test]
async fn what_a_host_still_has_is_given_in_pieces() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("Count.").await;
    open.end(id).await;
    let all = soon(open.client.logs(&id.to_string())).await.unwrap();
    let piece = soon(open.client.piece(&id.to_string(), 1)).await.unwrap();
    assert_eq!((piece.first, &*piece.bytes), (1, &all[1..]));
    assert_eq!(piece.written, Some(all.len() as u64));
    let end = soon(open.client.piece(&id.to_string(), all.len() as u64)).await.unwrap();
    assert!(end.bytes.is_empty());
    let path = |from: &str| format!("/v1/tasks/{id}/output?from={from}");
    let refused = problem(soon(open.client.get(&path("x"))).await);
    assert_eq!(refused.status, 400, "{refused:?}");
    // A piece has one form: whoever takes any is given it.
    assert_eq!(soon(open.client.get(&path("1"))).await.unwrap(), &all[1..]);
    let tcp = listen(&scene, &open).await;
    for (accept, status) in
        [("*/*", 200), ("text/html, application/*;q=0.8", 200), ("application/json", 400)]
    {
        let headers = ["Host: localhost", &bearer(), &format!("Accept: {accept}")];
        let answer = tcp.get(&path("0"), &headers).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{accept}: {answer}");
    }
    tcp.close(open).await;
}

#[tokio::test]
async fn tasks_are_listed_page_by_page_and_by_what_is_asked() {
    let scene = Scene::new();
    let open = scene.open();
    let mut ids = Vec::new();
    for n in 0..5 {
        let parent = Some(format!("inbox:p{}", n % 2));
        let launch = Launch { name: Some(format!("n{n}")), parent, ..ask("Count.") };
        ids.push(soon(open.client.launch(&launch)).await.unwrap().id);
        open.end(ids[n]).await;
    }
    let living = open.launch("@gate on").await;
    scene.host.reached(living, "on").await;
    let mut found = Vec::new();
    let mut asked = ListQuery { limit: Some("2".to_owned()), ..ListQuery::default() };
    loop {
        let page = soon(open.client.list(&asked)).await.unwrap();
        found.extend(page.tasks.iter().map(|task| task.id));
        match page.next {
            Some(next) => asked.cursor = Some(next),
            None => break,
        }
    }
    let newest_first: Vec<_> = ids.iter().copied().chain([living]).rev().collect();
    assert_eq!(found, newest_first);
    for (asked, count) in [
        (ListQuery { state: Some("completed".to_owned()), ..ListQuery::default() }, 5),
        (ListQuery { living: Some("true".to_owned()), ..ListQuery::default() }, 1),
        (ListQuery { living: Some("false".to_owned()), ..ListQuery::default() }, 5),
        (ListQuery { parent: Some("inbox:p0".to_owned()), ..ListQuery::default() }, 3),
        (ListQuery { name: Some("n3".to_owned()), ..ListQuery::default() }, 1),
        (ListQuery { session: Some("scripted:none".to_owned()), ..ListQuery::default() }, 0),
    ] {
        let page = soon(open.client.list(&asked)).await.unwrap();
        assert_eq!((page.tasks.len(), page.next), (count, None), "{asked:?}");
    }
    let owned = soon(open.client.owned(&"inbox:p1".parse().unwrap())).await.unwrap();
    assert_eq!(owned.tasks.len(), 2);
    open.close().await;
}

#[tokio::test]
async fn n17_what_names_no_task_is_told_what_it_is() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("Count.").await;
    let task = open.end(id).await;
    let session = task.session.unwrap().id.to_string();
    for (text, says) in [
        ("bg_000000000000", "never accepted here"),
        ("nobody", "no name of a task"),
        (session.as_str(), "is a session, not a task"),
        ("db_000000000000", "names a debrief"),
        ("../../etc", "no name of a task"),
    ] {
        let refused = problem(soon(open.client.show(text)).await);
        assert_eq!((refused.status, refused.code.as_str()), (404, "E_NOT_FOUND"), "{refused:?}");
        assert!(refused.detail.contains(says), "{refused:?}");
    }
    assert_eq!(soon(open.client.show(&id.to_string()[..10])).await.unwrap().id, id);
    open.close().await;
}

#[tokio::test]
async fn n18_a_wait_is_bounded_echoed_with_its_unit_and_truthful() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("@say partly\n@gate on\n@say wholly\n@end").await;
    scene.host.reached(id, "on").await;
    let name = id.to_string();
    let begun = std::time::Instant::now();
    let output = soon(open.client.output(&name, Some(Duration::from_millis(300)))).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(300));
    let wait = output.wait.unwrap();
    assert_eq!((wait.asked.as_str(), wait.asked_ms, wait.ended), ("300ms", 300, false));
    assert_eq!((output.task.state, output.task.result), (State::Running, None));
    assert!(output.task.evidence.iter().any(|each| each.starts_with("missing: ")));
    scene.host.release(id, "on");
    let begun = std::time::Instant::now();
    let output = soon(open.client.output(&name, Some(LONG * 2))).await.unwrap();
    assert!(output.wait.unwrap().ended && begun.elapsed() < LONG);
    assert_eq!(output.task.result.unwrap().text.as_deref(), Some("partlywholly"));
    assert_eq!(output.ack, Some(format!("{id}/1")));
    assert_eq!(soon(open.client.output_bytes(&name)).await.unwrap(), b"partlywholly");
    for (wait, says) in
        [("30", "wait: it has no unit"), ("2h", "wait: at most 1h"), ("x", "wait: write a number")]
    {
        let path = format!("/v1/tasks/{id}/output?wait={wait}");
        let refused = problem(soon(open.client.get(&path)).await);
        assert!(refused.detail.contains(says), "{refused:?}");
    }
    open.close().await;
}

#[tokio::test]
async fn why_tells_the_chain_what_is_missing_and_what_is_due() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("@gate on\n@say done\n@end").await;
    scene.host.reached(id, "on").await;
    open.until(id, State::Running).await;
    let why = soon(open.client.why(&id.to_string())).await.unwrap();
    assert_eq!(why.chain[0].words, "accepted for inbox:cli, to run on scripted");
    assert!(why.chain.windows(2).all(|pair| pair[0].seq < pair[1].seq));
    assert_eq!(why.missing.as_deref(), Some("the host's record of the turn's end"));
    assert!(why.next.at.is_some() && why.next.timer.is_some(), "{:?}", why.next);
    scene.host.release(id, "on");
    open.end(id).await;
    let why = soon(open.client.why(&id.to_string())).await.unwrap();
    assert_eq!(why.next.timer, None);
    let missing = why.missing.unwrap();
    assert!(missing.starts_with("the receipt of inbox:cli: its notice is"), "{missing}");
    open.close().await;
}

#[tokio::test]
async fn logs_are_the_transcript_as_the_host_has_it() {
    let scene = Scene::new();
    let open = scene.open();
    let id = open.launch("@say half\n@gate on").await;
    scene.host.reached(id, "on").await;
    assert_eq!(soon(open.client.logs(&id.to_string())).await.unwrap(), b"half");
    scene.host.release(id, "on");
    open.close().await;
}

#[tokio::test]
async fn health_readiness_and_status_are_told() {
    let scene = Scene::new();
    let open = scene.open();
    assert_eq!(soon(open.client.get("/healthz")).await.unwrap(), b"ok\n");
    soon(open.client.ready()).await.unwrap();
    let status = soon(open.client.status()).await.unwrap();
    assert_eq!((status.pid, status.version.as_str()), (std::process::id(), "1.2.3"));
    assert_eq!((status.hosts, status.head), (vec!["scripted".to_owned()], 0));
    assert_eq!(status.socket, scene.socket().display().to_string());
    open.close().await;
}
