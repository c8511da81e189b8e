//! Which tools there are, with their words for the agent.

use std::sync::Arc;

use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde_json::Value;

use crate::{answers, args};

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Touch {
    Reads,
    /// Adds work, or words to it.
    Adds,
    /// Ends what runs.
    Ends,
}

/// All of them.
pub fn all() -> Vec<Tool> {
    of_tasks().into_iter().chain(of_sessions()).collect()
}

/// Their names, words and arguments, for a plugin: its calls wait as long as it takes.
pub fn for_plugins() -> Value {
    let one = |tool: Tool| {
        let schema = Value::Object((*tool.input_schema).clone()).to_string();
        let schema = BOUNDS.iter().fold(schema, |schema, bound| schema.replace(bound, ""));
        let schema: Value = serde_json::from_str(&schema).unwrap_or_default();
        serde_json::json!({"name": tool.name, "description": tool.description, "schema": schema})
    };
    all().into_iter().map(one).collect()
}

/// What is said of the protocol's bounds.
const BOUNDS: [&str; 2] = [
    ", at most 45 seconds; what is not finished by then goes on in the background",
    " At most 45 seconds in one call.",
];

fn of_tasks() -> Vec<Tool> {
    vec![
        tool::<args::Task, answers::Task>(
            "background_task",
            "Send an agent out on a task",
            "Starts an agent on a task in the background and returns at once with its task_id; the task goes on when this \
             call, this session or this machine's daemon ends. Go on with other work: the outcome is kept and told once. \
             Launch several in one turn to have them work side by side. With task_id it continues that task instead.",
            Touch::Adds,
        ),
        tool::<args::Output, answers::Task>(
            "background_output",
            "Read a task's state and result",
            "How a task stands, truthfully and as of now, with its result once it has ended. Reads as often as you like; \
             nothing is used up. wait=\"45s\" waits for the end, within bounds; when time is up the task goes on.",
            Touch::Reads,
        ),
        tool::<args::Cancel, answers::Cancelled>(
            "background_cancel",
            "End a task",
            "Ends a task with everything that it launched, or with all=true every living task of this parent. A task that \
             had ended before stays as it was, and the answer says so.",
            Touch::Ends,
        ),
        tool::<args::List, answers::Tasks>(
            "background_list",
            "List your tasks",
            "What this parent has out; with all=true also what has ended. Look here after your context was shortened.",
            Touch::Reads,
        ),
        tool::<args::Send, answers::Task>(
            "background_send",
            "Say something to a living task",
            "Gives a living task further words, which it takes as its next turn. One that has ended is continued with \
             background_task(task_id=…).",
            Touch::Adds,
        ),
        tool::<args::Nothing, answers::Asks>(
            "background_asks",
            "See what tasks ask",
            "What waits for somebody's answer, across all tasks: permissions, which people give, and questions.",
            Touch::Reads,
        ),
        tool::<args::Answer, answers::Answered>(
            "background_answer",
            "Answer a task's question",
            "Answers a question in words, or denies what was asked for. Permissions are given by people: \
             `homing answer` in a terminal; with allow=true by the parent of the task, if homing.toml names it.",
            Touch::Adds,
        ),
    ]
}

fn of_sessions() -> Vec<Tool> {
    vec![
        tool::<args::SessionList, answers::Sessions>(
            "session_list",
            "List sessions of tasks",
            "The sessions that tasks ran in, newest first.",
            Touch::Reads,
        ),
        tool::<args::SessionRead, answers::Transcript>(
            "session_read",
            "Read what a session said",
            "The end of a session's log.",
            Touch::Reads,
        ),
        tool::<args::SessionSearch, answers::FoundLines>(
            "session_search",
            "Look for text in sessions",
            "Lines of the newest sessions' logs that hold a text.",
            Touch::Reads,
        ),
        tool::<args::Session, answers::Session>(
            "session_info",
            "How a session stands",
            "What is known of one session: its task, its state, what it used.",
            Touch::Reads,
        ),
    ]
}

fn tool<I: JsonSchema + 'static, O: JsonSchema + 'static>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    touch: Touch,
) -> Tool {
    let hints = ToolAnnotations::with_title(title)
        .read_only(touch == Touch::Reads)
        .destructive(touch == Touch::Ends)
        .idempotent(touch != Touch::Adds)
        .open_world(touch == Touch::Adds);
    // Both are made from structs, which are objects.
    let input = schema_for_input::<I>().unwrap_or_else(|_| Arc::new(JsonObject::new()));
    Tool::new(name, description, plain(&input, true))
        .with_title(title)
        .with_raw_output_schema(plain(&schema_for_output::<O>(), false))
        .with_annotations(hints)
}

/// Without what some clients stumble over: number formats that only Rust has, and for arguments, which are left out
/// where there is nothing to say, the null beside their type.
fn plain(schema: &JsonObject, input: bool) -> Arc<JsonObject> {
    let mut schema = schema.clone();
    // A tool that takes nothing says so.
    schema.entry("properties").or_insert_with(|| Value::Object(JsonObject::new()));
    schema.values_mut().for_each(|value| simplify(value, input));
    Arc::new(schema)
}

fn simplify(schema: &mut Value, input: bool) {
    if let Some(all) = schema.as_array_mut() {
        all.iter_mut().for_each(|each| simplify(each, input));
    }
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    if fields.get("format").and_then(Value::as_str).is_some_and(|word| word.starts_with("uint")) {
        fields.remove("format");
    }
    if input && let Some(types) = fields.get_mut("type") {
        let known = types.as_array().and_then(|all| all.iter().find(|each| *each != "null"));
        if let Some(known) = known.cloned() {
            *types = known;
        }
    }
    fields.values_mut().for_each(|value| simplify(value, input));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_says_what_it_takes_and_tells() {
        let all = all();
        assert_eq!(all.len(), 11);
        for tool in &all {
            let input = &tool.input_schema;
            assert_eq!(input["type"], "object", "{}", tool.name);
            assert_eq!(input["additionalProperties"], false, "{}", tool.name);
            let text = serde_json::to_string(tool).unwrap();
            assert!(!text.contains("\"uint"), "{text}");
            let told = tool.output_schema.as_ref().unwrap();
            assert_eq!(told["type"], "object", "{}", tool.name);
            assert!(tool.description.as_ref().is_some_and(|words| words.len() > 20));
            for (name, field) in input["properties"].as_object().unwrap() {
                let said = field["description"].as_str().unwrap_or_default();
                let plain = matches!(name.as_str(), "task_id");
                assert!(plain || !said.is_empty(), "{}: {name} is not told of", tool.name);
                assert!(field["type"].is_string(), "{}: {name}: {field}", tool.name);
            }
        }
        assert!(!all[0].input_schema["properties"].as_object().unwrap().contains_key("command"));
    }
}
