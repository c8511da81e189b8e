//! Agents of others as clients of the tools: real programs, with a model that does what the prompt says.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use homing_testkit::gate::Gate;
use homing_testkit::model::Model;
use homing_testkit::npm::{CLAUDE, Programs};
use homing_testkit::opencode::Place;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::home::Home;

const PRESETS: &str = "\
[presets.gated]
host = \"process\"
command = [\"sh\", \"-c\", \"read gate; read line < \\\"$gate\\\"; echo told $line\"]
";

/// A home, a model, and a place for an agent that knows nothing else.
struct Scene {
    home: Home,
    model: Model,
    // What the model listens in.
    _runtime: Runtime,
}

impl Scene {
    fn new() -> Self {
        let runtime = Runtime::new().unwrap();
        let model = runtime.block_on(Model::start()).unwrap();
        Self { home: Home::new(PRESETS), model, _runtime: runtime }
    }

    fn gate(&self, name: &str) -> Gate {
        Gate::at(self.home.dir().join(name)).unwrap()
    }

    /// A directory of its own, with nothing of the user's.
    fn around(&self, command: &mut Command) -> PathBuf {
        let place = self.home.dir().join("agent");
        fs::create_dir_all(place.join("work")).unwrap();
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        for (name, folder) in [
            ("HOME", ""),
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_STATE_HOME", "state"),
        ] {
            command.env(name, place.join(folder));
        }
        command.current_dir(place.join("work")).stdin(Stdio::null());
        place
    }

    /// How an agent starts the tools.
    fn server(&self) -> (String, Value) {
        let dir = self.home.dir().display().to_string();
        let env = json!({"HOMING_HOME": dir, "XDG_RUNTIME_DIR": dir});
        (env!("CARGO_BIN_EXE_homing").to_owned(), env)
    }

    /// What the tools told the agent, in order.
    fn told(&self) -> Vec<String> {
        let log = self.model.log();
        log.into_iter()
            .filter(|heard| heard.asked.results > 0)
            .map(|heard| heard.asked.told)
            .collect()
    }
}

fn claude(scene: &Scene, prompt: &str, timeout_ms: u32) -> Output {
    let programs = Programs::of(CLAUDE).unwrap();
    let (program, env) = scene.server();
    let tools = json!({"mcpServers": {"homing": {
        "command": program, "args": ["mcp"], "env": env
    }}});
    let mut claude = programs.command("claude");
    let path = claude.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
    let path = path.unwrap_or_default().to_owned();
    scene.around(&mut claude);
    claude.env("PATH", path);
    claude
        .args(["-p", prompt, "--output-format", "json", "--strict-mcp-config", "--mcp-config"])
        .arg(tools.to_string())
        .args(["--allowedTools", "mcp__homing__background_task,mcp__homing__background_output"])
        .env("ANTHROPIC_BASE_URL", scene.model.url())
        .env("ANTHROPIC_API_KEY", "dummy")
        .env("MCP_TOOL_TIMEOUT", timeout_ms.to_string());
    for off in ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER"] {
        claude.env(off, "1");
    }
    claude.output().unwrap()
}

fn opencode(scene: &Scene, prompt: &str, timeout_ms: u32) -> Output {
    let place = Place::make(&scene.home.dir().join("agent"), &scene.model.url()).unwrap();
    let (program, env) = scene.server();
    let settings = json!({"mcp": {"homing": {
        "type": "local", "command": [program, "mcp"], "environment": env,
        "enabled": true, "timeout": timeout_ms
    }}});
    fs::write(place.work().join("opencode.json"), settings.to_string()).unwrap();
    let mut opencode = Command::new(place.script());
    scene.around(&mut opencode);
    // As a word of the command line its quotes would be escaped.
    let words = scene.home.dir().join("prompt");
    fs::write(&words, prompt).unwrap();
    opencode.stdin(fs::File::open(&words).unwrap());
    opencode.args(["run", "--model", "scripted/one"]).output().unwrap()
}

/// Launches, reads at once, and says so.
fn errand(tool: &str, gate: &Gate) -> String {
    let launch = json!({"prompt": gate.to_str(), "agent": "gated", "description": "errand"});
    let read = json!({"task_id": "errand"});
    format!(
        "Send somebody out.\n@tool {tool}background_task {launch}\n\
         @tool {tool}background_output {read}\n@say it is out"
    )
}

fn both(said: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr))
}

/// The task goes on after its client has ended, and its result is read later.
fn comes_home(scene: &Scene, gate: &Gate, parent: &str) {
    let task = scene.home.json(["show", "errand", "--json"]);
    assert!(task["ended_at"].is_null(), "{task}");
    assert!(task["parent"].as_str().unwrap().starts_with(parent), "{task}");
    gate.open_with("home").unwrap();
    assert_eq!(scene.home.homing(["output", "errand", "--wait"]).stdout, b"told home\n");
}

#[test]
fn claude_code_launches_gets_a_handle_at_once_and_the_result_comes_later() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let said = claude(&scene, &errand("mcp__homing__", &gate), 60_000);
    assert!(said.status.success() && both(&said).contains("it is out"), "{}", both(&said));
    let told = scene.told();
    assert!(told.len() >= 2 && told.iter().all(|text| text.contains("bg_")), "{told:?}");
    assert!(told.iter().any(|text| text.contains("do not poll")), "{told:?}");
    comes_home(&scene, &gate, "claude:");
}

#[test]
fn opencode_launches_gets_a_handle_at_once_and_the_result_comes_later() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let said = opencode(&scene, &errand("homing_", &gate), 60_000);
    assert!(said.status.success() && both(&said).contains("it is out"), "{}", both(&said));
    let told = scene.told();
    assert!(told.len() >= 2 && told.iter().all(|text| text.contains("bg_")), "{told:?}");
    comes_home(&scene, &gate, "inbox:mcp/");
}

/// What `homing setup` writes, its own program reads. OpenCode has a plugin instead.
#[test]
fn claude_code_finds_the_tools_where_setup_put_them() {
    let scene = Scene::new();
    let mut claude = Programs::of(CLAUDE).unwrap().command("claude");
    let path = claude.get_envs().find(|(key, _)| *key == "PATH").and_then(|(_, path)| path);
    let path = path.map(ToOwned::to_owned);
    let place = scene.around(&mut claude);
    if let Some(path) = path {
        claude.env("PATH", path);
    }
    let mut setup = scene.home.command();
    setup.env("HOME", &place).env_remove("CLAUDE_CONFIG_DIR");
    let done = setup.args(["setup", "claude"]).output().unwrap();
    assert!(done.status.success(), "{}", both(&done));
    let claude = both(&claude.args(["mcp", "list"]).output().unwrap());
    assert!(claude.contains("homing") && claude.contains("Connected"), "{claude}");
}

/// Waits for the end, which does not come before the client's patience ends.
fn impatient(tool: &str, gate: &Gate) -> String {
    let launch = json!({
        "prompt": gate.to_str(), "agent": "gated", "description": "errand", "run_in_background": false
    });
    format!("Send somebody out.\n@tool {tool}background_task {launch}\n@say it took too long")
}

#[test]
fn a_launch_outlives_the_tool_timeout_of_claude_code() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let said = claude(&scene, &impatient("mcp__homing__", &gate), 1_500);
    assert!(both(&said).contains("it took too long"), "{}", both(&said));
    comes_home(&scene, &gate, "claude:");
}

#[test]
fn a_launch_outlives_the_tool_timeout_of_opencode() {
    let scene = Scene::new();
    let gate = scene.gate("gate");
    let said = opencode(&scene, &impatient("homing_", &gate), 1_500);
    assert!(both(&said).contains("it took too long"), "{}", both(&said));
    comes_home(&scene, &gate, "inbox:mcp/");
}
