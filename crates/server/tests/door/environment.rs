//! Values of variables: kept beside the store, for the task that was accepted, and for no other.

use std::collections::BTreeMap;

use homing_core::wire::Launch;

use crate::scene::{Scene, ask, problem, soon};

fn with_env(prompt: &str, value: &str) -> Launch {
    let env = BTreeMap::from([("TOKEN".to_owned(), value.to_owned())]);
    let caller_env = BTreeMap::from([("PATH".to_owned(), "/somewhere".to_owned())]);
    Launch { env, caller_env, key: Some("k".to_owned()), ..ask(prompt) }
}

#[tokio::test]
async fn values_are_kept_for_the_task_and_never_stored() {
    let scene = Scene::new();
    let open = scene.open();
    let id = soon(open.client.launch(&with_env("Count.", "wonderful-secret"))).await.unwrap().id;
    open.end(id).await;
    let kept = scene.around.kept.lock().unwrap().clone();
    assert_eq!(kept.keys().collect::<Vec<_>>(), [&id]);
    assert_eq!(kept[&id]["TOKEN"], "wonderful-secret");
    assert_eq!(kept[&id]["PATH"], "/somewhere");
    // The same key again keeps nothing more; a refusal neither.
    let again = soon(open.client.launch(&with_env("Count.", "another-secret"))).await.unwrap();
    assert_eq!(again.id, id);
    problem(soon(open.client.launch(&with_env("Other.", "another-secret"))).await);
    assert_eq!(*scene.around.kept.lock().unwrap(), kept);
    open.close().await;
    for entry in std::fs::read_dir(scene.dir.path()).unwrap().flatten() {
        if let Ok(bytes) = std::fs::read(entry.path()) {
            let secret = b"secret";
            assert!(!bytes.windows(6).any(|part| part == secret), "{:?}", entry.path());
        }
    }
}
