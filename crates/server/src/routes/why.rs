//! `GET /v1/tasks/{ref}/why`: the chain behind the state, what is missing, what comes next and when.

use axum::extract::State;
use axum::response::Response;
use homing_core::wire::Nothing;

use super::{Named, ok, task};
use crate::asked::Query;
use crate::door::Door;
use crate::problem::Answer;

pub(crate) async fn why(
    State(door): State<Door>,
    Named(named): Named<String>,
    Query(_): Query<Nothing>,
) -> Answer<Response> {
    let id = task(&door, &named).await?;
    Ok(ok(&door.homing.why(id).await?))
}
