//! `GET /v1/tasks/{ref}/logs`: the transcript of the latest attempt, as its host has it, byte for byte.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use homing_core::wire::Nothing;
use homing_core::words::Code;

use super::{Named, task};
use crate::asked::Query;
use crate::door::Door;
use crate::openapi::{ASKED, Bytes, KEPT, OfTask, TOLD, refuses};
use crate::problem::Answer;

refuses!(Refusals: [TOLD, ASKED, KEPT], Code::NotFound);

/// The transcript of the latest attempt, as its host has it.
#[utoipa::path(
    get, path = "/v1/tasks/{task}/logs", operation_id = "logs", tag = "tasks",
    params(OfTask),
    responses(
        (status = 200, description = "Byte for byte.", content((Bytes = "application/octet-stream"))),
        Refusals
    ),
)]
pub(crate) async fn logs(
    State(door): State<Door>,
    Named(named): Named<String>,
    Query(_): Query<Nothing>,
) -> Answer<Response> {
    let id = task(&door, &named).await?;
    let bytes = door.homing.transcript(id).await?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}
