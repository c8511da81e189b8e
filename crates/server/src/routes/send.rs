//! `POST /v1/tasks/{ref}/send`: words for a living task, as a turn of their own.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use homing_core::wire::{Send, Sent};

use super::{Named, accepted, task};
use crate::asked::Body;
use crate::door::Door;
use crate::peer::By;
use crate::problem::{Answer, Problem};

pub(crate) async fn send(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Named(named): Named<String>,
    Body(body): Body<Send>,
) -> Answer<Response> {
    if body.text.trim().is_empty() {
        return Err(Problem::invalid("text: it is empty"));
    }
    let id = task(&door, &named).await?;
    by.homing(&door).send(id, &body.text).await?;
    Ok(accepted(&Sent { id }))
}
