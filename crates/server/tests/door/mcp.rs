//! The tools over streamable HTTP: the same token, names and pages; each call on behalf of its caller.

use homing_ports::door::Calling;
use serde_json::{Value, json};

use crate::scene::{Open, Scene, TOKEN, soon};
use crate::tcp::{Tcp, listen};

/// A client of the tools, with a session where it began one.
pub struct Agent<'a> {
    tcp: &'a Tcp,
    pub session: Option<String>,
    last: u64,
}

impl<'a> Agent<'a> {
    pub async fn new(tcp: &'a Tcp) -> Self {
        let mut agent = Self { tcp, session: None, last: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}
        });
        let (head, hello) = agent.ask("initialize", hello).await;
        assert_eq!(hello["result"]["serverInfo"]["name"], "homing", "{head}");
        let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        agent.session = session.map(|session| session.trim().to_owned());
        agent.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        agent
    }

    /// Head and body of the answer.
    pub async fn post(&self, message: &Value) -> (String, String) {
        let body = message.to_string();
        let head = head(self.session.as_deref(), body.len());
        let answer = self.tcp.raw(format!("{head}{body}")).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    pub async fn ask(&mut self, method: &str, params: Value) -> (String, Value) {
        self.last += 1;
        let id = self.last;
        let asked = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let (head, body) = self.post(&asked).await;
        let events = body.lines().filter_map(|line| line.strip_prefix("data: "));
        let answer = events
            .filter_map(|data| serde_json::from_str::<Value>(data).ok())
            .find(|message| message["id"] == id);
        let answer = answer.unwrap_or_else(|| panic!("no answer: {head}\n{body}"));
        (head, answer)
    }

    pub async fn call(&mut self, tool: &str, args: Value) -> Value {
        let (_, answer) = self.ask("tools/call", json!({"name": tool, "arguments": args})).await;
        answer["result"].clone()
    }
}

/// The head of a message with so many bytes.
pub fn head(session: Option<&str>, bytes: usize) -> String {
    let session: String = session.iter().map(|id| format!("Mcp-Session-Id: {id}\r\n")).collect();
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n{session}\
         Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2025-11-25\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n"
    )
}

pub async fn ready(scene: &Scene) -> (Open, Tcp) {
    let open = scene.open();
    let tcp = listen(scene, &open).await;
    (open, tcp)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_over_http_launch_at_once_and_each_session_has_an_inbox() {
    let scene = Scene::new();
    let (open, tcp) = ready(&scene).await;
    let mut agent = Agent::new(&tcp).await;
    let session = agent.session.clone().unwrap();
    let told = agent.call("background_task", json!({"prompt": "@say hello\n@end"})).await;
    let task = &told["structuredContent"]["task"];
    assert_eq!(task["parent"], format!("inbox:mcp/{session}"), "{told}");
    let asked = json!({"task_id": task["id"], "wait": "30s"});
    let told = agent.call("background_output", asked).await;
    assert_eq!(told["structuredContent"]["task"]["result"]["text"], "hello", "{told}");
    tcp.close(open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_tools_are_as_guarded_as_the_rest() {
    let scene = Scene::new();
    let (open, tcp) = ready(&scene).await;
    let token = format!("Authorization: Bearer {TOKEN}");
    for (headers, status) in [
        (vec!["Host: 127.0.0.1"], "401"),
        (vec!["Host: evil.example", &token], "403"),
        (vec!["Host: 127.0.0.1", &token, "Origin: https://evil.example"], "403"),
    ] {
        let answer = tcp.get("/mcp", &headers).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    }
    tcp.close(open).await;
}

/// A tool is no way around: who calls from inside a task launches as that task, and cannot answer its own asks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_a_tool_acts_for_its_caller() {
    let scene = Scene::new();
    let (open, tcp) = ready(&scene).await;
    let above = open.launch("@ask question Which one?\n@end").await;
    let mut outside = Agent::new(&tcp).await;
    let asked = async {
        loop {
            let told = outside.call("background_asks", json!({})).await;
            if let Some(ask) = told["structuredContent"]["asks"].get(0) {
                return ask.clone();
            }
        }
    };
    let ask = soon(asked).await;
    assert_eq!(ask["task"], above.to_string());
    *scene.around.calling.lock().unwrap() = Calling::Inside(above);
    let mut inside = Agent::new(&tcp).await;
    let below = inside.call("background_task", json!({"prompt": "@end"})).await;
    let below = below["structuredContent"]["task"]["id"].as_str().unwrap().to_owned();
    let answer = json!({"ask_id": ask["id"], "text": "the first"});
    let refused = inside.call("background_answer", answer.clone()).await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("E_OWN_ASK"), "{refused}");
    *scene.around.calling.lock().unwrap() = Calling::Outside;
    let shown = soon(open.client.show(&below)).await.unwrap();
    assert_eq!(shown.launched_by, Some(above));
    assert_eq!(shown.parent.to_string(), format!("task:{above}"));
    let told = outside.call("background_answer", answer).await;
    assert_eq!(told["isError"], false, "{told}");
    tcp.close(open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c8_a_permission_is_not_an_agents_to_give() {
    let scene = Scene::new();
    let (open, tcp) = ready(&scene).await;
    open.launch("@ask permission May I?\n@end").await;
    let mut agent = Agent::new(&tcp).await;
    let asked = async {
        loop {
            let told = agent.call("background_asks", json!({})).await;
            if let Some(ask) = told["structuredContent"]["asks"].get(0) {
                return ask.clone();
            }
        }
    };
    let ask = soon(asked).await;
    for given in
        [json!({"ask_id": ask["id"], "text": "yes"}), json!({"ask_id": ask["id"], "allow": true})]
    {
        let refused = agent.call("background_answer", given).await;
        let words = refused["content"][0]["text"].as_str().unwrap();
        assert!(words.contains("E_PERMISSION_BY_PEOPLE"), "{words}");
        assert!(words.contains("homing answer") && words.contains("[policy]"), "{words}");
    }
    let told = agent.call("background_answer", json!({"ask_id": ask["id"], "deny": true})).await;
    assert_eq!(told["isError"], false, "to refuse is anybody's: {told}");
    tcp.close(open).await;
}

/// The one ask that is open.
async fn open_ask(agent: &mut Agent<'_>) -> Value {
    let asked = async {
        loop {
            let told = agent.call("background_asks", json!({})).await;
            if let Some(ask) = told["structuredContent"]["asks"].get(0) {
                return ask.clone();
            }
        }
    };
    soon(asked).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c8_the_agent_of_a_parent_that_policy_names_gives_its_tasks_permissions() {
    let mut scene = Scene::new();
    scene.limits.permissions = vec!["inbox:bot".parse().unwrap(), "task:*".parse().unwrap()];
    let (open, tcp) = ready(&scene).await;
    let mut agent = Agent::new(&tcp).await;
    let prompt = "@ask permission May I?\n@say done\n@end";
    let launched = agent.call("background_task", json!({"prompt": prompt, "parent": "inbox:bot"}));
    let id = launched.await["structuredContent"]["task"]["id"].clone();
    let ask = open_ask(&mut agent).await;
    let allow = |parent: &str| json!({"ask_id": ask["id"], "allow": true, "parent": parent});
    let words = |told: &Value| told["content"][0]["text"].as_str().unwrap().to_owned();
    // From inside the task itself, whoever it says it is.
    *scene.around.calling.lock().unwrap() = Calling::Inside(id.as_str().unwrap().parse().unwrap());
    let refused = Agent::new(&tcp).await.call("background_answer", allow("inbox:bot")).await;
    assert!(words(&refused).contains("E_OWN_ASK"), "{refused}");
    *scene.around.calling.lock().unwrap() = Calling::Outside;
    for (parent, says) in [
        ("inbox:other", "inbox:other is not the parent"),
        ("task:bg_0123456789ab", "not inside of task:bg_0123456789ab"),
        ("nobody", "parent: "),
    ] {
        let refused = agent.call("background_answer", allow(parent)).await;
        assert!(words(&refused).contains(says), "{parent}: {refused}");
    }
    let told = agent.call("background_answer", allow("inbox:bot")).await;
    assert_eq!(told["structuredContent"]["task"], id, "{told}");
    let told = agent.call("background_output", json!({"task_id": id, "wait": "30s"})).await;
    assert_eq!(told["structuredContent"]["task"]["result"]["text"], "done", "{told}");
    tcp.close(open).await;
}
