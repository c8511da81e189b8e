//! `GET /v1/tasks/{ref}`: one task, read truthfully: its host is asked first when what is known is old.

use axum::extract::State;
use axum::response::Response;
use homing_core::wire::Nothing;

use super::{Named, ok, task};
use crate::asked::Query;
use crate::door::Door;
use crate::problem::Answer;

pub(crate) async fn show(
    State(door): State<Door>,
    Named(named): Named<String>,
    Query(_): Query<Nothing>,
) -> Answer<Response> {
    let id = task(&door, &named).await?;
    let (view, _) = door.homing.view(id, true).await?;
    Ok(ok(&view))
}
