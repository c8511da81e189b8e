//! Sessions that somebody else began on the same server, taken in.

use serde_json::json;

use super::scene::{Scene, waits};
use super::server::{Server, until};

/// Begins a session as a person would.
fn begun(scene: &Scene, prompt: &str) -> (Server, String) {
    // The server is started with the first child.
    assert_eq!(scene.result(&scene.launch("first", [], "@say hello")), "hello");
    let server = scene.server();
    let work = scene.place.work().display().to_string();
    let made = server.post(&format!("/session?directory={work}"), &json!({"title": "by hand"}));
    let session = made.unwrap()["id"].as_str().unwrap().to_owned();
    let prompt = json!({"parts": [{"type": "text", "text": prompt}]});
    server.post(&format!("/session/{session}/prompt_async?directory={work}"), &prompt);
    let shows = || (!server.messages(&session).is_empty()).then_some(());
    until("the prompt", shows);
    (server, session)
}

fn adopt<const N: usize>(scene: &Scene, session: &str, options: [&str; N]) -> serde_json::Value {
    let mut adopt = scene.home.command();
    let said = adopt.args(["adopt", "opencode", session, "--json"]).args(options).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).unwrap()
}

#[test]
fn a1_a2_a_session_is_one_task_and_goes_to_the_parent_that_took_it_last() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let (_, session) = begun(&scene, &waits(&gate, "@say by hand"));
    let first = adopt(&scene, &session, ["--name", "taken in"]);
    let again = adopt(&scene, &session, ["--parent", "inbox:other"]);
    assert_eq!((&again["id"], &again["existing"]), (&first["id"], &true.into()));
    let task = first["id"].as_str().unwrap();
    assert_eq!(scene.show(task)["parent"], "inbox:other");
    assert!(scene.show(task)["ended_at"].is_null());
    scene.open(&gate);
    assert_eq!(scene.result(task), "by hand");
    let owed = scene.home.json(["inbox", "inbox:other", "--json"]);
    assert!(owed.to_string().contains(task), "{owed}");
}

#[test]
fn a1_a_fork_and_a_session_without_words_are_taken_in_and_left_to_people() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let first = scene.launch("first", [], "@say hello");
    assert_eq!(scene.result(&first), "hello");
    let (server, work) = (scene.server(), scene.place.work().display().to_string());
    let made = |path: &str| {
        let made = server.post(&format!("{path}?directory={work}"), &json!({})).unwrap();
        made["id"].as_str().unwrap().to_owned()
    };
    let of = scene.show(&first)["session"]["id"].as_str().unwrap().to_owned();
    for session in [made(&format!("/session/{of}/fork")), made("/session")] {
        let forked = !server.messages(&session).is_empty();
        let speaks = || {
            let prompt = json!({"parts": [{"type": "text", "text": waits(&gate, "@say by hand")}]});
            server.post(&format!("/session/{session}/prompt_async?directory={work}"), &prompt);
        };
        if forked {
            speaks();
            until("the prompt", || (server.messages(&session).len() > 2).then_some(()));
        }
        let task = adopt(&scene, &session, [])["id"].as_str().unwrap().to_owned();
        scene.until_state(&task, "running");
        if !forked {
            speaks();
        }
        scene.open(&gate);
        assert_eq!(scene.result(&task), "by hand");
    }
    let ours = |prompt: &str| prompt.contains("Go on with the task");
    assert!(!scene.model.log().iter().any(|heard| ours(&heard.asked.prompt)), "nobody else spoke");
}

#[test]
fn a4_what_a_crash_left_open_is_interrupted_and_what_is_not_there_is_refused() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let (server, session) = begun(&scene, &waits(&gate, "@say never"));
    until("the tool", || {
        let messages = server.messages(&session);
        messages.iter().any(|message| message.to_string().contains("\"running\"")).then_some(())
    });
    server.kill();
    let task = adopt(&scene, &session, [])["id"].as_str().unwrap().to_owned();
    assert_eq!(scene.end(&task), ("failed".to_owned(), "interrupted".to_owned()));
    let none = scene.home.command().args(["adopt", "opencode", "ses_nosuch"]).output().unwrap();
    let why = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(none.status.code() == Some(3) && why.contains("ses_nosuch"), "{why}");
}
