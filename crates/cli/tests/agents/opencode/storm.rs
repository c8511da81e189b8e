//! OpenCode, the daemon, or both are killed at any moment, again and again: everything still ends, and nothing is asked twice.

use std::collections::BTreeMap;
use std::time::Duration;

use super::scene::{Scene, runs};

const TASKS: usize = 6;
const KILLS: u64 = 6;

#[test]
fn r1_whatever_is_killed_every_child_ends_and_no_prompt_is_sent_twice() {
    let scene = Scene::with(
        "[limits]\nretry_interrupted = 20\nattempts = 40\n[concurrency]\ndefault = 3\n",
    );
    let tasks: Vec<String> = (0..TASKS)
        .map(|n| scene.launch(&format!("child-{n}"), [], &runs("sleep 0.3", &format!("@say {n}"))))
        .collect();
    let mut seed = 0x5eed_u64;
    for kill in 0..KILLS {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_millis(100 + (seed >> 33) % 900);
        std::thread::sleep(moment); // sleep: any moment is as good as another
        scene.home.homing(["daemon", "start"]);
        let server = scene.running();
        if kill % 3 != 0 {
            scene.kill_daemon();
        }
        if kill % 3 != 1
            && let Some(server) = server
        {
            server.kill();
        }
    }
    for task in &tasks {
        let shown = scene.ended(task);
        assert_eq!(shown["state"], "completed", "{shown}");
        let sessions = scene.server().sessions(task);
        let mut prompts: BTreeMap<String, u32> = BTreeMap::new();
        for session in &sessions {
            for message in scene.server().messages(session["id"].as_str().unwrap()) {
                if message["info"]["role"] == "user" {
                    let mark = message["parts"][0]["metadata"]["homing"].clone();
                    let turn = format!("{} {} {}", mark["task"], mark["attempt"], mark["turn"]);
                    *prompts.entry(turn).or_default() += 1;
                    assert_eq!(message["parts"].as_array().unwrap().len(), 1, "{message}");
                }
            }
        }
        assert!(prompts.values().all(|count| *count == 1), "{prompts:?}");
        let attempts: Vec<&serde_json::Value> =
            sessions.iter().map(|session| &session["metadata"]["homing"]["attempt"]).collect();
        let once =
            attempts.iter().all(|one| attempts.iter().filter(|two| two == &one).count() == 1);
        assert!(once, "{attempts:?}");
    }
}
