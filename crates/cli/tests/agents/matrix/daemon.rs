//! Through the daemon: what is read in a room, and what a person sees who set it up.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use homing_hosts::system::{SystemClock, SystemIds};
use homing_runtime::{Launch, Runtime};
use homing_store::SqliteStore;
use homing_testkit::scripted::ScriptedHost;
use homing_testkit::synapse::Rate;

use super::room::blocking;
use super::scene::{Scene, launch, until_room};

#[test]
fn g5_where_nobody_speaks_one_marker_is_read_in_the_group_the_thread_and_the_direct_chat() {
    let scene = Scene::new();
    let (group, direct) = (scene.room(), scene.person.direct(&scene.bot));
    let root = scene.person.say(&group, "Do the tests pass?");
    let home = scene.home();
    let all = [
        launch(&home, "in group", &format!("group:team/{group}"), "exit 1"),
        launch(&home, "in thread", &format!("thread:team/{group}#{root}"), "true"),
        launch(&home, "in private", &format!("direct:team/{direct}"), "true"),
    ];
    for task in &all {
        until_room(&home, task, "settled");
    }
    let marker = |word: &str, name: &str, task: &str| {
        format!("Background task {word}: {name} ({task}) [E_COMPLETION_TELEMETRY_FALLBACK]")
    };
    let mut heard = scene.person.heard(&group);
    heard.sort();
    let mut expected =
        [marker("failed", "in group", &all[0]), marker("done", "in thread", &all[1])];
    expected.sort();
    assert_eq!(heard, expected);
    assert_eq!(scene.person.thread(&group, &root)[0].text, marker("done", "in thread", &all[1]));
    assert_eq!(scene.person.heard(&direct), [marker("done", "in private", &all[2])]);
}

#[test]
fn g16_a_rate_limit_is_waited_out_and_the_order_of_the_room_is_kept() {
    let scene = Scene::alone(Some(Rate { per_second: 0.5, burst: 2 }));
    let room = scene.room();
    let home = scene.home();
    let mut tasks = Vec::new();
    for n in 0..5 {
        let task = launch(&home, &format!("t{n}"), &format!("group:team/{room}"), "true");
        home.homing(["wait", &task, "--timeout", "60s"]);
        tasks.push(task);
    }
    for task in &tasks {
        until_room(&home, task, "settled");
    }
    let heard = scene.person.heard(&room);
    assert_eq!(heard.len(), tasks.len(), "{heard:?}");
    for (text, task) in heard.iter().zip(&tasks) {
        assert!(text.contains(task), "{heard:?}");
    }
    let sends = scene.sends();
    let limited = sends.iter().zip(&sends[1..]).filter(|(send, _)| send.status == 429);
    let mut count = 0;
    for (send, next) in limited {
        let wait = Duration::from_secs(send.retry_after.unwrap());
        assert!(next.came >= send.answered + wait, "{send:?} {next:?}");
        assert_eq!(next.what, send.what, "nothing of the room overtook it");
        count += 1;
    }
    assert!(count > 0, "it was never limited: {sends:?}");
}

#[test]
fn g17_a_bot_that_was_removed_keeps_the_result_and_does_not_knock_for_ever() {
    let scene = Scene::new();
    let (room, other) = (scene.room(), scene.room());
    let home = scene.home();
    scene.person.kick(&room, &scene.bot);
    let task = launch(&home, "tests", &format!("group:team/{room}"), "echo 12 passed");
    let shown = until_room(&home, &task, "undeliverable");
    assert_eq!(shown["code"], "E_ROOM_CLOSED", "{shown}");
    let why = shown["why"].as_str().unwrap();
    assert!(why.contains("403") && why.contains("M_FORBIDDEN"), "{why}");
    assert_eq!(home.homing(["output", &task]).stdout, b"12 passed\n");
    // Others go on, with tries that follow each other within 200 ms; this one rests.
    for n in 0..3 {
        let next = launch(&home, &format!("next {n}"), &format!("group:team/{other}"), "true");
        until_room(&home, &next, "settled");
    }
    let key = shown["key"].as_str().unwrap();
    let tries = || scene.sends().iter().filter(|send| send.what.ends_with(key)).count();
    assert_eq!(tries(), 1);
    // Somebody lets it in again, and has it sent.
    scene.person.invite(&room, &scene.bot);
    home.homing(["redrive", key]);
    until_room(&home, &task, "settled");
    assert_eq!((tries(), scene.person.heard(&room).len()), (2, 1));
}

#[test]
fn g17_what_a_closed_room_did_not_take_is_rerouted_to_another() {
    let scene = Scene::new();
    let (room, other) = (scene.room(), scene.room());
    scene.person.kick(&room, &scene.bot);
    let dir = tempfile::tempdir().unwrap();
    blocking(async {
        let store = SqliteStore::open(dir.path().join("ledger.db")).unwrap();
        let (clock, ids) = (SystemClock::new().unwrap(), SystemIds::new().unwrap());
        let homing = Runtime::new(Box::new(store), Arc::new(clock), Arc::new(ids))
            .host(Arc::new(ScriptedHost::new("scripted")))
            .room("team", Arc::new(scene.matrix()))
            .start()
            .unwrap();
        let origin = format!("group:team/{room}").parse().unwrap();
        let launch = Launch::prompt("scripted", "@say Twelve pass.\n@end").named("tests");
        let launch = launch.parent("none".parse().unwrap()).origin(origin);
        let task = homing.launch(launch).await.unwrap();
        let state = async |wanted: &str| {
            for _ in 0..1_000 {
                let room = homing.view(task, false).await.unwrap().0.room;
                if room.state == wanted {
                    return room;
                }
                tokio::time::sleep(Duration::from_millis(20)).await; // sleep: between two looks
            }
            unreachable!("the room's message is never {wanted}");
        };
        let closed = state("undeliverable").await;
        assert_eq!(closed.code.unwrap().word(), "E_ROOM_CLOSED");
        let odd = homing.reroute(task, "group:teem/x".parse().unwrap()).await.unwrap_err();
        assert!(odd.to_string().contains("team"), "{odd}");
        let odd = homing.reroute(task, "group:team/x".parse().unwrap()).await.unwrap_err();
        assert!(odd.to_string().contains("no id of a room"), "{odd}");
        homing.reroute(task, format!("group:team/{other}").parse().unwrap()).await.unwrap();
        let told = state("settled").await;
        assert_eq!((told.key, told.code), (closed.key, None), "the same message, at another place");
        homing.stop().await;
    });
    assert!(scene.person.heard(&room).is_empty());
    let heard = scene.person.heard(&other);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].starts_with("Background task done: tests"), "{heard:?}");
}

#[test]
fn the_token_is_in_no_log_no_journal_and_no_answer() {
    let scene = Scene::new();
    let room = scene.room();
    let home = scene.home();
    let mut start = home.command();
    let started = start.env("HOMING_LOG", "trace").args(["daemon", "start"]).output().unwrap();
    assert!(started.status.success());
    let task = launch(&home, "tests", &format!("group:team/{room}"), "true");
    until_room(&home, &task, "settled");
    scene.bot.log_out();
    let task = launch(&home, "refused", &format!("group:team/{room}"), "true");
    until_room(&home, &task, "undeliverable");
    let mut all = fs::read_to_string(home.dir().join("daemon.log")).unwrap();
    for words in
        [["show", &task, "--json"], ["events", "--after", "0"], ["config", "show", "--json"]]
    {
        all.push_str(&String::from_utf8_lossy(
            &home.command().args(words).output().unwrap().stdout,
        ));
    }
    assert!(all.contains("M_UNKNOWN_TOKEN") && all.contains("token_file"), "{all}");
    assert!(!all.contains(&scene.bot.token));
}

#[test]
fn doctor_says_who_speaks_there_and_what_is_wrong() {
    let mut scene = Scene::alone(None);
    let home = scene.home();
    let doctor = || {
        let said = home.command().arg("doctor").output().unwrap();
        String::from_utf8(said.stdout).unwrap()
    };
    let line = format!("room      team: {} at {}", scene.bot.id, scene.between.url());
    assert!(doctor().contains(&line), "{}", doctor());
    let fresh = scene.bot.log_in();
    scene.bot.log_out();
    assert!(doctor().contains("M_UNKNOWN_TOKEN"), "{}", doctor());
    scene.bot = fresh;
    scene.put_token(&scene.bot.token);
    assert!(doctor().contains(&line), "{}", doctor());
    fs::set_permissions(scene.token_file(), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(doctor().contains("chmod 600"), "{}", doctor());
    scene.put_token(&scene.bot.token);
    scene.served.synapse().kill();
    let said = doctor();
    assert!(
        said.contains("room      team: http://127.0.0.1") && said.contains("not all is well"),
        "{said}"
    );
}
