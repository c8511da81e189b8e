//! One look at a session: everything that the server's records say of a turn. Events only say when to look.

use std::collections::BTreeSet;
use std::sync::Arc;

use homing_core::fact::{
    AskKind, AskSeen, End, ErrorClass, Fact, Fence, Finish, HostError, Picture, Presence,
    TurnRecord,
};
use homing_core::ids::TaskId;
use homing_core::path::escaped;
use homing_core::spec::Spend;
use homing_core::words::Tri;
use serde::Deserialize;
use serde_json::Value;

use super::errors::short;
use super::http::Trouble;
use super::server::Server;
use super::turn::{self, Helpers, Message, Stopped, Turn};
use super::{KNOWN, OpenCode, ids};

/// A lineage that is longer is none.
pub(super) const DEEP: usize = 32;

/// Of one attempt, whose spending is looked up.
const HELPERS: usize = 100;

/// A session as the server lists it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Session {
    pub id: String,
    #[serde(default)]
    pub directory: String,
    #[serde(default, rename = "parentID")]
    pub parent: Option<String>,
    #[serde(default)]
    pub metadata: Value,
    /// Set while something of it is undone.
    #[serde(default)]
    pub revert: Value,
}

impl Session {
    /// Where its server looks for it.
    pub(super) fn query(&self) -> String {
        format!("directory={}", escaped(&self.directory))
    }

    pub(super) fn is_of(&self, task: TaskId, attempt: u32) -> bool {
        let ours = &self.metadata["homing"];
        ours["task"] == task.to_string().as_str() && ours["attempt"] == attempt
    }
}

/// What a look shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sight {
    pub fence: Fence,
    pub fact: Fact,
    pub spent: Option<Spend>,
    /// Whom OpenCode itself sent out, with when: what they used is not in it.
    pub helpers: Helpers,
    /// Nobody answers its prompt, or goes on with the answer.
    pub dropped: bool,
}

impl Sight {
    /// Whether the turn has ended, and its session is busy still.
    pub(super) fn settles(&self) -> bool {
        let Fact::Looked { picture } = &self.fact else {
            return false;
        };
        matches!(picture.turn, TurnRecord::Ended(_)) && picture.busy == Tri::Yes
    }

    /// What is open, and stays so, has ended with this.
    pub(super) fn break_off(&mut self, error: &HostError) {
        if let Fact::Looked { picture } = &mut self.fact
            && picture.turn == TurnRecord::Open
        {
            let tools_ran = !picture.calls.is_empty();
            picture.calls.clear();
            let (finish, error) = (Finish::Unknown, Some(error.clone()));
            picture.turn = TurnRecord::Ended(End { finish, error, text: None, tools_ran });
        }
    }
}

/// Which turn is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// Of the fence.
    This(Fence),
    /// The latest of this attempt.
    Latest { attempt: u32 },
}

impl OpenCode {
    /// What does not change of a session; asked for once.
    pub(super) async fn known(
        &self,
        server: &Server,
        session: &str,
    ) -> Result<Arc<Session>, Trouble> {
        if let Some(known) = self.table().sessions.get(session) {
            return Ok(Arc::clone(known));
        }
        let found = server.door.get(&format!("/session/{}", escaped(session))).await?;
        Ok(self.keep(found))
    }

    pub(super) fn keep(&self, session: Session) -> Arc<Session> {
        let (name, session) = (session.id.clone(), Arc::new(session));
        let mut table = self.table();
        if table.sessions.len() >= KNOWN {
            table.sessions.clear();
        }
        table.sessions.insert(name, Arc::clone(&session));
        session
    }

    pub(super) async fn look_at(
        &self,
        task: TaskId,
        session: &str,
        which: Which,
        error: Option<&HostError>,
    ) -> Result<Sight, String> {
        let server = self.servers.get().await?;
        let seen = self.see(&server, task, session, which, error).await;
        if matches!(seen, Err(Trouble::Unreachable { .. } | Trouble::CutOff { .. })) {
            self.servers.doubt(&server).await;
        }
        match seen {
            Err(why) if why.is_absence() => Ok(missing(which)),
            Err(why) => Err(format!("OpenCode: {why}")),
            Ok(sight) => Ok(sight),
        }
    }

    async fn see(
        &self,
        server: &Server,
        task: TaskId,
        session: &str,
        which: Which,
        error: Option<&HostError>,
    ) -> Result<Sight, Trouble> {
        let known = self.known(server, session).await?;
        let query = known.query();
        let door = &server.door;
        // In this order: a session that is not busy has written down what it did.
        let before = busy(door.get(&format!("/session/status?{query}")).await?, session);
        let path = format!("/session/{}", escaped(session));
        let (messages, todos) = (format!("{path}/message?{query}"), format!("{path}/todo?{query}"));
        let (messages, todos, mut asks) = tokio::join!(
            door.get::<Vec<Message>>(&messages),
            door.get::<Value>(&todos),
            self.asks(server, &known, before),
        );
        let todos = todos.ok().map(|todos| open_todos(&todos));
        let messages = match messages {
            Ok(messages) => messages,
            Err(Trouble::Odd { .. }) => {
                let picture = Picture {
                    turn: TurnRecord::Unreadable,
                    busy: before,
                    calls: Vec::new(),
                    asks,
                    todos,
                    session: Presence::Present,
                    same_host: Tri::Unknown,
                };
                let fence = fence_of(which);
                let fact = Fact::Looked { picture };
                let (spent, helpers) = (None, Helpers::new());
                return Ok(Sight { fence, fact, spent, helpers, dropped: false });
            }
            Err(why) => return Err(why),
        };
        let (fence, prompt) = prompt_of(&known, task, which, &messages);
        let seen =
            prompt.map_or_else(Turn::awaited, |name| turn::turn(&messages, &name, self.result));
        let mut busy_now = before;
        if before == Tri::No && seen.record == TurnRecord::Open {
            // It may have begun after the status was read.
            busy_now = busy(door.get(&format!("/session/status?{query}")).await?, session);
            asks = self.asks(server, &known, busy_now).await;
        }
        let (spent, helpers) = turn::spent(&messages, task, fence.attempt);
        let same_host = same_host(server, &seen, busy_now);
        let stands = busy_now == Tri::No && same_host == Tri::Yes;
        let dropped = stands && matches!(seen.stopped, Some(Stopped::Unanswered | Stopped::Cut));
        let fact = told(seen, busy_now, same_host, error, asks, todos);
        Ok(Sight { fence, fact, spent: Some(spent), helpers, dropped })
    }

    /// What helpers that OpenCode itself sent out used, with those that they sent out; as far as it can be read. Tasks of ours
    /// have an account of their own.
    pub(super) async fn spent_by(&self, helpers: Helpers) -> Spend {
        let mut sum = Spend::default();
        let Ok(server) = self.servers.get().await else {
            return sum;
        };
        let mut seen = BTreeSet::new();
        let mut left = helpers;
        while let Some((helper, since)) = left.pop_first() {
            if seen.len() >= HELPERS || !seen.insert(helper.clone()) {
                continue;
            }
            let Ok(known) = self.known(&server, &helper).await else {
                continue;
            };
            let path = format!("/session/{}/message?{}", escaped(&helper), known.query());
            if known.metadata["homing"].is_null()
                && let Ok(messages) = server.door.get::<Vec<Message>>(&path).await
            {
                let (spent, below) = turn::spent_since(&messages, since);
                sum = sum.plus(spent);
                left.extend(below);
            }
        }
        sum
    }

    /// What a session asks, with those below it that are no tasks; none where that cannot be told. One that is not busy asks
    /// nothing: who asks waits for the answer.
    async fn asks(&self, server: &Server, session: &Session, busy: Tri) -> Option<Vec<AskSeen>> {
        if busy == Tri::No {
            return Some(Vec::new());
        }
        let (door, query) = (&server.door, session.query());
        let (permissions, questions) =
            (format!("/permission?{query}"), format!("/question?{query}"));
        let (permissions, questions) =
            tokio::join!(door.get::<Vec<Value>>(&permissions), door.get::<Vec<Value>>(&questions));
        let permissions = permissions.ok()?.into_iter().map(|ask| (permission(&ask), ask));
        let questions = questions.ok()?.into_iter().map(|ask| (question(&ask), ask));
        let mut ours = Vec::new();
        for (seen, ask) in permissions.chain(questions) {
            let asks = ask["sessionID"].as_str().unwrap_or_default();
            if self.speaks_for(server, asks, session).await {
                ours.extend(seen);
            }
        }
        Some(ours)
    }

    /// Whether one session is another, or was made by it or by one that was: what OpenCode delegates itself. A task of ours speaks
    /// for itself.
    async fn speaks_for(&self, server: &Server, one: &str, other: &Session) -> bool {
        let mut at = one.to_owned();
        for _ in 0..DEEP {
            if at == other.id {
                return true;
            }
            let Ok(known) = self.known(server, &at).await else {
                return false;
            };
            let Some(above) = known.parent.clone().filter(|_| known.metadata["homing"].is_null())
            else {
                return false;
            };
            at = above;
        }
        false
    }
}

/// The turn, and its prompt. In a session that we did not make for it, and never prompted, the last prompt is the turn's, if there is one.
fn prompt_of(
    session: &Session,
    task: TaskId,
    which: Which,
    messages: &[Message],
) -> (Fence, Option<String>) {
    let attempt = fence_of(which).attempt;
    let latest = turn::latest(messages, task, attempt);
    let fence = match (which, &latest) {
        (Which::This(fence), _) => fence,
        (Which::Latest { .. }, Some(mark)) => Fence { attempt, turn: mark.turn },
        (Which::Latest { .. }, None) => Fence { attempt, turn: 1 },
    };
    // A fork says of itself what the session said that it was made from.
    let made = session.metadata["homing"]["task"] == task.to_string().as_str();
    let prompted = messages.iter().any(|m| m.mark().is_some_and(|mark| mark.task == task));
    if made || prompted {
        return (fence, Some(ids::message(task, fence)));
    }
    let last = messages.iter().rev().find(|message| message.is_prompt());
    (fence, last.map(|last| last.info.id.clone()))
}

fn fence_of(which: Which) -> Fence {
    match which {
        Which::This(fence) => fence,
        Which::Latest { attempt } => Fence { attempt, turn: 0 },
    }
}

fn missing(which: Which) -> Sight {
    let picture = Picture {
        turn: TurnRecord::Absent,
        busy: Tri::Unknown,
        calls: Vec::new(),
        asks: None,
        todos: None,
        session: Presence::Missing,
        same_host: Tri::Unknown,
    };
    let (fence, fact) = (fence_of(which), Fact::Looked { picture });
    Sight { fence, fact, spent: None, helpers: Helpers::new(), dropped: false }
}

/// Whether the program that took the turn is the one that answers now. A prompt of ours says which took it. One of somebody
/// else's was taken by a program that is gone, if it is older than this one and no other has its data open.
fn same_host(server: &Server, seen: &Turn, busy: Tri) -> Tri {
    match &seen.server {
        Some(took) if took.is_empty() || server.identity.is_empty() => Tri::Unknown,
        Some(took) if *took == server.identity => Tri::Yes,
        Some(_) => Tri::No,
        None => {
            let open = seen.record == TurnRecord::Open && busy == Tri::No;
            let older = seen.answered.filter(|_| open).is_some_and(|at| server.is_younger_than(at));
            if older && server.is_alone() { Tri::No } else { Tri::Unknown }
        }
    }
}

/// A turn that is open while the session does nothing, and the program is the one that took it, will not go on.
fn told(
    seen: Turn,
    busy: Tri,
    same_host: Tri,
    error: Option<&HostError>,
    asks: Option<Vec<AskSeen>>,
    todos: Option<u32>,
) -> Fact {
    let stands = busy == Tri::No && same_host == Tri::Yes;
    let stopped = seen.stopped.filter(|_| stands);
    let ended = |finish, error| {
        let text = seen.said.clone();
        TurnRecord::Ended(End { finish, error, text, tools_ran: !seen.calls.is_empty() })
    };
    let record = match (stopped, error) {
        (None, _) => seen.record,
        (Some(Stopped::Overtaken), _) => {
            let why = "another prompt took its place, and it got no answer of its own";
            return Fact::Interrupted { why: why.into() };
        }
        (Some(Stopped::Refused | Stopped::Aborted), Some(error)) => {
            ended(Finish::Unknown, Some(error.clone()))
        }
        (Some(Stopped::Refused), None) => {
            let why = "a tool was refused, and nothing was said after that";
            let error = HostError::new(ErrorClass::Permission, "refused", why);
            ended(Finish::ToolCalls, Some(error))
        }
        (Some(Stopped::Aborted), None) => ended(Finish::Cancelled, None),
        (Some(Stopped::Unanswered), Some(error)) => ended(Finish::Unknown, Some(error.clone())),
        // It may be about to be closed: `Watch::doubt` looks once more.
        (Some(Stopped::Unanswered), None) | (Some(Stopped::Cut), _) => seen.record,
    };
    let calls = match &record {
        // What is called so by a turn that is over runs no more.
        TurnRecord::Ended(_) if busy == Tri::No => Vec::new(),
        TurnRecord::Ended(_) | TurnRecord::Open | TurnRecord::Absent | TurnRecord::Unreadable => {
            seen.calls
        }
    };
    let session = Presence::Present;
    Fact::Looked { picture: Picture { turn: record, busy, calls, asks, todos, session, same_host } }
}

/// A session that is not named is not busy, as far as this program knows.
pub(super) fn busy(status: Value, session: &str) -> Tri {
    match status[session]["type"].as_str() {
        Some("busy" | "retry") => Tri::Yes,
        Some("idle") => Tri::No,
        Some(_) => Tri::Unknown,
        None if status.is_object() => Tri::No,
        None => Tri::Unknown,
    }
}

pub(super) fn open_todos(todos: &Value) -> u32 {
    let open = |todo: &&Value| !matches!(todo["status"].as_str(), Some("completed" | "cancelled"));
    u32::try_from(todos.as_array().into_iter().flatten().filter(open).count()).unwrap_or(u32::MAX)
}

pub(super) fn permission(ask: &Value) -> Option<AskSeen> {
    let what = ask["permission"].as_str().unwrap_or("something");
    let patterns: Vec<&str> =
        ask["patterns"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let text = format!("{what}: {}", patterns.join(", "));
    let text = if patterns.is_empty() { what.to_owned() } else { text };
    let key = ask["id"].as_str()?.into();
    Some(AskSeen { key, kind: AskKind::Permission, text: short(&text), options: Vec::new() })
}

pub(super) fn question(ask: &Value) -> Option<AskSeen> {
    let all: Vec<&Value> = ask["questions"].as_array().into_iter().flatten().collect();
    let texts: Vec<&str> = all.iter().filter_map(|each| each["question"].as_str()).collect();
    let options = match all.as_slice() {
        [only] => only["options"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|option| option["label"].as_str().map(short))
            .collect(),
        _ => Vec::new(),
    };
    let key = ask["id"].as_str()?.into();
    Some(AskSeen { key, kind: AskKind::Question, text: short(&texts.join("\n")), options })
}
