//! A wait within bounds: a word of progress every ten seconds, the answer at its end. Time is the test's own.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use homing_client::Client;
use homing_core::span;
use homing_mcp::{Coming, Daemon, Request, Seat, on_streams};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::Instant;

/// A daemon with one task, which does not end.
struct Endless;

impl Daemon for Endless {
    fn client<'a>(&'a self, _: Option<&'a Request>) -> Coming<'a> {
        let client = Client::within(|| {
            let (near, far) = tokio::io::duplex(64 << 10);
            tokio::spawn(answers(far));
            near
        });
        Box::pin(async move { Ok(client) })
    }

    fn seat(&self, _: Option<&Request>) -> Seat {
        let inbox = Seat::of_connection("test");
        Seat { session: None, inbox, cwd: None, around: BTreeMap::new(), turn: None, key: None }
    }

    fn fresh_key(&self) -> String {
        "key".to_owned()
    }
}

/// Every request is for the task's output; whoever waits does so in vain.
async fn answers(door: DuplexStream) {
    let mut door = BufReader::new(door);
    loop {
        let (mut asked, mut line) = (String::new(), String::new());
        while line != "\r\n" {
            line.clear();
            if door.read_line(&mut line).await.unwrap_or(0) == 0 {
                return;
            }
            asked.push_str(&line);
        }
        let wait = asked.split(['?', '&', ' ']).find_map(|part| part.strip_prefix("wait="));
        let wait = wait.map(|text| span::parse(text).unwrap());
        tokio::time::sleep(wait.unwrap_or_default()).await; // sleep: in the test's own time
        let waited = wait.map(|_| json!({"asked": "x", "asked_ms": 0, "ended": false}));
        let body = json!({"task": task(), "wait": waited, "fresh": true, "ack": null}).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        door.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    }
}

fn task() -> Value {
    json!({
        "id": "bg_0123456789ab", "name": null, "state": "running", "cause": null, "generation": 1,
        "attempt": 1, "host": "process", "agent": null, "model": null, "session": null,
        "parent": "inbox:me", "origin": null, "batch": "open:1", "depth": 0, "created_at": "c",
        "started_at": "s", "ended_at": null, "as_of": "o", "evidence": [], "reason": null,
        "result": null, "error": null,
        "progress": {
            "tool_calls": 0, "last_tool": null, "last_activity_at": null, "tokens": 0, "cost": 0
        },
        "delivery": {"state": "none", "key": null, "code": null, "attempts": 0},
        "room": {"state": "none", "key": null, "code": null},
        "launched_by": null, "attempts": [], "children": [], "flagged": false
    })
}

struct Agent {
    heard: BufReader<ReadHalf<DuplexStream>>,
    said: WriteHalf<DuplexStream>,
}

impl Agent {
    async fn new() -> Self {
        let (near, far) = tokio::io::duplex(64 << 10);
        let (read, write) = tokio::io::split(far);
        tokio::spawn(on_streams(Arc::new(Endless), read, write));
        let (heard, said) = tokio::io::split(near);
        let mut agent = Self { heard: BufReader::new(heard), said };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}
        });
        agent
            .say(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}))
            .await;
        assert_eq!(agent.hear().await["id"], 0);
        agent.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        agent
    }

    async fn say(&mut self, message: &Value) {
        self.said.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.heard.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// Waits for the task's end; gives the words of progress with when they came, and the answer.
    async fn wait(&mut self, wait: &str, meta: Value) -> (Vec<(Duration, Value)>, Value) {
        let begun = Instant::now();
        let args = json!({"task_id": "bg_0123456789ab", "wait": wait});
        let params = json!({"name": "background_output", "arguments": args, "_meta": meta});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        self.say(&call).await;
        let mut words = Vec::new();
        loop {
            let heard = self.hear().await;
            if heard["id"] == 1 {
                return (words, heard["result"].clone());
            }
            assert_eq!(heard["method"], "notifications/progress");
            words.push((begun.elapsed(), heard["params"].clone()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn n18_a_long_wait_is_told_of_every_ten_seconds_and_ends_at_its_bound() {
    let mut agent = Agent::new().await;
    let begun = Instant::now();
    let (words, answer) = agent.wait("5m", json!({"progressToken": "p"})).await;
    assert_eq!(begun.elapsed().as_secs(), 45, "the most that one call waits");
    let seconds: Vec<u64> = words.iter().map(|(at, _)| at.as_secs()).collect();
    assert_eq!(seconds, [10, 20, 30, 40]);
    for (at, word) in &words {
        assert_eq!((&word["progressToken"], &word["total"]), (&json!("p"), &json!(45.0)));
        assert!((word["progress"].as_f64().unwrap() - at.as_secs_f64()).abs() < 0.1, "{word}");
        assert!(word["message"].as_str().unwrap().contains("bg_0123456789ab"), "{word}");
    }
    let told = &answer["structuredContent"];
    assert_eq!(told["wait"], json!({"asked": "5m", "asked_ms": 300_000, "ended": false}));
    assert_eq!(told["mode"], "detached, still running");
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("wait=5m: the end did not come within 45s, the most"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn n18_a_wait_keeps_its_time_and_whoever_asks_for_no_progress_hears_none() {
    let mut agent = Agent::new().await;
    let begun = Instant::now();
    let (words, answer) = agent.wait("25s", json!({})).await;
    assert_eq!((begun.elapsed().as_secs(), words.len()), (25, 0));
    assert_eq!(answer["structuredContent"]["wait"]["asked"], "25s");
}
