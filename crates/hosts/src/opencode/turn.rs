//! What the stored messages say of one turn. Pure: nothing here asks, waits or judges.

use std::collections::BTreeMap;

use homing_core::fact::{Call, End, ErrorClass, Finish, HostError, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::payload::{Digest, Payload};
use homing_core::spec::Spend;
use serde::Deserialize;
use serde_json::Value;

use super::errors::{Failure, short};

/// What OpenCode writes above a command that a person ran.
const RAN: &str = "The following tool was executed by the user";

/// One message with its parts.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Message {
    pub info: Info,
    #[serde(default)]
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Info {
    pub id: String,
    pub role: String,
    #[serde(default, rename = "parentID")]
    pub parent: Option<String>,
    #[serde(default)]
    pub time: Times,
    #[serde(default)]
    pub finish: Option<String>,
    #[serde(default)]
    pub error: Option<Failure>,
    #[serde(default)]
    pub cost: f64,
    #[serde(default)]
    pub tokens: Tokens,
    /// Of a prompt: to whom it was said, and how.
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub model: Value,
    #[serde(default)]
    pub variant: Value,
    #[serde(default)]
    pub tools: Value,
    /// Of an answer: whether it only sums up what was said before. Of a prompt, something else.
    #[serde(default)]
    summary: Value,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Times {
    #[serde(default)]
    pub created: Option<f64>,
    #[serde(default)]
    pub completed: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    input: f64,
    output: f64,
    reasoning: f64,
    cache: Cache,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Cache {
    read: f64,
    write: f64,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Part {
    #[serde(default)]
    pub id: Option<String>,
    /// Of text: when it began, and whether it is whole.
    #[serde(default)]
    pub time: PartTimes,
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub synthetic: bool,
    #[serde(default)]
    pub ignored: bool,
    #[serde(default)]
    pub tool: Option<String>,
    #[serde(default, rename = "callID")]
    pub call: Option<String>,
    #[serde(default, rename = "messageID")]
    message: Option<String>,
    #[serde(default)]
    pub state: ToolState,
    #[serde(default)]
    pub metadata: Value,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct PartTimes {
    #[serde(default)]
    pub end: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolState {
    pub status: String,
    pub input: Value,
    pub output: Value,
    pub error: Option<String>,
    metadata: Value,
    time: Began,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Began {
    start: Option<f64>,
}

/// Sessions of helpers, each with when it was called.
pub(super) type Helpers = BTreeMap<String, f64>;

/// What a prompt of ours carries beside its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub task: TaskId,
    pub attempt: u32,
    pub turn: u32,
    /// The program that took it.
    pub server: String,
}

impl Mark {
    pub(super) fn json(&self) -> Value {
        serde_json::json!({"homing": {
            "task": self.task.to_string(), "attempt": self.attempt, "turn": self.turn,
            "server": self.server,
        }})
    }

    fn read(metadata: &Value) -> Option<Self> {
        let ours = &metadata["homing"];
        let number = |name: &str| u32::try_from(ours[name].as_u64()?).ok();
        Some(Self {
            task: ours["task"].as_str()?.parse().ok()?,
            attempt: number("attempt")?,
            turn: number("turn")?,
            server: ours["server"].as_str()?.to_owned(),
        })
    }
}

impl Message {
    pub(super) fn mark(&self) -> Option<Mark> {
        self.parts.iter().find_map(|part| Mark::read(&part.metadata))
    }

    pub(super) fn is_prompt(&self) -> bool {
        self.info.role == "user"
    }

    /// What a prompt of ours says of itself. One that has the same was said again by OpenCode, after it summed up what was before.
    fn ours(&self) -> Option<&Value> {
        self.parts.iter().map(|part| &part.metadata["homing"]).find(|ours| !ours.is_null())
    }

    /// A prompt that nobody wrote, and that leads the turn on. A command that a person runs stands as one, too.
    pub(super) fn goes_on(&self) -> bool {
        let own = |part: &Part| part.synthetic || part.kind == "compaction";
        let runs = |part: &Part| part.text.as_deref() == Some(RAN);
        self.is_prompt()
            && !self.parts.is_empty()
            && self.parts.iter().all(own)
            && !self.parts.iter().any(runs)
    }

    /// Whether it only asks to sum up what was said.
    pub(super) fn sums_up(&self) -> bool {
        self.parts.iter().any(|part| part.kind == "compaction")
    }

    pub(super) fn is_answer(&self) -> bool {
        self.info.role == "assistant" && self.info.summary != Value::Bool(true)
    }

    fn answers(&self, prompts: &[&str]) -> bool {
        self.info.parent.as_deref().is_some_and(|prompt| prompts.contains(&prompt))
    }

    fn tools(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(|part| part.kind == "tool")
    }

    /// Tools that OpenCode runs, and goes on after: not those of the provider, nor what is left of a call that broke off.
    fn steps(&self) -> impl Iterator<Item = &Part> {
        let broke_off = |part: &Part| {
            part.state.status == "error" && part.state.metadata["interrupted"] == true
        };
        self.tools()
            .filter(move |part| part.metadata["providerExecuted"] != true && !broke_off(part))
    }

    /// What it says to people.
    pub(super) fn text(&self) -> String {
        let said = |part: &&Part| part.kind == "text" && !part.synthetic && !part.ignored;
        let texts = self.parts.iter().filter(said).filter_map(|part| part.text.as_deref());
        texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// A turn as the stored messages show it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    pub record: TurnRecord,
    pub calls: Vec<Call>,
    /// The program that took the prompt, where the prompt says so.
    pub server: Option<String>,
    /// When its last answer was begun, in milliseconds since the epoch.
    pub answered: Option<f64>,
    /// Set when nothing answers it any more though its record is open: what stopped it.
    pub stopped: Option<Stopped>,
    /// What was said last.
    pub said: Option<Payload>,
}

impl Turn {
    /// Of a session in which nobody has said anything yet.
    pub(super) fn awaited() -> Self {
        Self { record: TurnRecord::Open, ..Self::absent() }
    }

    fn absent() -> Self {
        Self {
            record: TurnRecord::Absent,
            calls: Vec::new(),
            server: None,
            answered: None,
            stopped: None,
            said: None,
        }
    }
}

/// Why an open record stays so, if the session does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// A tool was refused, and nothing was said after it.
    Refused,
    /// Somebody stopped it before anything was said.
    Aborted,
    /// Somebody else's prompt took its place.
    Overtaken,
    /// Nothing answered it.
    Unanswered,
    /// An answer was begun, and nobody goes on with it.
    Cut,
}

/// The prompts of one turn, by name: its own, what OpenCode says itself when it sums up what was said, and its own said again after
/// that; up to what somebody else said. With the place of the first.
pub(super) fn prompts<'a>(messages: &'a [Message], prompt: &str) -> Option<(usize, Vec<&'a str>)> {
    let at = messages.iter().position(|message| message.info.id == prompt)?;
    let (first, later) = messages[at..].split_first()?;
    let own = later.iter().filter(|m| m.is_prompt()).take_while(|prompt| is_of(first, prompt));
    let all = std::iter::once(first).chain(own).map(|message| message.info.id.as_str());
    Some((at, all.collect()))
}

/// Whether a later prompt belongs to the turn of this one.
fn is_of(first: &Message, later: &Message) -> bool {
    let again = || first.ours().is_some() && first.ours() == later.ours();
    later.goes_on() || (later.is_prompt() && again())
}

/// The turn that began with the prompt of this name.
pub(super) fn turn(messages: &[Message], prompt: &str, most: usize) -> Turn {
    let Some((at, names)) = prompts(messages, prompt) else {
        return Turn::absent();
    };
    let server = messages[at].mark().map(|mark| mark.server);
    let all: Vec<&Message> = messages[at..].iter().filter(|m| m.answers(&names)).collect();
    let answers: Vec<&Message> =
        all.iter().copied().filter(|message| message.is_answer()).collect();
    let calls = answers.iter().flat_map(|answer| answer.tools()).filter_map(running).collect();
    let tools_ran = answers.iter().any(|answer| answer.tools().next().is_some());
    let overtaken = messages[at + 1..].iter().any(|m| m.is_prompt() && !is_of(&messages[at], m));
    // Where it could not be summed up, nothing follows.
    let broke = all.last().filter(|last| !last.is_answer() && last.info.error.is_some());
    let ended = broke.or(answers.last()).and_then(|last| end(last));
    let payload = |text: &str| (!text.is_empty()).then(|| Payload::bounded(text.as_bytes(), most));
    let said = answers.iter().rev().find_map(|answer| payload(&answer.text()));
    let (record, stopped) = match ended {
        Some((finish, error)) => {
            let last = answers.last().map(|answer| answer.text()).unwrap_or_default();
            let clean = finish == Finish::Stop && error.is_none();
            // What was said last before it broke off is better than nothing.
            let text = if clean { payload(&last) } else { said.clone() };
            (TurnRecord::Ended(End { finish, error, text, tools_ran }), None)
        }
        None => (TurnRecord::Open, why_open(answers.last().copied(), overtaken)),
    };
    let answered = answers.last().and_then(|last| last.info.time.created);
    Turn { record, calls, server, answered, stopped, said }
}

/// The end that an answer shows: one with tools in it is not the last, whatever it says.
fn end(last: &Message) -> Option<(Finish, Option<HostError>)> {
    last.info.time.completed?;
    if let Some(error) = &last.info.error {
        return Some(match error.name.as_str() {
            _ if error.is_abort() => (Finish::Cancelled, None),
            "MessageOutputLengthError" => (Finish::Length, None),
            "ContentFilterError" => (Finish::Refusal, None),
            _ => (Finish::Unknown, Some(error.told())),
        });
    }
    match last.info.finish.as_deref()? {
        "tool-calls" | "unknown" => None,
        _ if last.steps().next().is_some() => None,
        "stop" => Some((Finish::Stop, None)),
        "length" => Some((Finish::Length, None)),
        "content-filter" => Some((Finish::Refusal, None)),
        "error" => {
            let why = "the provider ended its answer with an error";
            Some((Finish::Unknown, Some(HostError::new(ErrorClass::Transient, "error", why))))
        }
        other => {
            let why = format!("the provider ended its answer with the word \"{}\"", short(other));
            Some((Finish::Unknown, Some(HostError::new(ErrorClass::Other, "finish", &why))))
        }
    }
}

fn why_open(last: Option<&Message>, overtaken: bool) -> Option<Stopped> {
    if overtaken {
        return Some(Stopped::Overtaken);
    }
    let Some(last) = last else {
        return Some(Stopped::Unanswered);
    };
    if last.info.time.completed.is_none() {
        return Some(Stopped::Cut);
    }
    let refused = last.steps().any(|part| part.state.status == "error");
    Some(if refused { Stopped::Refused } else { Stopped::Aborted })
}

fn running(part: &Part) -> Option<Call> {
    matches!(part.state.status.as_str(), "pending" | "running").then(|| call(part))?
}

/// A tool part as a call; the same for every sight of it.
pub(super) fn call(part: &Part) -> Option<Call> {
    let (id, tool) = (part.call.as_deref()?, part.tool.as_deref()?);
    let known = part.state.status != "pending";
    let input = known.then(|| number(format!("{tool} {}", part.state.input).as_bytes()));
    // A model may give the same name to a call of each of its answers.
    let id = number(format!("{} {id}", part.message.as_deref().unwrap_or_default()).as_bytes());
    Some(Call { id, tool: tool.into(), input })
}

fn number(bytes: &[u8]) -> u64 {
    let digest = Digest::of(bytes).0;
    digest[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The latest prompt of this attempt.
pub(super) fn latest(messages: &[Message], task: TaskId, attempt: u32) -> Option<Mark> {
    let ours = |mark: &Mark| mark.task == task && mark.attempt == attempt;
    messages.iter().rev().filter(|message| message.is_prompt()).find_map(|m| m.mark().filter(ours))
}

/// The answers to this attempt's prompts, with what OpenCode said to sum up in between.
fn answers_of(messages: &[Message], task: TaskId, attempt: u32) -> Vec<&Message> {
    let marked = |message: &&Message| {
        message.mark().is_some_and(|mark| mark.task == task && mark.attempt == attempt)
    };
    // What goes on is of whoever spoke before it.
    let mut last_ours = false;
    let prompts = messages.iter().filter(|message| message.is_prompt());
    let ours = prompts.filter(|prompt| {
        last_ours = if prompt.goes_on() { last_ours } else { marked(prompt) };
        last_ours
    });
    let ours: Vec<&str> = ours.map(|prompt| prompt.info.id.as_str()).collect();
    messages.iter().filter(|message| message.answers(&ours)).collect()
}

/// What this attempt used in its own session, and the helpers that OpenCode itself sent out in it, each with when it was first called.
pub(super) fn spent(messages: &[Message], task: TaskId, attempt: u32) -> (Spend, Helpers) {
    counted(&answers_of(messages, task, attempt))
}

/// The same of a helper's session, since it was called.
pub(super) fn spent_since(messages: &[Message], since: f64) -> (Spend, Helpers) {
    let later = |message: &&Message| message.info.time.created.is_some_and(|at| at >= since);
    let answers = messages.iter().filter(|message| message.info.role == "assistant").filter(later);
    counted(&answers.collect::<Vec<_>>())
}

fn counted(answers: &[&Message]) -> (Spend, Helpers) {
    let (mut sum, mut helpers) = (Spend::default(), Helpers::new());
    for message in answers {
        let tokens = &message.info.tokens;
        let cache = tokens.cache.read + tokens.cache.write;
        sum = sum.plus(Spend {
            calls: message.tools().count() as u64,
            tokens: whole(tokens.input + tokens.output + tokens.reasoning + cache),
            cost: whole(message.info.cost * 1e6),
        });
        for part in message.tools() {
            if let Some(helper) = part.state.metadata["sessionId"].as_str() {
                let at = part.state.time.start.unwrap_or_default();
                let first = helpers.entry(helper.to_owned()).or_insert(at);
                *first = first.min(at);
            }
        }
    }
    (sum, helpers)
}

/// What is no number, or below nothing, is nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded before")]
fn whole(amount: f64) -> u64 {
    if amount.is_finite() { amount.clamp(0.0, 1e15).round() as u64 } else { 0 }
}

#[cfg(test)]
mod tests;
