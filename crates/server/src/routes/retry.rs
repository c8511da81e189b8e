//! `POST /v1/tasks/{ref}/retry`: a new generation of an ended task, with the same words.

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use homing_core::wire::{Nothing, Resumed};

use super::{Named, accepted, task};
use crate::asked::Body;
use crate::door::Door;
use crate::peer::By;
use crate::problem::Answer;

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
