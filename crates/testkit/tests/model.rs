//! The model on loopback, as an agent's HTTP client hears it: each directive, in both APIs.
#![expect(clippy::unwrap_used, reason = "a test ends where its set-up fails")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use homing_testkit::model::Model;
use serde_json::{Value, json};

const OPENAI: &str = "/v1/chat/completions";
const ANTHROPIC: &str = "/v1/messages";

/// Sends a body, and gives all that comes back; none where nothing more comes in time.
async fn post(model: &Model, path: &str, body: Value, wait: Duration) -> Option<String> {
    let place = model.url().strip_prefix("http://").unwrap().to_owned();
    let (path, body) = (path.to_owned(), body.to_string());
    let heard = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(place).unwrap();
        stream.set_read_timeout(Some(wait)).unwrap();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: x\r\nX-Session-Affinity: ses_1\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut heard = Vec::new();
        let ended = stream.read_to_end(&mut heard);
        let text = String::from_utf8_lossy(&heard).into_owned();
        ended.is_ok().then_some(text)
    });
    heard.await.unwrap()
}

const LONG: Duration = Duration::from_secs(20);

async fn ask(model: &Model, path: &str, prompt: &str) -> String {
    let body =
        json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": prompt}]});
    post(model, path, body, LONG).await.unwrap()
}

#[tokio::test]
async fn each_directive_is_obeyed_in_both_apis() {
    let model = Model::start().await.unwrap();
    for (prompt, openai, anthropic) in [
        (
            "@say hi",
            vec!["\"hi\"", "\"stop\"", "[DONE]"],
            vec!["\"hi\"", "end_turn", "message_stop"],
        ),
        ("@tool look {\"a\":1}", vec!["\"look\"", "tool_calls"], vec!["\"look\"", "tool_use"]),
        ("@loop look {}", vec!["\"look\""], vec!["\"look\""]),
        ("@length", vec!["\"length\""], vec!["max_tokens"]),
        ("@empty", vec!["\"stop\""], vec!["end_turn"]),
        ("@status 401", vec!["HTTP/1.1 401"], vec!["HTTP/1.1 401", "authentication_error"]),
        (
            "@status 429 7",
            vec!["HTTP/1.1 429", "retry-after: 7"],
            vec!["HTTP/1.1 429", "retry-after: 7"],
        ),
        ("@status 500", vec!["HTTP/1.1 500"], vec!["HTTP/1.1 500", "api_error"]),
        ("@overflow", vec!["HTTP/1.1 400", "context_length_exceeded"], vec!["prompt is too long"]),
        ("Nothing to obey.", vec!["\"ok\""], vec!["\"ok\""]),
        ("@delay 1\n@say late", vec!["\"late\""], vec!["\"late\""]),
    ] {
        for (path, expected) in [(OPENAI, openai), (ANTHROPIC, anthropic)] {
            let heard = ask(&model, path, prompt).await;
            for part in expected {
                assert!(heard.contains(part), "{prompt} at {path}: {part} is not in {heard}");
            }
        }
    }
}

#[tokio::test]
async fn a_stream_can_end_badly() {
    let model = Model::start().await.unwrap();
    for path in [OPENAI, ANTHROPIC] {
        let heard = ask(&model, path, "@say half\n@no-finish").await;
        assert!(heard.contains("half") && heard.ends_with("\r\n0\r\n\r\n"), "{heard}");
        assert!(!heard.contains("[DONE]") && !heard.contains("message_stop"), "{heard}");
        let heard = ask(&model, path, "@say half\n@cut").await;
        assert!(heard.contains("half") && !heard.ends_with("0\r\n\r\n"), "{heard}");
        let body =
            json!({"stream": true, "messages": [{"role": "user", "content": "@say a\n@stall"}]});
        let stalled = post(&model, path, body, Duration::from_millis(300)).await;
        assert_eq!(stalled, None, "it never ends");
    }
}

#[tokio::test]
async fn requests_are_joined_to_sessions_and_go_on_after_results() {
    let model = Model::start().await.unwrap();
    let script = "@tool look {}\n@say seen";
    let whole = json!({"model": "m", "tools": [{"name": "look"}], "messages": [
        {"role": "user", "content": [{"type": "text", "text": script}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a door"}]}
    ]});
    let heard = post(&model, ANTHROPIC, whole, LONG).await.unwrap();
    assert!(heard.contains("\"seen\"") && !heard.contains("event: "), "{heard}");
    let tools = json!([{"type": "function", "function": {"name": "look"}}]);
    let whole = json!({"model": "m", "tools": tools, "messages": [
        {"role": "user", "content": script},
        {"role": "assistant", "tool_calls": []},
        {"role": "tool", "content": "a door"}
    ]});
    let heard = post(&model, OPENAI, whole, LONG).await.unwrap();
    assert!(heard.contains("\"seen\""), "{heard}");
    let log = model.log();
    assert_eq!(log.len(), 2);
    for heard in log {
        assert_eq!(heard.session.as_deref(), Some("ses_1"));
        assert_eq!((heard.asked.results, heard.asked.told.as_str()), (1, "a door"));
        assert_eq!(heard.tools, ["look"]);
    }
}
