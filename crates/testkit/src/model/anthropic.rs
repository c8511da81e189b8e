//! The Messages API, as far as agents use it: streams and whole answers.

use serde_json::{Value, json};

use super::script::{Act, acts};
use super::{Asked, Part, Reply};

/// What is asked: the last prompt of a person, and how many results of tools came after it.
pub fn read(body: &Value) -> Asked {
    let mut prompt = String::new();
    let (mut results, mut told) = (0, String::new());
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] != "user" {
            continue;
        }
        let content = &message["content"];
        let blocks = content.as_array().into_iter().flatten();
        let of_tools: Vec<&Value> = blocks.filter(|block| block["type"] == "tool_result").collect();
        // A message of results may also remind of something: that is no prompt.
        match of_tools.last() {
            Some(last) => told = super::text(&last["content"]),
            None => (prompt, results) = (super::text(content), 0),
        }
        results += of_tools.len();
    }
    let streams = body["stream"] == true;
    let model = body["model"].as_str().unwrap_or_default().to_owned();
    let bytes = body.to_string().len();
    let system = super::text(&body["system"]);
    Asked { prompt, system, results, told, model, streams, bytes }
}

fn event(kind: &str, data: Value) -> Part {
    Part::Text(format!("event: {kind}\ndata: {data}\n\n"))
}

pub fn reply(asked: &Asked) -> Reply {
    let mut parts = vec![event(
        "message_start",
        json!({
            "type": "message_start",
            "message": {
                "id": format!("msg_{}", asked.results), "type": "message", "role": "assistant",
                "model": asked.model, "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": 10, "output_tokens": 1}
            }
        }),
    )];
    let (mut content, mut stop) = (Vec::new(), "end_turn");
    let mut finishes = true;
    for act in acts(&asked.prompt, asked.results, &asked.model) {
        let index = content.len();
        match act {
            Act::Say(text) => {
                parts.extend(block(
                    index,
                    json!({"type": "text", "text": ""}),
                    json!({"type": "text_delta", "text": text}),
                ));
                content.push(json!({"type": "text", "text": text}));
            }
            Act::Tool { name, input } => {
                let id = format!("toolu_{}_{index}", asked.results);
                let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
                parts.extend(block(index, start, delta));
                content.push(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
                stop = "tool_use";
            }
            Act::Delay(ms) => parts.push(Part::Delay(ms)),
            Act::Stall => return Reply::Stream(ended(parts, Part::Stall)),
            Act::Cut => return Reply::Stream(ended(parts, Part::Cut)),
            Act::NoFinish => finishes = false,
            Act::Length => stop = "max_tokens",
            Act::Filter => stop = "refusal",
            Act::Think(_) | Act::Stop => {}
            Act::Empty => {}
            Act::Status { code, after } => return refused(code, after),
            Act::Overflow { over } if asked.bytes <= over => {}
            Act::Overflow { .. } => {
                let message = "prompt is too long: 300000 tokens > 200000 maximum";
                let body = json!({"type": "error",
                    "error": {"type": "invalid_request_error", "message": message}});
                return Reply::Refused { code: 400, after: None, body };
            }
        }
    }
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    if !asked.streams {
        return Reply::Whole(json!({
            "id": "msg_whole", "type": "message", "role": "assistant", "model": asked.model,
            "content": content, "stop_reason": stop, "stop_sequence": null, "usage": usage
        }));
    }
    if finishes {
        parts.push(event(
            "message_delta",
            json!({
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": usage
            }),
        ));
        parts.push(event("message_stop", json!({"type": "message_stop"})));
    }
    Reply::Stream(parts)
}

fn ended(mut parts: Vec<Part>, last: Part) -> Vec<Part> {
    parts.push(last);
    parts
}

fn block(index: usize, start: Value, delta: Value) -> [Part; 3] {
    [
        event(
            "content_block_start",
            json!({"type": "content_block_start", "index": index, "content_block": start}),
        ),
        event(
            "content_block_delta",
            json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ),
        event("content_block_stop", json!({"type": "content_block_stop", "index": index})),
    ]
}

fn refused(code: u16, after: Option<u64>) -> Reply {
    let kind = match code {
        401 => "authentication_error",
        429 => "rate_limit_error",
        400 => "invalid_request_error",
        _ => "api_error",
    };
    let body = json!({"type": "error", "error": {"type": kind, "message": "as it was told to"}});
    Reply::Refused { code, after, body }
}
