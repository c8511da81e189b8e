//! What is refused at the door itself: other users, odd paths, odd bodies. Always a problem, never a panic.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::json;

use crate::scene::{Scene, problem, soon};

#[tokio::test]
async fn r7_another_user_is_refused() {
    let mut scene = Scene::new();
    scene.uid += 1;
    let open = scene.open();
    let refused = problem(soon(open.client.status()).await);
    assert_eq!((refused.status, refused.code.as_str()), (403, "E_OTHER_USER"));
    open.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_odd_paths_methods_and_bodies_are_problems_with_what_to_try() {
    let scene = Scene::new();
    let open = scene.open();
    for (path, status) in [
        ("/", 404),
        ("/v2/tasks", 404),
        ("/v1/tasks/", 404),
        ("/v1/tasks/%ff", 400),
        ("/v1/tasks?limit=x", 400),
        ("/v1/tasks?limit=100000", 400),
        ("/v1/tasks?state=runing", 400),
        ("/v1/tasks?cursor=x", 400),
        ("/v1/tasks?living=perhaps", 400),
        ("/v1/tasks?a=%zz", 400),
        ("/v1/tasks?name=a&name=b", 400),
        ("/v1/stop", 405),
        ("/v1/tasks/../../etc/passwd", 404),
    ] {
        let refused = problem(soon(open.client.get(path)).await);
        assert_eq!(refused.status, status, "{path}: {refused:?}");
        assert!(refused.code.starts_with("E_") && !refused.detail.is_empty(), "{refused:?}");
    }
    for (body, says, hint) in [
        (json!({"promt": "x"}), "there is no field \"promt\"", "did you mean \"prompt\"?"),
        (json!({"wholly_other": 1}), "there is no field \"wholly_other\"", "known: host, agent"),
        (json!({"prompt": 5}), "a field is not what it should be", ""),
        (json!({"priority": 1e99}), "a field is not what it should be", ""),
        (json!({"budget": {"cals": 1}}), "unknown field `cals`", ""),
        (json!([1]), "not a JSON object", ""),
        (json!("x"), "not a JSON object", ""),
    ] {
        let refused = problem(soon(open.client.post("/v1/tasks", &body)).await);
        assert_eq!((refused.status, refused.code.as_str()), (400, "E_INVALID"));
        assert!(refused.detail.contains(says), "{refused:?}");
        assert!(refused.hint.unwrap_or_default().contains(hint), "{hint}");
    }
    let deep = "[".repeat(100_000);
    let large = format!("{{\"prompt\": \"{}\"}}", "x".repeat(9 << 20));
    for (body, status) in [("{", 400), (deep.as_str(), 400), ("\u{0}", 400), (&large, 413)] {
        let answer = raw(&scene, body);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{}", &answer[..100]);
        assert!(answer.contains("application/problem+json"), "{answer}");
    }
    assert_eq!(*open.homing.head().borrow(), 0);
    soon(open.client.ready()).await.unwrap();
    open.close().await;
}

/// Sends bytes as the body of a launch, and reads until the answer's end.
fn raw(scene: &Scene, body: &str) -> String {
    let (path, body) = (scene.socket(), body.to_owned());
    let talk = move || {
        let mut stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!(
            "POST /v1/tasks HTTP/1.1\r\nhost: homing\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        // One that is refused before its end is not read to its end.
        drop(stream.write_all(body.as_bytes()));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8_lossy(&answer).into_owned()
    };
    let talking = std::thread::spawn(talk);
    tokio::task::block_in_place(|| talking.join().unwrap())
}
