//! N: notices to the parent, taken by a consumer over the socket.

use std::collections::BTreeSet;

use homing_client::Client;
use homing_core::wire::Delivered;
use serde_json::Value;

use super::{QUIET, block, client, is, kill_daemon, owed, with};
use crate::scene::{Scene, until};

const BATCH: [&str; 6] = ["--parent", "inbox:bot", "--notify", "debrief", "--batch", "night"];
const EACH: [&str; 2] = ["--parent", "inbox:bot"];

/// As many debriefs as said; acknowledged, or cut off before that.
fn take(client: &Client, count: usize, ack: bool) -> Vec<Delivered> {
    block(async {
        let mut stream = client.deliveries("bot").await.unwrap();
        let mut taken = Vec::new();
        while taken.len() < count {
            let event = stream.next().await.unwrap().unwrap();
            let told: Delivered = event.json().unwrap();
            if ack {
                assert!(client.ack(&told.key.to_string()).await.unwrap().known);
            }
            taken.push(told);
        }
        taken
    })
}

/// Nothing more comes.
fn nothing_comes(client: &Client) {
    block(async {
        let mut stream = client.deliveries("bot").await.unwrap();
        let more = tokio::time::timeout(QUIET, stream.next()).await;
        assert!(more.is_err(), "{more:?}");
    });
}

fn ids(told: &Delivered) -> Vec<String> {
    told.notices.iter().map(|(task, _)| task.to_string()).collect()
}

/// So many commands of one batch that wait at one gate; gives their ids once all run.
fn many(scene: &Scene, count: usize) -> (Vec<String>, std::fs::File) {
    let gate = scene.gate("all");
    let launch =
        |n: usize| scene.launch(&format!("n{n}"), BATCH, &format!("{}; echo {n}", gate.wait()));
    let tasks: Vec<String> = (0..count).map(launch).collect();
    let open = gate.open();
    for task in &tasks {
        is(scene, task, "running");
    }
    (tasks, open)
}

/// Tasks in the order in which they ended, by the journal.
fn by_end(scene: &Scene) -> Vec<String> {
    let said = scene.homing(["events"]);
    let all = said.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ends = all.filter(|line| line["body"]["to"] == "completed" && line["kind"] == "moved");
    ends.map(|line| line["task"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn n1_two_that_end_together_are_told_once_each_in_one_debrief() {
    let scene = Scene::new();
    let (tasks, open) = many(&scene, 2);
    drop(open);
    let client = client(&scene);
    let told = take(&client, 1, true);
    assert_eq!(ids(&told[0]), by_end(&scene));
    assert_eq!(ids(&told[0]).into_iter().collect::<BTreeSet<_>>(), tasks.into_iter().collect());
    nothing_comes(&client);
}

#[test]
fn n2_a_delivery_that_is_cut_off_is_repeated_until_it_is_acknowledged() {
    let scene = Scene::new();
    let id = scene.launch("one", EACH, "echo 1");
    let client = client(&scene);
    let keys: BTreeSet<String> =
        (0..3).map(|_| take(&client, 1, false)[0].key.to_string()).collect();
    let last = take(&client, 1, true);
    assert_eq!(keys, BTreeSet::from([last[0].key.to_string()]), "always the same");
    assert_eq!(ids(&last[0]), [id]);
    nothing_comes(&client);
}

#[test]
fn n8_an_end_that_was_not_delivered_before_a_kill_is_delivered_once_after_it() {
    let scene = Scene::new();
    let id = scene.launch("one", EACH, "echo 1");
    is(&scene, &id, "completed");
    kill_daemon(&scene);
    let client = client(&scene);
    assert_eq!(ids(&take(&client, 1, true)[0]), [id]);
    kill_daemon(&scene);
    nothing_comes(&self::client(&scene));
}

#[test]
fn n9_n13_what_was_sent_and_not_written_down_as_taken_comes_again_under_its_key() {
    let scene = Scene::new();
    scene.launch("one", EACH, "echo 1");
    let first = block(async {
        let client = client(&scene);
        let mut stream = client.deliveries("bot").await.unwrap();
        let told: Delivered = stream.next().await.unwrap().unwrap().json().unwrap();
        // The daemon dies with the delivery made and no receipt in its ledger.
        kill_daemon(&scene);
        told
    });
    let client = client(&scene);
    let again = take(&client, 1, true);
    assert_eq!((&again[0].key, &again[0].text), (&first.key, &first.text), "the same bytes");
    nothing_comes(&client);
}

#[test]
fn n10_fifty_that_end_at_once_are_one_debrief_in_the_order_of_their_ends() {
    let scene = with("[concurrency]\ndefault = 0\n");
    let (tasks, open) = many(&scene, 50);
    drop(open);
    for task in &tasks {
        is(&scene, task, "completed");
    }
    let client = client(&scene);
    let told = take(&client, 1, true);
    assert_eq!(ids(&told[0]), by_end(&scene));
    assert_eq!(told[0].notices.len(), 50);
    nothing_comes(&client);
}

#[test]
fn n11_what_ends_while_nobody_listens_is_kept_and_told_in_one_debrief() {
    let scene = with("[concurrency]\ndefault = 0\n");
    let (tasks, open) = many(&scene, 25);
    drop(open);
    for task in &tasks {
        is(&scene, task, "completed");
    }
    // Also when it is another daemon that tells.
    assert_eq!(scene.homing(["daemon", "stop"]).code, Some(0));
    let client = client(&scene);
    let told = take(&client, 1, true);
    assert_eq!(told[0].notices.len(), 25);
    assert_eq!(ids(&told[0]), by_end(&scene));
    nothing_comes(&client);
}

#[test]
fn n12_ends_far_apart_close_together_and_at_once_all_arrive() {
    let scene = Scene::new();
    for (name, wait) in [("far", "1"), ("close", "0.2"), ("at", "0"), ("once", "0")] {
        scene.launch(name, EACH, &format!("sleep {wait}"));
    }
    let client = client(&scene);
    let told = take(&client, 4, true);
    let mut all: Vec<String> = told.iter().flat_map(ids).collect();
    assert_eq!(all, by_end(&scene));
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 4);
    nothing_comes(&client);
}

#[test]
fn n15_a_result_reads_the_same_twice_later_and_without_its_run() {
    let scene = Scene::new();
    let id = scene.launch("one", [], "seq 30000");
    assert_eq!(scene.homing(["wait", "one"]).code, Some(0));
    let first = scene.homing(["output", &id]).out;
    assert!(first.ends_with(b"29999\n30000\n"));
    assert!(scene.homing(["output", &id]).out == first);
    kill_daemon(&scene);
    std::fs::remove_dir_all(scene.home.join(format!("runs/{id}.1"))).unwrap();
    assert!(scene.homing(["output", &id]).out == first);
    until(|| owed(&scene, "inbox:cli").is_empty());
}

#[test]
fn n18_a_read_that_waits_keeps_its_time_and_says_it_with_its_unit() {
    let scene = Scene::new();
    let gate = scene.gate("slow");
    let id = scene.launch("slow", [], &format!("{}; echo done", gate.wait()));
    let open = gate.open();
    let said = scene.homing(["output", &id, "--wait", "--timeout", "300ms", "--json"]);
    assert_eq!(said.code, Some(4), "{}", said.err);
    let wait = &said.json()["wait"];
    assert_eq!(
        (&wait["asked"], &wait["asked_ms"], &wait["ended"]),
        (&"300ms".into(), &300.into(), &false.into())
    );
    assert_eq!(scene.homing(["output", &id, "--wait", "--timeout", "300"]).code, Some(2));
    drop(open);
    let said = scene.homing(["output", &id, "--wait", "--timeout", "1m", "--json"]);
    assert_eq!((said.code, &said.json()["wait"]["ended"]), (Some(0), &true.into()));
}
