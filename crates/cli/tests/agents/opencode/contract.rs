//! OpenCode, by the contract of hosts.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use homing_core::ids::TaskId;
use homing_core::spec::Order;
use homing_hosts::opencode::{OpenCode, Settings};
use homing_hosts::process::ProcessHost;
use homing_ports::contract::host::{ANSWER, Does, HostFactory};
use homing_ports::contract::run::{CASE_MAX, Runner};
use homing_ports::host::{Flight, Host, Opening, Wanted};
use homing_testkit::gate::Gate;
use homing_testkit::model::Model;
use homing_testkit::opencode::Place;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::server::{Server, until};

/// So many looks at a prompt that nobody answers.
const UNTOUCHED: u32 = 300;

struct Sessions {
    directory: TempDir,
    gates: BTreeMap<TaskId, Gate>,
    place: Place,
    _model: Model,
    // What the model listens in, and what ends the server.
    runtime: Runtime,
}

impl Sessions {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let runtime = Runtime::new().unwrap();
        let model = runtime.block_on(Model::start()).unwrap();
        let place = Place::make(&directory.path().join("agent"), &model.url()).unwrap();
        Self { directory, gates: BTreeMap::new(), place, _model: model, runtime }
    }

    fn file(&self, name: &str, task: TaskId) -> PathBuf {
        self.directory.path().join(format!("{name}-{task}"))
    }

    fn runs(&self) -> PathBuf {
        self.directory.path().join("runs")
    }

    fn opencode(&self) -> OpenCode {
        let nursery = vec![env!("CARGO_BIN_EXE_homing").into(), "shims".into()];
        let commands = ProcessHost::new(self.runs(), nursery).unwrap();
        let command = vec![self.place.script().display().to_string()];
        OpenCode::new(Settings { command, ..Settings::default() }, &commands)
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        let opencode = self.opencode();
        drop(self.runtime.block_on(opencode.end()));
    }
}

impl HostFactory for Sessions {
    fn host(&mut self) -> Arc<dyn Host> {
        Arc::new(self.opencode())
    }

    fn restarted(&mut self) -> Arc<dyn Host> {
        self.host()
    }

    fn opening(&mut self, task: TaskId, attempt: u32, does: Does) -> Opening {
        let (ran, gate) = (self.file("ran", task), self.file("gate", task));
        let mut script = format!("echo ran >> {}", ran.display());
        let mut permissions = Vec::new();
        match does {
            Does::Answers => {}
            Does::Stands => {
                let made = || Gate::at(gate).unwrap();
                let gate = self.gates.entry(task).or_insert_with(made);
                script.push_str(&format!("; {}", gate.wait()));
            }
            Does::Asks => permissions.push("bash=ask".to_owned()),
            Does::CannotStart => permissions.push("bash=perhaps".to_owned()),
        }
        let call = json!({"command": script, "description": "what it does"});
        let prompt = format!("Do it.\n@tool bash {call}\n@say {ANSWER}");
        let cwd = Some(self.place.work().display().to_string());
        let order = Order { cwd, permissions, ..Order::default() };
        let wanted = Wanted { order, ..Wanted::default() };
        Opening { task, attempt, wanted, prompt: prompt.into_bytes() }
    }

    fn release(&mut self, task: TaskId) {
        self.gates[&task].open().unwrap();
    }

    fn runs(&mut self, task: TaskId) -> u32 {
        let lines = std::fs::read_to_string(self.file("ran", task)).unwrap_or_default();
        u32::try_from(lines.lines().count()).unwrap()
    }

    /// As the server says. A prompt that was just stored is neither: it is looked at again.
    fn is_running(&mut self, task: TaskId) -> bool {
        let Some(server) = Server::of(&Self::runs(self)) else {
            return false;
        };
        server.sessions(&task.to_string()).iter().any(|session| {
            let mut looks = 0;
            until("a session that runs or does not", || {
                if server.is_busy(session) {
                    return Some(true);
                }
                looks += 1;
                let messages = server.messages(session["id"].as_str().unwrap());
                let prompt = messages.last().is_some_and(|last| last["info"]["role"] == "user");
                // One that was aborted before anything was said stays as it is.
                (!prompt || looks > UNTOUCHED).then_some(false)
            })
        })
    }

    fn break_look(&mut self, _: TaskId) {
        Server::of(&Self::runs(self)).unwrap().kill();
        self.place.break_once().unwrap();
    }

    fn runner(&self) -> Runner {
        in_tokio
    }
}

/// With threads besides: what a case asks of the server from outside is waited for.
fn in_tokio(case: Flight<'_, ()>) {
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let done = tokio::time::timeout(CASE_MAX, case).await;
        assert!(done.is_ok(), "the case waits too long");
    });
}

homing_ports::host_contract!(Sessions::new());
