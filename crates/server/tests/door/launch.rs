//! `POST /v1/tasks`.

use std::collections::BTreeMap;

use homing_core::refs::ParentRef;
use homing_core::wire::{Budget, Launch, Words};
use homing_ports::door::Calling;

use crate::scene::{Scene, ask, problem, soon};

#[tokio::test]
async fn l12_the_same_key_gives_the_same_task_also_by_header_and_after_a_restart() {
    let scene = Scene::new();
    let open = scene.open();
    let keyed = Launch { key: Some("once".to_owned()), ..ask("Count.") };
    let first = soon(open.client.launch(&keyed)).await.unwrap();
    assert!(!first.existing);
    assert_eq!(first.parent.to_string(), "inbox:cli");
    open.close().await;
    let open = scene.open();
    let again = soon(open.client.launch(&keyed)).await.unwrap();
    assert_eq!((again.id, again.existing), (first.id, true));
    let other = Launch { key: Some("once".to_owned()), ..ask("Count more.") };
    let refused = problem(soon(open.client.launch(&other)).await);
    assert_eq!((refused.status, refused.code.as_str()), (409, "E_IDEMPOTENCY_KEY_REUSED"));
    open.close().await;
}

#[tokio::test]
async fn everything_that_a_launch_says_is_in_the_task() {
    let scene = Scene::new();
    let open = scene.open();
    let first = open.launch("@gate on").await;
    let launch = Launch {
        host: Some("scripted".to_owned()),
        agent: Some("builder".to_owned()),
        name: Some("a name".to_owned()),
        model: Words(vec!["acme/large".to_owned(), "acme/small".to_owned()]),
        parent: Some("inbox:bot/room-7".to_owned()),
        origin: Some("odd:lobby/someone#3".to_owned()),
        notify: Some("debrief".to_owned()),
        batch: Some("night".to_owned()),
        timeout: Some("30m".to_owned()),
        budget: Budget { calls: Some(3), wall: Some("1h".to_owned()), ..Budget::default() },
        after: Words(vec![first.to_string()[..9].to_owned()]),
        ..ask("Count.")
    };
    let told = soon(open.client.launch(&launch)).await.unwrap();
    let task = soon(open.client.show("a name")).await.unwrap();
    assert_eq!(task.id, told.id);
    assert_eq!(task.state.word(), "queued");
    assert_eq!(task.model.as_deref(), Some("acme/large"));
    assert_eq!(task.parent.to_string(), "inbox:bot/room-7");
    assert_eq!(task.batch, "name:night");
    assert_eq!(task.agent.as_deref(), Some("builder"));
    let origin = task.origin.unwrap();
    assert_eq!((&*origin.kind, origin.thread.as_deref()), ("odd", Some("3")));
    let why = soon(open.client.why("a name")).await.unwrap();
    let missing = format!("the completion of {first}, which is running");
    assert_eq!(why.missing, Some(missing));
    scene.host.release(first, "on");
    open.close().await;
}

#[tokio::test]
async fn l15_what_makes_no_sense_is_refused_by_field_and_nothing_is_stored() {
    let scene = Scene::new();
    let open = scene.open();
    let text = |text: &str| Some(text.to_owned());
    for (launch, says) in [
        (Launch::default(), "prompt: it is empty"),
        (ask("  "), "prompt: it is empty"),
        (ask(&"x".repeat((1 << 20) + 1)), "prompt: it is longer than 1 MiB"),
        (Launch { host: text("scriptd"), ..ask("x") }, "did you mean \"scripted\"?"),
        (Launch { model: Words(vec!["large".to_owned()]), ..ask("x") }, "model: \"large\""),
        (Launch { parent: text("nobody"), ..ask("x") }, "parent: \"nobody\" is not a parent"),
        (Launch { origin: text("x"), ..ask("x") }, "origin: "),
        (Launch { origin: text("group:lobby/x"), ..ask("x") }, "room: there is no \"lobby\""),
        (Launch { notify: text("debrif"), ..ask("x") }, "did you mean \"debrief\"?"),
        (Launch { timeout: text("30"), ..ask("x") }, "timeout: it has no unit"),
        (Launch { preset: text("fast"), ..ask("x") }, "preset: there is no \"fast\""),
        (Launch { after: Words(vec!["bg_zzz".to_owned()]), ..ask("x") }, "no task \"bg_zzz\""),
        (Launch { key: text(""), ..ask("x") }, "key: from 1 to 512 bytes"),
        (
            Launch { budget: Budget { wall: text("5"), ..Budget::default() }, ..ask("x") },
            "budget.wall: it has no unit",
        ),
        (Launch { env: vars(&["HOMING_TASK"]), ..ask("x") }, "is set by homing itself"),
        (Launch { env: vars(&["A-B"]), ..ask("x") }, "cannot be a variable"),
        (Launch { caller_env: vars(&["SECRET"]), ..ask("x") }, "neither PATH nor a locale"),
    ] {
        let refused = problem(soon(open.client.launch(&launch)).await);
        assert!(refused.detail.contains(says), "{says}: {refused:?}");
        assert!(matches!(refused.status, 400 | 404), "{refused:?}");
    }
    assert_eq!(*open.homing.head().borrow(), 0);
    assert!(scene.around.kept.lock().unwrap().is_empty());
    open.close().await;
}

fn vars(names: &[&str]) -> BTreeMap<String, String> {
    names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect()
}

#[tokio::test]
async fn a_preset_fills_in_what_a_launch_does_not_say() {
    let mut scene = Scene::new();
    let preset = Launch {
        model: Words(vec!["acme/small".to_owned()]),
        agent: Some("builder".to_owned()),
        ..Launch::default()
    };
    scene.presets.insert("quick".to_owned(), preset);
    let open = scene.open();
    let launch = Launch {
        preset: Some("quick".to_owned()),
        agent: Some("other".to_owned()),
        ..ask("Count.")
    };
    let id = soon(open.client.launch(&launch)).await.unwrap().id;
    let task = open.end(id).await;
    assert_eq!((task.model.as_deref(), task.agent.as_deref()), (Some("acme/small"), Some("other")));
    let refused = problem(
        soon(open.client.launch(&Launch { preset: Some("quik".to_owned()), ..ask("x") })).await,
    );
    assert!(refused.detail.contains("did you mean \"quick\"?"), "{refused:?}");
    open.close().await;
}

#[tokio::test]
async fn l17_a_caller_inside_a_task_acts_as_that_task() {
    let mut scene = Scene::new();
    scene.limits.depth_max = 1;
    let mut open = scene.open();
    let above = open.launch("@gate on").await;
    scene.host.reached(above, "on").await;
    scene.call_from(&mut open, Calling::Inside(above));
    let told = soon(open.client.launch(&ask("Count."))).await.unwrap();
    assert_eq!(told.parent, ParentRef::Task(above));
    let task = soon(open.client.show(&told.id.to_string())).await.unwrap();
    assert_eq!((task.launched_by, task.depth), (Some(above), 1));
    let elsewhere = Launch { parent: Some("inbox:bot".to_owned()), ..ask("@gate off") };
    let elsewhere = soon(open.client.launch(&elsewhere)).await.unwrap().id;
    let task = soon(open.client.show(&elsewhere.to_string())).await.unwrap();
    assert_eq!((task.launched_by, task.parent.to_string().as_str()), (Some(above), "inbox:bot"));
    scene.call_from(&mut open, Calling::Inside(elsewhere));
    let refused = problem(soon(open.client.launch(&ask("Too deep."))).await);
    assert_eq!((refused.status, refused.code.as_str()), (403, "E_DELEGATION_DEPTH_EXCEEDED"));
    let refused = problem(soon(open.client.stop(false)).await);
    assert_eq!(refused.code, "E_INSIDE_TASK");
    scene.call_from(&mut open, Calling::Unknown);
    let refused = problem(soon(open.client.launch(&ask("Who?"))).await);
    assert_eq!((refused.status, refused.code.as_str()), (403, "E_CALLER_UNKNOWN"));
    open.close().await;
}

#[tokio::test]
async fn l16_a_task_that_waits_for_its_child_lends_its_slot() {
    let mut scene = Scene::new();
    scene.limits.default = 1;
    let mut open = scene.open();
    let above = open.launch("@gate on").await;
    scene.host.reached(above, "on").await;
    scene.call_from(&mut open, Calling::Inside(above));
    let child = soon(open.client.launch(&ask("Count."))).await.unwrap().id;
    // On the one slot that there is.
    assert_eq!(open.end(child).await.state.word(), "completed");
    scene.host.release(above, "on");
    open.close().await;
}
