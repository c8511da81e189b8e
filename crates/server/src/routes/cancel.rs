//! `POST /v1/tasks/{ref}/cancel`: ends a task with all that lives below it. Of one that had ended, says so.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use homing_core::wire::{Cancel, Cancelled};

use super::{Named, ok, task};
use crate::asked::Body;
use crate::door::Door;
use crate::peer::By;
use crate::problem::Answer;

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
