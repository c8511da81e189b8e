//! `POST /v1/tasks/{ref}/cancel`: ends a task with all that lives below it. Of one that had ended, says so.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use homing_core::wire::{Cancel, Cancelled};
use homing_core::words::Code;

use super::{Named, ok, task};
use crate::asked::Body;
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfTask, TOLD, WRITTEN, refuses};
use crate::peer::By;
use crate::problem::Answer;

refuses!(Refusals: [TOLD, ASKED, KEPT, WRITTEN], Code::NotFound);

/// Ends a task with all that lives below it.
///
/// Of one that had ended, says so.
#[utoipa::path(
    post, path = "/v1/tasks/{task}/cancel", operation_id = "cancel", tag = "tasks",
    params(OfTask), request_body = Cancel,
    responses((status = 200, description = "What came of it.", body = Cancelled), Refusals),
)]
pub(crate) async fn cancel(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Named(named): Named<String>,
    Body(body): Body<Cancel>,
) -> Answer<Response> {
    let id = task(&door, &named).await?;
    let done = by.homing(&door).cancel_tree(id, body.reason.as_deref(), body.quiet).await?;
    Ok(ok(&Cancelled {
        id,
        state: done.state,
        already_ended: done.already_ended,
        below: done.below,
    }))
}
