//! `GET /v1/tasks/{ref}`: one task, read truthfully: its host is asked first when what is known is old.

use axum::extract::State;
use axum::response::Response;
use homing_core::view::TaskView;
use homing_core::wire::Nothing;
use homing_core::words::Code;

use super::{Named, ok, task};
use crate::asked::Query;
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfTask, TOLD, refuses};
use crate::problem::Answer;

refuses!(Refusals: [TOLD, ASKED, KEPT], Code::NotFound);

/// One task, read truthfully.
///
/// Its host is asked first when what is known is old.
#[utoipa::path(
    get, path = "/v1/tasks/{task}", operation_id = "show", tag = "tasks",
    params(OfTask),
    responses((status = 200, description = "The task.", body = TaskView), Refusals),
)]
pub(crate) async fn show(
    State(door): State<Door>,
    Named(named): Named<String>,
    Query(_): Query<Nothing>,
) -> Answer<Response> {
    let id = task(&door, &named).await?;
    let (view, _) = door.homing.view(id, true).await?;
    Ok(ok(&view))
}
