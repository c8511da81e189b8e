//! `POST /v1/tasks/{ref}/retry`: a new generation of an ended task, with the same words.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use homing_core::wire::{Nothing, Resumed};
use homing_core::words::Code;

use super::{Named, accepted, task};
use crate::asked::Body;
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfTask, TOLD, WRITTEN, refuses};
use crate::peer::By;
use crate::problem::Answer;

refuses!(
    Refusals: [TOLD, ASKED, KEPT, WRITTEN],
    Code::NotFound,
    Code::NotEnded,
    Code::AbortUnconfirmed,
    Code::CannotPrompt,
    Code::LivingLimit,
    Code::BudgetUnavailable,
);

/// A new generation of an ended task, with the same words.
#[utoipa::path(
    post, path = "/v1/tasks/{task}/retry", operation_id = "retry", tag = "tasks",
    params(OfTask), request_body = Nothing,
    responses((status = 202, description = "Opened.", body = Resumed), Refusals),
)]
pub(crate) async fn retry(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Named(named): Named<String>,
    Body(_): Body<Nothing>,
) -> Answer<Response> {
    let id = task(&door, &named).await?;
    let generation = by.homing(&door).retry(id).await?;
    Ok(accepted(&Resumed { id, generation }))
}
