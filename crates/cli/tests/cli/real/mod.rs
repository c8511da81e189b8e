//! Scenarios on real processes: a real daemon, real commands, killed and cut off for real. A file per letter.

mod breakers;
mod cancel;
mod doors;
mod fallback;
mod launch;
mod notices;
mod recovery;
mod truth;

use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use homing_client::Client;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::scene::{LONG, Scene, until};

/// A scene whose home says this.
pub fn with(settings: &str) -> Scene {
    let scene = Scene::new();
    fs::create_dir(&scene.home).unwrap();
    fs::write(scene.home.join("homing.toml"), settings).unwrap();
    scene
}

pub const ONE_SLOT: &str = "[concurrency]\ndefault = 1\n";

/// The lines of a task's journal.
pub fn lines(scene: &Scene, task: &str) -> Vec<Value> {
    let said = scene.homing(["events"]);
    let all = said.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|line| line["task"] == task).collect()
}

/// The states that a task went to, in order.
pub fn path(scene: &Scene, task: &str) -> Vec<String> {
    let moved = lines(scene, task).into_iter().filter(|line| line["kind"] == "moved");
    moved.map(|line| line["body"]["to"].as_str().unwrap().to_owned()).collect()
}

/// How often it ended.
pub fn ends(scene: &Scene, task: &str) -> usize {
    let last = ["completed", "failed", "cancelled", "timed_out", "lost"];
    path(scene, task).iter().filter(|state| last.contains(&state.as_str())).count()
}

pub fn is(scene: &Scene, task: &str, state: &str) {
    until(|| scene.show(task)["state"] == state);
}

/// What is owed to a parent.
pub fn owed(scene: &Scene, parent: &str) -> Vec<Value> {
    let inbox = scene.homing(["inbox", parent, "--json"]).json();
    inbox["notices"].as_array().unwrap().clone()
}

/// Of the daemon that runs now.
pub fn daemon(scene: &Scene) -> Pid {
    let status = scene.homing(["daemon", "status", "--json"]).json();
    Pid::from_raw(i32::try_from(status["pid"].as_i64().unwrap()).unwrap()).unwrap()
}

/// As a power failure does it; whoever asks next starts another.
pub fn kill_daemon(scene: &Scene) {
    let pid = daemon(scene);
    kill_process(pid, Signal::KILL).unwrap();
    until(|| is_gone(pid));
}

/// Whether nothing of a process runs any more. It need not be reaped: whoever is to do that may take its time.
pub fn is_gone(pid: Pid) -> bool {
    let about = PathBuf::from(format!("/proc/{}", pid.as_raw_pid()));
    let (stat, threads) = (fs::read_to_string(about.join("stat")), about.join("task").read_dir());
    match (stat, threads) {
        (Ok(stat), Ok(threads)) => stat.contains(") Z ") && threads.count() <= 1,
        (Err(_), _) | (_, Err(_)) => true,
    }
}

/// The shim of a task's attempt, from its claim.
pub fn shim(scene: &Scene, task: &str, attempt: u32) -> Pid {
    let claim = scene.home.join(format!("runs/{task}.{attempt}/claim"));
    let text = fs::read_to_string(claim).unwrap();
    Pid::from_raw(text.split('.').next().unwrap().parse().unwrap()).unwrap()
}

/// The lines that commands appended to a file.
pub fn witnessed(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Speaks with the daemon as a program does.
pub fn client(scene: &Scene) -> Client {
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    let status = scene.homing(["daemon", "status", "--json"]).json();
    Client::new(status["socket"].as_str().unwrap())
}

/// Runs it to its end, but not for ever.
pub fn block<T>(work: impl Future<Output = T>) -> T {
    let loop_ = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    loop_.block_on(async { tokio::time::timeout(LONG, work).await.unwrap() })
}

/// Nothing comes for so long.
pub const QUIET: Duration = Duration::from_millis(300);
