//! The door of plugins: what they may say, and who may say it. Real ones are in the tests of the command line's crate.

use homing_ports::door::Calling;
use serde_json::json;

use crate::scene::{Scene, problem, soon};
use crate::tcp::{bearer, listen};

#[tokio::test]
async fn r7_what_no_plugin_says_is_a_problem() {
    let scene = Scene::new();
    let open = scene.open();
    let called = json!({"session": "s", "message": "m", "call": "c"});
    for (path, body, status) in [
        ("/v1/arms", json!({}), 400),
        ("/v1/arms", json!([]), 400),
        ("/v1/arms", json!({"data": "/x"}), 400),
        ("/v1/arms/arm_0/words", json!({"what": "sung", "session": "s"}), 400),
        ("/v1/arms/arm_0/words", json!({"what": "ended", "session": "s"}), 404),
        ("/v1/arms/arm_0/words", json!({"what": "deleted", "session": "s"}), 404),
        ("/v1/arms/arm_0/words", json!({"what": "works", "directory": "/x"}), 404),
        ("/v1/arms/arm_0/answers/1/200", json!({}), 404),
        ("/v1/arms/arm_0/answers/x/200", json!({}), 400),
        ("/v1/arms/arm_0/env", json!({"session": "s"}), 503),
        ("/v1/arms/arm_0/env", json!({}), 400),
        ("/v1/arms/arm_0/tools/background_list", called.clone(), 503),
        ("/v1/arms/arm_0/tools/background_list", json!({"session": 1}), 400),
    ] {
        let refused = problem(soon(open.client.post(path, &body)).await);
        assert_eq!(refused.status, status, "{path} {body}: {refused:?}");
        assert!(refused.code.starts_with("E_"), "{refused:?}");
    }
    open.close().await;
}

#[tokio::test]
async fn l17_a_program_of_many_tasks_says_for_which_session_it_calls_or_nothing() {
    let scene = Scene::new();
    let mut open = scene.open();
    scene.call_from(&mut open, Calling::Serving);
    assert_eq!(problem(soon(open.client.status()).await).code, "E_CALLER_UNKNOWN");
    let word = json!({"what": "ended", "session": "s"});
    let heard = problem(soon(open.client.post("/v1/arms/arm_0/words", &word)).await);
    assert_eq!(heard.status, 404, "it is heard: {heard:?}");
    scene.call_from(&mut open, Calling::Unknown);
    let refused = problem(soon(open.client.post("/v1/arms/arm_0/words", &word)).await);
    assert_eq!(refused.code, "E_CALLER_UNKNOWN");
    *scene.around.calling.lock().unwrap() = Calling::Outside;
    // Only the process itself can be an arm: nobody comes with one over TCP.
    let tcp = listen(&scene, &open).await;
    let said = tcp.get("/v1/arms", &["Host: localhost", &bearer()]).await;
    assert!(said.contains("404"), "{said}");
    tcp.close(open).await;
}
