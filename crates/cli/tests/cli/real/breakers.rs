//! B: breakers, time, budgets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use homing_hosts::process::ProcessHost;
use homing_hosts::system::{SystemClock, SystemIds};
use homing_ports::clock::Clock;
use homing_runtime::{Homing, Launch, Runtime, State, Waited};
use homing_store::SqliteStore;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::{block, ends, is, owed, shim, with};
use crate::scene::{LONG, Scene, until};

/// Commands whose silence counts, and is up soon. What a command writes is told once a second.
const WATCHED: &str = "[limits]\nstopping = \"300ms\"\n\
                       [presets.watched.limits]\nstale = \"2s\"\nnever_active = \"2s\"\n\
                       [presets.heard.limits]\nstale = \"500ms\"\nnever_active = \"1m\"\n";

#[test]
fn b4_a_command_that_goes_on_writing_is_not_ended_for_its_age() {
    let scene = with(WATCHED);
    let script = "for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo $n; sleep 0.25; done";
    let said = scene.run(["--preset", "watched"], ["sh", "-c", script]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.text().ends_with("14\n15\n"));
}

#[test]
fn b5_a_command_that_is_silent_for_too_long_is_ended_and_its_parent_told() {
    let scene = with(WATCHED);
    for (preset, cause, begins) in [
        ("heard", "stale", "echo once; sleep 0.3; echo again"),
        ("watched", "never_active", "true"),
    ] {
        let pid = scene.path(cause);
        let script = format!("echo $$ > '{}'; {begins}; exec sleep 300", pid.display());
        let id = scene.launch(cause, ["--preset", preset], &script);
        is(&scene, &id, "timed_out");
        assert_eq!(scene.show(&id)["cause"], cause);
        let pid = super::witnessed(&pid)[0].parse().unwrap();
        assert!(test_kill_process(Pid::from_raw(pid).unwrap()).is_err(), "{cause}: it still runs");
    }
    assert_eq!(owed(&scene, "inbox:cli").len(), 2);
}

#[test]
fn b6_a_time_that_is_up_ends_the_process_too() {
    let scene = Scene::new();
    let file = scene.path("pids");
    let script = format!("echo $$ > '{0}'; sleep 300 & echo $! >> '{0}'; wait", file.display());
    let said = scene.run(["--timeout", "500ms"], ["sh", "-c", &script]);
    assert!(said.err.contains("timed_out"), "{}", said.err);
    let pids: Vec<i32> = super::witnessed(&file).iter().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    // Ended before the task was said to be.
    assert!(pids.iter().all(|pid| test_kill_process(Pid::from_raw(*pid).unwrap()).is_err()));
}

#[test]
fn b7_one_that_is_silent_and_cannot_be_stopped_comes_to_an_end_all_the_same() {
    let scene = with(WATCHED);
    let id = scene.launch("stuck", ["--preset", "watched"], "exec sleep 300");
    is(&scene, &id, "running");
    let shim = shim(&scene, &id, 1);
    kill_process(shim, Signal::STOP).unwrap();
    is(&scene, &id, "lost");
    assert_eq!(
        (scene.show(&id)["cause"].clone(), ends(&scene, &id)),
        ("abort_unconfirmed".into(), 1)
    );
    assert_eq!(owed(&scene, "inbox:cli").len(), 1);
    kill_process(shim, Signal::CONT).unwrap();
    // It hears of the stop now, and ends what it held.
    until(|| test_kill_process(shim).is_err());
}

#[test]
fn b8_a_quiet_command_within_its_time_is_not_stale() {
    let scene = with("[limits]\nstale = \"200ms\"\nnever_active = \"200ms\"\n");
    let said = scene.run([], ["sh", "-c", "sleep 1; echo long and quiet"]);
    assert_eq!((said.code, said.text()), (Some(0), "long and quiet\n"), "{}", said.err);
}

/// The machine's clock, whose wall somebody sets.
struct Set {
    real: SystemClock,
    by_ms: AtomicI64,
}

impl Clock for Set {
    fn mono(&self) -> u64 {
        self.real.mono()
    }

    fn wall(&self) -> i64 {
        self.real.wall() + self.by_ms.load(Ordering::SeqCst)
    }

    fn boot(&self) -> String {
        self.real.boot()
    }
}

fn start(scene: &Scene, clock: &Arc<Set>) -> Homing {
    let nursery = vec![env!("CARGO_BIN_EXE_homing").into(), "shims".into()];
    let host = ProcessHost::new(scene.path("runs"), nursery).unwrap();
    let store = SqliteStore::open(scene.path("ledger.db")).unwrap();
    let ids = Arc::new(SystemIds::new().unwrap());
    Runtime::new(Box::new(store), clock.clone(), ids).host(Arc::new(host)).start().unwrap()
}

#[test]
fn b11_a_wall_clock_that_jumps_ends_nothing() {
    const YEARS_MS: i64 = 10 * 365 * 86_400_000;
    let scene = Scene::new();
    let gate = scene.gate("slow");
    let clock = Arc::new(Set { real: SystemClock::new().unwrap(), by_ms: AtomicI64::new(0) });
    block(async {
        let homing = start(&scene, &clock);
        let script = format!("{}; echo in its own time", gate.wait());
        let hour = Duration::from_secs(3_600);
        let slow = Launch::command(["sh", "-c", &script]).timeout(hour);
        let id = homing.launch(slow).await.unwrap();
        let open = tokio::task::spawn_blocking(move || gate.open()).await.unwrap();
        while homing.show(id).await.unwrap().task.state != State::Running {}
        for by in [YEARS_MS, -YEARS_MS, YEARS_MS] {
            clock.by_ms.store(by, Ordering::SeqCst);
            assert_eq!(homing.show(id).await.unwrap().task.state, State::Running);
        }
        homing.stop().await;
        // Nor across a restart, back or forward.
        for by in [-YEARS_MS, YEARS_MS] {
            clock.by_ms.store(by, Ordering::SeqCst);
            let homing = start(&scene, &clock);
            assert_eq!(homing.show(id).await.unwrap().task.state, State::Running);
            homing.stop().await;
        }
        let homing = start(&scene, &clock);
        assert_eq!(homing.show(id).await.unwrap().task.state, State::Running);
        drop(open);
        assert_eq!(homing.wait(id, LONG).await, Ok(Waited::Ended));
        assert_eq!(homing.show(id).await.unwrap().task.state, State::Completed);
        assert_eq!(homing.output(id).await.unwrap().unwrap(), b"in its own time\n");
        homing.stop().await;
    });
}
