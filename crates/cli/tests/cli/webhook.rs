//! Webhooks end to end: a real daemon, a real receiver on loopback, and what a person sees when it goes wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use homing_testkit::receiver::{Answer, Receiver};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::scene::{LONG, Scene, until};

fn say(status: u16) -> Answer {
    Answer::Say(status, Vec::new())
}

/// A home that tells `webhook:ops`, and a room `team` that is the same receiver.
fn set_up(receiver: &Receiver, more: &str) -> Scene {
    let scene = Scene::new();
    fs::create_dir(&scene.home).unwrap();
    let settings = format!(
        "[delivery]\nbackoff_first = \"20ms\"\nbackoff_most = \"100ms\"\n\
         [webhooks.ops]\nurl = \"{}\"\nprivate = [\"127.0.0.1\"]\n{more}\n\
         [rooms.team]\nkind = \"webhook\"\nwebhook = \"ops\"\n",
        receiver.url()
    );
    fs::write(scene.home.join("homing.toml"), settings).unwrap();
    scene
}

fn owed(scene: &Scene) -> Vec<Value> {
    let inbox = scene.homing(["inbox", "webhook:ops", "--json"]).json();
    inbox["notices"].as_array().unwrap().clone()
}

fn kill(scene: &Scene) {
    let status = scene.homing(["daemon", "status", "--json"]).json();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    let pid = Pid::from_raw(pid).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    until(|| test_kill_process(pid).is_err());
}

fn body(receiver: &Receiver, n: usize) -> Value {
    serde_json::from_slice(&receiver.taken()[n].body).unwrap()
}

#[test]
fn n2_a_webhook_is_tried_until_it_takes_it_and_hears_of_it_once() {
    let receiver = Receiver::start().unwrap();
    receiver.answer([say(500), Answer::Die, say(404), say(429), Answer::TakeAndDie]);
    let scene = set_up(&receiver, "");
    let id = scene.launch("one", ["--parent", "webhook:ops"], "echo hello from one");
    assert!(receiver.wait_taken(1, LONG));
    until(|| owed(&scene).is_empty());
    assert_eq!(receiver.taken().len(), 1);
    let ids: Vec<String> = receiver.heard().iter().map(|heard| heard.id().to_owned()).collect();
    assert!(ids.len() > 4 && ids.iter().all(|each| *each == ids[0]), "{ids:?}");
    let told = body(&receiver, 0);
    assert_eq!((&told["type"], &told["notices"][0][0]), (&"debrief".into(), &id.clone().into()));
    assert!(told["text"].as_str().unwrap().contains("| hello from one\n"), "{told}");
    assert_eq!(scene.show(&id)["delivery"]["state"], "settled");
}

#[test]
fn n8_n13_a_daemon_killed_while_it_sends_sends_the_same_again_and_the_receiver_has_one() {
    let receiver = Receiver::start().unwrap();
    receiver.answer([Answer::Stall, Answer::TakeAndDie]);
    let scene = set_up(&receiver, "");
    scene.launch("one", ["--parent", "webhook:ops"], "true");
    assert!(receiver.wait_heard(1, LONG));
    kill(&scene);
    assert_eq!(receiver.taken().len(), 0);
    // The next daemon sends it, is not answered, and is killed, too.
    receiver.answer([Answer::Stall]);
    assert_eq!(scene.homing(["ls"]).code, Some(0));
    assert!(receiver.wait_heard(3, LONG));
    kill(&scene);
    assert_eq!(scene.homing(["ls"]).code, Some(0));
    until(|| owed(&scene).is_empty());
    let heard = receiver.heard();
    assert!(heard.len() >= 4, "{}", heard.len());
    assert!(heard.iter().all(|each| each.body == heard[0].body && each.id() == heard[0].id()));
    assert_eq!(receiver.taken().len(), 1);
}

#[test]
fn one_that_is_refused_rests_with_the_reason_and_goes_when_it_is_asked_for_again() {
    let receiver = Receiver::start().unwrap();
    receiver.answer([say(410)]);
    let scene = set_up(&receiver, "");
    let first = scene.launch("one", ["--parent", "webhook:ops"], "true");
    assert!(receiver.wait_heard(1, LONG));
    let second = scene.launch("two", ["--parent", "webhook:ops"], "true");
    assert!(receiver.wait_taken(1, LONG), "what comes behind it goes on");
    until(|| owed(&scene).len() == 1);
    assert_eq!(body(&receiver, 0)["notices"][0][0], second.as_str());
    let notice = owed(&scene).remove(0);
    assert_eq!(
        (&notice["task"], &notice["state"]),
        (&first.clone().into(), &"undeliverable".into())
    );
    assert_eq!(notice["code"], "E_RECEIVER_REFUSED");
    let key = notice["debrief"].as_str().unwrap();
    let said = scene.homing(["inbox", "webhook:ops"]);
    let line =
        format!("E_RECEIVER_REFUSED: it answered 410 Gone; homing redrive {key} sends it again");
    assert!(said.text().contains(&line), "{}", said.text());
    let why = scene.homing(["why", &first]);
    assert!(why.text().contains(&format!("homing redrive {key}")), "{}", why.text());
    kill(&scene);
    let said = scene.homing(["redrive", key]);
    assert_eq!(
        (said.code, said.text()),
        (Some(0), &*format!("{key} is sent again\n")),
        "{}",
        said.err
    );
    assert!(receiver.wait_taken(2, LONG));
    until(|| owed(&scene).is_empty());
    assert_eq!(receiver.taken()[1].id(), key);
    let said = scene.homing(["redrive", key]);
    assert_eq!(said.code, Some(3), "{}", said.err);
    assert_eq!(scene.homing(["redrive", "nonsense"]).code, Some(2));
}

#[test]
fn r7_a_redirect_to_an_address_of_our_own_is_not_followed() {
    let (receiver, inside) = (Receiver::start().unwrap(), Receiver::start().unwrap());
    let to = format!("Location: http://127.0.0.2:{}/", inside.port());
    receiver.usually(Answer::Say(307, vec![to]));
    let scene = set_up(&receiver, "redirects = [\"127.0.0.2\"]");
    scene.launch("one", ["--parent", "webhook:ops"], "true");
    until(|| owed(&scene).first().is_some_and(|notice| notice["state"] == "undeliverable"));
    let why = owed(&scene)[0]["why"].as_str().unwrap().to_owned();
    assert!(why.contains("127.0.0.2") && why.contains("private"), "{why}");
    assert!(inside.heard().is_empty());
}

#[test]
fn a_webhook_that_nobody_set_up_is_refused_at_launch() {
    let receiver = Receiver::start().unwrap();
    let scene = set_up(&receiver, "");
    for (parent, says) in [("webhook:op", "did you mean \"ops\"?"), ("webhook:x", "known: ops")] {
        let said = scene.homing(["launch", "--parent", parent, "--", "true"]);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains(says), "{}", said.err);
    }
    let none = Scene::new();
    let said = none.homing(["launch", "--parent", "webhook:ops", "--", "true"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(said.err.contains("none is set up"), "{}", said.err);
}

#[test]
fn g5_a_room_that_is_a_webhook_reads_one_marker_where_nobody_speaks() {
    let receiver = Receiver::start().unwrap();
    receiver.answer([say(410)]);
    let scene = set_up(&receiver, "");
    let options = ["--parent", "none", "--origin", "group:team/here#7"];
    let id = scene.launch("tests", options, "true");
    until(|| scene.show(&id)["room"]["state"] == "undeliverable");
    let room = &scene.show(&id)["room"];
    assert_eq!(
        (&room["code"], &room["why"]),
        (&"E_ROOM_CLOSED".into(), &"it answered 410 Gone".into())
    );
    let key = room["key"].as_str().unwrap().to_owned();
    assert_eq!(scene.homing(["redrive", &key]).code, Some(0));
    assert!(receiver.wait_taken(1, LONG));
    let told = body(&receiver, 0);
    assert_eq!((&told["type"], &told["key"]), (&"message".into(), &key.into()));
    assert_eq!(
        (&told["origin"]["address"], &told["origin"]["thread"]),
        (&"here".into(), &"7".into())
    );
    assert!(told["text"].as_str().unwrap().starts_with("Background task done: tests"), "{told}");
    until(|| scene.show(&id)["room"]["state"] == "settled");
}

#[test]
fn what_requests_are_signed_with_is_its_owners_alone_and_can_be_changed_at_any_time() {
    let receiver = Receiver::start().unwrap();
    let scene = set_up(&receiver, "");
    let first = scene.homing(["token", "--webhook", "ops"]).text().trim_end().to_owned();
    assert!(first.starts_with("whsec_"), "{first}");
    let path = scene.home.join("webhook-ops.secret");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    scene.launch("one", ["--parent", "webhook:ops"], "true");
    assert!(receiver.wait_taken(1, LONG));
    let second =
        scene.homing(["token", "--webhook", "ops", "--rotate"]).text().trim_end().to_owned();
    scene.launch("two", ["--parent", "webhook:ops"], "true");
    assert!(receiver.wait_taken(2, LONG));
    for (n, secret) in [first, second].iter().enumerate() {
        let heard = &receiver.taken()[n];
        let at = heard.header("webhook-timestamp").unwrap().parse().unwrap();
        let key: homing_rooms::webhook::Secret = secret.parse().unwrap();
        assert_eq!(
            heard.header("webhook-signature"),
            Some(&*key.sign(heard.id(), at, &heard.body))
        );
        let events = scene.homing(["events"]);
        let log = fs::read_to_string(scene.home.join("daemon.log")).unwrap_or_default();
        assert!(!events.text().contains(secret) && !log.contains(secret));
    }
    let said = scene.homing(["token", "--webhook", "opps"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("did you mean \"ops\"?"), "{}", said.err);
}
