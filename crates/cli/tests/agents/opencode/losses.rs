//! A server that cannot be heard, cannot be reached, or is not there any more; and children that come at the wrong moment.

use homing_testkit::gate::Gate;
use rustix::process::Signal;

use super::line::Line;
use super::program::Program;
use super::scene::{Scene, runs, waits};
use super::server::until;
use super::slots::ends;

/// A child whose tool waits.
fn begun(scene: &Scene, name: &str) -> (String, Gate) {
    let gate = scene.gate(name);
    let task = scene.launch(name, [], &waits(&gate, "@say at last"));
    until("its tool", || (scene.show(&task)["progress"]["tool_calls"] == 1).then_some(()));
    (task, gate)
}

#[test]
fn t24_an_end_while_the_line_was_cut_is_found_when_it_is_mended() {
    let scene = Scene::new();
    let program = Program::start(&scene.place, &[]);
    let line = Line::to(program.server.url().rsplit_once(':').unwrap().1.parse().unwrap());
    let settings = format!("[opencode]\nurl = \"http://127.0.0.1:{}\"\n", line.port);
    std::fs::write(scene.home.dir().join("homing.toml"), settings).unwrap();
    let (task, gate) = begun(&scene, "cut off");
    let session = scene.show(&task)["session"]["id"].as_str().unwrap().to_owned();
    line.cut();
    scene.open(&gate);
    until("its answer", || {
        let last = program.messages(&session).pop()?;
        (last["info"]["finish"] == "stop").then_some(())
    });
    assert!(scene.show(&task)["ended_at"].is_null(), "nobody can know");
    line.mend();
    assert_eq!(scene.result(&task), "at last");
    assert_eq!(ends(&scene, &task), 1);
}

#[test]
fn t11_t12_c2_a_server_that_does_not_answer_proves_nothing_and_an_abort_that_nobody_confirms_is_said()
 {
    let scene = Scene::with("[limits]\nstopping = \"2s\"\n");
    assert_eq!(scene.result(&scene.launch("quick", [], "@say 4")), "4");
    assert_eq!(ends(&scene, "quick"), 0, "by its name");
    let quick = scene.show("quick")["id"].as_str().unwrap().to_owned();
    assert_eq!(ends(&scene, &quick), 1);
    let (task, gate) = begun(&scene, "unheard");
    let (other, _other_gate) = begun(&scene, "unstopped");
    let server = scene.server();
    server.process().signal(Signal::STOP).unwrap();
    assert!(scene.show(&task)["ended_at"].is_null());
    let said = scene.home.command().args(["cancel", &other]).output().unwrap();
    let why = String::from_utf8_lossy(&said.stderr).into_owned();
    server.process().signal(Signal::CONT).unwrap();
    assert!(why.contains(&format!("not all have ended: {other} [E_CASCADE_INCOMPLETE]")), "{why}");
    assert_eq!(scene.end(&other), ("lost".to_owned(), "abort_unconfirmed".to_owned()));
    scene.open(&gate);
    assert_eq!(scene.result(&task), "at last");
}

#[test]
fn b7_where_nothing_can_be_reached_any_more_it_ends_all_the_same() {
    let scene = Scene::with(
        "[limits]\nstale = \"2s\"\nstopping = \"2s\"\n[delivery]\nbackoff_most = \"2s\"\n",
    );
    let (task, _gate) = begun(&scene, "left");
    let server = scene.server();
    std::fs::remove_file(scene.place.script()).unwrap();
    server.kill();
    let shown = scene.ended(&task);
    assert_ne!(shown["state"], "completed", "{shown}");
    let owed = scene.home.json(["inbox", "--json"]);
    assert_eq!(owed["notices"][0]["task"], task.as_str(), "{owed}");
}

#[test]
fn l6_one_that_is_cancelled_while_its_session_is_made_gives_its_slot_back() {
    let scene = Scene::with("[concurrency]\ndefault = 1\n");
    // The server is being started for it.
    let task = scene.launch("early", [], &runs("sleep 60", "@say never"));
    scene.until_state(&task, "starting");
    scene.home.homing(["cancel", &task]);
    assert_eq!(scene.end(&task).0, "cancelled");
    assert_eq!(scene.result(&scene.launch("next", [], "@say free")), "free");
    let sessions = scene.server().sessions(&task);
    assert!(sessions.iter().all(|session| !scene.server().is_busy(session)), "{sessions:?}");
}

#[test]
fn l9_one_that_is_too_deep_is_refused_with_a_code() {
    let scene = Scene::with("[limits]\ndepth = 1\n");
    let homing = scene.home.command().get_program().to_owned().into_string().unwrap();
    let said = scene.file("said");
    let deeper = format!("{homing} launch --name third -- true 2> {}", said.display());
    let script = format!("'{homing}' launch --name second --delegate -- sh -c '{deeper}'");
    let task = scene.launch("first", ["--delegate"], &runs(&script, "@say sent"));
    let refused = until("the refusal", || {
        std::fs::read_to_string(&said).ok().filter(|said| said.contains('\n'))
    });
    assert!(refused.contains("DEPTH"), "{refused}");
    assert_eq!(scene.end(&task).0, "completed");
    assert!(scene.is_there("third").is_none());
}

#[test]
fn l12_l14_one_key_is_one_task_in_one_session_also_when_the_daemon_dies_while_that_is_made() {
    let scene = Scene::new();
    let launch = || {
        let mut command = scene.home.command();
        command.args(["launch", "--host", "opencode", "--key", "k", "--name", "keyed", "--cwd"]);
        command.arg(scene.place.work()).arg(runs("sleep 1", "@say once"));
        command.stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let both = [launch(), launch()].map(|one| one.wait_with_output().unwrap().stdout);
    assert_eq!(both[0], both[1]);
    until("a session", || scene.show("keyed")["session"]["id"].as_str().map(str::to_owned));
    scene.kill_daemon();
    assert_eq!(launch().wait_with_output().unwrap().stdout, both[0], "across a kill");
    assert_eq!(scene.result("keyed"), "once");
    let task = String::from_utf8(both[0].clone()).unwrap();
    let sessions = scene.server().sessions(task.trim_end());
    assert_eq!(sessions.len(), 1, "{sessions:?}");
    let messages = scene.server().messages(sessions[0]["id"].as_str().unwrap());
    let prompts = messages.iter().filter(|message| message["info"]["role"] == "user");
    assert_eq!(prompts.count(), 1);
}
