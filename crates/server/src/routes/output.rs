//! `GET /v1/tasks/{ref}/output`: a task with its result, after a bounded wait if one is asked for. The time that
//! is up says nothing of the task but that.

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Response};
use homing_core::ids::TaskId;
use homing_core::span;
use homing_core::wire::{Output, OutputQuery, Waited};
use homing_core::words::Code;
use homing_runtime as runtime;

use super::{Named, ok, task};
use crate::asked::{Query, accepts, spanned, yes};
use crate::door::Door;
use crate::openapi::{ASKED, Bytes, KEPT, OfTask, TOLD, refuses};
use crate::peer::By;
use crate::problem::{Answer, Problem};

const WAIT_MAX: Duration = Duration::from_secs(3_600);
/// Of what a host still has, at once.
const PIECE: usize = 1 << 20;
const BYTES: &str = "application/octet-stream";

refuses!(Refusals: [TOLD, ASKED, KEPT], Code::NotFound);

/// A task with its result, after a bounded wait if one is asked for.
///
/// The time that is up says nothing of the task but that. Reading settles nothing: `ack` of the answer does, once acknowledged.
#[utoipa::path(
    get, path = "/v1/tasks/{task}/output", operation_id = "output", tag = "tasks",
    params(OfTask, OutputQuery),
    responses(
        (status = 200, description = "The task with its result; by `Accept` the result's bytes alone, or with `from` \
         a piece of what the host still has.", content((Output = "application/json"), (Bytes = "application/octet-stream"))),
        (status = 202, description = "By `Accept`, of a task that has not ended: what there is of its result.",
         content((Bytes = "application/octet-stream"))),
        Refusals
    ),
)]
pub(crate) async fn output(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Named(named): Named<String>,
    Query(asked): Query<OutputQuery>,
    headers: HeaderMap,
) -> Answer<Response> {
    let wanted = yes("result", asked.result.as_deref())?.unwrap_or(true);
    let id = task(&door, &named).await?;
    let wait = match &asked.wait {
        Some(text) => Some(waited(&door, by, id, text).await?),
        None => None,
    };
    let raw = accepts(&headers, BYTES);
    if let Some(from) = &asked.from {
        return piece(&door, id, from, takes_bytes(&headers)).await;
    }
    let (view, fresh) = door.homing.view(id, wanted && !raw).await?;
    if raw {
        let living = !view.state.is_terminal();
        let bytes = door.homing.output(id).await?;
        let status = if living { StatusCode::ACCEPTED } else { StatusCode::OK };
        let headers = [
            (header::CONTENT_TYPE.as_str(), BYTES.to_owned()),
            ("homing-task", view.id.to_string()),
            ("homing-state", view.state.to_string()),
            ("homing-waited", wait.map(|wait| wait.asked).unwrap_or_default()),
        ];
        return Ok((status, headers, bytes.unwrap_or_default()).into_response());
    }
    let owed = !matches!(view.delivery.state.as_str(), "none" | "settled" | "withdrawn");
    let ack = owed.then(|| format!("{}/{}", view.id, view.generation));
    Ok(ok(&Output { task: view, wait, fresh, ack }))
}

/// Whoever says nothing of forms takes any.
fn takes_bytes(headers: &HeaderMap) -> bool {
    let forms = [BYTES, "application/*", "*/*"];
    !headers.contains_key(header::ACCEPT) || forms.iter().any(|form| accepts(headers, form))
}

/// What the host still has, a piece at a time: an empty one is the end.
async fn piece(door: &Door, id: TaskId, from: &str, bytes: bool) -> Answer<Response> {
    let Ok(from) = from.parse() else {
        return Err(Problem::invalid(format!("from: {from:?} is not the number of a byte")));
    };
    if !bytes {
        return Err(Problem::invalid(format!("from: pieces are bytes: accept {BYTES}")));
    }
    let piece = door.homing.piece(id, from, PIECE).await?;
    let written = piece.written.map(|written| ("homing-written", written.to_string()));
    let headers = [
        (header::CONTENT_TYPE.as_str(), BYTES.to_owned()),
        ("homing-task", id.to_string()),
        ("homing-from", piece.first.to_string()),
    ];
    Ok((headers, AppendHeaders(written), piece.bytes).into_response())
}

async fn waited(door: &Door, by: By, id: TaskId, text: &str) -> Answer<Waited> {
    let span = spanned("wait", text)?;
    if span > WAIT_MAX {
        let why = format!("wait: at most {}; then ask again", span::words(WAIT_MAX));
        return Err(Problem::invalid(why));
    }
    let over = by.homing(door).wait(id, span).await?;
    Ok(Waited {
        asked: text.to_owned(),
        asked_ms: u64::try_from(span.as_millis()).unwrap_or(u64::MAX),
        ended: over == runtime::Waited::Ended,
    })
}
