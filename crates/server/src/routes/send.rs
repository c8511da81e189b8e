//! `POST /v1/tasks/{ref}/send`: words for a living task.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use homing_core::wire::{Send, Sent};
use homing_core::words::Code;

use super::{Named, accepted, task};
use crate::asked::Body;
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfTask, TOLD, WRITTEN, refuses};
use crate::peer::By;
use crate::problem::{Answer, Problem};

refuses!(
    Refusals: [TOLD, ASKED, KEPT, WRITTEN],
    Code::NotFound,
    Code::Ended,
    Code::Stopping,
    Code::CannotPrompt,
);

/// Words for a living task: as a turn of their own, or into the standard input of a command that keeps it open.
#[utoipa::path(
    post, path = "/v1/tasks/{task}/send", operation_id = "send", tag = "tasks",
    params(OfTask), request_body = Send,
    responses((status = 202, description = "Taken.", body = Sent), Refusals),
)]
pub(crate) async fn send(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Named(named): Named<String>,
    Body(body): Body<Send>,
) -> Answer<Response> {
    if body.text.trim().is_empty() && !body.last {
        return Err(Problem::invalid("text: it is empty"));
    }
    let id = task(&door, &named).await?;
    let homing = by.homing(&door);
    if body.last {
        homing.send_last(id, &body.text).await?;
    } else {
        homing.send(id, &body.text).await?;
    }
    Ok(accepted(&Sent { id }))
}
