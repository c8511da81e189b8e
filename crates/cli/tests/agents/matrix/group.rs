//! What else a group is spared or told, all of it real: a conversation on OpenCode, its children, a homeserver.

use homing_testkit::gate::Gate;
use homing_testkit::opencode::{sends, until};
use serde_json::Value;

use super::conversations::{Group, lines};
use super::scene::until_room;
use crate::opencode::conversations::chat::Chat;
use crate::opencode::scene::{runs, waits};

impl Group {
    fn parent(&self) -> String {
        format!("conv:{}", self.chat.id)
    }

    /// What the parent said to what it was told, in order.
    fn said(&self) -> Vec<String> {
        self.chat.debriefs().into_iter().filter_map(|turn| turn.text).collect()
    }

    fn until_settled(&self, task: &str) {
        let state = || self.opencode.show(task)["delivery"]["state"] == "settled";
        until("the receipt", || state().then_some(()));
    }

    /// Sends one out, and says what the parent does when it is told of its end.
    fn child(&self, name: &str, then: &str) {
        self.opencode.model.when(&format!("\"{name}\"\n   completed"), then);
        assert_eq!(self.chat.ask(&format!("{}@say sent", sends(name, "@say done"))), "sent");
    }

    /// A command of the conversation's.
    fn command(&self, name: &str, script: &str) {
        let mut launch = self.opencode.home.command();
        launch.args(["launch", "--name", name, "--parent", &self.parent(), "--"]);
        let said = launch.args(["sh", "-c", script]).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }
}

#[test]
fn g4_g6_g22_interim_words_stay_with_the_child_and_the_log_tells_the_hand_off_in_order() {
    let group = Group::new("[log]\nlevel = \"info,delivery=debug\"\nformat = \"json\"\n");
    let [gate, second] = ["gate", "second"].map(|name| group.opencode.gate(name));
    let child = sends("tests", &format!("@say half of it\n{}", waits(&gate, "@say all of it")));
    assert_eq!(group.chat.ask(&format!("{child}@say sent")), "sent");
    until("interim words", || {
        let logs = group.opencode.home.command().args(["logs", "tests"]).output().unwrap();
        String::from_utf8_lossy(&logs.stdout).contains("half of it").then_some(())
    });
    assert!(group.heard().is_empty(), "nobody speaks before the parent does");
    // It ends while somebody speaks, so that telemetry has it before the parent is told.
    let turn = group.chat.speak(&waits(&second, "@say 4"));
    until("the turn runs", || group.chat.turn(turn).filter(|turn| turn.state == "running"));
    group.opencode.open(&gate);
    until("telemetry", || (group.telemetry("tests") == 1).then_some(()));
    group.opencode.open(&second);
    until_room(&group.opencode.home, "tests", "settled");
    assert_eq!(group.heard(), group.said());
    assert_eq!((group.heard().len(), group.telemetry("tests")), (1, 1));
    let key = group.chat.debriefs()[0].debrief.unwrap().to_string();
    let log = std::fs::read_to_string(group.opencode.home.dir().join("daemon.log")).unwrap();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let steps: Vec<String> = lines
        .filter(|line| line["key"] == *key)
        .map(|line| line["message"].as_str().unwrap().to_owned())
        .take(5)
        .collect();
    let expected = [
        "context found",
        "session resolved",
        "context delivered",
        "telemetry emitted",
        "parent synthesising",
    ];
    assert_eq!(steps, expected, "{log}");
    assert!(!log.contains("of it"), "nobody's words are in it");
}

#[test]
fn g3_a_child_whose_time_is_up_is_spoken_of_by_the_parent_who_has_what_it_said() {
    let group = Group::new("");
    assert_eq!(group.chat.ask("@say begin"), "begin");
    let gate = group.opencode.gate("never");
    let prompt = format!("@say half of it\n{}", waits(&gate, "@say all of it"));
    group.opencode.launch("tests", ["--parent", &group.parent(), "--timeout", "30s"], &prompt);
    until_room(&group.opencode.home, "tests", "settled");
    assert_eq!(group.opencode.show("tests")["state"], "timed_out");
    // Word for word what the parent said, and that knew what had come.
    assert_eq!((group.heard(), group.said().len()), (group.said(), 1));
    let asked = group.opencode.model.log();
    let told =
        asked.iter().map(|heard| &heard.asked.prompt).find(|asked| asked.contains("[[silent:"));
    let told = told.expect("the parent was told");
    assert!(told.contains("timed_out") && told.contains("half of it"), "{told}");
}

#[test]
fn g7_g9_a_silent_parent_is_left_alone_one_without_words_or_gone_is_spoken_for_once() {
    let group = Group::new("");
    let child = |name: &str, then: &str| {
        group.child(name, then);
        group.until_settled(name);
    };
    child("quiet", "@silent");
    assert_eq!(group.chat.debriefs().len(), 1);
    assert!(group.heard().is_empty(), "{:?}", group.heard());
    child("empty", "@empty");
    until_room(&group.opencode.home, "empty", "settled");
    let heard = group.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("empty") && heard[0].contains("[E_"), "{heard:?}");
    // Its session is deleted while a task of it runs.
    let gate = group.opencode.gate("gate");
    group.command("left", &format!("{}; echo done", gate.wait()));
    let session = group.chat.view().session.unwrap().id;
    group.opencode.server().ask("DELETE", &format!("/session/{session}"), "").unwrap();
    group.opencode.open(&gate);
    until_room(&group.opencode.home, "left", "settled");
    let heard = group.heard();
    assert_eq!(heard.len(), 2, "{heard:?}");
    assert!(heard[1].contains("[E_SESSION_NOT_FOUND]"), "{heard:?}");
    let left = group.opencode.home.homing(["output", "left"]).stdout;
    assert_eq!(left, b"done\n", "the result is kept");
}

#[test]
fn g8_a_parent_whose_turns_all_fail_is_spoken_for_once_and_the_result_is_kept() {
    let soon =
        |settings: String| settings.replace("[delivery]\n", "[delivery]\nhandshake = \"15s\"\n");
    let group = Group::with(soon);
    group.child("tests", "@status 401");
    until_room(&group.opencode.home, "tests", "settled");
    let heard = group.heard();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].contains("[E_TASK_REGISTRY_HANDSHAKE_FAILED]"), "{heard:?}");
    assert!(group.chat.debriefs().len() > 1, "it was tried more than once");
    let shown = group.opencode.show("tests");
    assert_eq!(shown["delivery"]["code"], "E_TASK_REGISTRY_HANDSHAKE_FAILED", "{shown}");
    assert_eq!(group.opencode.result("tests"), "done");
}

/// A script whose links each send the next one out, and the last one waits at a gate.
fn chain(group: &Group, links: usize, gate: &Gate) -> String {
    let (home, script) = (&group.opencode.home, group.opencode.file("link.sh"));
    let homing = home.command().get_program().to_str().unwrap().to_owned();
    let (path, work) = (script.display(), group.opencode.place.work());
    let call = format!(r#"{{"command":"sh {path} %d","description":"sends the next"}}"#);
    let text = format!(
        "n=$(($1 + 1))\n[ $n -le {links} ] || exec sh -c \"{}\"\n\
         prompt=$(printf 'Go on.\\n@tool bash {call}\\n@say sent' $n)\n\
         exec '{homing}' launch --host opencode --delegate --cwd '{}' --name link$n \"$prompt\"\n",
        gate.wait(),
        work.display()
    );
    std::fs::write(&script, text).unwrap();
    runs(&format!("sh {path} 0"), "@say sent")
}

#[test]
fn g12_a_chain_of_ten_comes_home_link_by_link_each_once_and_a_circle_is_refused() {
    let group = Group::new("[limits]\ndepth = 12\n[concurrency]\ndefault = 12\n");
    let gate = group.opencode.gate("gate");
    assert_eq!(group.chat.ask(&chain(&group, 10, &gate)), "sent");
    until("the last link", || group.opencode.is_there("link10"));
    let (first, last) = (group.opencode.show("link1"), group.opencode.show("link10"));
    let below = format!("task:{}", last["id"].as_str().unwrap());
    let session = first["session"]["id"].as_str().unwrap();
    let mut circle = group.opencode.home.command();
    let said = circle.args(["adopt", "opencode", session, "--parent", &below]).output().unwrap();
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("E_LINEAGE_CYCLE"), "{said}");
    group.opencode.open(&gate);
    until_room(&group.opencode.home, "link1", "settled");
    for n in 1..=10 {
        let link = group.opencode.show(&format!("link{n}"));
        let told = (&link["state"], &link["delivery"]["state"], &link["depth"]);
        assert_eq!(told, (&"completed".into(), &"settled".into(), &(n - 1).into()), "{link}");
    }
    assert_eq!(lines(&group, "sealed", |_| true), 10, "one debrief for each link");
    assert_eq!((group.heard(), group.said().len()), (group.said(), 1));
}

#[test]
fn g10_g11_g21_depth_is_refused_an_unknown_place_waits_and_a_direct_chat_hears_the_parent() {
    let group = Group::new("[limits]\ndepth = 0\n");
    let home = &group.opencode.home;
    let alone = group.scene.person.direct(&group.scene.bot);
    let private = Chat::open(&group.opencode, Some(&format!("direct:team/{alone}")));
    assert_eq!(private.ask(&format!("{}@say sent", sends("own", "@status 401"))), "sent");
    until_room(home, "own", "settled");
    let said: Vec<String> = private.debriefs().into_iter().filter_map(|turn| turn.text).collect();
    assert_eq!((group.scene.person.heard(&alone), said.len()), (said, 1), "no raw marker");
    // It may delegate, and that would be one too many below the other.
    assert_eq!(group.chat.ask("@say begin"), "begin");
    let deep = format!("{}@say tried", sends("deep", "@say never"));
    group.opencode.launch("one", ["--parent", &group.parent(), "--delegate"], &deep);
    until_room(home, "one", "settled");
    let refused = |heard: &homing_testkit::model::Heard| {
        heard.asked.told.contains("E_DELEGATION_DEPTH_EXCEEDED")
    };
    let log = group.opencode.model.log();
    assert!(log.iter().any(refused), "{log:?}");
    assert!(group.opencode.is_there("deep").is_none());
    assert_eq!((group.heard(), group.said().len()), (group.said(), 1));
    // A place of a kind that nobody knows.
    let words = [
        "launch",
        "--name",
        "odd",
        "--parent",
        "none",
        "--origin",
        "board:team/wall",
        "--",
        "true",
    ];
    home.homing(words);
    let shown = until_room(home, "odd", "undeliverable");
    assert_eq!(shown["code"], "E_ORIGIN_TYPE_UNHANDLED", "{shown}");
    let before = group.heard().len();
    home.homing(["reroute", "odd", &format!("group:team/{}", group.room)]);
    until_room(home, "odd", "settled");
    assert_eq!(group.heard().len(), before + 1, "{:?}", group.heard());
}
