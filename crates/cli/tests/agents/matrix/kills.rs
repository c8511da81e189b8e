//! Whoever dies between a send and its receipt, people read the message once.

use std::time::Duration;

use homing_core::input::PostFact;
use homing_ports::parent::Room;
use homing_rooms::matrix::Matrix;
use homing_testkit::between::Passing;
use homing_testkit::opencode::until_within;

use super::room::{blocking, message};
use super::scene::{LONG, Scene, kill_daemon, launch, until_room};

#[test]
fn n13_a_homeserver_killed_before_its_receipt_arrived_has_the_message_once() {
    let scene = Scene::alone(None);
    let room = scene.room();
    let one = || message(1, &format!("group:team/{room}"), "once");
    scene.between.next([Passing::HoldReply]);
    let short = Matrix { within: Duration::from_secs(5), ..scene.matrix() };
    let fact = blocking(short.post(one()));
    assert!(matches!(fact, PostFact::Failed { .. }), "{fact:?}");
    assert_eq!(scene.sends()[0].status, 200, "the homeserver had taken it");
    scene.served.synapse().kill();
    let gone = blocking(scene.matrix().post(one()));
    assert!(matches!(gone, PostFact::Failed { retry_after_ms: None, .. }), "{gone:?}");
    scene.served.synapse().again();
    assert_eq!(blocking(scene.matrix().post(one())), PostFact::Posted);
    assert_eq!(scene.person.heard(&room), ["once"]);
}

#[test]
fn g20_n8_a_daemon_killed_between_send_and_receipt_says_it_once() {
    let scene = Scene::new();
    let room = scene.room();
    let home = scene.home();
    scene.between.next([Passing::HoldReply, Passing::HoldReply]);
    let task = launch(&home, "tests", &format!("group:team/{room}"), "exit 1");
    // Twice the homeserver has it, and the daemon dies before it hears so.
    for sends in 1..3 {
        assert!(scene.between.wait_passed(sends, LONG));
        kill_daemon(&home);
        home.homing(["ls"]);
    }
    let shown = until_room(&home, &task, "settled");
    let sends = scene.sends();
    assert!(sends.len() >= 3 && sends.iter().all(|send| send.status == 200), "{sends:?}");
    assert!(sends.iter().all(|send| send.what == sends[0].what), "{sends:?}");
    assert!(sends[0].what.ends_with(shown["key"].as_str().unwrap()), "{sends:?}");
    let heard = scene.person.heard(&room);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].starts_with(&format!("Background task failed: tests ({task})")), "{heard:?}");
}

#[test]
fn n8_a_homeserver_killed_while_messages_are_under_way_has_each_once_and_in_order() {
    const TASKS: usize = 12;
    let scene = Scene::alone(None);
    let (first, second) = (scene.room(), scene.room());
    let home = scene.home();
    let origin =
        |n: usize| format!("group:team/{}", if n.is_multiple_of(2) { &first } else { &second });
    let said = |room: &str| scene.person.heard(room);
    let mut tasks = Vec::new();
    for n in 0..TASKS {
        if n == 3 || n == 8 {
            // Something was taken, something is on its way, and more comes while nobody is there.
            until_within(LONG, "a message", || (said(&first).len() > n / 4).then_some(()));
            scene.served.synapse().kill();
        }
        // One after the other, so that the order of their ends is known.
        let task = launch(&home, &format!("t{n}"), &origin(n), "true");
        home.homing(["wait", &task, "--timeout", "60s"]);
        tasks.push(task);
        if n == 5 || n == 10 {
            scene.served.synapse().again();
        }
    }
    for task in &tasks {
        until_room(&home, task, "settled");
    }
    for (parity, room) in [&first, &second].into_iter().enumerate() {
        let heard = said(room);
        let ours = tasks.iter().enumerate().filter(|(n, _)| n % 2 == parity);
        let expected: Vec<String> = ours
            .map(|(n, task)| {
                format!("Background task done: t{n} ({task}) [E_COMPLETION_TELEMETRY_FALLBACK]")
            })
            .collect();
        assert_eq!(heard, expected);
    }
}
