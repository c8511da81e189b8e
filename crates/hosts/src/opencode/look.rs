//! One look at a session: everything that the server's records say of a turn. Events only say when to look.

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
use super::http::{Door, Trouble};
use super::server::Server;
use super::turn::{self, Message, Stopped, Turn};
use super::{KNOWN, OpenCode, ids};

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
    /// Its prompt is the last thing said, and nobody answers.
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
            asks(door, &known, before),
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
                return Ok(Sight { fence, fact, spent: None, dropped: false });
            }
            Err(why) => return Err(why),
        };
        let (fence, prompt) = prompt_of(&known, task, which, &messages);
        let seen = turn::turn(&messages, &prompt, self.result);
        let mut busy_now = before;
        if before == Tri::No && seen.record == TurnRecord::Open {
            // It may have begun after the status was read.
            busy_now = busy(door.get(&format!("/session/status?{query}")).await?, session);
            asks = self::asks(door, &known, busy_now).await;
        }
        let spent = turn::spent(&messages, task, fence.attempt);
        let same_host = same_host(server, &seen, busy_now);
        let stands = busy_now == Tri::No && same_host == Tri::Yes;
        let dropped = stands && seen.stopped == Some(Stopped::Unanswered);
        let fact = told(seen, busy_now, same_host, error, asks, todos);
        Ok(Sight { fence, fact, spent: Some(spent), dropped })
    }
}

/// What a session asks; none where that cannot be told. One that is not busy asks nothing: who asks waits for the answer.
async fn asks(door: &Door, session: &Session, busy: Tri) -> Option<Vec<AskSeen>> {
    if busy == Tri::No {
        return Some(Vec::new());
    }
    let query = session.query();
    let (permissions, questions) = (format!("/permission?{query}"), format!("/question?{query}"));
    let (permissions, questions) =
        tokio::join!(door.get::<Value>(&permissions), door.get::<Value>(&questions));
    let of = |list: &Value, seen: fn(&Value) -> Option<AskSeen>| -> Vec<AskSeen> {
        let ours = |ask: &&Value| ask["sessionID"] == *session.id;
        list.as_array().into_iter().flatten().filter(ours).filter_map(seen).collect()
    };
    Some([of(&permissions.ok()?, permission), of(&questions.ok()?, question)].concat())
}

/// The turn, and its prompt. In a session that we did not make, and never prompted, the last prompt is the turn's.
fn prompt_of(
    session: &Session,
    task: TaskId,
    which: Which,
    messages: &[Message],
) -> (Fence, String) {
    let attempt = fence_of(which).attempt;
    let latest = turn::latest(messages, task, attempt);
    let fence = match (which, &latest) {
        (Which::This(fence), _) => fence,
        (Which::Latest { .. }, Some(mark)) => Fence { attempt, turn: mark.turn },
        (Which::Latest { .. }, None) => Fence { attempt, turn: 1 },
    };
    let adopted = latest.is_none() && session.metadata["homing"].is_null();
    let last = messages.iter().rev().find(|message| message.is_prompt());
    match last.filter(|_| adopted) {
        Some(last) => (fence, last.info.id.clone()),
        None => (fence, ids::message(task, fence)),
    }
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
    Sight { fence: fence_of(which), fact: Fact::Looked { picture }, spent: None, dropped: false }
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
        (Some(Stopped::Refused), _) => {
            let why = "a tool was refused, and nothing was said after that";
            let error = HostError::new(ErrorClass::Permission, "refused", why);
            ended(Finish::ToolCalls, Some(error))
        }
        (Some(Stopped::Aborted), _) => ended(Finish::Cancelled, None),
        (Some(Stopped::Unanswered), Some(error)) => ended(Finish::Unknown, Some(error.clone())),
        (Some(Stopped::Unanswered), None) => seen.record,
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
