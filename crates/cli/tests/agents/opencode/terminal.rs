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
        let mut opencode = Command::new(scene.place.script());
        opencode.args(args);
        Self::of(scene, name, &opencode)
    }

    fn of(scene: &Scene, name: &str, program: &Command) -> Self {
        let terminal = Self { tmux: debian::Program::tmux().unwrap(), socket: scene.file(name) };
        let mut tmux = terminal.command();
        scene.home.around(&mut tmux);
        tmux.env("TERM", "xterm-256color").env_remove("TMUX");
        tmux.args(["-f", "/dev/null", "new-session", "-d", "-x", "140", "-y", "50", "-c"]);
        tmux.arg(scene.place.work()).arg(program.get_program()).args(program.get_args());
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

    /// As tmux names them.
    fn keys<const N: usize>(&self, keys: [&str; N]) {
        assert!(self.command().arg("send-keys").args(keys).status().unwrap().success());
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
    scene.until_settled("errand");
    // The person's terminal shows one line of it, and the answer.
    assert!(!terminal.screen().contains("begins"), "{}", terminal.screen());
    let messages = scene.server().messages(session);
    let told = messages.iter().filter(|message| words(message).contains("| a long errand"));
    assert_eq!(told.count(), 1);
}

#[test]
fn a_person_sees_when_one_starts_that_waited_and_how_long_each_took() {
    let scene = Scene::with("[concurrency]\ndefault = 1\n");
    scene.set_up([]);
    let [first, second] = ["first gate", "second gate"].map(|name| scene.gate(name));
    let sends = |name: &str, gate| sends(name, &waits(gate, "@say done"));
    let prompt = format!("{}{}@say out", sends("first", &first), sends("second", &second));
    let terminal = Terminal::open(&scene, "terminal", ["--prompt", &prompt]);
    terminal.until_shown("homing: second is queued");
    scene.until_state("first", "running");
    scene.open(&first);
    // One toast at a time: the end of the one and the start of the other are told together.
    terminal.until_shown("homing: first completed after");
    scene.open(&second);
    terminal.until_shown("homing: second completed after");
}

/// With a port of its own it loads plugins once for the terminal and once for the server.
#[test]
fn a_terminal_with_a_port_is_one_program_that_calls_and_is_told_once() {
    let scene = Scene::with("[log]\nlevel = \"info,http=debug\"\n");
    scene.set_up([]);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let prompt = format!("{}@say it is out", sends("errand", "@say done"));
    let args = ["--port", &port.to_string(), "--prompt", &prompt];
    let terminal = Terminal::open(&scene, "terminal", args);
    terminal.until_shown("Debrief db_");
    scene.until_settled("errand");
    let parent = scene.show("errand")["parent"].as_str().unwrap().to_owned();
    let messages = scene.server().messages(parent.rsplit_once(':').unwrap().1);
    let told = messages.iter().filter(|message| words(message).contains("| done"));
    assert_eq!(told.count(), 1);
    let all = scene.home.json(["ls", "--all", "--json"]);
    assert_eq!(all.as_array().unwrap().len(), 1, "{all}");
    // One arm beside that of the server which ran the child.
    let log = std::fs::read_to_string(scene.home.dir().join("daemon.log")).unwrap();
    let offers = log.lines().filter(|line| line.contains("route=/v1/arms status=200"));
    assert!(offers.count() <= 2, "{log}");
}

#[test]
fn what_is_undone_in_the_terminal_after_a_debrief_is_done_again_in_its_order() {
    let scene = Scene::new();
    scene.set_up([]);
    let prompt = format!("{}@say it is out", sends("errand", "@say done"));
    let terminal = Terminal::open(&scene, "terminal", ["--prompt", &prompt]);
    until("the launch", || scene.is_there("errand"));
    scene.until_settled("errand");
    let parent = scene.show("errand")["parent"].as_str().unwrap().to_owned();
    let session = parent.rsplit_once(':').unwrap().1;
    let ask = |text: &str| {
        terminal.keys(["-l", &format!("@say {text}")]);
        terminal.keys(["Enter"]);
        until(text, || {
            let messages = scene.server().messages(session);
            let asked = messages.iter().find(|message| words(message).ends_with(text))?;
            let id = asked["info"]["id"].as_str()?;
            let answer = messages.iter().find(|message| message["info"]["parentID"] == id)?;
            answer["info"]["time"]["completed"].is_number().then(|| id.to_owned())
        })
    };
    ask("the second");
    let third = ask("the third");
    for (key, undone) in [("u", 1), ("u", 2), ("r", 1)] {
        terminal.keys(["C-x", key]);
        terminal.until_shown(&format!("{undone} message reverted"));
    }
    let path = format!("/session/{session}");
    assert_eq!(scene.server().get(&path).unwrap()["revert"]["messageID"], third.as_str());
}

#[test]
fn a_session_of_a_child_is_looked_into_and_spoken_in() {
    let scene = Scene::new();
    let task = scene.launch("look in", [], "@say hello from the child");
    assert_eq!(scene.result(&task), "hello from the child");
    let mut attach = scene.home.command();
    attach.args(["attach", "look in"]);
    let terminal = Terminal::of(&scene, "terminal", &attach);
    terminal.until_shown("hello from the child");
    terminal.keys(["-l", "@say and more"]);
    terminal.keys(["Enter"]);
    let session = scene.show(&task)["session"]["id"].as_str().unwrap().to_owned();
    until("its answer", || {
        let last = scene.server().messages(&session).pop()?;
        (last["info"]["finish"] == "stop" && words(&last) == "and more").then_some(())
    });
    drop(terminal);
    assert_eq!(scene.result(&task), "hello from the child", "what it came to stays so");
}
