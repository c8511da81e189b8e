//! `GET /v1/tasks/{ref}/logs`: the transcript of the latest attempt, as its host has it, byte for byte; or message by message.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use homing_core::wire::LogsQuery;
use homing_core::words::Code;
use homing_ports::host::Reading;

use super::{Named, task};
use crate::asked::{Query, yes};
use crate::door::Door;
use crate::openapi::{ASKED, Bytes, KEPT, OfTask, TOLD, refuses};
use crate::problem::{Answer, Problem};

/// Says of an answer that it has the messages apart.
const APART: &str = "homing-messages";

refuses!(Refusals: [TOLD, ASKED, KEPT], Code::NotFound);

/// The transcript of the latest attempt, as its host has it.
#[utoipa::path(
    get, path = "/v1/tasks/{task}/logs", operation_id = "logs", tag = "tasks",
    params(OfTask, LogsQuery),
    responses(
        (status = 200, description = "Byte for byte.", content((Bytes = "application/octet-stream"))),
        Refusals
    ),
)]
pub(crate) async fn logs(
    State(door): State<Door>,
    Named(named): Named<String>,
    Query(asked): Query<LogsQuery>,
) -> Answer<Response> {
    let reading = Reading {
        thinking: yes("thinking", asked.thinking.as_deref())?.unwrap_or(false),
        tools: yes("tools", asked.tools.as_deref())?.unwrap_or(false),
        last: asked.last.as_deref().map(counted).transpose()?,
        since: asked.since.clone(),
    };
    let id = task(&door, &named).await?;
    if asked != LogsQuery::default()
        && let Some(text) = door.homing.messages(id, reading).await?
    {
        return Ok(([(APART, "apart")], told(text.into_bytes())).into_response());
    }
    Ok(told(door.homing.transcript(id).await?))
}

fn counted(text: &str) -> Answer<usize> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| Problem::invalid("last: a number from 1"))
}

fn told(bytes: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}
