//! What ends at any distance arrives, every time: a hundred conversations at once, their children real commands.

use std::time::Duration;

use homing_core::ids::ConversationId;
use homing_core::wire::{Converse, Launch, ListQuery, Speak};
use homing_testkit::opencode::{until_within, words};
use tokio::runtime::Runtime;

use super::super::scene::Scene;
use super::chat::client;

const RUNS: usize = 100;
/// Seconds from the launch to the end of each: 5 s, 1 s and nothing apart.
const ENDS: [u32; 4] = [1, 6, 7, 7];
/// Four hundred commands, and as many turns.
const PATIENCE: Duration = Duration::from_secs(300);

fn result(run: usize, n: usize) -> String {
    format!("result-{run}-{n}.")
}

#[test]
fn n12_completions_5_s_1_s_and_0_s_apart_all_arrive_once_in_100_of_100_runs() {
    let scene = Scene::with("[concurrency]\ndefault = 0\n");
    scene.set_up([]);
    let (rt, client) = (Runtime::new().unwrap(), client(&scene));
    let chats: Vec<ConversationId> = rt.block_on(async {
        let mut chats = Vec::new();
        for run in 0..RUNS {
            let body = Converse {
                host: Some("opencode".into()),
                cwd: Some(scene.place.work().display().to_string()),
                ..Converse::default()
            };
            let id = client.converse(&body).await.unwrap().id;
            let speak = Speak { text: "@say ready".into(), key: None };
            client.speak(id, &speak).await.unwrap();
            for (n, seconds) in ENDS.into_iter().enumerate() {
                let script = format!("sleep {seconds}; echo {}", result(run, n));
                let launch = Launch {
                    command: vec!["sh".into(), "-c".into(), script],
                    parent: Some(format!("conv:{id}")),
                    // Each is told by itself, as soon as it can be.
                    batch: Some(n.to_string()),
                    ..Launch::default()
                };
                client.launch(&launch).await.unwrap();
            }
            chats.push(id);
        }
        chats
    });
    let server = scene.server();
    for (run, id) in chats.into_iter().enumerate() {
        let asked = ListQuery { parent: Some(format!("conv:{id}")), ..ListQuery::default() };
        until_within(PATIENCE, "all receipts", || {
            let tasks = rt.block_on(client.list(&asked)).unwrap().tasks;
            let settled = tasks.iter().filter(|task| task.delivery.state == "settled").count();
            (settled == ENDS.len()).then_some(())
        });
        let view = rt.block_on(client.conversation(id)).unwrap();
        let messages = server.messages(&view.session.unwrap().id);
        let told = |n: usize| {
            let holds = |message: &&serde_json::Value| {
                message["info"]["role"] == "user" && words(message).contains(&result(run, n))
            };
            messages.iter().filter(holds).count()
        };
        assert_eq!([0, 1, 2, 3].map(told), [1; 4], "run {run}: {messages:?}");
    }
}
