//! No periodic tick: a runtime with nothing to do does nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use homing_hosts::system::SystemClock;
use homing_ports::clock::Clock;
use homing_ports::memory::ids::MemoryIds;
use homing_runtime::{Homing, Runtime, TaskId};
use homing_testkit::scripted::ScriptedHost;

use crate::stage::{Disk, ask, launch, soon};

/// Counts who looks at it: whoever wakes asks what time it is.
struct Watched {
    clock: SystemClock,
    looks: AtomicU64,
}

impl Clock for Watched {
    fn mono(&self) -> u64 {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.clock.mono()
    }

    fn wall(&self) -> i64 {
        self.clock.wall()
    }

    fn boot(&self) -> String {
        self.clock.boot()
    }
}

/// The runtime has done all that it was asked for before.
async fn at_rest(homing: &Homing) {
    let nobody = TaskId::from_bits(1);
    for _ in 0..3 {
        assert!(soon(homing.show(nobody)).await.is_err());
    }
}

#[tokio::test]
async fn a_runtime_with_nothing_to_do_does_not_wake() {
    let clock = Arc::new(Watched { clock: SystemClock::new().unwrap(), looks: AtomicU64::new(0) });
    let host = ScriptedHost::new("scripted");
    let homing = Runtime::new(Disk::memory().open(), clock.clone(), Arc::new(MemoryIds::default()))
        .host(Arc::new(host.clone()))
        .start()
        .unwrap();
    let id = launch(&homing, ask("@gate a\n@say x\n@end")).await;
    soon(host.reached(id, "a")).await;
    at_rest(&homing).await;
    let span = Duration::from_millis(400);
    let mut before;
    let mut quiet = false;
    // What is still under way after the gate may take one such span to come to rest.
    for _ in 0..3 {
        before = clock.looks.load(Ordering::SeqCst);
        tokio::time::sleep(span).await; // sleep: that nothing happens while time passes is the point
        quiet = clock.looks.load(Ordering::SeqCst) == before;
        if quiet {
            break;
        }
    }
    assert!(quiet, "it woke with a task that runs and nothing that is due");
    host.release(id, "a");
    crate::stage::end(&homing, id).await;
    soon(homing.stop()).await;
}
