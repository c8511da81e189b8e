//! `GET /v1/tasks/{ref}/logs`: the transcript of the latest attempt, as its host has it, byte for byte.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use homing_core::wire::Nothing;

use super::{Named, task};
use crate::asked::Query;
use crate::door::Door;
use crate::problem::Answer;

pub(crate) async fn logs(
    State(door): State<Door>,
    Named(named): Named<String>,
    Query(_): Query<Nothing>,
) -> Answer<Response> {
    let id = task(&door, &named).await?;
    let bytes = door.homing.transcript(id).await?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}
