//! An OpenCode that a person started: the process that runs parents.

#![expect(clippy::unwrap_used, reason = "a test that cannot speak to it ends with the cause")]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::Place;
use super::asked::{Asked, until};

/// See the module. Ends with it.
#[derive(Debug)]
pub struct Program {
    child: Child,
    pub server: Asked,
    work: String,
    port: u16,
    said: AtomicU32,
}

impl Program {
    /// With these variables besides.
    pub fn start(place: &Place, vars: &[(&str, &Path)]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(place.script());
        command.envs(vars.iter().copied());
        let text = port.to_string();
        command.args(["serve", "--hostname", "127.0.0.1", "--port", &text]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.current_dir(place.work()).spawn().unwrap();
        let password = vars.iter().find(|(name, _)| *name == "OPENCODE_SERVER_PASSWORD");
        let password = password.map_or("", |(_, value)| value.to_str().unwrap());
        let server = Asked::new(port, password);
        until("OpenCode", || server.is_there().then_some(()));
        let work = place.work().display().to_string();
        // Its plugin is loaded with the first word about the directory.
        until("its settings", || server.get(&format!("/config/providers?directory={work}")));
        Self { child, server, work, port, said: AtomicU32::new(0) }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// As by a power failure.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn session(&self) -> String {
        let made = self.server.post(&format!("/session?directory={}", self.work), &json!({}));
        made.unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// A person says something, and goes on. Its name.
    pub fn say(&self, session: &str, text: &str) -> String {
        self.say_as(session, None, text)
    }

    pub fn say_as(&self, session: &str, agent: Option<&str>, text: &str) -> String {
        let n = self.said.fetch_add(1, Ordering::Relaxed);
        let name = format!("msg_{:012x}Person{n:08}", self.port);
        let parts = json!([{"type": "text", "text": text}]);
        let mut prompt = json!({"messageID": name, "parts": parts});
        if let Some(agent) = agent {
            prompt["agent"] = json!(agent);
        }
        let path = format!("/session/{session}/prompt_async?directory={}", self.work);
        self.server.post(&path, &prompt);
        name
    }

    /// A person says something, and waits for the answer.
    pub fn ask(&self, session: &str, text: &str) -> String {
        let name = self.say(session, text);
        until("an answer", || self.answers(session, &name).pop())
    }

    /// As `ask`, for what takes many words.
    pub fn ask_long(&self, session: &str, text: &str) -> String {
        let name = self.say(session, text);
        for _ in 0..3 {
            let calls = self.outputs(session).len();
            until("a step", || {
                let on = self.outputs(session).len() > calls + 5;
                (on || !self.answers(session, &name).is_empty()).then_some(())
            });
        }
        until("an answer", || self.answers(session, &name).pop())
    }

    pub fn abort(&self, session: &str) {
        self.server.post(&format!("/session/{session}/abort"), &json!({}));
    }

    fn tools(&self, session: &str) -> Vec<Value> {
        let messages = self.messages(session);
        let parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap());
        parts.filter(|part| part["type"] == "tool").cloned().collect()
    }

    /// What tools said, or why they did not, in order.
    pub fn outputs(&self, session: &str) -> Vec<String> {
        let tools = self.tools(session);
        let said = tools.iter().map(|part| &part["state"]);
        let said = said.filter_map(|state| state["output"].as_str().or(state["error"].as_str()));
        said.map(str::to_owned).collect()
    }

    /// Whether this tool is being called there.
    pub fn is_running(&self, session: &str, tool: &str) -> Option<()> {
        (self.running(session, tool) > 0).then_some(())
    }

    /// How many calls of this tool run there.
    pub fn running(&self, session: &str, tool: &str) -> usize {
        let tools = self.tools(session);
        let ours = tools.iter().filter(|part| part["tool"] == tool);
        ours.filter(|part| part["state"]["status"] == "running").count()
    }

    pub fn messages(&self, session: &str) -> Vec<Value> {
        self.server.messages(session)
    }

    /// Messages that are debriefs.
    pub fn debriefs(&self, session: &str) -> Vec<Value> {
        let mut all = self.messages(session);
        all.retain(|message| !message["parts"][0]["metadata"]["homing"]["debrief"].is_null());
        all
    }

    /// The final answers to a message.
    pub fn answers(&self, session: &str, name: &str) -> Vec<String> {
        let mut all = self.messages(session);
        all.retain(|other| {
            other["info"]["parentID"] == name && other["info"]["finish"].as_str() == Some("stop")
        });
        all.iter().map(words).collect()
    }

    /// The only debrief of a session, once it is answered.
    pub fn debrief(&self, session: &str) -> Value {
        let debrief = until("a debrief", || self.debriefs(session).pop());
        until("its answer", || self.answers(session, name(&debrief)).pop());
        debrief
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What a message is called.
pub fn name(message: &Value) -> &str {
    message["info"]["id"].as_str().unwrap()
}

/// All that a message says, to whomever.
pub fn words(message: &Value) -> String {
    let parts = message["parts"].as_array().unwrap().iter();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// A line that has the model call a tool of ours.
pub fn calls(tool: &str, args: &Value) -> String {
    format!("@tool {tool} {args}\n")
}

/// A line that has the model send somebody out.
pub fn sends(name: &str, prompt: &str) -> String {
    calls("background_task", &json!({"description": name, "prompt": prompt}))
}
