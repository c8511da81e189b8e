//! `GET /v1/events` and `GET /v1/tasks/{ref}/events`: the journal as it grows, from a cursor on. What follows
//! nothing is one JSON object a line.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use homing_core::ids::TaskId;
use homing_core::wire::EventsQuery;
use homing_core::words::Code;
use homing_ports::store::{JournalRow, StoreError};
use homing_runtime::{Refused, shown};
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::watch;

use super::{Named, task};
use crate::asked::{Query, yes};
use crate::codes::Own;
use crate::door::Door;
use crate::feed::{Feed, Lines};
use crate::openapi::{ASKED, JournalLine, KEPT, OfTask, Resuming, SentEvent, TOLD, refuses};
use crate::problem::{Answer, Problem};
use crate::stream::{self, Gone, Out};

const PAGE: usize = 200;

refuses!(Refusals: [TOLD, ASKED, KEPT], Own::BelowFloor);

/// The journal as it grows, from a cursor on.
///
/// Without a cursor it begins with the oldest line that is kept.
#[utoipa::path(
    get, path = "/v1/events", operation_id = "events", tag = "watching",
    params(EventsQuery, Resuming),
    responses(
        (status = 200, description = "Server-sent events without end: `id` is the cursor, `event` the kind of the line, `data` \
         the line; `dropped`, `stopped` and `problem` are last words. With `follow=false` what is there now, a line each.",
         content((SentEvent = "text/event-stream"), (JournalLine = "application/x-ndjson"))),
        Refusals
    ),
)]
pub(crate) async fn all(
    State(door): State<Door>,
    Extension(feed): Extension<Feed>,
    Query(asked): Query<EventsQuery>,
    headers: HeaderMap,
) -> Answer<Response> {
    let given = cursor(&headers, asked.after.as_deref())?;
    let head = *door.homing.head().borrow();
    let after = begin(&door, given, head).await?;
    let pages = Pages { door: door.clone(), task: None, after };
    respond(pages, feed, yes("follow", asked.follow.as_deref())?)
}

refuses!(OfTaskRefusals: [TOLD, ASKED, KEPT], Code::NotFound);

/// The lines of one task as they come, from a cursor on.
///
/// The cursor counts the task's own lines.
#[utoipa::path(
    get, path = "/v1/tasks/{task}/events", operation_id = "task_events", tag = "watching",
    params(OfTask, EventsQuery, Resuming),
    responses(
        (status = 200, description = "As `events`, of this task alone.",
         content((SentEvent = "text/event-stream"), (JournalLine = "application/x-ndjson"))),
        OfTaskRefusals
    ),
)]
pub(crate) async fn of_task(
    State(door): State<Door>,
    Extension(feed): Extension<Feed>,
    Named(named): Named<String>,
    Query(asked): Query<EventsQuery>,
    headers: HeaderMap,
) -> Answer<Response> {
    let id = task(&door, &named).await?;
    let after = cursor(&headers, asked.after.as_deref())?.unwrap_or(0);
    let pages = Pages { door: door.clone(), task: Some(id), after };
    respond(pages, feed, yes("follow", asked.follow.as_deref())?)
}

/// Where a reader goes on: what it saw last. The header is what a reader that came back says by itself, and goes over `after`.
pub(super) fn cursor(headers: &HeaderMap, after: Option<&str>) -> Answer<Option<u64>> {
    let header = headers.get("last-event-id").map(|last| last.to_str().unwrap_or("?"));
    let said = header.map(|text| line("Last-Event-ID", text)).transpose()?;
    let after = after.map(|text| line("after", text)).transpose()?;
    Ok(said.or(after))
}

/// No journal has more lines than this.
const LINES_MAX: u64 = i64::MAX as u64;

fn line(field: &str, text: &str) -> Answer<u64> {
    let number = text.parse().ok().filter(|number| *number <= LINES_MAX);
    number
        .ok_or_else(|| Problem::invalid(format!("{field}: the number of a line, as `id` said it")))
}

/// A cursor that was given must be one that can be gone on from; without one it begins with the oldest line.
pub(super) async fn begin(door: &Door, given: Option<u64>, head: u64) -> Answer<u64> {
    if let Some(after) = given
        && after > head
    {
        let why = format!("after: {after} is ahead of the journal, whose last line is {head}");
        return Err(Problem::invalid(why));
    }
    match (door.homing.events(given.unwrap_or(0), 1).await, given) {
        (Ok(_), given) => Ok(given.unwrap_or(0)),
        (Err(Refused::Store(StoreError::BelowFloor { floor, .. })), None) => Ok(floor),
        (Err(refused), _) => Err(refused.into()),
    }
}

fn respond(pages: Pages, feed: Feed, follow: Option<bool>) -> Answer<Response> {
    let door = pages.door.clone();
    Ok(match follow {
        Some(false) => stream::lines(&door, |out| pages.finish(out)),
        Some(true) | None => stream::events(&door, |out| pages.follow(feed, out)),
    })
}

/// The lines of the whole journal, or of one task, after a cursor.
struct Pages {
    door: Door,
    task: Option<TaskId>,
    after: u64,
}

impl Pages {
    async fn next(&mut self) -> Result<Vec<JournalRow>, Refused> {
        let rows = match self.task {
            None => self.door.homing.events(self.after, PAGE).await?,
            Some(id) => self.door.homing.events_of(id, self.after, PAGE).await?,
        };
        if let Some(last) = rows.last() {
            self.after = self.number(last);
        }
        Ok(rows)
    }

    /// A task's lines are counted by themselves.
    fn number(&self, row: &JournalRow) -> u64 {
        match (self.task, row.task) {
            (Some(_), Some((_, number))) => number,
            (Some(_), None) | (None, _) => row.seq,
        }
    }

    /// What is there now.
    async fn finish(mut self, out: Out) -> Option<String> {
        loop {
            match self.next().await {
                Ok(rows) if rows.is_empty() => return None,
                Ok(rows) => {
                    let line = |row: &JournalRow| format!("{}\n", shown::event(row));
                    if let Err(Gone) = out.put(rows.iter().map(line).collect::<String>()).await {
                        return None;
                    }
                }
                // A line that is no event: whoever reads sees that the rest is missing.
                Err(refused) => {
                    let problem = Problem::from(refused).wire();
                    return Some(format!("{}\n", json!({ "problem": problem })));
                }
            }
        }
    }

    async fn follow(mut self, feed: Feed, out: Out) -> Option<String> {
        let mut closing = self.door.stops.closing();
        // Before the ledger is read: what is written meanwhile comes here.
        let mut lines = feed.follow();
        loop {
            if let Err(last) = self.catch_up(&out, &closing).await {
                return last;
            }
            tokio::select! {
                over = self.go_along(&mut lines, &out) => if let Err(last) = over {
                    return last;
                },
                _ = closing.wait_for(|closing| *closing) => return Some(stopped(self.after)),
                () = out.closed() => return None,
            }
        }
    }

    /// From the ledger, page by page, to its end. An error is the end of the stream, with its last words.
    async fn catch_up(
        &mut self,
        out: &Out,
        closing: &watch::Receiver<bool>,
    ) -> Result<(), Option<String>> {
        loop {
            let begun = self.after;
            match self.next().await {
                Ok(rows) if rows.is_empty() => return Ok(()),
                Ok(rows) => {
                    let event = |row: &JournalRow| {
                        let id = self.number(row).to_string();
                        stream::event(&id, &row.kind, &shown::event(row))
                    };
                    let events: String = rows.iter().map(event).collect();
                    out.put(events).await.map_err(|Gone| Some(dropped(begun)))?;
                }
                Err(_) if *closing.borrow() => return Err(Some(stopped(self.after))),
                Err(refused) => return Err(Some(stream::last_words(refused.into()))),
            }
        }
    }

    /// With the feed, while it goes on where this one is; then the ledger has more.
    async fn go_along(
        &mut self,
        lines: &mut Receiver<Arc<Lines>>,
        out: &Out,
    ) -> Result<(), Option<String>> {
        loop {
            let Ok(next) = lines.recv().await else {
                // It fell behind.
                return Ok(());
            };
            match (self.task, &next.events) {
                (Some(task), _) if next.speaks_of(task) => return Ok(()),
                (Some(_), _) => {}
                (None, Some(_)) if next.last <= self.after => {}
                (None, Some(events)) if next.after == self.after => {
                    let put = out.put(events.clone()).await;
                    put.map_err(|Gone| Some(dropped(self.after)))?;
                    self.after = next.last;
                }
                (None, Some(_) | None) => return Ok(()),
            }
        }
    }
}

/// The reader took nothing for too long.
pub(super) fn dropped(after: u64) -> String {
    stream::aside("dropped", &json!({ "after": after, "why": "it was read too slowly" }))
}

/// The daemon ends.
pub(super) fn stopped(after: u64) -> String {
    stream::aside("stopped", &json!({ "after": after, "why": "the daemon stops" }))
}
