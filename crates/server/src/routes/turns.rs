//! `/v1/conversations/{id}/turns`: people's turns are taken, and each is streamed alone. `…/events` tells of all of them.

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use homing_core::ids::ConversationId;
use homing_core::record::{Record, TaskRecord};
use homing_core::wire::{EventsQuery, Speak, Spoken, TurnEvent, TurnView};
use homing_core::words::Code;
use homing_runtime::{Cursor, codec};
use serde_json::json;
use tokio::sync::mpsc;

use super::converse::named;
use super::events::{cursor, stopped};
use super::launch::idempotency_key;
use super::{Named, accepted, ok};
use crate::asked::{Body, Query, parsed};
use crate::door::Door;
use crate::openapi::{
    ASKED, KEPT, OfConversation, OfTurn, Resuming, SentEvent, TOLD, WRITTEN, refuses,
};
use crate::peer::By;
use crate::problem::{Answer, Problem};
use crate::stream::{self, Gone, Out};

const PAGE: usize = 200;
/// A stream in which nothing is said for so long says so.
const BEAT: Duration = Duration::from_secs(15);

refuses!(
    Refusals: [TOLD, ASKED, KEPT, WRITTEN],
    Code::NotFound,
    Code::KeyReused,
    Code::Ended,
    Code::OnItsWay,
);

/// A person's turn.
///
/// It is taken when this answers, and begins when those before it are over. With `Accept: text/event-stream` its stream comes
/// instead of the number.
#[utoipa::path(
    post, path = "/v1/conversations/{conversation}/turns", operation_id = "speak", tag = "conversations",
    params(OfConversation, (
        "Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 512, pattern = "^[ -~]*$",
        description = "The same key again gives the same turn; `key` in the body says the same."
    )),
    request_body(content = Speak, example = json!({ "text": "What is 2+2?" })),
    responses(
        (status = 202, description = "Taken.", body = Spoken,
         headers(("location" = String, description = "The turn."))),
        (status = 200, description = "Its events, if they were asked for.", content((SentEvent = "text/event-stream"))),
        Refusals
    ),
)]
pub(crate) async fn speak(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Named(id): Named<String>,
    headers: HeaderMap,
    Body(Speak { text, key }): Body<Speak>,
) -> Answer<Response> {
    let (id, key) = (named(&id)?, idempotency_key(&headers, key)?);
    let (turn, existing) = by.homing(&door).speak(id, &text, key.as_deref()).await?;
    let place = [(header::LOCATION, format!("/v1/conversations/{id}/turns/{turn}"))];
    let streams = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    if streams.is_some_and(|accept| accept.contains("text/event-stream")) {
        let events = door.homing.follow(id, turn, None).await?;
        return Ok((place, streamed(&door, events)).into_response());
    }
    Ok((place, accepted(&Spoken { id, turn, existing })).into_response())
}

refuses!(Unknown: [TOLD, ASKED, KEPT], Code::NotFound);

/// One turn as it stands.
#[utoipa::path(
    get, path = "/v1/conversations/{conversation}/turns/{turn}", operation_id = "turn", tag = "conversations",
    params(OfTurn),
    responses((status = 200, description = "As it stands.", body = TurnView), Unknown),
)]
pub(crate) async fn turn(
    State(door): State<Door>,
    Named((id, turn)): Named<(String, String)>,
) -> Answer<Response> {
    Ok(ok(&door.homing.turn(named(&id)?, parsed("turn", &turn)?).await?))
}

/// One turn as it happens, and nothing of any other.
///
/// `began`, `said` (more of a part, by the number of its first byte), `asks` (it waits for an answer), `reset` (what was told of
/// a part from there on is not there any more; without a part, all that was told), `ended`. The `id` of an event is where it can be gone on from.
#[utoipa::path(
    get, path = "/v1/conversations/{conversation}/turns/{turn}/events", operation_id = "turn_events",
    tag = "conversations", params(OfTurn),
    responses(
        (status = 200, description = "Until its end.", content((SentEvent = "text/event-stream"))),
        Unknown
    ),
)]
pub(crate) async fn follow(
    State(door): State<Door>,
    Named((id, turn)): Named<(String, String)>,
    headers: HeaderMap,
) -> Answer<Response> {
    let (id, turn) = (named(&id)?, parsed("turn", &turn)?);
    let from = headers.get("last-event-id").map(|last| last.to_str().unwrap_or("?"));
    let from = from.map(|text| place(turn, text)).transpose()?;
    let events = door.homing.follow(id, turn, from).await?;
    Ok(streamed(&door, events))
}

/// `TURN:PART:OFFSET`, as `id` said it.
fn place(turn: u32, text: &str) -> Answer<Cursor> {
    let read = || {
        let (of, rest) = text.split_once(':')?;
        let (part, offset) = rest.rsplit_once(':')?;
        (of.parse() == Ok(turn)).then_some(())?;
        Some(Cursor { part: part.into(), offset: offset.parse().ok()? })
    };
    read().ok_or_else(|| Problem::invalid("Last-Event-ID: a place in this turn, as `id` said it"))
}

fn streamed(door: &Door, mut events: mpsc::Receiver<TurnEvent>) -> Response {
    let mut closing = door.stops.closing();
    stream::events(door, |out| async move {
        loop {
            let written = tokio::select! {
                event = events.recv() => match event {
                    Some(event) => written(&event),
                    None => return None,
                },
                () = tokio::time::sleep(BEAT) => ": nothing new\n\n".to_owned(),
                _ = closing.wait_for(|closing| *closing) => {
                    return Some(stream::aside("stopped", &json!({"why": "the daemon stops"})));
                }
            };
            if let Err(Gone) = out.put(written).await {
                return None;
            }
        }
    })
}

fn written(event: &TurnEvent) -> String {
    match event {
        TurnEvent::Said { turn, part, offset, text, .. } => {
            let reached = offset + text.len() as u64;
            stream::event(&format!("{turn}:{part}:{reached}"), event.word(), event)
        }
        // A part that is withdrawn whole is no place to go on from.
        TurnEvent::Reset { turn, part: Some(part), offset } if *offset > 0 => {
            stream::event(&format!("{turn}:{part}:{offset}"), event.word(), event)
        }
        TurnEvent::Waits { .. }
        | TurnEvent::Began { .. }
        | TurnEvent::Asks { .. }
        | TurnEvent::Reset { .. }
        | TurnEvent::Ended(_) => stream::aside(event.word(), event),
    }
}

/// Turns as they are asked for, begin and end, debriefs too.
#[utoipa::path(
    get, path = "/v1/conversations/{conversation}/events", operation_id = "conversation_events",
    tag = "conversations", params(OfConversation, EventsQuery, Resuming),
    responses(
        (status = 200, description = "`asked`, `began`, `ended` with the turn, and `closed`.",
         content((SentEvent = "text/event-stream"))),
        Unknown
    ),
)]
pub(crate) async fn happenings(
    State(door): State<Door>,
    Named(id): Named<String>,
    Query(asked): Query<EventsQuery>,
    headers: HeaderMap,
) -> Answer<Response> {
    let id = named(&id)?;
    let after = cursor(&headers, asked.after.as_deref())?.unwrap_or(0);
    door.homing.conversation(id).await?;
    let told = Happenings { door: door.clone(), id, after, read: 0, turn: 0 };
    Ok(stream::events(&door, |out| told.follow(out)))
}

/// The turns of a conversation, from its own lines.
struct Happenings {
    door: Door,
    id: ConversationId,
    /// The reader has those up to here.
    after: u64,
    read: u64,
    turn: u32,
}

impl Happenings {
    async fn follow(mut self, out: Out) -> Option<String> {
        let (mut head, mut closing) = (self.door.homing.head(), self.door.stops.closing());
        loop {
            head.borrow_and_update();
            match self.next().await {
                Ok(Some(events)) => out.put(events).await.ok()?,
                Ok(None) => tokio::select! {
                    changed = head.changed() => changed.ok()?,
                    _ = closing.wait_for(|closing| *closing) => return Some(stopped(self.read)),
                    () = out.closed() => return None,
                },
                Err(problem) => return Some(stream::last_words(problem)),
            }
        }
    }

    /// What the next lines tell; none: there are none yet.
    async fn next(&mut self) -> Answer<Option<String>> {
        let rows = self.door.homing.events_of(self.id.task(), self.read, PAGE).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let mut told = String::new();
        for row in rows {
            let Some((_, number)) = row.task else {
                continue;
            };
            self.read = number;
            let Record::Task(_, record) =
                codec::record(&row).map_err(homing_runtime::Refused::from)?
            else {
                continue;
            };
            if let TaskRecord::GenerationOpened { generation, .. } = &record {
                self.turn = *generation;
            }
            // What the reader has is not put together again.
            if number > self.after
                && let Some((kind, data)) = self.event(&record).await?
            {
                told.push_str(&stream::event(&number.to_string(), kind, &data));
            }
        }
        Ok(Some(told))
    }

    async fn event(
        &self,
        record: &TaskRecord,
    ) -> Answer<Option<(&'static str, serde_json::Value)>> {
        if let TaskRecord::TurnAsked { turn, .. } = record {
            return Ok(Some(("asked", json!({ "turn": turn }))));
        }
        if let TaskRecord::GenerationOpened { generation, debrief, .. } = record {
            let cause = if debrief.is_some() { "tasks" } else { "person" };
            let began = json!({ "turn": generation, "cause": cause, "debrief": debrief });
            return Ok(Some(("began", began)));
        }
        if let TaskRecord::Moved { to, .. } = record
            && to.is_terminal()
        {
            let turn = self.door.homing.turn(self.id, self.turn).await?;
            return Ok(Some(("ended", json!(turn))));
        }
        let closed = matches!(record, TaskRecord::Closed);
        Ok(closed.then(|| ("closed", json!({}))))
    }
}
