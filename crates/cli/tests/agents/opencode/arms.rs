//! Who runs a session, who may bring it something, and on whose behalf it calls.

use homing_shim::processes::Process;
use homing_testkit::gate::Gate;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::program::{Program, another, calls, name, sends, started, words};
use super::scene::{Scene, runs, waits};
use super::server::until;

const BOSS: &str = "[presets.boss]\nhost = \"opencode\"\ndelegate = true\n";

fn homing(scene: &Scene) -> String {
    let program = scene.home.command().get_program().to_owned();
    program.into_string().unwrap()
}

#[test]
fn t9_a_child_that_waits_for_its_own_helper_ends_with_its_final_words() {
    let scene = Scene::with(BOSS);
    let gate = scene.gate("gate");
    let program = started(&scene);
    let session = program.session();
    let helper = waits(&gate, "@say helped");
    // The helper's lines are not the boss's: a prompt inside of a prompt stands on one line.
    let boss = format!("{}@say interim", sends("helper", &helper));
    let sent = json!({"description": "boss", "prompt": boss, "agent": "boss"});
    program.ask(&session, &format!("{}@say sent", calls("background_task", &sent)));
    scene.until_state("boss", "waiting_children");
    let (boss, helper) = (scene.show("boss"), scene.show("helper"));
    assert_eq!(helper["launched_by"], boss["id"], "{helper}");
    assert_eq!(helper["parent"], format!("task:{}", boss["id"].as_str().unwrap()));
    assert_eq!(helper["depth"], 1);
    assert!(program.debriefs(&session).is_empty());
    scene.open(&gate);
    assert_eq!(scene.result("helper"), "helped");
    assert_eq!(scene.result("boss"), "ok", "its answer to the debrief");
    let debrief = program.debrief(&session);
    let text = words(&debrief);
    assert!(text.contains("| ok") && !text.contains("interim"), "{text}");
}

#[test]
fn l17_what_a_shell_of_a_session_launches_is_the_sessions() {
    let scene = Scene::with(BOSS);
    let program = started(&scene);
    let session = program.session();
    let homing = homing(&scene);
    let launch = |name: &str| format!("'{homing}' launch --name {name} -- true");
    // A parent's own shell.
    program.ask(&session, &runs(&launch("by-parent"), "@say sent"));
    let by_parent = scene.ended("by-parent");
    assert!(by_parent["parent"].as_str().unwrap().ends_with(&session), "{by_parent}");
    assert_eq!(by_parent["launched_by"], Value::Null);
    assert!(words(&program.debrief(&session)).contains("by-parent"));
    // A child's, with its mark, and without any in reach.
    let said = scene.file("said");
    let bare = "setsid -f env -u HOMING_MARK -u HOMING_TASK";
    let without = format!("{bare} {} >'{}' 2>&1", launch("by-nobody"), said.display());
    let script = format!("{}; {without}", launch("by-child"));
    let child = scene.launch("child", ["--delegate"], &runs(&script, "@say out"));
    assert_eq!(scene.end(&child).0, "completed");
    assert_eq!(scene.show("by-child")["launched_by"], child.as_str());
    let refused = until("the other's word", || {
        let said = std::fs::read_to_string(&said).unwrap_or_default();
        said.contains('\n').then_some(said)
    });
    assert!(refused.contains("E_CALLER_UNKNOWN"), "{refused}");
}

#[test]
fn a_session_is_told_by_the_program_that_runs_it_and_by_another_once_that_is_gone() {
    let scene = Scene::new();
    let (first_gate, second_gate) = (scene.gate("first"), scene.gate("second"));
    let mut one = started(&scene);
    let two = another(&scene);
    let session = one.session();
    let waits = |gate: &Gate, name: &str| sends(name, &waits(gate, &format!("@say {name} came")));
    one.ask(&session, &format!("{}@say sent", waits(&first_gate, "first")));
    one.ask(&session, &format!("{}@say sent", waits(&second_gate, "second")));
    // The other knows the session as well, and runs none of its turns.
    assert!(!two.messages(&session).is_empty());
    scene.open(&first_gate);
    let debrief = one.debrief(&session);
    assert!(words(&debrief).contains("first came"));
    one.kill();
    scene.open(&second_gate);
    scene.ended("second");
    let told = || two.debriefs(&session).into_iter().find(|d| words(d).contains("second came"));
    let debrief = until("the debrief", told);
    until("its answer", || two.answers(&session, name(&debrief)).pop());
    assert_eq!(two.debriefs(&session).len(), 2);
    for debrief in two.debriefs(&session) {
        assert_eq!(two.answers(&session, name(&debrief)).len(), 1, "{debrief}");
    }
}

#[test]
fn r1_of_two_programs_that_ran_a_session_the_last_one_brings_it_after_the_daemon_was_killed() {
    let scene = Scene::with("[log]\nlevel = \"info,opencode=debug\"\n");
    let gate = scene.gate("gate");
    let one = started(&scene);
    let two = another(&scene);
    let session = one.session();
    let child = waits(&gate, "@say came");
    one.ask(&session, &format!("{}@say sent", sends("far-away", &child)));
    two.ask(&session, "@say it is mine now");
    scene.kill_daemon();
    let before = scene.log().len();
    scene.open(&gate);
    scene.home.homing(["daemon", "start"]);
    scene.ended("far-away");
    scene.until_settled("far-away");
    let debrief = one.debrief(&session);
    assert_eq!(one.answers(&session, name(&debrief)).len(), 1, "{debrief}");
    let log = scene.log().split_off(before);
    // Its child may have been prompted after the kill, too: that is another session.
    let brings = format!("/session/{session}/prompt_async");
    let brought = log.lines().position(|line| line.contains(&brings)).expect("a prompt");
    let of = |program: &Program| {
        let asked = format!("pid={} ", program.pid());
        move |line: &&str| line.contains(&asked)
    };
    let first_us = |program: &Program| -> u64 {
        let line = log.lines().find(of(program)).unwrap_or(" from=0 ");
        line.split("from=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    // On a machine that is so slow that it was not there in time, the other one does it.
    let late = first_us(&two) > first_us(&one) + 3_000_000;
    let by = log.lines().nth(brought).unwrap();
    assert!(of(if late { &one } else { &two })(&by), "{log}");
}

#[test]
fn n8_n9_nobody_there_it_is_owed_and_comes_once_whoever_was_killed() {
    let scene = Scene::new();
    let gates = ["program", "daemon", "both"].map(|name| scene.gate(name));
    let mut program = started(&scene);
    let session = program.session();
    for (gate, who) in gates.iter().zip(["program", "daemon", "both"]) {
        let child = waits(gate, &format!("@say after {who}"));
        program.ask(&session, &format!("{}@say sent", sends(who, &child)));
        if who != "daemon" {
            program.kill();
        } else {
            scene.kill_daemon();
        }
        if who == "both" {
            scene.kill_daemon();
        }
        scene.open(gate);
        scene.ended(who);
        if who != "daemon" {
            scene.until_owed(who);
            program = another(&scene);
        }
        let told = || {
            let all = program.debriefs(&session);
            all.into_iter().find(|d| words(d).contains(&format!("after {who}")))
        };
        let debrief = until("the debrief", told);
        until("its answer", || program.answers(&session, name(&debrief)).pop());
    }
    assert_eq!(program.debriefs(&session).len(), 3, "each once");
}

#[test]
fn n14_a_shortened_context_still_knows_what_it_has_out() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let program = started(&scene);
    let session = program.session();
    let child = waits(&gate, "@say came");
    program.ask(&session, &format!("{}@say sent", sends("far-away", &child)));
    let path = format!("/session/{session}/summarize");
    let model = json!({"providerID": "scripted", "modelID": "one"});
    program.server.post(&path, &model);
    let id = scene.show("far-away")["id"].as_str().unwrap().to_owned();
    until("the summary", || {
        let asked = scene.model.log();
        asked.iter().any(|heard| heard.asked.prompt.contains(&id)).then_some(())
    });
    scene.open(&gate);
    // What OpenCode said when it summed up is not how the parent was last spoken to.
    let debrief = program.debrief(&session);
    assert!(words(&debrief).contains("came"), "{debrief}");
}

#[test]
fn a_daemon_that_is_away_is_said_with_how_to_start_it_and_task_can_be_ours() {
    let scene = Scene::new();
    scene.set_up(["--replace"]);
    let program = another(&scene);
    let session = program.session();
    let sent = json!({"description": "ours", "prompt": "@say by task", "subagent_type": "reader"});
    assert_eq!(program.ask(&session, &format!("{}@say sent", calls("task", &sent))), "sent");
    assert_eq!(scene.result("ours"), "by task");
    assert_eq!(scene.show("ours")["agent"], "reader");
    program.debrief(&session);
    scene.home.homing(["daemon", "stop"]);
    let lists = calls("background_send", &json!({"task_id": "ours", "text": "more"}));
    program.ask(&session, &format!("{lists}@say tried"));
    let said = program.outputs(&session).pop().unwrap();
    assert!(said.contains("cannot be reached") && said.contains("daemon start"), "{said}");
}

/// A process that is there and does nothing, until this is let go of.
struct Halted(Process);

impl Halted {
    fn by(process: Process) -> Self {
        process.signal(Signal::STOP).unwrap();
        Self(process)
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        self.0.signal(Signal::CONT).unwrap();
    }
}

#[test]
fn a_daemon_that_does_not_answer_is_said_as_one_that_is_away() {
    let scene = Scene::new();
    scene.set_up([]);
    let halted = Halted::by(scene.daemon());
    let program = another(&scene);
    let session = program.session();
    let sends = calls("background_send", &json!({"task_id": "any", "text": "more"}));
    program.ask(&session, &format!("{sends}@say tried"));
    let said = program.outputs(&session).pop().unwrap();
    drop(halted);
    assert!(said.contains("cannot be reached") && said.contains("daemon start"), "{said}");
}

#[test]
fn two_programs_in_turns_of_one_session_hold_what_it_is_owed_and_it_is_said() {
    let scene = Scene::new();
    let [child, first, second] = ["child", "one", "two"].map(|name| scene.gate(name));
    let one = started(&scene);
    let two = another(&scene);
    let session = one.session();
    let waits = |gate: &Gate| waits(gate, "@say waited");
    one.say(&session, &format!("{}{}", sends("owed", &waits(&child)), waits(&first)));
    until("one turn", || one.is_running(&session, "bash"));
    let other = two.say(&session, &waits(&second));
    // Both programs read the same data: two calls run.
    until("two turns", || (two.running(&session, "bash") == 2).then_some(()));
    scene.open(&child);
    scene.ended("owed");
    let said = || scene.log().matches("two programs run this session").count();
    until("a word about it", || (said() > 0).then_some(()));
    assert!(two.debriefs(&session).is_empty());
    scene.open(&second);
    until("the other's answer", || two.answers(&session, &other).pop());
    // Who is done would take it for the next turn, and so would the one that is not.
    let before = said();
    until("another look", || (said() > before + 1).then_some(()));
    assert!(two.debriefs(&session).is_empty());
    scene.open(&first);
    let debrief = until("the debrief", || two.debriefs(&session).pop());
    until("its answer", || two.answers(&session, name(&debrief)).pop());
    assert_eq!(two.debriefs(&session).len(), 1);
    assert_eq!(two.answers(&session, name(&debrief)).len(), 1);
}
