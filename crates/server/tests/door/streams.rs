//! Events and telemetry: without gaps, from a cursor, at any speed.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use homing_core::telemetry::Completion;
use homing_core::wire::{Launch, Resume};
use serde_json::Value;

use crate::scene::{Scene, ask, next, problem, soon};

#[tokio::test]
async fn u7_a_stream_goes_on_from_its_cursor_and_nothing_is_lost_or_repeated() {
    let scene = Scene::new();
    let open = scene.open();
    let mut stream = soon(open.client.events(None)).await.unwrap();
    let first = open.launch("Count.").await;
    open.end(first).await;
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push(next(&mut stream).await);
    }
    drop(stream);
    let second = open.launch("Count more.").await;
    open.end(second).await;
    let last = seen[2].id.clone();
    let mut stream = soon(open.client.follow("/v1/events", last.as_deref())).await.unwrap();
    let head = *open.homing.head().borrow();
    while seen.last().unwrap().id != Some(head.to_string()) {
        seen.push(next(&mut stream).await);
    }
    let numbers: Vec<u64> = seen.iter().map(|e| e.id.as_ref().unwrap().parse().unwrap()).collect();
    assert_eq!(numbers, (1..=head).collect::<Vec<_>>());
    let line: Value = seen[0].json().unwrap();
    assert_eq!(
        (&line["kind"], line["task"].as_str()),
        (&"accepted".into(), Some(&*first.to_string()))
    );
    let text = soon(open.client.journal(Some(2))).await.unwrap();
    let lines = String::from_utf8(text).unwrap();
    assert!(lines.lines().count() as u64 >= head - 2, "the journal may have grown meanwhile");
    let mut own = soon(open.client.events_of(&second.to_string(), Some(1))).await.unwrap();
    assert_eq!(next(&mut own).await.id.as_deref(), Some("2"));
    for (path, status) in [
        (format!("/v1/events?after={}", head + 1_000), 400),
        ("/v1/events?after=x".to_owned(), 400),
        ("/v1/events?folow=false".to_owned(), 400),
        ("/v1/events?follow=maybe".to_owned(), 400),
        ("/v1/tasks/nobody/events".to_owned(), 404),
    ] {
        assert_eq!(problem(soon(open.client.get(&path)).await).status, status, "{path}");
    }
    open.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everybody_who_follows_sees_every_line_once_whenever_they_came() {
    let scene = Scene::new();
    let open = scene.open();
    let mut all = Vec::new();
    for n in 0..30 {
        // One from the beginning, one from where the journal is: before and while lines are written.
        let head = *open.homing.head().borrow();
        for after in [None, Some(head)] {
            all.push((after.unwrap_or(0), soon(open.client.events(after)).await.unwrap()));
        }
        let id = open.launch("Count.").await;
        if n % 3 == 0 {
            open.end(id).await;
        }
    }
    let one = open.launch("@gate on\n@say done\n@end").await;
    scene.host.reached(one, "on").await;
    let mut own = soon(open.client.events_of(&one.to_string(), None)).await.unwrap();
    assert_eq!(next(&mut own).await.id.as_deref(), Some("1"));
    let last = open.launch("Count at last.").await;
    open.end(last).await;
    scene.host.release(one, "on");
    let ended = open.end(one).await;
    let head = *open.homing.head().borrow();
    let lines = soon(open.client.get(&format!("/v1/tasks/{one}/events?follow=false"))).await;
    let lines = String::from_utf8(lines.unwrap()).unwrap().lines().count();
    for expected in 2..=lines {
        assert_eq!(next(&mut own).await.id, Some(expected.to_string()), "{ended:?}");
    }
    for (after, stream) in &mut all {
        for expected in *after + 1..=head {
            assert_eq!(next(stream).await.id, Some(expected.to_string()));
        }
    }
    open.close().await;
}

#[tokio::test]
async fn a_cursor_below_what_is_kept_is_gone() {
    let mut scene = Scene::new();
    scene.limits.retention_ms = u64::MAX;
    let open = scene.open();
    let none = Launch { parent: Some("none".to_owned()), ..ask("Count.") };
    let id = soon(open.client.launch(&none)).await.unwrap().id;
    open.end(id).await;
    open.close().await;
    scene.limits.retention_ms = 0;
    let open = scene.open();
    let gone = async {
        while open.client.show(&id.to_string()).await.is_ok() {
            tokio::task::yield_now().await;
        }
    };
    soon(gone).await;
    let refused = problem(soon(open.client.events(Some(1))).await);
    assert_eq!((refused.status, refused.code.as_str()), (410, "E_BELOW_FLOOR"));
    assert!(refused.hint.unwrap().starts_with("after="));
    // Without a cursor it begins where it is whole.
    let mut stream = soon(open.client.events(None)).await.unwrap();
    let kept = open.launch("@gate on").await;
    let line: Value = next(&mut stream).await.json().unwrap();
    assert_eq!(line["task"].as_str(), Some(&*kept.to_string()));
    open.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_does_not_read_is_let_go_of_and_delays_nobody() {
    let mut scene = Scene::new();
    scene.slow = Duration::from_millis(100);
    let open = scene.open();
    let mut slow = UnixStream::connect(scene.socket()).unwrap();
    slow.write_all(b"GET /v1/events HTTP/1.1\r\nhost: homing\r\n\r\n").unwrap();
    // More than the socket and the stream hold; each is decided while that one does not read.
    let name = Some("n".repeat(20_000));
    for _ in 0..60 {
        let launch = Launch { name: name.clone(), ..ask("Count.") };
        let id = soon(open.client.launch(&launch)).await.unwrap().id;
        open.end(id).await;
    }
    let reading = tokio::task::spawn_blocking(move || {
        slow.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut text = Vec::new();
        let mut part = [0; 65_536];
        while !text.ends_with(b"\r\n0\r\n\r\n") {
            let count = slow.read(&mut part).unwrap();
            assert!(count > 0, "it ends in order");
            text.extend_from_slice(&part[..count]);
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    let text = soon(reading).await.unwrap();
    let dropped = text.find("event: dropped").expect("it is told that it was let go of");
    let after = text[dropped..].split("\"after\":").nth(1).unwrap();
    let after: u64 = after.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
    let mut ids = text[..dropped].lines().rev().filter_map(|line| line.strip_prefix("id: "));
    let last: u64 = ids.next().unwrap().parse().unwrap();
    assert_eq!(last, after, "where to go on is where it was");
    let mut stream = soon(open.client.events(Some(after))).await.unwrap();
    assert_eq!(next(&mut stream).await.id, Some((after + 1).to_string()));
    open.close().await;
}

#[tokio::test]
async fn g4_telemetry_has_one_record_an_end_of_all_or_of_one_task() {
    let scene = Scene::new();
    let open = scene.open();
    let good = open.launch("Count.").await;
    open.end(good).await;
    let bad = open.launch("@fail other").await;
    open.end(bad).await;
    let again = Resume { prompt: "Count more.".to_owned(), parent: None };
    soon(open.client.resume(&good.to_string(), &again)).await.unwrap();
    open.end(good).await;
    let all = soon(open.client.telemetry(None, None)).await.unwrap();
    let told: Vec<_> =
        all.records.iter().map(|end| (end.task, end.generation, end.status.word())).collect();
    let expected = [(good, 1, "completed"), (bad, 1, "failed"), (good, 2, "completed")];
    assert_eq!(told, expected);
    assert_eq!(soon(open.client.telemetry(None, Some(all.next))).await.unwrap().records, []);
    let own = soon(open.client.telemetry(Some(&good.to_string()), None)).await.unwrap();
    assert_eq!(own.records, [all.records[0].clone(), all.records[2].clone()]);
    let mut stream = soon(open.client.telemetry_stream(None, None)).await.unwrap();
    let first = next(&mut stream).await;
    assert_eq!(first.kind, "task_completion_telemetry");
    assert_eq!(first.json::<Completion>().unwrap(), all.records[0]);
    drop(stream);
    let path = format!("/v1/telemetry?task={good}");
    let mut stream = soon(open.client.follow(&path, first.id.as_deref())).await.unwrap();
    assert_eq!(next(&mut stream).await.json::<Completion>().unwrap(), all.records[2]);
    let late = open.launch("Count at last.").await;
    open.end(late).await;
    let mut stream = soon(open.client.telemetry_stream(None, Some(all.next))).await.unwrap();
    assert_eq!(next(&mut stream).await.json::<Completion>().unwrap().task, late);
    for path in ["/v1/telemetry?task=nobody", "/v1/telemetry?limit=0", "/v1/telemetry?after=-1"] {
        assert!(matches!(problem(soon(open.client.get(path)).await).status, 400 | 404), "{path}");
    }
    open.close().await;
}
