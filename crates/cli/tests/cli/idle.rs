//! A daemon with nothing to do does nothing: no thread of it wakes, and it holds little. Seen from outside, in /proc.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::scene::{Scene, until};

/// A tick of up to this is seen.
const WATCHED: Duration = Duration::from_secs(5);
/// Between two looks at whether it has come to rest.
const LOOK: Duration = Duration::from_millis(500);
/// What it may hold by itself; the rest is the program.
const OWN_MAX: u64 = 6_000_000;

/// The directories of its threads.
fn threads(pid: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    all.map(|thread| thread.unwrap().path()).collect()
}

fn number(status: &str, name: &str) -> u64 {
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// How often each of its threads has gone to sleep so far: each time it woke for something. One that ends for want
/// of work is not there any more.
fn sleeps(pid: &str) -> BTreeMap<PathBuf, u64> {
    let status = |thread: PathBuf| {
        let text = std::fs::read_to_string(thread.join("status")).ok()?;
        Some((thread, number(&text, "voluntary_ctxt_switches:")))
    };
    threads(pid).into_iter().filter_map(status).collect()
}

/// The threads that woke meanwhile.
fn woke(before: &BTreeMap<PathBuf, u64>, after: &BTreeMap<PathBuf, u64>) -> Vec<(PathBuf, u64)> {
    let changed = after.iter().filter(|(thread, count)| before.get(*thread) != Some(*count));
    changed.map(|(thread, count)| (thread.clone(), *count)).collect()
}

/// Watches it do nothing, once what came before is done.
fn rests(pid: &str) {
    until(|| {
        let before = sleeps(pid);
        std::thread::sleep(LOOK); // sleep: whether anything happens by itself is the question
        woke(&before, &sleeps(pid)).is_empty()
    });
    // After work it wakes once more to let go of what that needed; a tick would be seen each time.
    let watch = || {
        let before = sleeps(pid);
        std::thread::sleep(WATCHED); // sleep: whether anything happens by itself is the question
        woke(&before, &sleeps(pid))
    };
    let first = watch();
    if !first.is_empty() {
        assert_eq!(watch(), [], "nothing is to be done, and before: {first:?}");
    }
}

/// Asks, and reads no answer; as long as this is held, the daemon has somebody who waits.
fn waiting(socket: &str, path: &str) -> UnixStream {
    let mut stream = UnixStream::connect(socket).unwrap();
    let headers = "Host: localhost\r\nAccept: text/event-stream\r\n";
    stream.write_all(format!("GET {path} HTTP/1.1\r\n{headers}\r\n").as_bytes()).unwrap();
    stream
}

#[test]
fn those_who_wait_for_what_does_not_come_keep_no_daemon_awake() {
    let scene = Scene::new();
    let id = scene.launch("slow", [], "sleep 300");
    until(|| scene.show("slow")["state"] == "running");
    let status = scene.homing(["daemon", "status", "--json"]).json();
    let socket = status["socket"].as_str().unwrap();
    let waiting: Vec<UnixStream> = [
        "/v1/deliveries?consumer=one",
        "/v1/deliveries?consumer=two",
        "/v1/events",
        "/v1/telemetry",
        &format!("/v1/tasks/{id}/output?wait=10m"),
    ]
    .map(|path| waiting(socket, path))
    .into();
    rests(&status["pid"].to_string());
    drop(waiting);
    assert_eq!(scene.homing(["cancel", "slow"]).code, Some(0));
}

#[test]
fn an_idle_daemon_has_no_tick_and_is_small() {
    let scene = Scene::new();
    for name in ["one", "two", "three"] {
        assert_eq!(scene.run(["--name", name], ["true"]).code, Some(0));
    }
    let status = scene.homing(["daemon", "status", "--json"]).json();
    let pid = status["pid"].to_string();
    rests(&pid);
    let memory = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    // The program's own pages are the file's, and a build for tests has many more of them.
    let own = number(&memory, "RssAnon:") * 1_000;
    assert!(own < OWN_MAX, "{own} bytes:\n{memory}");
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
}
