//! Children on the real OpenCode: how they end, and what is known of them meanwhile.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use super::scene::{Scene, runs, waits};
use super::server::until;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_child_answers_and_its_session_is_linked_marked_and_counted() {
    let scene = Scene::new();
    let said = scene.try_to("run", ["--name", "duck count"], &runs("echo 4", "@say four ducks"));
    assert!(said.status.success(), "{}", text(&said.stderr));
    assert_eq!(text(&said.stdout).trim_end(), "four ducks");
    let task = scene.show("duck count");
    assert_eq!((&task["state"], &task["cause"]), (&"completed".into(), &"answered".into()));
    assert_eq!(task["progress"]["tool_calls"], 1);
    assert_eq!(task["progress"]["last_tool"], "bash");
    assert!(task["progress"]["tokens"].as_u64().unwrap() >= 30, "{task}");
    let session = task["session"]["id"].as_str().unwrap();
    let sessions = scene.server().sessions(task["id"].as_str().unwrap());
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    assert_eq!(sessions[0]["id"], session);
    assert!(sessions[0]["title"].as_str().unwrap().starts_with("duck count ["));
    assert_eq!(sessions[0]["metadata"]["homing"]["task"], task["id"]);
    let log = text(&scene.home.homing(["logs", "duck count"]).stdout);
    assert!(log.contains("four ducks") && log.contains("echo 4"), "{log}");
}

/// What a model gets of a launch.
#[test]
fn l15_names_are_checked_and_what_a_launch_asks_for_reaches_the_model() {
    let scene = Scene::new();
    let refused = scene.try_to("launch", ["--agent", "raeder"], "Hello.");
    let why = text(&refused.stderr);
    assert!(!refused.status.success() && why.contains("did you mean \"reader\"?"), "{why}");
    let refused = scene.try_to("launch", ["--model", "scripted/too"], "Hello.");
    let why = text(&refused.stderr);
    assert!(!refused.status.success() && why.contains("did you mean \"scripted/two\"?"), "{why}");
    let refused = scene.try_to("launch", ["--permissions", "bash=perhaps"], "Hello.");
    assert!(text(&refused.stderr).contains("permissions:"), "{}", text(&refused.stderr));
    assert_eq!(scene.home.json(["ls", "--all", "--json"]).as_array().unwrap().len(), 0);
    // The agent has a model of its own; the one that is named goes over it.
    for (name, options, model) in [
        ("own", ["--agent", "reader", "--tools", "read,grep"].as_slice(), "two"),
        ("named", &["--agent", "reader", "--model", "scripted/one"], "one"),
    ] {
        let options: Vec<&str> =
            options.iter().copied().chain(["--system", "You are brief."]).collect();
        let mut launch = scene.home.command();
        launch.args(["run", "--host", "opencode", "--name", name, "--cwd"]).arg(scene.place.work());
        let said = launch.args(options).arg("Hello.").output().unwrap();
        assert!(said.status.success(), "{}", text(&said.stderr));
        let session = scene.show(name)["session"]["id"].as_str().unwrap().to_owned();
        let log = scene.model.log();
        let heard = log.iter().find(|heard| {
            heard.session.as_deref() == Some(&session) && heard.asked.prompt.contains("Hello.")
        });
        let heard = heard.unwrap();
        assert_eq!(heard.asked.model, model, "{name}");
        if name == "own" {
            assert_eq!(heard.tools, ["grep", "read"], "{name}");
        } else {
            let tools = &heard.tools;
            assert!(tools.iter().all(|tool| tool != "task" && tool != "question"), "{tools:?}");
        }
    }
}

#[test]
fn l2_a_program_that_is_not_there_is_named_with_what_to_do() {
    let scene = Scene::new();
    fs::write(
        scene.home.dir().join("homing.toml"),
        "[opencode]\ncommand = [\"no-such-opencode\"]\n",
    )
    .unwrap();
    let said = scene.try_to("run", [], "Hello.");
    let why = text(&said.stderr);
    assert!(!said.status.success(), "{why}");
    assert!(
        why.contains("no-such-opencode was not started") && why.contains("[opencode] command"),
        "{why}"
    );
}

#[test]
fn each_way_to_fail_is_told_truly_and_frees_its_slot() {
    let scene = Scene::with("[concurrency]\ndefault = 1\n[limits]\ntodos = \"1s\"\n");
    let todo = "@tool todowrite {\"todos\": [{\"content\": \"more\", \"status\": \"pending\", \"priority\": \"high\", \"id\": \"1\"}]}";
    let ways = [
        ("refused", "@status 401", [].as_slice()),
        ("bad", "@status 400", &[]),
        ("empty", "@empty", &[]),
        ("long", "@say half of a sent\n@length", &[]),
        ("hangs", "@say half\n@stall", &["--timeout", "3s"]),
    ];
    for (name, prompt, options) in ways {
        let options: Vec<&str> =
            ["--name", name].into_iter().chain(options.iter().copied()).collect();
        let mut launch = scene.home.command();
        launch.args(["launch", "--host", "opencode", "--cwd"]).arg(scene.place.work());
        assert!(launch.args(options).arg(prompt).status().unwrap().success());
    }
    let mostly = scene.launch("mostly", [], &format!("{todo}\n@say done, mostly"));
    let good = scene.launch("good", [], "@say at last");
    let end = |name: &str| scene.end(name);
    let is = |state: &str, cause: &str| (state.to_owned(), cause.to_owned());
    assert_eq!(end("refused"), is("failed", "error"));
    assert_eq!(end("bad"), is("failed", "error"));
    assert_eq!(end("empty"), is("failed", "empty"));
    assert_eq!(end("long"), is("failed", "truncated"));
    assert_eq!(scene.result("long"), "half of a sent");
    assert_eq!(end("hangs").0, "timed_out");
    assert_eq!(scene.result("hangs"), "half");
    assert_eq!(end(&mostly), is("completed", "answered"));
    assert_eq!(scene.result(&good), "at last");
    let error = scene.show("refused")["error"].clone();
    assert!(error.to_string().contains("401") || error.to_string().contains("auth"), "{error}");
}

#[test]
fn f1_a_rate_limit_leads_to_the_next_model_in_a_session_of_its_own() {
    let scene = Scene::new();
    let prompt = "Hello.\n@for one\n@status 429 600\n@for two\n@say from two";
    let task =
        scene.launch("moves on", ["--model", "scripted/one", "--model", "scripted/two"], prompt);
    assert_eq!(scene.result(&task), "from two");
    let shown = scene.show(&task);
    assert_eq!(shown["attempt"], 2, "{shown}");
    let sessions = scene.server().sessions(&task);
    assert_eq!(sessions.len(), 2);
    assert!(sessions.iter().all(|session| !scene.server().is_busy(session)));
}

#[test]
fn c8_a_permission_and_a_question_wait_for_somebody_and_the_answer_reaches() {
    let scene = Scene::new();
    let asks = scene.launch("asks", ["--permissions", "bash=ask"], &runs("echo hi", "@say ran it"));
    scene.until_state(&asks, "waiting_ask");
    let open = scene.home.json(["asks", "--json"]);
    assert!(open.to_string().contains("echo hi"), "{open}");
    scene.home.homing(["answer", &asks, "--allow"]);
    assert_eq!(scene.result(&asks), "ran it");
    let question = "@tool question {\"questions\": [{\"question\": \"Which?\", \"header\": \"W\", \"options\": [{\"label\": \"A\", \"description\": \"a\"}, {\"label\": \"B\", \"description\": \"b\"}]}]}\n@say got it";
    let wonders = scene.launch("wonders", ["--tools", "+question"], question);
    scene.until_state(&wonders, "waiting_ask");
    scene.home.homing(["answer", &wonders, "B"]);
    assert_eq!(scene.result(&wonders), "got it");
    assert!(scene.model.log().iter().any(|heard| heard.asked.told.contains('B')));
    let denied =
        scene.launch("denied", ["--permissions", "bash=ask"], &runs("echo hi", "@say ran it"));
    scene.until_state(&denied, "waiting_ask");
    scene.home.homing(["answer", &denied, "--deny"]);
    assert_eq!(scene.end(&denied), ("failed".to_owned(), "error".to_owned()));
}

#[test]
fn c8_what_a_helper_of_opencodes_own_asks_is_asked_by_the_child() {
    let scene = Scene::new();
    let outside = scene.file("outside");
    std::fs::write(&outside, "words outside").unwrap();
    let looks = format!("@tool read {{\"filePath\": {outside:?}}}\n@say looked");
    let sent = json!({"description": "looks", "prompt": looks, "subagent_type": "general"});
    let prompt = format!("@tool task {sent}\n@say done");
    let task = scene.launch("sends", ["--tools", "+task"], &prompt);
    scene.until_state(&task, "waiting_ask");
    let open = scene.home.json(["asks", "--json"]);
    assert!(open.to_string().contains("external_directory"), "{open}");
    scene.home.homing(["answer", &task, "--allow"]);
    assert_eq!(scene.result(&task), "done");
    assert!(scene.model.log().iter().any(|heard| heard.asked.told.contains("words outside")));
}

#[test]
fn what_a_helper_of_opencodes_own_used_is_on_the_childs_account() {
    let scene = Scene::new();
    let tokens = |task: &str| {
        scene.ended(task);
        scene.show(task)["progress"]["tokens"].as_u64().unwrap()
    };
    let alone = tokens(&scene.launch("alone", [], &runs("true", "@say done")));
    let helps = runs("true", "@say helped");
    let sent = json!({"description": "helps", "prompt": helps, "subagent_type": "general"});
    let prompt = format!("@tool task {sent}\n@say done");
    let task = scene.launch("sends", ["--tools", "+task"], &prompt);
    assert_eq!(tokens(&task), 2 * alone);
}

#[test]
fn c3_a_cancelled_child_is_aborted_and_its_tool_is_gone() {
    let scene = Scene::new();
    let (gate, pid) = (scene.gate("gate"), scene.file("pid"));
    let script = format!("echo $$ > {}; {}", pid.display(), gate.wait());
    let task = scene.launch("goes", [], &runs(&script, "@say never"));
    let pid =
        until("the tool", || fs::read_to_string(&pid).ok().filter(|text| text.ends_with('\n')));
    scene.home.homing(["cancel", &task]);
    assert_eq!(scene.end(&task).0, "cancelled");
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap());
    let sessions = scene.server().sessions(&task);
    assert!(!scene.server().is_busy(&sessions[0]));
}

#[test]
fn a_child_is_told_more_and_resumed_in_the_same_session() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let task = scene.launch("talks", [], &waits(&gate, "@say first"));
    scene.until_state(&task, "running");
    scene.home.homing(["send", &task, "@say second"]);
    scene.open(&gate);
    assert_eq!(scene.result(&task), "second");
    scene.home.homing(["resume", &task, "@say third"]);
    assert_eq!(scene.result(&task), "third");
    let sessions = scene.server().sessions(&task);
    assert_eq!(sessions.len(), 1);
    let messages = scene.server().messages(sessions[0]["id"].as_str().unwrap());
    let prompts = messages.iter().filter(|message| message["info"]["role"] == "user");
    assert_eq!(prompts.count(), 3);
}

/// OpenCode's own terminal is opened by this; what it is started with is what matters here.
#[test]
fn a_session_is_looked_into_with_opencodes_own_terminal() {
    let scene = Scene::new();
    let task = scene.launch("look in", [], "@say hello");
    assert_eq!(scene.result(&task), "hello");
    let shows = scene.file("shows");
    let script =
        "#!/bin/sh\necho \"$@\"\n[ -n \"$OPENCODE_SERVER_PASSWORD\" ] && echo with a password\n";
    fs::write(&shows, script).unwrap();
    fs::set_permissions(&shows, fs::Permissions::from_mode(0o700)).unwrap();
    let settings = format!("[opencode]\ncommand = [{:?}]\n", shows.display().to_string());
    fs::write(scene.home.dir().join("homing.toml"), settings).unwrap();
    let said = text(&scene.home.homing(["attach", "look in"]).stdout);
    let session = scene.show(&task)["session"]["id"].as_str().unwrap().to_owned();
    assert!(said.starts_with("attach http://127.0.0.1:"), "{said}");
    assert!(said.contains(&format!("--session {session} --dir ")), "{said}");
    assert!(said.ends_with("with a password\n"), "{said}");
    scene.home.homing(["run", "--name", "plain", "--", "true"]);
    let plain = scene.home.command().args(["attach", "plain"]).output().unwrap();
    assert_eq!(plain.status.code(), Some(5), "{}", text(&plain.stderr));
}

#[test]
fn b6_what_a_cancelled_childs_tools_left_running_ends_with_it_and_a_pane_is_opened() {
    let opened = tempfile::tempdir().unwrap();
    let pane = opened.path().join("pane");
    let script = format!("echo $0 > '{}'", pane.display());
    let scene = Scene::with(&format!("pane = [\"sh\", \"-c\", {script:?}, \"{{task}}\"]\n"));
    scene.set_up([]);
    let (gate, pid) = (scene.gate("gate"), scene.file("pid"));
    // It gets away from the tool that started it, but not from its mark.
    let away = format!("setsid -f sh -c 'echo $$ > {}; exec sleep 600'", pid.display());
    let script = format!("{away}; {}", gate.wait());
    let task = scene.launch("leaves one", [], &runs(&script, "@say never"));
    let read = || std::fs::read_to_string(&pid).ok().filter(|text| text.ends_with('\n'));
    let left = until("what it left", read).trim().to_owned();
    let shown = until("the pane", || std::fs::read_to_string(&pane).ok());
    assert_eq!(shown.trim(), task);
    assert!(std::fs::exists(format!("/proc/{left}")).unwrap());
    scene.home.homing(["cancel", &task]);
    assert_eq!(scene.end(&task).0, "cancelled");
    assert!(!std::fs::exists(format!("/proc/{left}")).unwrap(), "{left}");
}
