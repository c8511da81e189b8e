//! The whole story on real programs: a group asks, a session of OpenCode delegates, its child ends, and the session speaks in
//! the room.

use homing_testkit::opencode::{sends, until};

use super::scene::{Scene, until_room};
use crate::opencode::program::started;
use crate::opencode::scene::Scene as OpenCode;

#[test]
fn g1_g13_the_parents_answer_is_the_one_message_that_the_group_reads() {
    let scene = Scene::new();
    let room = scene.room();
    let root = scene.person.say(&room, "Do the tests pass?");
    let opencode = OpenCode::with(&scene.settings());
    let program = started(&opencode);
    let session = program.session();
    // Its name as a parent, as the plugin gives it.
    program.ask(&session, &format!("{}@say sent", sends("first", "@say done")));
    until("the first", || opencode.is_there("first"));
    let parent = opencode.show("first")["parent"].as_str().unwrap().to_owned();
    let origin = format!("thread:team/{room}#{root}");
    let task = opencode
        .home
        .command()
        .args(["launch", "--name", "tests", "--parent", &parent, "--origin", &origin])
        .args(["--", "sh", "-c", "echo @room: 12 passed, says the child"])
        .output()
        .unwrap();
    assert!(task.status.success(), "{}", String::from_utf8_lossy(&task.stderr));
    until_room(&opencode.home, "tests", "settled");
    // What the session said to its debrief, word for word; nothing of the child's, and no marker.
    let thread = scene.person.thread(&room, &root);
    let texts: Vec<&str> = thread.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(texts, ["ok"]);
    assert_eq!(scene.person.heard(&room), ["ok"]);
    assert_eq!(opencode.show("tests")["delivery"]["state"], "settled");
}
