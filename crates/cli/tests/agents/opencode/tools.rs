//! The tools that the plugin gives to agents, called by one; and the doors beside them.

use homing_testkit::opencode::Place;
use serde_json::{Value, json};

use super::program::{Program, calls, sends, started};
use super::scene::{Scene, runs, waits};
use super::server::until;

/// Calls a tool, and answers with what it said.
fn called(program: &Program, session: &str, tool: &str, args: &Value) -> String {
    let before = program.outputs(session).len();
    program.ask(session, &format!("{}@say called", calls(tool, args)));
    let mut said = program.outputs(session).split_off(before);
    assert_eq!(said.len(), 1, "{said:?}");
    said.pop().unwrap()
}

#[test]
fn every_tool_does_its_work_for_the_session_that_calls_it() {
    let scene = Scene::new();
    let gates = ["first", "second", "third"].map(|name| scene.gate(name));
    let program = started(&scene);
    let session = program.session();
    let call = |tool: &str, args: Value| called(&program, &session, tool, &args);
    let task = |name: &str| scene.show(name)["id"].as_str().unwrap().to_owned();
    // One key is one task; a model that is named is the model.
    let prompt = waits(&gates[0], "@say first");
    let keyed =
        json!({"description": "keyed", "prompt": prompt, "key": "k", "model": "scripted/two"});
    call("background_task", keyed.clone());
    call("background_task", keyed);
    assert_eq!(scene.home.json(["ls", "--json"]).as_array().unwrap().len(), 1);
    assert_eq!(scene.show("keyed")["model"], "scripted/two");
    assert!(call("background_list", json!({})).contains("keyed"));
    // Words for one that runs.
    call("background_send", json!({"task_id": task("keyed"), "text": "@say second"}));
    scene.open(&gates[0]);
    assert_eq!(scene.result("keyed"), "second");
    assert!(call("background_output", json!({"task_id": task("keyed")})).contains("second"));
    // One that has ended goes on in its session.
    let again = json!({"description": "more", "prompt": "@say third", "task_id": task("keyed")});
    call("background_task", again);
    assert_eq!(scene.result("keyed"), "third");
    assert_eq!(scene.server().sessions(&task("keyed")).len(), 1);
    // Sessions, in the words of their tasks.
    let child = scene.show("keyed")["session"]["id"].as_str().unwrap().to_owned();
    assert!(call("session_list", json!({})).contains(&child));
    assert!(call("session_info", json!({"session_id": child})).contains("keyed"));
    assert!(call("session_read", json!({"session_id": child})).contains("third"));
    assert!(call("session_search", json!({"query": "third"})).contains(&child));
    // What cannot be is said with what to try.
    let said = call("background_output", json!({"task_id": child}));
    assert!(said.contains("is a session, not a task"), "{said}");
    let said = call("background_output", json!({"task_id": 7}));
    assert!(said.contains("expected a string") && said.contains("schema"), "{said}");
    // All that the session has out.
    for (name, gate) in ["second", "third"].iter().zip(&gates[1..]) {
        call("background_task", json!({"description": name, "prompt": waits(gate, "@say never")}));
    }
    call("background_cancel", json!({"all": true}));
    for name in ["second", "third"] {
        assert_eq!(scene.end(name).0, "cancelled");
    }
}

#[test]
fn what_a_child_said_thought_and_did_is_read_message_by_message() {
    let scene = Scene::new();
    let program = started(&scene);
    let session = program.session();
    let prompt = format!("@think deep thought\n{}", runs("echo by a tool", "@say the words"));
    program.ask(&session, &format!("{}@say sent", sends("child", &prompt)));
    assert_eq!(scene.result("child"), "the words");
    let (task, child) =
        (scene.show("child")["id"].clone(), scene.show("child")["session"]["id"].clone());
    let messages = scene.server().messages(child.as_str().unwrap());
    // What it was told is not of interest here.
    let first = &messages[0]["info"]["id"];
    let read = |more: Value| {
        let mut args = json!({"task_id": task, "full_session": true, "since_message_id": first});
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        called(&program, &session, "background_output", &args)
    };
    let said = read(json!({}));
    assert!(said.contains("the words") && !said.contains("deep thought"), "{said}");
    assert!(!said.contains("by a tool") && !said.contains("host keeps no messages"), "{said}");
    let said = read(json!({"include_thinking": true, "include_tool_results": true}));
    assert!(said.contains("(thinks) deep thought") && said.contains("by a tool"), "{said}");
    let said = read(json!({"include_tool_results": true, "message_limit": 1}));
    assert!(said.contains("the words") && !said.contains("by a tool"), "{said}");
    let said = read(json!({"since_message_id": "msg_none"}));
    assert!(said.contains("its session has no message msg_none"), "{said}");
}

#[test]
fn what_a_task_asks_is_answered_by_the_one_who_sent_it_and_not_from_below_without_a_mark() {
    let scene = Scene::with("[presets.asks]\nhost = \"opencode\"\npermissions = [\"bash=ask\"]\n");
    let program = started(&scene);
    let session = program.session();
    let sent =
        json!({"description": "asks", "prompt": runs("echo hi", "@say ran it"), "agent": "asks"});
    program.ask(&session, &format!("{}@say sent", calls("background_task", &sent)));
    scene.until_state("asks", "waiting_ask");
    let asks = called(&program, &session, "background_asks", &json!({}));
    assert!(asks.contains("echo hi"), "{asks}");
    let open = scene.home.json(["asks", "--json"]);
    let ask =
        open.to_string().split("ask_").nth(1).map(|rest| format!("ask_{}", &rest[..12])).unwrap();
    // A process below the server of homing's own that hides whose it is.
    let homing = scene.home.command().get_program().to_owned().into_string().unwrap();
    let said = scene.file("said");
    let bare = "setsid -f env -u HOMING_MARK -u HOMING_TASK";
    let answers = format!("{bare} '{homing}' answer {ask} --allow >'{}' 2>&1", said.display());
    let other = scene.launch("other", [], &runs(&answers, "@say tried"));
    assert_eq!(scene.end(&other).0, "completed");
    let refused = until("its word", || {
        std::fs::read_to_string(&said).ok().filter(|said| said.contains('\n'))
    });
    assert!(refused.contains("E_CALLER_UNKNOWN"), "{refused}");
    assert_eq!(scene.show("asks")["state"], "waiting_ask");
    // Agents give no permissions unless people say so; they may refuse.
    let said =
        called(&program, &session, "background_answer", &json!({"ask_id": ask, "allow": true}));
    assert!(said.contains("permissions"), "{said}");
    called(&program, &session, "background_answer", &json!({"ask_id": ask, "deny": true}));
    assert_eq!(scene.end("asks").0, "failed");
}

#[test]
fn a_turn_that_is_stopped_while_it_waits_leaves_the_task_alone() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let program = started(&scene);
    let session = program.session();
    let sent = json!({
        "description": "long", "prompt": waits(&gate, "@say at last"), "run_in_background": false
    });
    program.say(&session, &format!("{}@say never", calls("background_task", &sent)));
    until("the task", || scene.is_there("long"));
    scene.until_state("long", "running");
    program.abort(&session);
    until("the turn's end", || {
        let last = program.messages(&session).pop()?;
        last["info"]["time"]["completed"].is_number().then_some(())
    });
    assert_eq!(scene.show("long")["state"], "running");
    scene.open(&gate);
    assert_eq!(scene.result("long"), "at last");
    program.debrief(&session);
}

#[test]
fn what_a_launch_says_reaches_the_model() {
    let scene = Scene::new();
    let options = ["--system", "You count ducks.", "--variant", "high", "--model", "scripted/one"];
    let task = scene.launch("ducks", options, "@say four");
    assert_eq!(scene.result(&task), "four");
    let heard = scene.model.log();
    assert!(heard.iter().any(|heard| heard.asked.system.contains("You count ducks.")));
    let session = scene.show(&task)["session"]["id"].as_str().unwrap().to_owned();
    let messages = scene.server().messages(&session);
    assert!(messages[0]["info"].to_string().contains("\"high\""), "{}", messages[0]["info"]);
}

#[test]
fn a_server_that_runs_already_is_used_with_its_password() {
    let scene = Scene::new();
    let program = Program::start(&scene.place, &[("OPENCODE_SERVER_PASSWORD", "tea".as_ref())]);
    let settings = format!("[opencode]\nurl = \"{}\"\n", program.server.url());
    std::fs::write(scene.home.dir().join("homing.toml"), settings).unwrap();
    let mut start = scene.home.command();
    let started = start.env("OPENCODE_SERVER_PASSWORD", "tea").args(["daemon", "start"]).output();
    assert!(started.unwrap().status.success());
    let task = scene.launch("there", [], &runs("echo hi", "@say done"));
    assert_eq!(scene.result(&task), "done");
    assert!(scene.running().is_none(), "no other was started");
}

#[test]
fn programs_on_other_data_are_told_apart() {
    let scene = Scene::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = Place::make(elsewhere.path(), &scene.model.url()).unwrap();
    let (one, home) = (started(&scene), scene.home.dir());
    let mut setup = scene.home.command();
    setup.env("XDG_CONFIG_HOME", other.config().parent().unwrap());
    assert!(setup.args(["setup", "opencode"]).output().unwrap().status.success());
    let two = Program::start(&other, &[("HOMING_HOME", home), ("XDG_RUNTIME_DIR", home)]);
    let ask = |program: &Program, name: &str| {
        let session = program.session();
        program.ask(&session, &format!("{}@say sent", sends(name, "@say done")));
        program.debrief(&session);
        scene.show(name)["parent"].as_str().unwrap().to_owned()
    };
    let parents = [ask(&one, "one"), ask(&two, "two")];
    let instance = |parent: &str| parent.split_once(':').unwrap().0.to_owned();
    assert_ne!(instance(&parents[0]), instance(&parents[1]), "{parents:?}");
}
