//! Rooms as a person sets them up: what is refused, what is shown, and what is not. The homeserver is scripted; a real one
//! is asked where agents of others are.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use homing_testkit::receiver::{Answer, Receiver};

use crate::scene::{LONG, Scene, until};

fn set_up(receiver: &Receiver, token: &str) -> Scene {
    let scene = Scene::new();
    fs::create_dir(&scene.home).unwrap();
    let settings = format!(
        "[delivery]\nbackoff_first = \"20ms\"\nbackoff_most = \"100ms\"\n[rooms.team]\n\
         kind = \"matrix\"\nhomeserver = \"http://127.0.0.1:{}\"\nprivate = [\"127.0.0.1\"]\n{token}\n",
        receiver.port()
    );
    fs::write(scene.home.join("homing.toml"), settings).unwrap();
    scene
}

/// Relative to the home.
fn with_file(receiver: &Receiver, mode: u32) -> Scene {
    let scene = set_up(receiver, "token_file = \"bot.token\"");
    let path = scene.home.join("bot.token");
    fs::write(&path, "syt_secret\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    scene
}

fn homeserver() -> Receiver {
    let receiver = Receiver::start().unwrap();
    receiver.usually(Answer::Tell(
        200,
        Vec::new(),
        "{\"event_id\": \"$1\", \"user_id\": \"@b:c\"}".into(),
    ));
    receiver
}

const TO: [&str; 4] = ["--parent", "none", "--origin", "group:team/!a:b"];

#[test]
fn a_token_that_others_can_read_is_refused_with_what_to_do() {
    let receiver = homeserver();
    let scene = with_file(&receiver, 0o644);
    let said = scene.homing(["daemon", "start"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert!(
        said.err.contains("rooms.team.token_file") && said.err.contains("(644)"),
        "{}",
        said.err
    );
    let path = scene.home.join("bot.token");
    assert!(said.err.contains(&format!("chmod 600 '{}'", path.display())), "{}", said.err);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let id = scene.launch("tests", TO, "true");
    assert!(receiver.wait_taken(1, LONG));
    until(|| scene.show(&id)["room"]["state"] == "settled");
    // From now on it is not read any more, and nothing is sent.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o604)).unwrap();
    let id = scene.launch("again", TO, "true");
    until(|| scene.show(&id)["room"]["why"].as_str().is_some_and(|why| why.contains("(604)")));
    assert_eq!((receiver.heard().len(), &scene.show(&id)["room"]["state"]), (1, &"sent".into()));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    until(|| scene.show(&id)["room"]["state"] == "settled");
}

#[test]
fn a_token_in_a_variable_is_missed_by_its_name_and_waited_for() {
    let receiver = homeserver();
    let scene = set_up(&receiver, "token_env = \"HOMING_TEST_BOT\"");
    let id = scene.launch("tests", TO, "true");
    let why = || scene.show(&id)["room"]["why"].as_str().unwrap_or_default().to_owned();
    until(|| why().contains("HOMING_TEST_BOT is not set"));
    let doctor = scene.homing(["doctor"]);
    assert!(doctor.text().contains("room      team: not asked"), "{}", doctor.text());
    assert_eq!(receiver.heard(), []);
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let mut again = scene.command(["daemon", "start"]);
    assert!(again.env("HOMING_TEST_BOT", "syt_secret").status().unwrap().success());
    until(|| scene.show(&id)["room"]["state"] == "settled");
    assert_eq!(receiver.heard()[0].header("authorization"), Some("Bearer syt_secret"));
}

#[test]
fn a_place_that_cannot_be_in_a_room_is_refused_at_launch() {
    let receiver = homeserver();
    let scene = with_file(&receiver, 0o600);
    for (origin, says) in [
        ("group:team/ops", "no id of a room"),
        ("thread:team/!a:b#7", "no id of an event"),
        ("group:teem/!a:b", "did you mean \"team\"?"),
    ] {
        let words = ["launch", "--parent", "none", "--origin", origin, "--", "true"];
        let said = scene.homing(words);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains(says), "{origin}: {}", said.err);
    }
    assert_eq!(receiver.heard(), []);
}

#[test]
fn a_homeserver_is_shown_without_its_token_and_asked_by_doctor() {
    let receiver = homeserver();
    let scene = with_file(&receiver, 0o600);
    let shown = scene.homing(["config", "show"]);
    assert!(shown.text().contains("token_file = \"bot.token\""), "{}", shown.text());
    let doctor = scene.homing(["doctor"]);
    let line = format!("room      team: @b:c at http://127.0.0.1:{}\n", receiver.port());
    assert!(doctor.text().contains(&line), "{}", doctor.text());
    receiver.usually(Answer::Tell(401, Vec::new(), "{\"errcode\": \"M_UNKNOWN_TOKEN\"}".into()));
    let odd = scene.homing(["doctor"]);
    assert_eq!(odd.code, Some(1));
    assert!(odd.text().contains("M_UNKNOWN_TOKEN; try: [rooms.team]"), "{}", odd.text());
    assert!(![shown, doctor, odd].iter().any(|said| said.text().contains("syt_")));
}
