//! Every tool called with what nobody would think of: it answers, or says what is wrong with the arguments. Nothing
//! panics, and the door serves on. What is made up follows from a seed alone.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};

use crate::mcp::{Agent, head, ready};
use crate::scene::Scene;

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const CALLS_PER_TOOL: usize = 150;
const INVALID_PARAMS: i64 = -32602;

/// Numbers that follow from a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, many: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % many
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Ids that look right and ids that are, times, signs that mean something elsewhere, letters of other kinds.
const WORDS: [&str; 28] = [
    "",
    " ",
    "x",
    "bg_0123456789ab",
    "bg_",
    "BG_0123456789AB",
    "ask_0123456789ab",
    "task:bg_0123456789ab",
    "inbox:me",
    "inbox:",
    "none",
    "claude:s-1",
    "opencode@laptop:ses_1",
    "1ms",
    "-1s",
    "30",
    "1e9s",
    "99999999999999999999h",
    "../../etc/passwd",
    "%2e%2e%2f",
    "a?wait=1h&b=#c",
    "a\r\nX-Header: y",
    "\u{0}",
    "é\u{301}\u{202e}\u{feff}",
    "👩‍👩‍👧‍👦",
    "\u{10ffff}",
    "' OR 1=1; --",
    "${HOME} $(id) `id`",
];

fn text(chance: &mut Chance, known: &[String]) -> String {
    match chance.below(8) {
        0 => "x".repeat(1 << chance.below(17)),
        1 => "\u{1f600}".repeat(1 << chance.below(14)),
        2 | 3 => chance.pick(known).clone(),
        _ => (*chance.pick(&WORDS)).to_owned(),
    }
}

fn value(chance: &mut Chance, known: &[String], depth: usize) -> Value {
    match chance.below(if depth > 3 { 7 } else { 10 }) {
        0 => Value::Null,
        1 => json!(chance.one_in(2)),
        2 => json!(*chance.pick(&[0_i64, -1, 1, i64::MAX, i64::MIN, 45_001])),
        3 => json!(*chance.pick(&[0.5, -0.0, 1e300, f64::MIN_POSITIVE])),
        4 => json!(u64::MAX),
        5 | 6 => json!(text(chance, known)),
        7 => (0..chance.below(4)).map(|_| value(chance, known, depth + 1)).collect(),
        8 => {
            let fields = (0..chance.below(4))
                .map(|_| (text(chance, known), value(chance, known, depth + 1)));
            Value::Object(fields.collect::<Map<String, Value>>())
        }
        _ => (0..100).fold(Value::Null, |inner, _| json!([inner])),
    }
}

/// Arguments for a tool: of the right kind or not, some left out, some that it does not know.
fn arguments(chance: &mut Chance, schema: &Value, known: &[String]) -> Value {
    let mut args = Map::new();
    for (name, field) in schema["properties"].as_object().unwrap() {
        let required = schema["required"].as_array().is_some_and(|all| all.contains(&json!(name)));
        if chance.one_in(if required { 12 } else { 2 }) {
            continue;
        }
        // One that waits for a task that does not end would wait its whole bound.
        let waits = ["run_in_background", "block", "timeout", "wait"].contains(&name.as_str());
        let right = match field["type"].as_str().unwrap() {
            _ if waits && chance.one_in(6) => json!(["soon"]),
            _ if !waits && chance.one_in(6) => value(chance, known, 0),
            "boolean" if name == "run_in_background" => json!(true),
            "boolean" => json!(chance.one_in(2)),
            "integer" if name == "timeout" => json!(chance.below(20)),
            "integer" => json!(*chance.pick(&[0_u64, 1, 7, 1_000_000, u64::MAX])),
            _ if name == "wait" => json!(*chance.pick(&["1ms", "0s", "-1s", "1", "1e9s", "20ms"])),
            _ => json!(text(chance, known)),
        };
        args.insert(name.clone(), right);
    }
    if args.get("block") == Some(&json!(true)) {
        args.entry("timeout").or_insert(json!(1));
    }
    if chance.one_in(8) {
        args.insert(text(chance, known), value(chance, known, 0));
    }
    Value::Object(args)
}

/// A tool's result, or a word on the arguments; anything else is a defect.
fn check(asked: &Value, answer: &Value) {
    let short = || asked.to_string().chars().take(2_000).collect::<String>();
    if let Some(code) = answer["error"]["code"].as_i64() {
        assert_eq!(code, INVALID_PARAMS, "{}: {answer}", short());
        return;
    }
    let result = &answer["result"];
    let words = result["content"][0]["text"].as_str().unwrap_or_default();
    assert!(!words.is_empty(), "{}: {answer}", short());
    let refused = result["isError"] == true;
    assert_eq!(refused, result["structuredContent"].is_null(), "{}: {words}", short());
    // What is said when the door within broke.
    for broken in ["E_DAMAGED", "homing daemon start"] {
        assert!(!words.contains(broken), "{}: {words}", short());
    }
    assert!(words.len() < 1 << 20, "{}: {} bytes of words", short(), words.len());
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Counts those of the door's threads: a task that panics takes its answer with it, not the test.
fn count_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // A thread with the name of a test is a test that fails, and says so itself.
        let of_a_test = std::thread::current().name().is_some_and(|name| name.contains("::"));
        PANICS.fetch_add(usize::from(!of_a_test), Ordering::Relaxed);
        usual(info);
    }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_every_tool_answers_whatever_it_is_given() {
    count_panics();
    let scene = Scene::new();
    let (open, tcp) = ready(&scene).await;
    let mut agent = Agent::new(&tcp).await;
    let ended = open.launch("@say hello\n@end").await;
    open.end(ended).await;
    let asks = open.launch("@ask permission May I?\n@end").await;
    let session = agent.call("session_info", json!({"session_id": ended.to_string()})).await;
    let session = session["structuredContent"]["id"].as_str().unwrap().to_owned();
    let known = [ended.to_string(), asks.to_string(), session, "hello".to_owned()];
    let tools = agent.ask("tools/list", json!({})).await.1["result"]["tools"].clone();
    let mut chance = Chance(SEED);
    for tool in tools.as_array().unwrap() {
        for _ in 0..CALLS_PER_TOOL {
            let args = match chance.one_in(10) {
                true => value(&mut chance, &known, 0),
                false => arguments(&mut chance, &tool["inputSchema"], &known),
            };
            let asked = json!({"name": tool["name"], "arguments": args});
            let (_, answer) = agent.ask("tools/call", asked.clone()).await;
            check(&asked, &answer);
        }
    }
    for params in [json!({}), json!({"name": 7}), json!([]), json!(null), json!({"name": "rm"})] {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let (head, body) = agent.post(&asked).await;
        let refused = head.starts_with("HTTP/1.1 4") || body.contains("\"code\":-32602");
        assert!(refused, "{asked}: {head}\n{body}");
    }
    let told = agent.call("background_task", json!({"prompt": "@say on\n@end"})).await;
    let id = &told["structuredContent"]["task"]["id"];
    let told = agent.call("background_output", json!({"task_id": id, "wait": "30s"})).await;
    assert_eq!(told["structuredContent"]["task"]["result"]["text"], "on", "it serves on: {told}");
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
    tcp.close(open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r5_what_is_no_message_is_refused_over_http() {
    let scene = Scene::new();
    let (open, tcp) = ready(&scene).await;
    let mut agent = Agent::new(&tcp).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in [
        b"".as_slice(),
        b"not json",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name",
        b"\xff\xfe\x00\"",
        b"[]",
        b"{}",
        b"null",
        b"{\"jsonrpc\":\"1.0\",\"id\":{},\"method\":[]}",
        deep.as_bytes(),
    ] {
        let head = head(agent.session.as_deref(), body.len());
        let answer = tcp.raw([head.as_bytes(), body].concat()).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
        assert!(answer.starts_with("HTTP/1.1 4"), "{shown}: {answer}");
    }
    let told = agent.call("background_list", json!({})).await;
    assert_eq!(told["isError"], false, "it serves on: {told}");
    tcp.close(open).await;
}
