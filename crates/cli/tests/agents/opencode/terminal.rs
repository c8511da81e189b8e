//! OpenCode's own terminal program, with a person in front of it: nothing but its screen and its keys.

use std::path::PathBuf;
use std::process::Command;

use homing_testkit::debian;

use super::program::{sends, words};
use super::scene::{Scene, waits};
use super::server::until;

/// A terminal that OpenCode runs in.
struct Terminal {
    tmux: debian::Program,
    socket: PathBuf,
}

impl Terminal {
    fn open<const N: usize>(scene: &Scene, name: &str, args: [&str; N]) -> Self {
        let terminal = Self { tmux: debian::Program::tmux().unwrap(), socket: scene.file(name) };
        let mut tmux = terminal.command();
        scene.home.around(&mut tmux);
        tmux.env("TERM", "xterm-256color").env_remove("TMUX");
        tmux.args(["-f", "/dev/null", "new-session", "-d", "-x", "140", "-y", "50", "-c"]);
        tmux.arg(scene.place.work()).arg(scene.place.script()).args(args);
        assert!(tmux.status().unwrap().success());
        terminal
    }

    fn command(&self) -> Command {
        let mut command = self.tmux.command();
        command.arg("-S").arg(&self.socket);
        command
    }

    fn screen(&self) -> String {
        let shown = self.command().args(["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    fn until_shown(&self, text: &str) {
        let shown = || self.screen().contains(text).then_some(());
        let seen = std::panic::catch_unwind(|| until(text, shown));
        assert!(seen.is_ok(), "{text:?} is not on the screen:\n{}", self.screen());
    }
}

/// As when its window is closed.
impl Drop for Terminal {
    fn drop(&mut self) {
        drop(self.command().arg("kill-server").output());
    }
}

#[test]
fn n8_launched_in_the_terminal_closed_and_opened_again_the_debrief_arrives() {
    let scene = Scene::new();
    scene.set_up([]);
    let gate = scene.gate("gate");
    let child = waits(&gate, "@say a long errand");
    let prompt = format!("{}@say it is out", sends("errand", &child));
    let terminal = Terminal::open(&scene, "first", ["--prompt", &prompt]);
    // What was sent out is told beside, for a moment.
    terminal.until_shown("homing: errand is");
    terminal.until_shown("it is out");
    until("the launch", || scene.is_there("errand"));
    scene.until_state("errand", "running");
    let parent = scene.show("errand")["parent"].as_str().unwrap().to_owned();
    let session = parent.rsplit_once(':').unwrap().1;
    drop(terminal);
    scene.open(&gate);
    scene.ended("errand");
    scene.until_owed("errand");
    let terminal = Terminal::open(&scene, "second", ["--session", session]);
    terminal.until_shown("Debrief db_");
    until("the receipt", || (scene.show("errand")["delivery"]["state"] == "settled").then_some(()));
    // The person's terminal shows one line of it, and the answer.
    assert!(!terminal.screen().contains("begins"), "{}", terminal.screen());
    let messages = scene.server().messages(session);
    let told = messages.iter().filter(|message| words(message).contains("| a long errand"));
    assert_eq!(told.count(), 1);
}
