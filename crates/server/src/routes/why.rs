//! `GET /v1/tasks/{ref}/why`: the chain behind the state, what is missing, what comes next and when.

use axum::extract::State;
use axum::response::Response;
use homing_core::wire::{Nothing, Why};
use homing_core::words::Code;

use super::{Named, ok, task};
use crate::asked::Query;
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfTask, TOLD, refuses};
use crate::problem::Answer;

refuses!(Refusals: [TOLD, ASKED, KEPT], Code::NotFound);

/// Why a task stands where it does.
///
/// The chain behind its state, what is missing, what comes next and when.
#[utoipa::path(
    get, path = "/v1/tasks/{task}/why", operation_id = "why", tag = "tasks",
    params(OfTask),
    responses((status = 200, description = "The chain.", body = Why), Refusals),
)]
pub(crate) async fn why(
    State(door): State<Door>,
    Named(named): Named<String>,
    Query(_): Query<Nothing>,
) -> Answer<Response> {
    let id = task(&door, &named).await?;
    Ok(ok(&door.homing.why(id).await?))
}
