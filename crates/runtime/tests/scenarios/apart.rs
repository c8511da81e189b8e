//! One slow host, parent or room never delays another's task.

use std::sync::Arc;

use homing_core::fact::Fact;
use homing_core::ids::TaskId;
use homing_core::input::{DeliveryFact, ParentFact, PostFact};
use homing_core::spec::Caps;
use homing_core::task::Answer;
use homing_ports::host::{Flight, Host, Opening, Place, Prompting, Reports, Wanted};
use homing_ports::parent::{Delivery, Message, Parent, Room};
use homing_runtime::{Launch, Origin, ParentRef, State};

use crate::stage::{Stage, answering, ask, end, is_done, launch, settled, soon};

/// Takes every call and answers none.
struct Stuck;

fn never<'a, T: Send + 'a>() -> Flight<'a, T> {
    Box::pin(std::future::pending())
}

impl Host for Stuck {
    fn name(&self) -> &str {
        "stuck"
    }

    fn caps(&self) -> Caps {
        Caps { prompts: true, goes_on: true, ..Caps::default() }
    }

    fn check(&self, _: Wanted) -> Flight<'_, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn open(&self, _: Opening) -> Flight<'_, Vec<Fact>> {
        never()
    }

    fn prompt(&self, _: Prompting) -> Flight<'_, Fact> {
        never()
    }

    fn watch(&self, _: Place, _: Arc<dyn Reports>) {}

    fn unwatch(&self, _: TaskId, _: u32) {}

    fn look(&self, _: Place) -> Flight<'_, Fact> {
        never()
    }

    fn abort(&self, _: Place) -> Flight<'_, Fact> {
        never()
    }

    fn answer<'a>(&'a self, _: Place, _: &'a str, _: &'a Answer) -> Flight<'a, Result<(), String>> {
        never()
    }

    fn transcript(&self, _: Place) -> Flight<'_, Result<Vec<u8>, String>> {
        never()
    }
}

impl Parent for Stuck {
    fn look(&self, _: ParentRef) -> Flight<'_, ParentFact> {
        Box::pin(std::future::ready(ParentFact::Between))
    }

    fn deliver(&self, _: Delivery) -> Flight<'_, DeliveryFact> {
        never()
    }
}

impl Room for Stuck {
    fn post(&self, _: Message) -> Flight<'_, PostFact> {
        never()
    }
}

fn origin(text: &str) -> Origin {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_host_parent_or_room_that_never_answers_delays_nobody_else() {
    let stage = Stage::new();
    let good = answering(&stage, "cv_good");
    let mute: ParentRef = "opencode:ses_mute".parse().unwrap();
    let stuck = Arc::new(Stuck);
    let runtime = stage.runtime().host(stuck.clone()).parent("opencode", stuck.clone());
    let homing = runtime.room("stuck", stuck).start().unwrap();
    let mut held = Vec::new();
    for n in 0..5 {
        held.push(launch(&homing, Launch::prompt("stuck", &format!("Nothing {n}."))).await);
    }
    let untold = launch(&homing, ask("Told to nobody.").parent(mute)).await;
    let unposted =
        ask("Posted nowhere.").parent(ParentRef::None).origin(origin("group:stuck/here"));
    let unposted = launch(&homing, unposted).await;
    let works = (0..20).map(|n| {
        let work = ask(&format!("Quick {n}.")).parent(good.clone()).batch("quick");
        work.origin(origin("group:lobby/here"))
    });
    let quick = soon(homing.launch_all(works)).await.into_iter();
    let quick: Vec<TaskId> = quick.map(Result::unwrap).collect();
    for id in &quick {
        settled(&homing, *id).await;
    }
    assert_eq!(stage.parents.told(&good).len(), 1);
    for id in [untold, unposted] {
        assert!(is_done(&end(&homing, id).await), "its own end waits for nobody either");
    }
    for id in held {
        assert_eq!(soon(homing.show(id)).await.unwrap().task.state, State::Starting);
        assert_eq!(soon(homing.cancel(id, None)).await, Ok(State::Stopping));
    }
    soon(homing.stop()).await;
}
