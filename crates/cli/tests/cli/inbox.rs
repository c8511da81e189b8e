//! `homing inbox` and `homing owned`: what is owed, its receipts, what a parent has out.

use serde_json::json;

use crate::scene::{Scene, finish};

#[test]
fn what_came_home_is_owed_until_it_is_acknowledged() {
    let scene = Scene::new();
    let said = scene.homing(["inbox"]);
    assert_eq!(
        (said.code, said.text(), said.err.as_str()),
        (Some(0), "", "nothing is owed to inbox:cli\n")
    );
    assert_eq!(
        scene.homing(["inbox", "--json"]).json(),
        json!({ "parent": "inbox:cli", "notices": [] })
    );
    assert!(!scene.home.exists(), "reading makes nothing");
    let (one, two) = (scene.launch("one", [], "true"), scene.launch("two", [], "exit 3"));
    assert_eq!(scene.homing(["wait", "one", "two"]).code, Some(1));
    let said = scene.homing(["inbox"]);
    for each in [format!("{one}/1  completed "), format!("{two}/1  failed ")] {
        assert!(said.text().contains(&each), "{each} in {}", said.text());
    }
    assert_eq!(scene.homing(["inbox"]).text().lines().count(), 3, "reading settles nothing");
    let key = format!("{one}/1");
    let said = scene.homing(["inbox", "--ack", &key, "--json"]);
    assert_eq!(said.json(), json!([{ "key": key, "known": true }]), "{}", said.err);
    let said = scene.homing(["inbox", "--ack", &key]);
    assert_eq!((said.code, said.text()), (Some(0), ""));
    assert!(said.err.contains("was not owed: nothing changed"), "{}", said.err);
    assert_eq!(scene.homing(["inbox", "--ack", "two/1"]).code, Some(0));
    assert_eq!(scene.homing(["inbox", "--json"]).json()["notices"], json!([]));
}

#[test]
fn a_notice_has_what_a_script_needs() {
    let scene = Scene::new();
    let id = scene.launch("one", [], "exit 3");
    assert_eq!(scene.homing(["wait", "one"]).code, Some(1));
    let inbox = scene.homing(["inbox", "--json"]).json();
    let notice = &inbox["notices"][0];
    assert_eq!((&notice["task"], &notice["name"]), (&id.as_str().into(), &"one".into()));
    assert_eq!((&notice["outcome"], &notice["cause"]), (&"failed".into(), &"exited".into()));
    assert_eq!((&notice["generation"], &notice["key"]), (&1.into(), &format!("{id}/1").into()));
    if let Some(debrief) = notice["debrief"].as_str() {
        assert_eq!(scene.homing(["inbox", "--ack", debrief]).code, Some(0));
        assert_eq!(scene.homing(["inbox", "--json"]).json()["notices"], json!([]));
    }
}

#[test]
fn a_key_that_is_none_is_refused_with_what_to_try() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["inbox", "--ack", "bg_000000000000/1"]).code, Some(3));
    scene.launch("one", [], "true");
    for (key, code, says) in [
        ("one", 2, "try: homing inbox lists the keys"),
        ("one/x", 2, "is no key"),
        ("nobody/1", 3, "no task \"nobody\""),
        ("db_x", 2, "key: "),
    ] {
        let said = scene.homing(["inbox", "--ack", key]);
        assert_eq!(said.code, Some(code), "{key}: {}", said.err);
        assert!(said.err.contains(says), "{key}: {}", said.err);
    }
}

#[test]
fn every_parent_has_its_own() {
    let scene = Scene::new();
    let mine = scene.launch("mine", [], "true");
    let theirs = scene.launch("theirs", ["--parent", "inbox:them/42"], "true");
    assert_eq!(scene.homing(["wait", "mine", "theirs"]).code, Some(0));
    let keys = |said: &crate::scene::Said| {
        let inbox = said.json();
        let keys = inbox["notices"].as_array().unwrap().iter();
        keys.map(|each| each["key"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&scene.homing(["inbox", "--json"])), [format!("{mine}/1")]);
    for parent in ["inbox:them", "inbox:them/42"] {
        assert_eq!(keys(&scene.homing(["inbox", parent, "--json"])), [format!("{theirs}/1")]);
    }
    assert!(keys(&scene.homing(["inbox", "inbox:them/43", "--json"])).is_empty());
    let mut command = scene.command(["inbox", "--json"]);
    let said = finish(command.env("HOMING_PARENT", "inbox:them").spawn().unwrap());
    assert_eq!(keys(&said), [format!("{theirs}/1")]);
}

#[test]
fn owned_lists_what_a_parent_has_out_and_had() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["owned", "--json"]).json(), json!([]));
    assert!(scene.homing(["owned"]).err.contains("inbox:cli has nothing out"));
    let gate = scene.gate("out");
    let done = scene.launch("done", [], "true");
    assert_eq!(scene.homing(["output", "done", "--wait"]).code, Some(0));
    let out = scene.launch("out", [], &gate.wait());
    let ids = |words: &[&str]| {
        let said = finish(scene.command(words).spawn().unwrap());
        said.json().as_array().unwrap().iter().map(|each| each["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["owned", "--json"]), [out.as_str(), done.as_str()]);
    assert!(ids(&["owned", "inbox:them", "--json"]).is_empty());
    let said = scene.homing(["owned"]);
    assert!(said.text().starts_with("ID ") && said.text().contains(&done), "{}", said.text());
    assert_eq!(ids(&["ls", "--json", "--state", "completed"]), [done.as_str()]);
    assert_eq!(ids(&["ls", "--json", "--parent", "inbox:cli"]), [out.as_str()]);
    assert!(ids(&["ls", "--json", "--all", "--parent", "inbox:them"]).is_empty());
}
