//! `POST /v1/tasks/{ref}/resume`: a new generation of an ended task, with words of its own.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use homing_core::wire::{Resume, Resumed};
use homing_core::words::Code;

use super::{Named, accepted, task};
use crate::asked::{Body, parsed};
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfTask, TOLD, WRITTEN, refuses};
use crate::peer::By;
use crate::problem::{Answer, Problem};

refuses!(
    Refusals: [TOLD, ASKED, KEPT, WRITTEN],
    Code::NotFound,
    Code::NotEnded,
    Code::AbortUnconfirmed,
    Code::CannotPrompt,
    Code::LivingLimit,
    Code::BudgetUnavailable,
    Code::Ended,
    Code::LineageUnknown,
    Code::LineageCycle,
);

/// A new generation of an ended task, with words of its own.
#[utoipa::path(
    post, path = "/v1/tasks/{task}/resume", operation_id = "resume", tag = "tasks",
    params(OfTask), request_body = Resume,
    responses((status = 202, description = "Opened.", body = Resumed), Refusals),
)]
pub(crate) async fn resume(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Named(named): Named<String>,
    Body(body): Body<Resume>,
) -> Answer<Response> {
    if body.prompt.trim().is_empty() {
        return Err(Problem::invalid("prompt: it is empty; say what is to be done now"));
    }
    let parent = body.parent.as_deref().map(|text| parsed("parent", text)).transpose()?;
    let id = task(&door, &named).await?;
    let generation = by.homing(&door).resume_for(id, &body.prompt, parent).await?;
    Ok(accepted(&Resumed { id, generation }))
}
