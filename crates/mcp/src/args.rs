//! What each tool takes. The comments are what an agent reads.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// What the agent is to do, with everything it needs to know: it sees nothing of this conversation.
    pub prompt: String,
    /// A few words that name the task.
    pub description: Option<String>,
    /// Which agent does it: a preset of homing.toml, or an agent that the host knows.
    pub agent: Option<String>,
    /// The same as agent.
    pub subagent_type: Option<String>,
    /// The same as agent.
    pub category: Option<String>,
    /// PROVIDER/MODEL, over what the agent would use.
    pub model: Option<String>,
    /// false waits for the end, at most 45 seconds; what is not finished by then goes on in the background.
    pub run_in_background: Option<bool>,
    /// Who is told of the outcome. Left out: this session, or an inbox of its own.
    pub parent: Option<String>,
    /// The same key again gives the same task instead of a second one.
    pub key: Option<String>,
    /// Continue this task with the prompt instead of starting one.
    pub task_id: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Its id, a unique beginning of it, or its name.
    pub task_id: String,
    /// Wait for the end, with a unit: "30s". At most 45 seconds in one call.
    pub wait: Option<String>,
    /// The whole result, however long.
    pub full: Option<bool>,
    /// Wait for the end; timeout says how long.
    pub block: Option<bool>,
    /// In milliseconds, with block. At most 45 seconds in one call.
    pub timeout: Option<u64>,
    /// What the session said, too, as far as its host tells.
    pub full_session: Option<bool>,
    /// With full_session: what the agent thought, too, of a host that keeps it.
    pub include_thinking: Option<bool>,
    /// With full_session: the tools that it called and what they said, of a host that keeps them apart.
    pub include_tool_results: Option<bool>,
    /// With full_session: the last so many messages, or lines of a host that keeps no messages.
    pub message_limit: Option<usize>,
    /// With full_session: only what came after this message, of a host that has ids for them.
    pub since_message_id: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Which task; with it ends everything that it launched.
    pub task_id: Option<String>,
    /// true: every living task of this parent.
    pub all: Option<bool>,
    /// Why, for whoever reads the journal.
    pub reason: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct List {
    /// Whose tasks. Left out: this session's, or those of its inbox.
    pub parent: Option<String>,
    /// true: those that have ended, too.
    pub all: Option<bool>,
    /// Goes on where the answer before said that there are more.
    pub cursor: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Send {
    pub task_id: String,
    /// Words for the living task: it takes them as its next turn.
    pub text: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// As background_asks tells it.
    pub ask_id: String,
    /// The answer to a question, in words.
    pub text: Option<String>,
    /// Refuses what was asked for.
    pub deny: Option<bool>,
    /// Gives a permission. Only people do, and parents that homing.toml names for it.
    pub allow: Option<bool>,
    /// For which parent you answer, as when the task was launched. Left out: this session, or its inbox.
    pub parent: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionList {
    /// At most so many, the newest; 20 when left out.
    pub limit: Option<usize>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// As session_list tells it, or the id of its task.
    pub session_id: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionRead {
    /// As session_list tells it, or the id of its task.
    pub session_id: String,
    /// At most so many lines, the last; 200 when left out.
    pub limit: Option<usize>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionSearch {
    /// Text to look for; capitals do not matter.
    pub query: String,
    /// Only in this one.
    pub session_id: Option<String>,
    /// At most so many lines; 20 when left out.
    pub limit: Option<usize>,
}
