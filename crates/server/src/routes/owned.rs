//! `GET /v1/parents/{ref}/owned`: what a parent has out, and had, newest first.

use axum::extract::State;
use axum::response::Response;
use homing_core::refs::ParentRef;
use homing_core::wire::{Page, ParentQuery};
use homing_core::words::Code;
use homing_ports::store::TaskQuery;

use super::{Named, ok};
use crate::asked::{Query, limited, parsed};
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfParent, TOLD, refuses};
use crate::problem::Answer;

const USUAL: usize = 100;
const MOST: usize = 1_000;

refuses!(Refusals: [TOLD, ASKED, KEPT], Code::NotFound);

/// What a parent has out, and had, newest first.
#[utoipa::path(
    get, path = "/v1/parents/{parent}/owned", operation_id = "owned", tag = "deliveries",
    params(OfParent, ParentQuery),
    responses((status = 200, description = "Its tasks.", body = Page), Refusals),
)]
pub(crate) async fn owned(
    State(door): State<Door>,
    Named(named): Named<String>,
    Query(asked): Query<ParentQuery>,
) -> Answer<Response> {
    let parent: ParentRef = parsed("parent", &named)?;
    let query = TaskQuery {
        parent: Some(parent.to_string()),
        limit: limited(asked.limit.as_deref(), USUAL, MOST)?,
        ..TaskQuery::default()
    };
    let (tasks, next) = door.homing.views(query).await?;
    Ok(ok(&Page { tasks, next: next.map(|(wall, id)| format!("{wall}.{id}")) }))
}
