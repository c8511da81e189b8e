//! One function per route, typed.

use std::time::Duration;

use homing_core::ids::{ConversationId, TaskId};
use homing_core::path::escaped;
use homing_core::refs::ParentRef;
use homing_core::span;
use homing_core::view::TaskView;
use homing_core::wire;
use serde_json::Value;

use crate::connection::{Call, whole};
use crate::{Client, Error, Events, Parts};

/// A piece of what was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    /// Number of its first byte: what lies before it, and was asked for, is not kept.
    pub first: u64,
    pub bytes: Vec<u8>,
    /// How much was written in all, where that is known.
    pub written: Option<u64>,
}

fn task_path(task: &str, rest: &str) -> String {
    format!("/v1/tasks/{}{rest}", escaped(task))
}

/// `?a=b&c=d` of what is given.
fn query(pairs: &[(&str, Option<String>)]) -> String {
    let given = pairs.iter().filter_map(|(name, value)| value.as_ref().map(|value| (name, value)));
    let text: Vec<String> =
        given.map(|(name, value)| format!("{name}={}", escaped(value))).collect();
    if text.is_empty() { String::new() } else { format!("?{}", text.join("&")) }
}

impl Client {
    pub async fn launch(&self, launch: &wire::Launch) -> Result<wire::Accepted, Error> {
        self.json(Call::post("/v1/tasks", launch)?).await
    }

    /// One page.
    pub async fn list(&self, asked: &wire::ListQuery) -> Result<wire::Page, Error> {
        let asked = query(&[
            ("state", asked.state.clone()),
            ("parent", asked.parent.clone()),
            ("living", asked.living.clone()),
            ("name", asked.name.clone()),
            ("session", asked.session.clone()),
            ("limit", asked.limit.clone()),
            ("cursor", asked.cursor.clone()),
        ]);
        self.json(Call::get(format!("/v1/tasks{asked}"))).await
    }

    pub async fn show(&self, task: &str) -> Result<TaskView, Error> {
        self.json(Call::get(task_path(task, ""))).await
    }

    /// With the result; waits at most this long for the end.
    pub async fn output(&self, task: &str, wait: Option<Duration>) -> Result<wire::Output, Error> {
        let asked = query(&[("wait", wait.map(span::words))]);
        self.json(Call::get(task_path(task, &format!("/output{asked}")))).await
    }

    /// Waits at most this long for the end, and tells whether it came; the result is not read.
    pub async fn wait(&self, task: &str, at_most: Duration) -> Result<bool, Error> {
        let asked =
            query(&[("wait", Some(span::words(at_most))), ("result", Some("false".into()))]);
        let waited: wire::Output =
            self.json(Call::get(task_path(task, &format!("/output{asked}")))).await?;
        Ok(waited.wait.is_some_and(|wait| wait.ended))
    }

    /// The result alone, byte for byte; empty where there is none.
    pub async fn output_bytes(&self, task: &str) -> Result<Vec<u8>, Error> {
        let call = Call::get(task_path(task, "/output"));
        self.bytes(call.header("accept", "application/octet-stream")).await
    }

    /// What the host still has of all that was written, from a byte on; empty at its end.
    pub async fn piece(&self, task: &str, from: u64) -> Result<Piece, Error> {
        let call = Call::get(task_path(task, &format!("/output?from={from}")));
        let answer = self.send(call.header("accept", "application/octet-stream")).await?;
        let number = |name: &str| answer.headers().get(name)?.to_str().ok()?.parse().ok();
        let (first, written) = (number("homing-from"), number("homing-written"));
        let first =
            first.ok_or_else(|| Error::Odd { why: "a piece without its place".to_owned() })?;
        Ok(Piece { first, written, bytes: whole(answer).await? })
    }

    pub async fn why(&self, task: &str) -> Result<wire::Why, Error> {
        self.json(Call::get(task_path(task, "/why"))).await
    }

    pub async fn logs(&self, task: &str) -> Result<Vec<u8>, Error> {
        self.bytes(Call::get(task_path(task, "/logs"))).await
    }

    /// What was said, message by message; none where the host keeps none apart.
    pub async fn messages(
        &self,
        task: &str,
        asked: &wire::LogsQuery,
    ) -> Result<Option<Vec<u8>>, Error> {
        let asked = query(&[
            ("thinking", asked.thinking.clone()),
            ("tools", asked.tools.clone()),
            ("since", asked.since.clone()),
            ("last", asked.last.clone()),
        ]);
        let answer = self.send(Call::get(task_path(task, &format!("/logs{asked}")))).await?;
        let apart = answer.headers().contains_key("homing-messages");
        let bytes = whole(answer).await?;
        Ok(apart.then_some(bytes))
    }

    pub async fn cancel(&self, task: &str, body: &wire::Cancel) -> Result<wire::Cancelled, Error> {
        self.json(Call::post(task_path(task, "/cancel"), body)?).await
    }

    pub async fn adopt(&self, body: &wire::Adopt) -> Result<wire::Accepted, Error> {
        self.json(Call::post("/v1/adopt", body)?).await
    }

    /// Another place for an end that could not be told.
    pub async fn reroute(&self, task: &str, body: &wire::Reroute) -> Result<TaskView, Error> {
        self.json(Call::post(task_path(task, "/reroute"), body)?).await
    }

    pub async fn resume(&self, task: &str, body: &wire::Resume) -> Result<wire::Resumed, Error> {
        self.json(Call::post(task_path(task, "/resume"), body)?).await
    }

    pub async fn retry(&self, task: &str) -> Result<wire::Resumed, Error> {
        self.json(Call::post(task_path(task, "/retry"), &wire::Nothing {})?).await
    }

    /// `last`: nothing comes after it, and a command's standard input is closed.
    pub async fn say(&self, task: &str, text: &str, last: bool) -> Result<wire::Sent, Error> {
        let body = wire::Send { text: text.to_owned(), last };
        self.json(Call::post(task_path(task, "/send"), &body)?).await
    }

    pub async fn asks(&self) -> Result<Vec<wire::AskView>, Error> {
        Ok(self.json::<wire::Asks>(Call::get("/v1/asks")).await?.asks)
    }

    pub async fn converse(&self, body: &wire::Converse) -> Result<wire::Opened, Error> {
        self.json(Call::post("/v1/conversations", body)?).await
    }

    pub async fn conversation(&self, id: ConversationId) -> Result<wire::ConversationView, Error> {
        self.json(Call::get(format!("/v1/conversations/{id}"))).await
    }

    pub async fn speak(
        &self,
        id: ConversationId,
        body: &wire::Speak,
    ) -> Result<wire::Spoken, Error> {
        self.json(Call::post(format!("/v1/conversations/{id}/turns"), body)?).await
    }

    pub async fn close(&self, id: ConversationId) -> Result<wire::ConversationView, Error> {
        let path = format!("/v1/conversations/{id}/close");
        self.json(Call::post(path, &wire::Nothing {})?).await
    }

    /// Turns of a conversation as they are asked for, begin and end.
    pub async fn conversation_events(
        &self,
        id: ConversationId,
        last: Option<&str>,
    ) -> Result<Events, Error> {
        self.follow(&format!("/v1/conversations/{id}/events"), last).await
    }

    /// One turn, from where a reader was: `wire::TurnEvent` each.
    pub async fn turn_events(
        &self,
        id: ConversationId,
        turn: u32,
        last: Option<&str>,
    ) -> Result<Events, Error> {
        self.follow(&format!("/v1/conversations/{id}/turns/{turn}/events"), last).await
    }

    /// An ask, or a task that has one open.
    pub async fn answer(
        &self,
        ask: &str,
        body: &wire::AnswerBody,
    ) -> Result<wire::Answered, Error> {
        self.json(Call::post(format!("/v1/asks/{}/answer", escaped(ask)), body)?).await
    }

    /// The journal after a cursor, as it grows.
    pub async fn events(&self, after: Option<u64>) -> Result<Events, Error> {
        let asked = query(&[("after", after.map(|after| after.to_string()))]);
        self.follow(&format!("/v1/events{asked}"), None).await
    }

    /// One task's lines after its number `after`, as they come.
    pub async fn events_of(&self, task: &str, after: Option<u64>) -> Result<Events, Error> {
        let asked = query(&[("after", after.map(|after| after.to_string()))]);
        self.follow(&task_path(task, &format!("/events{asked}")), None).await
    }

    /// The journal after a cursor as it is now: one JSON object a line.
    pub async fn journal(&self, after: Option<u64>) -> Result<Vec<u8>, Error> {
        self.bytes(journal(after)).await
    }

    /// The same, in parts as they come: a journal may be longer than memory.
    pub async fn journal_parts(&self, after: Option<u64>) -> Result<Parts, Error> {
        Ok(Parts::new(self.send(journal(after)).await?.into_body()))
    }

    pub async fn telemetry(
        &self,
        task: Option<&str>,
        after: Option<u64>,
    ) -> Result<wire::Telemetry, Error> {
        let asked = telemetry_query(task, after);
        self.json(Call::get(format!("/v1/telemetry{asked}"))).await
    }

    /// Ends as they come.
    pub async fn telemetry_stream(
        &self,
        task: Option<&str>,
        after: Option<u64>,
    ) -> Result<Events, Error> {
        self.follow(&format!("/v1/telemetry{}", telemetry_query(task, after)), None).await
    }

    pub async fn inbox(&self, parent: &ParentRef) -> Result<wire::Inbox, Error> {
        let parent = escaped(&parent.to_string());
        self.json(Call::get(format!("/v1/parents/{parent}/inbox"))).await
    }

    pub async fn owned(&self, parent: &ParentRef) -> Result<wire::Page, Error> {
        let parent = escaped(&parent.to_string());
        self.json(Call::get(format!("/v1/parents/{parent}/owned"))).await
    }

    /// Debriefs of an inbox and its keys, as they come: `wire::Delivered` each.
    pub async fn deliveries(&self, consumer: &str) -> Result<Events, Error> {
        let asked = query(&[("consumer", Some(consumer.to_owned()))]);
        self.follow(&format!("/v1/deliveries{asked}"), None).await
    }

    /// `db_…`, or `bg_…/GENERATION`.
    pub async fn ack(&self, key: &str) -> Result<wire::Acked, Error> {
        let path = format!("/v1/deliveries/{}/ack", escaped(key));
        self.json(Call::post(path, &wire::Nothing {})?).await
    }

    /// Sends again what rests: `db_…`, or `po_…`.
    pub async fn redrive(&self, key: &str) -> Result<wire::Redriven, Error> {
        let path = format!("/v1/deliveries/{}/redrive", escaped(key));
        self.json(Call::post(path, &wire::Nothing {})?).await
    }

    /// Acknowledges one generation of a task.
    pub async fn ack_notice(&self, task: TaskId, generation: u32) -> Result<wire::Acked, Error> {
        self.ack(&format!("{task}/{generation}")).await
    }

    pub async fn status(&self) -> Result<wire::Status, Error> {
        self.json(Call::get("/v1/status")).await
    }

    pub async fn ready(&self) -> Result<(), Error> {
        self.bytes(Call::get("/readyz")).await.map(drop)
    }

    pub async fn stop(&self, children: bool) -> Result<wire::Stopping, Error> {
        self.json(Call::post("/v1/stop", &wire::Stop { children })?).await
    }

    /// Any path, for what has no function here: the answer as it is.
    pub async fn get(&self, path: &str) -> Result<Vec<u8>, Error> {
        self.bytes(Call::get(path)).await
    }

    /// Any path, with a body.
    pub async fn post(&self, path: &str, body: &Value) -> Result<Value, Error> {
        self.json(Call::post(path, body)?).await
    }

    /// Any path as a stream of events, from where a reader was.
    pub async fn follow(&self, path: &str, last: Option<&str>) -> Result<Events, Error> {
        let mut call = Call::get(path).header("accept", "text/event-stream");
        if let Some(last) = last {
            call = call.header("last-event-id", last);
        }
        Ok(Events::new(self.send(call).await?.into_body()))
    }
}

fn journal(after: Option<u64>) -> Call {
    let after = after.map(|after| after.to_string());
    let asked = query(&[("after", after), ("follow", Some("false".to_owned()))]);
    Call::get(format!("/v1/events{asked}"))
}

fn telemetry_query(task: Option<&str>, after: Option<u64>) -> String {
    let after = after.map(|after| after.to_string());
    query(&[("task", task.map(str::to_owned)), ("after", after)])
}
