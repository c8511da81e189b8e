//! OpenCode, the daemon, or both are killed at any moment, again and again: everything still ends, and nothing is asked twice.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::program::{another, name, parent, started, words};
use super::scene::{Scene, runs};

const TASKS: usize = 6;
const KILLS: u64 = 6;

/// Any moments, the same ones each time.
struct Moments(u64);

impl Moments {
    /// At least this long, and up to so much longer.
    fn wait(&mut self, least: u64, more: u64) {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_millis(least + (self.0 >> 33) % more);
        std::thread::sleep(moment); // sleep: any moment is as good as another
    }
}

#[test]
fn r1_whatever_is_killed_every_child_ends_and_no_prompt_is_sent_twice() {
    let scene = Scene::with(
        "[limits]\nretry_interrupted = 20\nattempts = 40\n[concurrency]\ndefault = 3\n",
    );
    let tasks: Vec<String> = (0..TASKS)
        .map(|n| scene.launch(&format!("child-{n}"), [], &runs("sleep 0.3", &format!("@say {n}"))))
        .collect();
    let mut moments = Moments(0x5eed);
    for kill in 0..KILLS {
        moments.wait(100, 900);
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
        let attempts: Vec<&Value> =
            sessions.iter().map(|session| &session["metadata"]["homing"]["attempt"]).collect();
        let once =
            attempts.iter().all(|one| attempts.iter().filter(|two| two == &one).count() == 1);
        assert!(once, "{attempts:?}");
    }
}

#[test]
fn r1_n8_n9_n13_whatever_is_killed_every_end_is_told_to_its_parent_once() {
    let scene = Scene::new();
    let mut program = started(&scene);
    let session = program.session();
    let parent = parent(&scene, &program, &session);
    let mut moments = Moments(0xdead);
    let rounds = 2 * KILLS;
    for n in 0..rounds {
        let does = format!("sleep 0.1; echo told {n}.");
        let task = format!("task-{n}");
        let launch = ["launch", "--parent", &parent, "--name", &task, "--", "sh", "-c", &does];
        scene.home.homing(launch);
        // Around the moments in which it ends, is sealed, is sent, is stored and is answered.
        moments.wait(60, 250);
        if n % 3 != 0 {
            scene.kill_daemon();
        }
        if n % 3 != 1 {
            program.kill();
            program = another(&scene);
        }
        scene.home.homing(["daemon", "start"]);
    }
    for n in 0..rounds {
        let task = format!("task-{n}");
        scene.until_settled(&task);
    }
    let messages = program.messages(&session);
    for n in 0..rounds {
        let telling = messages.iter().filter(|one| words(one).contains(&format!("| told {n}.")));
        assert_eq!(telling.count(), 1, "{n}");
    }
    for debrief in program.debriefs(&session) {
        assert_eq!(debrief["parts"].as_array().unwrap().len(), 2, "{debrief}");
        assert!(program.answers(&session, name(&debrief)).len() <= 1, "{debrief}");
    }
}

#[test]
fn r1_n8_n9_children_and_parent_on_opencode_whatever_is_killed_everything_is_told_once() {
    let scene = Scene::with("[limits]\nretry_interrupted = 20\nattempts = 40\n");
    let mut program = started(&scene);
    let session = program.session();
    let parent = parent(&scene, &program, &session);
    let mut moments = Moments(0xbeef);
    for n in 0..KILLS {
        let prompt = runs("sleep 0.2", &format!("@say told {n}."));
        scene.launch(&format!("task-{n}"), ["--parent", &parent], &prompt);
        moments.wait(100, 1_500);
        let server = scene.running();
        if n % 4 != 1 {
            scene.kill_daemon();
        }
        if n % 2 == 1
            && let Some(server) = server
        {
            server.kill();
        }
        if n % 4 > 1 {
            program.kill();
            program = another(&scene);
        }
        scene.home.homing(["daemon", "start"]);
    }
    let tasks: Vec<Value> = (0..KILLS).map(|n| scene.ended(&format!("task-{n}"))).collect();
    for task in &tasks {
        // What was interrupted may have been gone on with in other words.
        assert_eq!(task["state"], "completed", "{task}");
        scene.until_settled(task["id"].as_str().unwrap());
    }
    let debriefs = program.debriefs(&session);
    for task in &tasks {
        let id = task["id"].as_str().unwrap();
        let telling = debriefs.iter().filter(|debrief| words(debrief).contains(id));
        assert_eq!(telling.count(), 1, "{id}");
    }
    for debrief in debriefs {
        assert!(program.answers(&session, name(&debrief)).len() <= 1, "{debrief}");
    }
}
