//! `GET /v1/telemetry`: a record of every end, of all tasks or of one, derived from the ledger. As a list, or as
//! server-sent events by `Accept`.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use homing_core::ids::TaskId;
use homing_core::telemetry::Completion;
use homing_core::wire::{Telemetry, TelemetryQuery};
use homing_core::words::Code;
use homing_ports::store::JournalRow;
use homing_runtime::Refused;
use tokio::sync::broadcast::Receiver;

use super::events::{begin, cursor, dropped, stopped};
use super::{ok, task};
use crate::asked::{Query, accepts, limited};
use crate::codes::Own;
use crate::door::Door;
use crate::feed::{Feed, Lines};
use crate::openapi::{ASKED, KEPT, Resuming, SentEvent, TOLD, refuses};
use crate::problem::Answer;
use crate::stream::{self, Gone, Out};

const PAGE: usize = 500;
const USUAL: usize = 100;
const MOST: usize = 1_000;

refuses!(Refusals: [TOLD, ASKED, KEPT], Code::NotFound, Own::BelowFloor);

/// A record of every end, of all tasks or of one.
///
/// Derived from the ledger: as a list, or as server-sent events by `Accept`.
#[utoipa::path(
    get, path = "/v1/telemetry", operation_id = "telemetry", tag = "watching",
    params(TelemetryQuery, Resuming),
    responses(
        (status = 200, description = "Records and where to go on; or server-sent events without end, a record each.",
         content((Telemetry = "application/json"), (SentEvent = "text/event-stream"))),
        Refusals
    ),
)]
pub(crate) async fn telemetry(
    State(door): State<Door>,
    Extension(feed): Extension<Feed>,
    Query(asked): Query<TelemetryQuery>,
    headers: HeaderMap,
) -> Answer<Response> {
    let id = match &asked.task {
        Some(text) => Some(task(&door, text).await?),
        None => None,
    };
    let given = cursor(&headers, asked.after.as_deref())?;
    let head = *door.homing.head().borrow();
    let after = match id {
        // A task's lines are all there or none.
        Some(_) => given.unwrap_or(0),
        None => begin(&door, given, head).await?,
    };
    let limit = limited(asked.limit.as_deref(), USUAL, MOST)?;
    let mut ends = Ends { door, task: id, told: after, read: 0, found: VecDeque::new() };
    if id.is_none() {
        ends.read = after;
    }
    if accepts(&headers, "text/event-stream") {
        return Ok(stream::events(&ends.door.clone(), |out| ends.follow(feed, out)));
    }
    let mut records = Vec::new();
    while records.len() < limit {
        match ends.next().await? {
            Some((_, record)) => records.push(record),
            None => break,
        }
    }
    let next = if records.len() < limit { ends.seen().max(after) } else { ends.told };
    Ok(ok(&Telemetry { records, next }))
}

/// Ends after a cursor, each with the number of its line.
struct Ends {
    door: Door,
    task: Option<TaskId>,
    /// The last end that was told.
    told: u64,
    /// Lines that were read, counted as the journal or the task counts them.
    read: u64,
    found: VecDeque<(u64, Completion)>,
}

impl Ends {
    /// None when there is no more for now.
    async fn next(&mut self) -> Result<Option<(u64, Completion)>, Refused> {
        loop {
            if let Some((seq, end)) = self.found.pop_front() {
                self.told = seq;
                return Ok(Some((seq, end)));
            }
            let rows = match self.task {
                None => self.door.homing.events(self.read, PAGE).await?,
                Some(id) => self.door.homing.events_of(id, self.read, PAGE).await?,
            };
            let Some(last) = rows.last() else {
                return Ok(None);
            };
            self.read = match (self.task, last.task) {
                (Some(_), Some((_, number))) => number,
                (Some(_), None) | (None, _) => last.seq,
            };
            let told = self.told;
            let rows: Vec<JournalRow> =
                rows.into_iter().filter(|row| row.kind == "moved" && row.seq > told).collect();
            if !rows.is_empty() {
                self.found.extend(self.door.homing.ends(rows).await?);
            }
        }
    }

    /// How far everything was told.
    fn seen(&self) -> u64 {
        match self.task {
            Some(_) => self.told,
            None => self.read,
        }
    }

    async fn follow(mut self, feed: Feed, out: Out) -> Option<String> {
        let mut closing = self.door.stops.closing();
        // Before the ledger is read: what is written meanwhile comes here.
        let mut lines = feed.follow();
        loop {
            let begun = self.told;
            match self.next().await {
                Ok(Some((seq, end))) => {
                    let event = stream::event(&seq.to_string(), end.kind.word(), &end);
                    if let Err(Gone) = out.put(event).await {
                        return Some(dropped(begun));
                    }
                }
                Ok(None) => tokio::select! {
                    () = self.more(&mut lines) => {}
                    _ = closing.wait_for(|closing| *closing) => return Some(stopped(self.seen())),
                    () = out.closed() => return None,
                },
                Err(_) if *closing.borrow() => return Some(stopped(self.seen())),
                Err(refused) => return Some(stream::last_words(refused.into())),
            }
        }
    }

    /// Resolves when the ledger may tell of another end.
    async fn more(&self, lines: &mut Receiver<Arc<Lines>>) {
        while let Ok(next) = lines.recv().await {
            if next.has_moved() && self.task.is_none_or(|task| next.speaks_of(task)) {
                return;
            }
        }
    }
}
