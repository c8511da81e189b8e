//! Breakers, time, budgets, and models that do not answer.

use serde_json::json;

use super::scene::{Scene, runs, waits};
use super::server::until;
use super::slots::ends;

fn reads(file: &std::path::Path) -> String {
    format!("@tool read {}", json!({"filePath": file.display().to_string()}))
}

fn is_busy(scene: &Scene, task: &str) -> bool {
    scene.server().sessions(task).iter().any(|session| scene.server().is_busy(session))
}

#[test]
fn b1_b2_b3_the_same_call_again_and_again_ends_a_task_and_different_ones_do_not() {
    let scene = Scene::with("[limits]\nidentical_calls = 5\n");
    let looped = "@loop bash {\"command\": \"true\", \"description\": \"nothing\"}";
    let task = scene.launch("looped", [], looped);
    let shown = scene.ended(&task);
    assert_eq!(
        (&shown["state"], &shown["cause"]),
        (&"failed".into(), &"breaker".into()),
        "{shown}"
    );
    let why = shown["reason"].as_str().unwrap();
    assert!(
        why.contains("called 5 times in a row"),
        "each once, however many events it had: {why}"
    );
    assert!(!is_busy(&scene, &task));
    let files: Vec<String> = (0..7)
        .map(|n| {
            let file = scene.place.work().join(format!("file-{n}"));
            std::fs::write(&file, "words").unwrap();
            reads(&file)
        })
        .collect();
    let task = scene.launch("reads", [], &format!("{}\n@say read", files.join("\n")));
    assert_eq!(scene.result(&task), "read");
    assert_eq!(scene.show(&task)["progress"]["tool_calls"], 7);
}

#[test]
fn b5_b6_b8_one_that_is_silent_is_ended_and_aborted_and_a_running_tool_is_not_silence() {
    let scene = Scene::with("[limits]\nstale = \"3s\"\nnever_active = \"3s\"\n");
    let silent = scene.launch("silent", [], "@say half\n@stall");
    let tool = scene.launch("tool", [], &runs("sleep 6", "@say at last"));
    let shown = scene.ended(&silent);
    assert_eq!(
        (&shown["state"], &shown["cause"]),
        (&"timed_out".into(), &"stale".into()),
        "{shown}"
    );
    assert_eq!(shown["result"]["text"], "half");
    assert!(!is_busy(&scene, &silent), "it was aborted");
    assert_eq!(scene.result(&tool), "at last");
    let late = scene.launch("late", ["--timeout", "2s"], &runs("sleep 60", "@say never"));
    assert_eq!(scene.end(&late).0, "timed_out");
    assert!(!is_busy(&scene, &late), "it was aborted");
}

#[test]
fn b9_a_budget_that_is_used_up_stops_with_what_was_said() {
    let scene = Scene::new();
    let steps = (0..20).map(|n| runs(&format!("sleep 1 # {n}"), "")).collect::<String>();
    let prompt = format!("@say some of it\n{steps}\n@say never");
    let task = scene.launch("dear", ["--budget", "tokens=20"], &prompt);
    let shown = scene.ended(&task);
    assert_eq!(shown["state"], "failed", "{shown}");
    assert_eq!(shown["cause"], "budget", "{shown}");
    assert_eq!(shown["result"]["text"], "some of it");
    assert!(shown["progress"]["tokens"].as_u64().unwrap() >= 20, "{shown}");
    assert!(!is_busy(&scene, &task));
}

#[test]
fn b10_a_quota_pauses_a_task_without_a_slot_and_the_same_session_goes_on() {
    let scene = Scene::with("[concurrency]\ndefault = 1\n");
    let there = scene.file("there");
    let prompt = format!("@until {} 429 1000\n@say at last", there.display());
    let task = scene.launch("paused", [], &prompt);
    scene.until_state(&task, "paused");
    let shown = scene.show(&task);
    let session = shown["session"]["id"].clone();
    let why = String::from_utf8(scene.home.homing(["why", &task]).stdout).unwrap();
    assert!(why.contains("quota") && why.contains("the pause is over"), "{why}");
    assert_eq!(scene.result(&scene.launch("other", [], "@say free")), "free", "its slot is free");
    assert_eq!(scene.show(&task)["state"], "paused");
    assert!(!is_busy(&scene, &task));
    scene.home.homing(["cancel", &task]);
    std::fs::write(&there, "").unwrap();
    scene.home.homing(["resume", &task, &prompt]);
    assert_eq!(scene.result(&task), "at last");
    assert_eq!(scene.show(&task)["session"]["id"], session);
}

#[test]
fn t4_t14_n16_an_error_that_passes_is_followed_by_the_answer() {
    let scene = Scene::new();
    let there = scene.file("there");
    let task =
        scene.launch("late", [], &format!("@until {} 503 1\n@say the answer", there.display()));
    until("its error", || {
        let heard = scene.model.log();
        (heard.iter().filter(|heard| heard.asked.prompt.contains("the answer")).count() > 1)
            .then_some(())
    });
    assert!(scene.show(&task)["ended_at"].is_null());
    std::fs::write(&there, "").unwrap();
    assert_eq!(scene.result(&task), "the answer");
    assert_eq!(scene.show(&task)["attempt"], 1);
}

#[test]
fn t7_t10_t18_t20_how_an_answer_ends_decides_and_not_its_words() {
    let scene = Scene::with("[limits]\ntodos = \"1s\"\n");
    let todo = "@tool todowrite {\"todos\": [{\"content\": \"more\", \"status\": \"pending\", \"priority\": \"high\", \"id\": \"1\"}]}";
    let ran = runs("true", "@empty");
    let todo = format!("{todo}\n@say done, mostly");
    for (name, prompt, state, cause) in [
        ("thinks", "@think hm", "failed", "empty"),
        ("filtered", "@say half\n@filter", "failed", "refused"),
        ("no-text", &ran, "completed", "no_text"),
        ("promises", "@say Ich mache gleich weiter …", "completed", "answered"),
        ("open to-do", &todo, "completed", "answered"),
    ] {
        let task = scene.launch(name, [], prompt);
        assert_eq!(scene.end(&task), (state.to_owned(), cause.to_owned()), "{name}");
    }
    for (name, flagged) in [("promises", false), ("no-text", true), ("open to-do", true)] {
        assert_eq!(scene.show(name)["flagged"], flagged, "{name}");
    }
}

#[test]
fn f2_f3_f4_a_used_up_chain_fails_once_with_its_timeline_and_what_repeats_is_not_tried_again() {
    let scene = Scene::new();
    let (one, two) = (["--model", "scripted/one"], ["--model", "scripted/two"]);
    let chain = [one[0], one[1], one[0], one[1], two[0], two[1]];
    let task =
        scene.launch("all", chain, "Hello.\n@for one\n@status 429 600\n@for two\n@status 401");
    let shown = scene.ended(&task);
    assert_eq!(
        (&shown["state"], &shown["cause"]),
        (&"failed".into(), &"exhausted".into()),
        "{shown}"
    );
    let tried: Vec<(&str, bool)> = shown["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|each| (each["model"].as_str().unwrap(), each["error"].is_object()))
        .collect();
    assert_eq!(tried, [("scripted/one", true), ("scripted/two", true)], "{shown}");
    assert_eq!(ends(&scene, &task), 1);
    for (name, status, class) in [("denied", "401", "auth"), ("bad", "400", "bad_request")] {
        let prompt = format!("Hello.\n@for one\n@status {status}\n@for two\n@say from two");
        let task = scene.launch(name, [], &prompt);
        let shown = scene.ended(&task);
        assert_eq!(shown["state"], "failed", "{shown}");
        assert_eq!(shown["attempt"], 1, "{shown}");
        assert_eq!(shown["error"]["code"], class, "{shown}");
    }
}

#[test]
fn t16_t17_t25_one_end_is_told_once_and_what_comes_after_it_changes_nothing() {
    let scene = Scene::new();
    let prompt = "Hello.\n@for one\n@status 429 600\n@for two\n@say from two";
    let task =
        scene.launch("moves on", ["--model", "scripted/one", "--model", "scripted/two"], prompt);
    assert_eq!(scene.result(&task), "from two");
    // Somebody goes on in both of its sessions: that of the attempt which was given up, and the last.
    let work = scene.place.work().display().to_string();
    let sessions = scene.server().sessions(&task);
    assert_eq!(sessions.len(), 2);
    for session in &sessions {
        let id = session["id"].as_str().unwrap();
        let model = json!({"providerID": "scripted", "modelID": "two"});
        let asks =
            json!({"model": model, "parts": [{"type": "text", "text": "@say something else"}]});
        scene.server().post(&format!("/session/{id}/prompt_async?directory={work}"), &asks);
        until("its answer", || {
            let last = scene.server().messages(id).pop()?;
            (last["info"]["finish"] == "stop").then_some(())
        });
    }
    scene.kill_daemon();
    assert_eq!(scene.result(&task), "from two");
    let shown = scene.show(&task);
    assert_eq!((&shown["state"], &shown["attempt"]), (&"completed".into(), &json!(2)), "{shown}");
    assert_eq!(ends(&scene, &task), 1);
    let inbox = scene.home.json(["inbox", "--json"]);
    assert_eq!(inbox["notices"].as_array().unwrap().len(), 1, "{inbox}");
}

#[test]
fn c1_c5_c6_c7_whatever_comes_first_there_is_one_end() {
    let scene = Scene::new();
    for round in 0..4 {
        let gate = scene.gate(&format!("gate-{round}"));
        let task = scene.launch(&format!("round-{round}"), [], &waits(&gate, "@say done"));
        scene.until_state(&task, "running");
        until("its tool", || (scene.show(&task)["progress"]["tool_calls"] == 1).then_some(()));
        if round == 0 {
            let said = scene.home.command().args(["resume", &task, "more"]).output().unwrap();
            assert!(String::from_utf8_lossy(&said.stderr).contains("[E_NOT_ENDED]"), "{said:?}");
        }
        let mut cancel = scene.home.command();
        cancel.args(["cancel", &task]).stdout(std::process::Stdio::null());
        let mut cancel = cancel.spawn().unwrap();
        scene.open(&gate);
        cancel.wait().unwrap();
        let shown = scene.ended(&task);
        assert!(["cancelled", "completed"].contains(&shown["state"].as_str().unwrap()), "{shown}");
        assert_eq!(ends(&scene, &task), 1);
        scene.home.homing(["cancel", &task]);
        assert_eq!(scene.show(&task)["state"], shown["state"], "what has ended stays so");
        assert!(!is_busy(&scene, &task));
    }
}

#[test]
fn n15_n17_n18_n19_a_result_reads_the_same_at_any_later_time_and_a_session_is_no_task() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let task = scene.launch("kept", [], &waits(&gate, "@say the words"));
    scene.until_state(&task, "running");
    let waits = ["output", &task, "--wait", "--timeout", "300ms", "--json"];
    let said = scene.home.command().args(waits).output().unwrap();
    assert_eq!(said.status.code(), Some(4), "{said:?}");
    let wait = serde_json::from_slice::<serde_json::Value>(&said.stdout).unwrap()["wait"].clone();
    assert_eq!((&wait["asked"], &wait["ended"]), (&"300ms".into(), &false.into()));
    scene.open(&gate);
    // At any moment: one that has ended is not busy.
    until("its end", || {
        let ended = !scene.show(&task)["ended_at"].is_null();
        assert!(!(ended && is_busy(&scene, &task)));
        ended.then_some(())
    });
    let read = || String::from_utf8(scene.home.homing(["output", &task]).stdout).unwrap();
    assert_eq!(read(), "the words");
    let session = scene.show(&task)["session"]["id"].as_str().unwrap().to_owned();
    let said = scene.home.command().args(["show", &session]).output().unwrap();
    let why = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(why.contains(&format!("is a session, not a task: use its task, {task}")), "{why}");
    scene.server().ask("DELETE", &format!("/session/{session}"), "").unwrap();
    assert_eq!(read(), "the words");
    scene.kill_daemon();
    assert_eq!(read(), "the words");
}
