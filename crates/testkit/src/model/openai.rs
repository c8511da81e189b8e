//! Chat completions, as far as agents use them: streams and whole answers.

use serde_json::{Value, json};

use super::script::{Act, acts};
use super::{Asked, Part, Reply};

/// What is asked: the last prompt of a person, and how many results of tools came after it.
pub fn read(body: &Value) -> Asked {
    let (mut prompt, mut system) = (String::new(), String::new());
    let (mut results, mut told) = (0, String::new());
    for message in body["messages"].as_array().into_iter().flatten() {
        match message["role"].as_str() {
            Some("user") => (prompt, results) = (super::text(&message["content"]), 0),
            Some("tool") => {
                results += 1;
                told = super::text(&message["content"]);
            }
            Some("system") => system.push_str(&super::text(&message["content"])),
            Some(_) | None => {}
        }
    }
    let streams = body["stream"] == true;
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    let bytes = body.to_string().len();
    Asked { prompt, system, results, told, model, streams, bytes }
}

pub fn reply(asked: &Asked) -> Reply {
    let chunk = |delta: Value, finish: Option<&str>| {
        let data = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": asked.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]
        });
        Part::Text(format!("data: {data}\n\n"))
    };
    let mut parts = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
    let (mut said, mut calls, mut finish) = (String::new(), Vec::new(), "stop");
    let (mut finishes, mut stops) = (true, false);
    for act in acts(&asked.prompt, asked.results, &asked.model) {
        match act {
            Act::Say(text) => {
                parts.push(chunk(json!({"content": text}), None));
                said.push_str(&text);
            }
            Act::Tool { name, input } => {
                let index = calls.len();
                let call = json!({
                    "index": index, "id": format!("call_{}_{index}", asked.results),
                    "type": "function",
                    "function": {"name": name, "arguments": input.to_string()}
                });
                parts.push(chunk(json!({"tool_calls": [call.clone()]}), None));
                calls.push(call);
                finish = "tool_calls";
            }
            Act::Delay(ms) => parts.push(Part::Delay(ms)),
            Act::Stall => parts.push(Part::Stall),
            Act::Cut => parts.push(Part::Cut),
            Act::NoFinish => finishes = false,
            Act::Length => finish = "length",
            Act::Stop => stops = true,
            Act::Filter => finish = "content_filter",
            Act::Think(text) => parts.push(chunk(json!({"reasoning_content": text}), None)),
            Act::Empty => {}
            Act::Status { code, after } => return refused(code, after, "as it was told to", None),
            Act::Overflow { over } if asked.bytes <= over => {}
            Act::Overflow { .. } => {
                let message = "This model's maximum context length is 128000 tokens.";
                return refused(400, None, message, Some("context_length_exceeded"));
            }
        }
        if matches!(parts.last(), Some(Part::Stall | Part::Cut)) {
            return Reply::Stream(parts);
        }
    }
    if stops {
        finish = "stop";
    }
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    if !asked.streams {
        let message = json!({"role": "assistant", "content": said, "tool_calls": calls});
        return Reply::Whole(json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": asked.model,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": usage
        }));
    }
    if finishes {
        parts.push(chunk(json!({}), Some(finish)));
        let last = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": asked.model, "choices": [], "usage": usage});
        parts.push(Part::Text(format!("data: {last}\n\ndata: [DONE]\n\n")));
    }
    Reply::Stream(parts)
}

fn refused(code: u16, after: Option<u64>, message: &str, word: Option<&str>) -> Reply {
    let kind = if code == 429 { "rate_limit_error" } else { "invalid_request_error" };
    let body = json!({"error": {"message": message, "type": kind, "code": word}});
    Reply::Refused { code, after, body }
}
