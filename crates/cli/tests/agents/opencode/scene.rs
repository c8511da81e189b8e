//! A home whose daemon sends children to a real OpenCode.

use std::path::PathBuf;
use std::process::Output;

use homing_shim::processes::Process;
use homing_testkit::gate::Gate;
use homing_testkit::model::Model;
use homing_testkit::opencode::Place;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::server::{Server, until};
use crate::home::Home;

/// See the module. All of it ends with it.
pub struct Scene {
    pub home: Home,
    pub place: Place,
    pub model: Model,
    agent: tempfile::TempDir,
    // What the model listens in.
    _runtime: Runtime,
}

impl Scene {
    pub fn new() -> Self {
        Self::with("")
    }

    /// With more settings.
    pub fn with(settings: &str) -> Self {
        Self::within(".tmp", settings)
    }

    /// In directories whose names begin so.
    pub fn within(name: &str, settings: &str) -> Self {
        let runtime = Runtime::new().unwrap();
        let model = runtime.block_on(Model::start()).unwrap();
        let dir = || tempfile::Builder::new().prefix(name).tempdir().unwrap();
        let agent = dir();
        let place = Place::make(agent.path(), &model.url()).unwrap();
        let settings = format!(
            "[opencode]\ncommand = [{:?}]\n{settings}",
            place.script().display().to_string()
        );
        Self { home: Home::within(dir(), &settings), place, model, agent, _runtime: runtime }
    }

    /// Puts the plugin into OpenCode's settings.
    pub fn set_up<const N: usize>(&self, options: [&str; N]) {
        let mut setup = self.home.command();
        setup.env("XDG_CONFIG_HOME", self.place.config().parent().unwrap());
        let said = setup.args(["setup", "opencode"]).args(options).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        self.home.homing(["daemon", "start"]);
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.agent.path().join(name)
    }

    /// Where a tool waits.
    pub fn gate(&self, name: &str) -> Gate {
        Gate::at(self.file(name)).unwrap()
    }

    pub fn open(&self, gate: &Gate) {
        gate.open().unwrap();
    }

    /// `homing VERB --host opencode … PROMPT`, in a directory of its own.
    pub fn try_to<const N: usize>(&self, verb: &str, options: [&str; N], prompt: &str) -> Output {
        let mut command = self.home.command();
        command.args([verb, "--host", "opencode", "--cwd"]).arg(self.place.work());
        command.args(options).arg(prompt).output().unwrap()
    }

    pub fn launch<const N: usize>(&self, name: &str, options: [&str; N], prompt: &str) -> String {
        let options: Vec<&str> = ["--name", name].into_iter().chain(options).collect();
        let mut command = self.home.command();
        command.args(["launch", "--host", "opencode", "--cwd"]).arg(self.place.work());
        let said = command.args(options).arg(prompt).output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap().trim_end().to_owned()
    }

    pub fn show(&self, task: &str) -> Value {
        self.home.json(["show", task, "--json"])
    }

    /// What it came to, once it has.
    pub fn end(&self, task: &str) -> (String, String) {
        let task = self.ended(task);
        let word = |name: &str| task[name].as_str().unwrap_or_default().to_owned();
        (word("state"), word("cause"))
    }

    pub fn ended(&self, task: &str) -> Value {
        drop(self.home.command().args(["wait", task, "--timeout", "60s"]).output().unwrap());
        let shown = self.show(task);
        assert!(!shown["ended_at"].is_null(), "{shown}");
        shown
    }

    pub fn result(&self, task: &str) -> String {
        let shown = self.ended(task);
        shown["result"]["text"].as_str().unwrap_or_default().to_owned()
    }

    pub fn until_state(&self, task: &str, state: &str) {
        until(state, || (self.show(task)["state"] == state).then_some(()));
    }

    /// Whether there is a task of this name.
    pub fn is_there(&self, task: &str) -> Option<()> {
        let shown = self.home.command().args(["show", task]).output().unwrap();
        shown.status.success().then_some(())
    }

    /// Its end is known, and nobody has been told.
    pub fn until_owed(&self, task: &str) {
        until("what is owed", || {
            let state = self.show(task)["delivery"]["state"].clone();
            ["owed", "sealed"].contains(&state.as_str()?).then_some(())
        });
    }

    pub fn until_settled(&self, task: &str) {
        let settled = || (self.show(task)["delivery"]["state"] == "settled").then_some(());
        until("the receipt", settled);
    }

    pub fn server(&self) -> Server {
        until("a server", || Server::of(&self.home.dir().join("runs")))
    }

    /// The server, if one runs now.
    pub fn running(&self) -> Option<Server> {
        Server::of(&self.home.dir().join("runs"))
    }

    pub fn daemon(&self) -> Process {
        let status = self.home.json(["daemon", "status", "--json"]);
        Process::of(i32::try_from(status["pid"].as_i64().unwrap()).unwrap()).unwrap()
    }

    /// What the daemon wrote down.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.home.dir().join("daemon.log")).unwrap()
    }

    /// The daemon dies as by a power failure of its own.
    pub fn kill_daemon(&self) {
        let process = self.daemon();
        process.signal(Signal::KILL).unwrap();
        until("the daemon's end", || (!process.runs().unwrap()).then_some(()));
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let said = self.home.command().args(["events"]).output();
            let said = said.map(|said| said.stdout).unwrap_or_default();
            eprintln!("journal:\n{}", String::from_utf8_lossy(&said));
            let log = std::fs::read_to_string(self.home.dir().join("daemon.log"));
            eprintln!("log:\n{}", log.unwrap_or_default());
        }
        drop(self.home.command().args(["daemon", "stop", "--children"]).output());
    }
}

/// A prompt that runs a command, and then says something.
pub fn runs(script: &str, then: &str) -> String {
    let call = json!({"command": script, "description": "what it does"});
    format!("Do it.\n@tool bash {call}\n{then}")
}

/// A prompt that waits for a gate, and then says something.
pub fn waits(gate: &Gate, then: &str) -> String {
    runs(&gate.wait(), then)
}
