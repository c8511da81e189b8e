//! Very many at once: queued, cancelled, one after the other, waited for.

use std::time::Duration;

use homing_client::Client;
use homing_core::wire::{Launch, Words};
use tokio::task::JoinSet;

use crate::scene::{LONG, Scene, finish};
use crate::witness::{Beside, CROWD_KB_MAX, DAEMON_KB_MAX, Many, peak_kb};

const QUEUED: usize = 10_000;
const STOPPED: usize = 2_000;
const CHAIN: usize = 1_000;
const WAITING: usize = 200;
/// Connections that are open at once.
const AT_ONCE: usize = 100;

fn command(script: &str) -> Launch {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    Launch { command, ..Launch::default() }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// A daemon that may open as many files as is usual, whatever this machine allows.
fn start_with_few_descriptors(scene: &Scene) {
    let script = r#"ulimit -n 1024; exec "$0" daemon start"#;
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_homing")]);
    command.envs(scene.command(["ls"]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    assert!(command.stdout(std::process::Stdio::null()).status().unwrap().success());
}

/// Launches so many of these, and gives their ids.
async fn launch_many(client: &Client, launch: &Launch, many: usize) -> Vec<String> {
    let mut ids = Vec::new();
    let mut under_way = JoinSet::new();
    for _ in 0..many {
        if under_way.len() == AT_ONCE {
            ids.push(under_way.join_next().await.unwrap().unwrap());
        }
        let (client, launch) = (client.clone(), launch.clone());
        under_way.spawn(async move { client.launch(&launch).await.unwrap().id.to_string() });
    }
    ids.extend(under_way.join_all().await);
    ids
}

/// R5, C3: all are accepted, few run, and one word ends them all.
#[test]
fn r5_ten_thousand_queued_at_once_are_cancelled_with_one_word() {
    let scene = Scene::new();
    scene.settings("[concurrency]\ndefault = 4\n");
    start_with_few_descriptors(&scene);
    let ids = block_on(launch_many(&scene.client(), &command("sleep 1000"), QUEUED));
    assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), QUEUED);
    let listed = scene.homing(["ls", "--json"]).json();
    let states: Vec<&str> =
        listed.as_array().unwrap().iter().map(|task| task["state"].as_str().unwrap()).collect();
    assert_eq!(states.len(), QUEUED);
    assert!(states.iter().filter(|state| **state != "queued").count() <= 4);
    let said = scene.homing(["cancel", "--all", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let told = said.json();
    assert_eq!(told.as_array().unwrap().len(), QUEUED);
    assert!(told.as_array().unwrap().iter().all(|each| each["state"] == "cancelled"));
    assert_eq!(scene.homing(["ls", "--json"]).json(), serde_json::json!([]));
    scene.nothing_runs();
    let ended = scene.homing(["ls", "--state", "cancelled", "--json"]).json();
    assert_eq!(
        ended.as_array().unwrap().len(),
        QUEUED,
        "each ended as cancelled, and none otherwise"
    );
    let peak = peak_kb(scene.daemon());
    assert!(peak < CROWD_KB_MAX, "{peak} kB");
    assert_eq!(scene.run([], ["echo", "next"]).text(), "next\n");
}

/// R5: a stop with children ends those that never began, too, and the next daemon starts none of them.
#[test]
fn r5_a_stop_with_children_ends_thousands_that_are_queued() {
    let scene = Scene::new();
    scene.settings("[concurrency]\ndefault = 2\n");
    start_with_few_descriptors(&scene);
    block_on(launch_many(&scene.client(), &command("sleep 1000"), STOPPED));
    let said = scene.homing(["daemon", "stop", "--children", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(
        (&said.json()["cancelled"], &said.json()["left"]),
        (&STOPPED.into(), &serde_json::json!([]))
    );
    scene.nothing_runs();
    assert_eq!(scene.homing(["ls", "--json"]).json(), serde_json::json!([]));
    let ended = scene.homing(["ls", "--state", "cancelled", "--json"]).json();
    assert_eq!(ended.as_array().unwrap().len(), STOPPED);
}

/// R5: each waits for the one before it, and all of them run, in order.
#[test]
fn r5_a_chain_of_a_thousand_runs_link_by_link() {
    let scene = Scene::new();
    let witness = scene.path("order");
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    let gate = scene.gate("first");
    let mut before = scene.launch("link 0", [], &gate.wait());
    let open = gate.open();
    let client = scene.client();
    block_on(async {
        for n in 1..CHAIN {
            let script = format!("echo {n} >> '{}'", witness.display());
            let after = Words(vec![before.clone()]);
            let name = Some(format!("link {n}"));
            let launch = Launch { after, name, ..command(&script) };
            before = client.launch(&launch).await.unwrap().id.to_string();
        }
    });
    assert!(!witness.exists(), "none ran before what it waits for");
    drop(open);
    assert_eq!(scene.homing(["wait", &before]).code, Some(0));
    let order = std::fs::read_to_string(&witness).unwrap();
    let expected: String = (1..CHAIN).map(|n| format!("{n}\n")).collect();
    assert_eq!(order, expected);
    let peak = peak_kb(scene.daemon());
    assert!(peak < DAEMON_KB_MAX, "{peak} kB");
    scene.nothing_runs();
}

/// R5: when the first link of a chain does not go well, the whole chain is told so at once.
#[test]
fn r5_a_chain_of_a_thousand_ends_with_its_first_link() {
    let scene = Scene::new();
    assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    let gate = scene.gate("first");
    let mut before = scene.launch("first", [], &format!("{}; exit 3", gate.wait()));
    let open = gate.open();
    let client = scene.client();
    block_on(async {
        for _ in 1..CHAIN {
            let launch = Launch { after: Words(vec![before.clone()]), ..command("true") };
            before = client.launch(&launch).await.unwrap().id.to_string();
        }
    });
    drop(open);
    assert_eq!(scene.homing(["wait", &before]).code, Some(1));
    let last = scene.show(&before);
    assert_eq!((&last["state"], &last["cause"]), (&"cancelled".into(), &"dependency".into()));
    assert_eq!(scene.homing(["ls", "--json"]).json(), serde_json::json!([]));
}

/// R5: everyone who waits is told, once it has ended; each is a process of its own.
#[test]
fn r5_two_hundred_wait_for_one_and_all_are_told() {
    let scene = Scene::new();
    let beside = Beside::start(&scene);
    let gate = scene.gate("awaited");
    scene.launch("awaited", [], &format!("{}; echo here", gate.wait()));
    let open = gate.open();
    let wait = |_| scene.command(["output", "awaited", "--wait"]).spawn().unwrap();
    let mut many = Many((0..WAITING).map(wait).collect());
    let client = scene.client();
    block_on(async {
        // These ask once, so that one who is forgotten waits for ever.
        let wait = |_| {
            let client = client.clone();
            async move { client.wait("awaited", 10 * LONG).await.unwrap() }
        };
        let waiting: JoinSet<bool> = (0..WAITING).map(wait).collect();
        // The daemon answers others meanwhile.
        assert!(!client.wait("awaited", Duration::from_millis(1)).await.unwrap(), "it goes on");
        drop(open);
        let told = tokio::time::timeout(LONG, waiting.join_all()).await.unwrap();
        assert!(told.into_iter().all(|ended| ended));
    });
    while let Some(child) = many.0.pop() {
        let said = finish(child);
        assert_eq!((said.code, said.text()), (Some(0), "here\n"), "{}", said.err);
    }
    let peak = peak_kb(scene.daemon());
    assert!(peak < DAEMON_KB_MAX, "{peak} kB");
    beside.ends_unharmed();
    scene.nothing_runs();
}
