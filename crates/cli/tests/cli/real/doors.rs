//! The same promises over HTTP and over the tools, with the daemon killed in between: scenarios that every door keeps.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use homing_client::{Client, Error};
use homing_core::refs::ParentRef;
use homing_core::wire::{Launch, ListQuery};
use rustix::process::Pid;
use serde_json::{Value, json};

use super::{block, client, is_gone, kill_daemon, owed, witnessed};
use crate::agent::{Agent, gate, scene, with};
use crate::scene::{LONG, Scene, until};

const ME: &str = "inbox:me";

fn me() -> ParentRef {
    ME.parse().unwrap()
}

/// An agent that works for this parent.
fn agent(scene: &Scene) -> Agent {
    Agent::new(scene, &[("HOMING_PARENT", ME)])
}

/// Asks over HTTP until there is an answer: the daemon may be dead, and then somebody starts another.
fn http<T, F>(scene: &Scene, client: &Client, ask: impl Fn(Client) -> F) -> T
where
    F: Future<Output = Result<T, Error>>,
{
    loop {
        // Connections do not outlive the loop that they were made in.
        match block(ask(client.apart())) {
            Ok(answer) => return answer,
            Err(error) => assert!(error.passes().is_some(), "{error}"),
        }
        assert_eq!(scene.homing(["daemon", "start"]).code, Some(0));
    }
}

fn ids(tasks: &Value) -> Vec<String> {
    let all = tasks.as_array().unwrap().iter();
    all.map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn n14_what_a_parent_owns_is_told_in_full_by_every_door_after_a_kill() {
    let scene = scene();
    let mut agent_before = agent(&scene);
    let path = gate(&scene, "gate");
    let mut all: BTreeSet<String> = BTreeSet::new();
    for n in 0..30 {
        all.insert(agent_before.launch(json!({"prompt": format!("{n}"), "agent": "echo"})));
    }
    let lives = agent_before.launch(json!({"prompt": path, "agent": "gated"}));
    all.insert(lives.clone());
    for id in all.iter().filter(|id| **id != lives) {
        let asked = json!({"task_id": id, "wait": "40s"});
        assert_eq!(agent_before.call("background_output", asked).0["wait"]["ended"], true);
    }
    agent_before.leave();
    kill_daemon(&scene);
    // Whoever asks now remembers nothing.
    let mut agent = agent(&scene);
    let (mut told, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
    while pages == 0 || !cursor.is_null() {
        let mut asked = json!({"all": true});
        if cursor.is_string() {
            asked["cursor"] = cursor;
        }
        let (page, words) = agent.call("background_list", asked);
        assert!(page["cursor"].is_null() || words.contains("cursor="), "{words}");
        told.extend(page["tasks"].as_array().unwrap().clone());
        (cursor, pages) = (page["cursor"].clone(), pages + 1);
    }
    assert!(pages > 1, "more than one page");
    let (living, _) = agent.call("background_list", json!({}));
    assert_eq!(ids(&living["tasks"]), [lives]);
    let client = client(&scene);
    let owned = http(&scene, &client, |client| async move { client.owned(&me()).await });
    let owned = serde_json::to_value(owned.tasks).unwrap();
    let told = Value::from(told);
    assert_eq!(ids(&owned), ids(&told));
    let ended = |tasks: &Value| -> Vec<Value> {
        let all = tasks.as_array().unwrap().iter();
        all.filter(|task| !task["ended_at"].is_null()).cloned().collect()
    };
    assert_eq!(ended(&owned), ended(&told), "the same JSON");
    let told = ids(&told);
    assert_eq!((told.len(), told.into_iter().collect::<BTreeSet<_>>()), (31, all));
    fs::write(&path, "on\n").unwrap();
    agent.leave();
}

#[test]
fn n17_what_is_no_task_is_told_apart_by_every_door_after_a_kill() {
    let scene = with("[storage]\nretention = \"50ms\"\n");
    let mut agent = agent(&scene);
    let client = client(&scene);
    let gone = agent.launch(json!({"prompt": "x", "agent": "echo", "parent": "none"}));
    // What is owed is kept.
    let kept = agent.launch(json!({"prompt": "y", "agent": "echo"}));
    let (read, _) = agent.call("background_output", json!({"task_id": kept, "wait": "40s"}));
    let session = read["task"]["session"]["id"].as_str().unwrap().to_owned();
    // Retention looks after something was written.
    until(|| {
        agent.launch(json!({"prompt": "z", "agent": "echo", "parent": "none"}));
        agent.call("background_output", json!({"task_id": gone})).0.is_null()
    });
    kill_daemon(&scene);
    for (named, says) in [
        (gone.as_str(), "never accepted here, or past its retention"),
        ("bg_000000000000", "never accepted here, or past its retention"),
        (session.as_str(), &format!("is a session, not a task: use its task, {kept}")),
        ("ask_000000000000", "names an ask, not a task"),
        ("nobody", "no name of a task"),
    ] {
        for tool in ["background_output", "background_cancel"] {
            let (data, words) = agent.call(tool, json!({"task_id": named}));
            assert!(data.is_null() && words.contains(says), "{named}: {words}");
            assert!(
                words.contains("E_NOT_FOUND") && words.contains("Try: background_list"),
                "{words}"
            );
        }
        let refused = block(client.apart().show(named)).unwrap_err();
        let Error::Problem(problem) = refused else { panic!("{named}: {refused}") };
        assert_eq!((problem.status, problem.code.as_str()), (404, "E_NOT_FOUND"));
        assert!(problem.detail.contains(says) && problem.hint.is_some(), "{problem:?}");
    }
    let (read, _) = agent.call("background_output", json!({"task_id": kept}));
    assert_eq!(read["task"]["result"]["text"], "y");
    agent.leave();
}

#[test]
fn n18_a_wait_keeps_its_time_and_is_truthful_over_every_door_and_across_a_kill() {
    let scene = scene();
    let mut agent = agent(&scene);
    let client = client(&scene);
    let path = gate(&scene, "gate");
    let id = agent.launch(json!({"prompt": path, "agent": "gated"}));
    until(|| scene.show(&id)["state"] == "running");
    kill_daemon(&scene);
    let echo = json!({"asked": "300ms", "asked_ms": 300, "ended": false});
    let begun = Instant::now();
    let (read, words) =
        agent.call("background_output", json!({"task_id": id, "block": true, "timeout": 300}));
    assert!(begun.elapsed().as_millis() >= 300 && words.contains("300ms"), "{words}");
    assert_eq!((&read["wait"], &read["task"]["state"]), (&echo, &json!("running")), "{words}");
    let begun = Instant::now();
    let wait = Some(std::time::Duration::from_millis(300));
    let read = http(&scene, &client, |client| {
        let id = id.clone();
        async move { client.output(&id, wait).await }
    });
    assert!(begun.elapsed().as_millis() >= 300);
    assert_eq!(serde_json::to_value(read.wait).unwrap(), echo);
    // Killed while somebody waits: the wait goes on with the next daemon.
    let asked = json!({"task_id": id, "wait": "40s"});
    let waits = agent.send("tools/call", json!({"name": "background_output", "arguments": asked}));
    kill_daemon(&scene);
    fs::write(&path, "on\n").unwrap();
    let read = agent.answer(waits)["result"]["structuredContent"].clone();
    assert_eq!(read["wait"], json!({"asked": "40s", "asked_ms": 40_000, "ended": true}));
    assert_eq!(read["task"]["result"]["text"], "told on\n");
    agent.leave();
}

/// What ended stays so: whoever is told of an end by one, and of none by the other later, was lied to.
#[test]
fn n19_a_task_and_its_session_never_disagree_over_any_door_while_daemons_are_killed() {
    let scene = with("[concurrency]\ndefault = 0\n");
    let mut agent = agent(&scene);
    let client = client(&scene);
    let gates: Vec<String> = (0..8).map(|n| gate(&scene, &format!("gate-{n}"))).collect();
    let tasks: Vec<String> =
        gates.iter().map(|path| agent.launch(json!({"prompt": path, "agent": "gated"}))).collect();
    let session = |id: &String| {
        until(|| !scene.show(id)["session"].is_null());
        scene.show(id)["session"]["id"].as_str().unwrap().to_owned()
    };
    let sessions: Vec<String> = tasks.iter().map(session).collect();
    let (mut ended, mut rounds) = (BTreeSet::new(), 0);
    while ended.len() < tasks.len() {
        if rounds < gates.len() {
            fs::write(&gates[rounds], "on\n").unwrap();
        }
        if rounds % 3 == 1 && rounds < gates.len() {
            kill_daemon(&scene);
        }
        rounds += 1;
        for (task, session) in tasks.iter().zip(&sessions) {
            let by_tool = |agent: &mut Agent, tool: &str, name: &str, id: &str| {
                let (data, words) = agent.call(tool, json!({name: id}));
                let ended_at =
                    if name == "task_id" { &data["task"]["ended_at"] } else { &data["ended_at"] };
                assert!(!data.is_null(), "{words}");
                !ended_at.is_null()
            };
            let shown = || http(&scene, &client, |client| async move { client.show(task).await });
            let listed = || {
                let asked = ListQuery {
                    session: Some(format!("process:{session}")),
                    ..ListQuery::default()
                };
                http(&scene, &client, |client| {
                    let asked = asked.clone();
                    async move { client.list(&asked).await }
                })
            };
            // Each asks later than the one before it.
            let told = [
                by_tool(&mut agent, "session_info", "session_id", session),
                shown().ended_at.is_some(),
                by_tool(&mut agent, "background_output", "task_id", task),
                listed().tasks[0].ended_at.is_some(),
                by_tool(&mut agent, "session_info", "session_id", session),
            ];
            assert!(told.is_sorted(), "{task}: ended, and then not: {told:?}");
            if told[4] {
                let pid = session.split('.').next().unwrap().parse().unwrap();
                assert!(is_gone(Pid::from_raw(pid).unwrap()), "{task} has ended, its shim runs");
                ended.insert(task.clone());
            }
        }
    }
    agent.leave();
}

#[test]
fn n20_what_was_read_and_did_not_arrive_is_still_owed_over_every_door_after_a_kill() {
    let scene = with("[presets.long]\nhost = \"process\"\ncommand = [\"seq\", \"150000\"]\n");
    let mut agent = agent(&scene);
    let client = client(&scene);
    let id = agent.launch(json!({"prompt": "x", "agent": "long"}));
    let (read, _) = agent.call("background_output", json!({"task_id": id, "wait": "40s"}));
    assert_eq!(read["task"]["state"], "completed");
    // Over HTTP: the first bytes of the reply, and no more.
    let status = scene.homing(["daemon", "status", "--json"]).json();
    let mut door = UnixStream::connect(status["socket"].as_str().unwrap()).unwrap();
    door.set_read_timeout(Some(LONG)).unwrap();
    write!(door, "GET /v1/tasks/{id}/output HTTP/1.1\r\nHost: homing\r\n\r\n").unwrap();
    let mut first = [0; 64];
    door.read_exact(&mut first).unwrap();
    assert!(first.starts_with(b"HTTP/1.1 200 "));
    drop(door);
    assert_eq!(owed(&scene, ME).len(), 1, "cut off over HTTP");
    // Over the tools: the client is killed before it reads.
    let asked = json!({"task_id": id, "full": true});
    agent.send("tools/call", json!({"name": "background_output", "arguments": asked}));
    let mut child = agent.child.take().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(owed(&scene, ME).len(), 1, "the client was killed");
    kill_daemon(&scene);
    let owed_now = owed(&scene, ME);
    assert_eq!((owed_now.len(), &owed_now[0]["task"]), (1, &json!(id)), "and so was the daemon");
    // Read whole and acknowledged, it is settled.
    let read = http(&scene, &client, |client| {
        let id = id.clone();
        async move { client.output(&id, None).await }
    });
    let key = read.ack.unwrap();
    assert!(
        http(&scene, &client, |client| {
            let key = key.clone();
            async move { client.ack(&key).await }
        })
        .known
    );
    until(|| owed(&scene, ME).is_empty());
}

/// The most memory that a process ever held, in kilobytes.
fn peak_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Garbage, a line of a hundred megabytes, one without an end, and nothing: read over both doors.
#[test]
fn r5_what_hostile_commands_write_is_read_bounded_and_clear_over_every_door() {
    const KB_MAX: u64 = 64 << 10;
    let scene = with("[presets.shell]\nhost = \"process\"\ncommand = [\"sh\"]\n");
    let mut agent = agent(&scene);
    let client = client(&scene);
    let path = gate(&scene, "beside");
    let beside = agent.launch(json!({"prompt": path, "agent": "gated"}));
    let garbage = "printf '{\"jsonrpc\":[}\\377\\376\\000\\n{{{\"'";
    let line = "head -c 100000000 /dev/zero | tr '\\0' x";
    let scripts = [("garbage", garbage), ("line", line), ("endless", "exec yes"), ("nothing", ":")];
    let tasks = scripts.map(|(name, script)| {
        (name, agent.launch(json!({"prompt": script, "agent": "shell", "description": name})))
    });
    kill_daemon(&scene);
    for (name, id) in &tasks {
        if *name == "endless" {
            until(|| !scene.show(id)["session"].is_null());
            let (living, _) = agent.call("background_output", json!({"task_id": id}));
            assert!(living["task"]["ended_at"].is_null(), "{living}");
            agent.call("background_cancel", json!({"task_id": id}));
        }
        let (read, words) = agent.call("background_output", json!({"task_id": id, "wait": "40s"}));
        assert_eq!(read["wait"]["ended"], true, "{name}: {words}");
        assert!(words.len() < 32 << 10, "{name}: {} bytes of words", words.len());
        let asked = json!({"task_id": id, "full": true, "full_session": true});
        let (_, words) = agent.call("background_output", asked);
        assert!(words.len() < 4 << 20, "{name}: {} bytes of words", words.len());
        let (log, _) = agent.call("session_read", json!({"session_id": id}));
        assert!(log["text"].as_str().unwrap().len() <= 64 << 10, "{name}");
        let read = http(&scene, &client, |client| async move { client.output(id, None).await });
        let told = serde_json::to_value(&read.task).unwrap();
        let (state, cause) = (&told["state"], &told["cause"]);
        match *name {
            "endless" => assert_eq!(state, "cancelled"),
            "nothing" => {
                let bytes = told["result"]["bytes"].as_u64().unwrap_or(0);
                assert_eq!((state, bytes), (&json!("completed"), 0), "{cause}");
            }
            _ => assert_eq!(state, "completed", "{name}: {cause}"),
        }
        assert!(
            read.task.result.is_none_or(|result| result.text.unwrap_or_default().len() <= 3 << 20)
        );
    }
    let (found, _) = agent.call("session_search", json!({"query": "jsonrpc"}));
    assert_eq!(found["found"][0]["task"], tasks[0].1, "{found}");
    let (found, _) = agent.call("session_search", json!({"query": "y"}));
    assert_eq!(found["found"].as_array().unwrap().len(), 20, "{found}");
    let daemon = super::daemon(&scene).as_raw_pid();
    let daemon = peak_kb(u32::try_from(daemon).unwrap());
    assert!(daemon < KB_MAX, "the daemon held {daemon} kB");
    let tools = peak_kb(agent.child.as_ref().unwrap().id());
    assert!(tools < KB_MAX, "the tools held {tools} kB");
    fs::write(&path, "on\n").unwrap();
    let (read, words) = agent.call("background_output", json!({"task_id": beside, "wait": "40s"}));
    assert_eq!(read["task"]["result"]["text"], "told on\n", "what ran beside: {words}");
    agent.leave();
}

#[test]
fn l12_one_key_is_one_task_and_one_process_over_every_door_at_once_and_after_a_kill() {
    let scene = with("[presets.shell]\nhost = \"process\"\ncommand = [\"sh\"]\n");
    let client = client(&scene);
    let script = |name: &str| format!("echo {name} >> '{}'", scene.path("witness").display());
    let asked = json!({"prompt": script("tool"), "agent": "shell", "key": "tool"});
    let launch = Launch {
        command: vec!["sh".into(), "-c".into(), script("http")],
        key: Some("http".into()),
        ..Launch::default()
    };
    let several = || {
        let mut agents: Vec<Agent> = (0..3).map(|_| agent(&scene)).collect();
        let call = json!({"name": "background_task", "arguments": asked});
        let sent: Vec<u64> =
            agents.iter_mut().map(|agent| agent.send("tools/call", call.clone())).collect();
        let by_http = http(&scene, &client, |client| {
            let launch = launch.clone();
            async move {
                tokio::try_join!(
                    client.launch(&launch),
                    client.launch(&launch),
                    client.launch(&launch)
                )
            }
        });
        let mut told = vec![by_http.0.id, by_http.1.id, by_http.2.id];
        told.dedup();
        assert_eq!(told.len(), 1, "{told:?}");
        let mut by_tool: Vec<String> = agents
            .iter_mut()
            .zip(sent)
            .map(|(agent, id)| {
                agent.answer(id)["result"]["structuredContent"]["task"]["id"].to_string()
            })
            .collect();
        by_tool.dedup();
        assert_eq!(by_tool.len(), 1, "{by_tool:?}");
        agents.into_iter().for_each(Agent::leave);
        (told.remove(0).to_string(), by_tool.remove(0))
    };
    let before = several();
    kill_daemon(&scene);
    assert_eq!(several(), before);
    until(|| witnessed(&scene.path("witness")).len() >= 2);
    let ended = || scene.homing(["ls", "--all", "--json"]).json();
    until(|| ended().as_array().unwrap().iter().all(|task| !task["ended_at"].is_null()));
    assert_eq!(ended().as_array().unwrap().len(), 2);
    let ran: BTreeSet<String> = witnessed(&scene.path("witness")).into_iter().collect();
    assert_eq!((ran.len(), witnessed(&scene.path("witness")).len()), (2, 2), "{ran:?}");
}
