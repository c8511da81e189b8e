//! `POST /v1/tasks/{ref}/reroute`: another place for an end that could not be told.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use homing_core::refs::Origin;
use homing_core::view::TaskView;
use homing_core::wire::Reroute;
use homing_core::words::Code;

use super::{Named, ok, task};
use crate::asked::{Body, parsed};
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfTask, TOLD, WRITTEN, refuses};
use crate::peer::By;
use crate::problem::Answer;

refuses!(
    Refusals: [TOLD, ASKED, KEPT, WRITTEN],
    Code::NotFound,
    Code::NotEnded,
    Code::OriginUnhandled,
);

/// Brings what could not be told where it was to be to another room: the message itself, or one plain line where there is none.
#[utoipa::path(
    post, path = "/v1/tasks/{task}/reroute", operation_id = "reroute", tag = "deliveries",
    params(OfTask), request_body = Reroute,
    responses((status = 200, description = "The task.", body = TaskView), Refusals),
)]
pub(crate) async fn reroute(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Named(named): Named<String>,
    Body(Reroute { origin }): Body<Reroute>,
) -> Answer<Response> {
    let origin: Origin = parsed("origin", &origin)?;
    let id = task(&door, &named).await?;
    by.homing(&door).reroute(id, origin).await?;
    let (view, _) = door.homing.view(id, false).await?;
    Ok(ok(&view))
}
