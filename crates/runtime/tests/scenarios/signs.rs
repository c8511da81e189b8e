//! What onlookers see, who are owed nothing.

use std::sync::{Arc, Mutex};

use homing_ports::parent::{Onlooker, Sign};
use homing_runtime::{Notify, State, TaskId};

use crate::stage::{Stage, ask, end, inbox, launch, soon};

#[derive(Default)]
struct Seen(Mutex<Vec<Sign>>);

impl Onlooker for Seen {
    fn see(&self, sign: Sign) {
        self.0.lock().unwrap().push(sign);
    }
}

#[tokio::test]
async fn one_that_waited_is_seen_to_start_and_every_end_that_is_told_is_seen_once() {
    let mut stage = Stage::new();
    stage.limits.default = 1;
    let seen = Arc::new(Seen::default());
    let homing = stage.runtime().onlooker(seen.clone()).start().unwrap();
    let at_once = launch(&homing, ask("@gate a\n@say x\n@end").named("at once")).await;
    let silent = launch(&homing, ask("Count.").notify(Notify::Silent)).await;
    let waits = launch(&homing, ask("Count.").named("waits").parent(inbox("me"))).await;
    soon(stage.host.reached(at_once, "a")).await;
    stage.host.release(at_once, "a");
    for task in [at_once, silent, waits] {
        end(&homing, task).await;
    }
    // It is stopped when all is shown.
    soon(homing.stop()).await;
    let seen = seen.0.lock().unwrap();
    let of = |task: TaskId| -> Vec<State> {
        seen.iter().filter(|sign| sign.task == task).map(|sign| sign.state).collect()
    };
    assert_eq!(of(at_once), [State::Completed], "it did not wait");
    assert_eq!(of(silent), [], "nobody is to hear of it");
    assert_eq!(of(waits), [State::Starting, State::Completed]);
    let last = seen.iter().rfind(|sign| sign.task == waits).unwrap();
    assert_eq!((last.name.as_deref(), &last.parent), (Some("waits"), &inbox("me")));
}
