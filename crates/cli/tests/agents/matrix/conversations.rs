//! A bot in a group, all of it real: a conversation on OpenCode, its children, a homeserver. People read what the parent says,
//! once, where they asked.

use homing_testkit::opencode::{sends, until, until_within};
use serde_json::Value;

use super::scene::{LONG, Scene, kill_daemon, until_room};
use crate::opencode::conversations::chat::Chat;
use crate::opencode::scene::{Scene as OpenCode, waits};

/// A conversation whose tasks are told in a thread of a room.
pub struct Group {
    pub scene: Scene,
    pub opencode: OpenCode,
    pub chat: Chat,
    pub room: String,
    pub root: String,
}

impl Group {
    pub fn new(settings: &str) -> Self {
        Self::with(|before| format!("{before}{settings}"))
    }

    /// With settings made of the scene's.
    pub fn with(settings: impl FnOnce(String) -> String) -> Self {
        let scene = Scene::new();
        let room = scene.room();
        let root = scene.person.say(&room, "Do the tests pass?");
        let opencode = OpenCode::with(&settings(scene.settings()));
        let chat = Chat::open(&opencode, Some(&format!("thread:team/{room}#{root}")));
        Self { scene, opencode, chat, room, root }
    }

    fn thread(&self) -> Vec<String> {
        self.scene.person.thread(&self.room, &self.root).into_iter().map(|said| said.text).collect()
    }

    /// Everything the bot ever said in the room.
    pub fn heard(&self) -> Vec<String> {
        self.scene.person.heard(&self.room)
    }

    pub fn telemetry(&self, task: &str) -> usize {
        let said = self.opencode.home.homing(["events"]).stdout;
        let lines = String::from_utf8(said).unwrap();
        let id = self.opencode.show(task)["id"].as_str().unwrap().to_owned();
        let of = |line: &&str| line.contains(&id) && line.contains("telemetry_taken");
        lines.lines().filter(of).count()
    }
}

#[test]
fn g1_g13_g14_g15_the_parent_answers_in_the_thread_and_telemetry_has_the_marker() {
    let group = Group::new("");
    let gate = group.opencode.gate("gate");
    // The same bot also speaks with somebody alone; what is asked there stays there.
    let alone = group.scene.person.direct(&group.scene.bot);
    let private = Chat::open(&group.opencode, Some(&format!("direct:team/{alone}")));
    let child = sends("tests", &waits(&gate, "@say @room: 12 passed, says the child"));
    assert_eq!(group.chat.ask(&format!("{child}@say sent")), "sent");
    assert_eq!(private.ask(&format!("{}@say sent", sends("own", "@say done"))), "sent");
    until_room(&group.opencode.home, "own", "settled");
    assert!(group.heard().is_empty(), "nobody speaks before the parent does");
    group.opencode.open(&gate);
    until_room(&group.opencode.home, "tests", "settled");
    let said = group.chat.debriefs();
    assert_eq!(said.len(), 1, "{said:?}");
    // Word for word what the parent said to it, and nothing of the child's.
    assert_eq!(group.thread(), [said[0].text.clone().unwrap()]);
    assert_eq!(group.heard(), group.thread());
    assert_eq!(group.scene.person.heard(&alone).len(), 1);
    assert_eq!((group.telemetry("tests"), group.telemetry("own")), (1, 1));
}

#[test]
fn g2_a_child_that_failed_is_spoken_of_by_the_parent_too() {
    let group = Group::new("");
    assert_eq!(group.chat.ask(&format!("{}@say sent", sends("tests", "@status 401"))), "sent");
    until_room(&group.opencode.home, "tests", "settled");
    assert_eq!(group.opencode.show("tests")["state"], "failed");
    let said = group.chat.debriefs();
    assert_eq!(group.heard(), [said[0].text.clone().unwrap()], "no marker: {said:?}");
}

#[test]
fn n10_fifty_that_end_together_are_one_debrief_and_one_message() {
    let group = Group::new("[concurrency]\ndefault = 60\n");
    let (home, open) = (&group.opencode.home, group.opencode.file("open"));
    assert_eq!(group.chat.ask("@say begin"), "begin");
    let parent = format!("conv:{}", group.chat.id);
    let script = format!("while [ ! -e '{}' ]; do sleep 0.05; done", open.display());
    for n in 0..50 {
        let name = format!("c{n}");
        let words = ["launch", "--name", &name, "--parent", &parent, "--batch", "fifty", "--"];
        let said = home.command().args(words).args(["sh", "-c", &script]).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }
    std::fs::write(&open, "").unwrap();
    for n in 0..50 {
        until_room(home, &format!("c{n}"), "settled");
    }
    assert_eq!((group.chat.debriefs().len(), group.heard().len()), (1, 1), "{:?}", group.heard());
    assert_eq!(group.thread().len(), 1, "in the thread that the conversation is of");
}

/// The number of lines of a kind that speak of this.
pub fn lines(group: &Group, kind: &str, of: impl Fn(&Value) -> bool) -> usize {
    let said = group.opencode.home.homing(["events"]).stdout;
    let said = String::from_utf8(said).unwrap();
    let parsed = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    parsed.filter(|line| line["kind"] == kind && of(line)).count()
}

#[test]
fn g20_r1_killed_at_every_step_of_a_handoff_the_room_has_one_message() {
    let mut group = Group::new("");
    let steps: [(&str, &str); 6] = [
        ("sealed", ""),
        ("generation_opened", "debrief"),
        ("debrief_moved", "accepted"),
        ("debrief_answered", ""),
        ("post_sealed", ""),
        ("post_moved", ""),
    ];
    for (n, (kind, word)) in steps.into_iter().enumerate() {
        let name = format!("t{n}");
        let gate = group.opencode.gate(&format!("gate{n}"));
        let before = lines(&group, kind, |line| line.to_string().contains(word));
        let child = sends(&name, &waits(&gate, "@say done"));
        assert_eq!(group.chat.ask(&format!("{child}@say sent")), "sent");
        group.opencode.open(&gate);
        until(kind, || {
            let now = lines(&group, kind, |line| line.to_string().contains(word));
            (now > before).then_some(())
        });
        kill_daemon(&group.opencode.home);
        group.chat.again(&group.opencode);
        until_room(&group.opencode.home, &name, "settled");
        let heard = group.heard();
        assert_eq!(heard.len(), n + 1, "killed after {kind}: {heard:?}");
    }
    until_within(LONG, "all told", || (group.chat.debriefs().len() == 6).then_some(()));
}
