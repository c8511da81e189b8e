//! The bot that builders copy, `examples/matrix-bot`, run as it is: on a real homeserver, with a real agent program.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use homing_testkit::opencode::{sends, until_within};

use super::scene::{LONG, Scene, until_room};
use crate::opencode::scene::{Scene as OpenCode, waits};

/// Ends with it.
struct Bot(Child);

impl Bot {
    fn start(scene: &Scene, opencode: &OpenCode) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/matrix-bot/bot.py");
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines < 160, "it has {lines} lines: nobody reads that");
        let state: PathBuf = opencode.file("bot.since");
        let child = Command::new("python3")
            .arg(file)
            .current_dir(opencode.place.work())
            .env("HOMING_URL", format!("http://{}", opencode.home.address()))
            .env("HOMING_TOKEN", opencode.home.token())
            .env("HOMING_HOST", "opencode")
            .env("MATRIX_URL", format!("http://127.0.0.1:{}", scene.served.synapse().port()))
            .env("MATRIX_TOKEN", &scene.bot.token)
            .env("BOT_STATE", &state)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let bot = Self(child);
        until_within(LONG, "it listens", || state.exists().then_some(()));
        bot
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn g1_g14_the_example_answers_in_threads_and_the_agent_speaks_there_when_its_tasks_come_home() {
    let scene = Scene::new();
    let opencode = OpenCode::with(&scene.settings());
    let room = scene.room();
    let gate = opencode.gate("gate");
    let mut bot = Bot::start(&scene, &opencode);
    let child = sends("tests", &waits(&gate, "@say 12 passed"));
    let root = scene.person.say(&room, &format!("{child}@say I have sent somebody"));
    let other = scene.person.say(&room, "@say 4");
    let thread = |root: &str| -> Vec<String> {
        scene.person.thread(&room, root).into_iter().map(|said| said.text).collect()
    };
    until_within(LONG, "an answer", || (!thread(&root).is_empty()).then_some(()));
    until_within(LONG, "another", || (!thread(&other).is_empty()).then_some(()));
    // The bot dies; what its agent is owed does not.
    bot.kill();
    opencode.open(&gate);
    until_room(&opencode.home, "tests", "settled");
    let bot = Bot::start(&scene, &opencode);
    let last = scene.person.say(&room, "@say still here");
    until_within(LONG, "the last", || (!thread(&last).is_empty()).then_some(()));
    assert_eq!(thread(&root), ["I have sent somebody", "ok"]);
    assert_eq!(thread(&other), ["4"]);
    assert_eq!(thread(&last), ["still here"]);
    drop(bot);
}
