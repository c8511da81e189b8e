//! An agent's program at the other end of the pipes of `homing mcp`, and a home with agents to send out.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::scene::{Scene, finish};

const PRESETS: &str = "\
[presets.echo]
host = \"process\"
command = [\"cat\"]
[presets.gated]
host = \"process\"
command = [\"sh\", \"-c\", \"read gate; read line < \\\"$gate\\\"; echo told $line\"]
";

pub fn scene() -> Scene {
    with("")
}

/// With further settings.
pub fn with(settings: &str) -> Scene {
    let scene = Scene::new();
    fs::create_dir(&scene.home).unwrap();
    fs::write(scene.home.join("homing.toml"), format!("{PRESETS}{settings}")).unwrap();
    scene
}

/// An agent's program, at the other end of the pipes.
pub struct Agent {
    pub child: Option<Child>,
    pub said: ChildStdin,
    pub heard: BufReader<ChildStdout>,
    last: u64,
    /// What came without being asked for.
    pub notes: Vec<Value>,
}

impl Agent {
    pub fn new(scene: &Scene, env: &[(&str, &str)]) -> Self {
        let mut command = scene.command(["mcp"]);
        command.env_remove("CLAUDE_CODE_SESSION_ID").envs(env.iter().copied());
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let (said, heard) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let heard = BufReader::new(heard);
        let mut agent = Self { child: Some(child), said, heard, last: 0, notes: Vec::new() };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}
        });
        let hello = agent.ask("initialize", hello);
        assert_eq!(hello["result"]["serverInfo"]["name"], "homing");
        agent.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    pub fn say(&mut self, message: &Value) {
        writeln!(self.said, "{message}").unwrap();
        self.said.flush().unwrap();
    }

    /// Sends a request, and gives its number.
    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    pub fn hear(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.heard.read_line(&mut line).unwrap() > 0, "it ended");
        serde_json::from_str(&line).unwrap()
    }

    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.hear();
            if message["id"] == id {
                return message;
            }
            self.notes.push(message);
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool: its data and its words. One that did not do it has words alone.
    pub fn call(&mut self, tool: &str, args: Value) -> (Value, String) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": args}));
        let result = &answer["result"];
        let words = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!(result["isError"] == true, result["structuredContent"].is_null(), "{answer}");
        (result["structuredContent"].clone(), words.to_owned())
    }

    pub fn launch(&mut self, args: Value) -> String {
        let (task, words) = self.call("background_task", args);
        task["task"]["id"].as_str().unwrap_or_else(|| panic!("{words}")).to_owned()
    }

    /// Closes its end, as a program does that is done.
    pub fn leave(mut self) {
        drop(self.said);
        let said = finish(self.child.take().unwrap());
        assert_eq!(said.code, Some(0), "{}", said.err);
    }
}

pub fn kill_daemon(scene: &Scene) {
    let status = scene.homing(["daemon", "status", "--json"]).json();
    let pid = i32::try_from(status["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// A pipe that a gated task waits at; opening it waits until the task does.
pub fn gate(scene: &Scene, name: &str) -> String {
    let path = scene.path(name);
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    path.display().to_string()
}
