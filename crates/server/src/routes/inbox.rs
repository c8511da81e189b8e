//! `GET /v1/parents/{ref}/inbox`: what a parent is owed. Reading settles nothing.

use axum::extract::State;
use axum::response::Response;
use homing_core::refs::ParentRef;
use homing_core::wire::{Inbox, Nothing};
use homing_core::words::Code;

use super::{Named, ok};
use crate::asked::{Query, parsed};
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfParent, TOLD, refuses};
use crate::problem::Answer;

refuses!(Refusals: [TOLD, ASKED, KEPT], Code::NotFound);

/// What a parent is owed.
///
/// Reading settles nothing.
#[utoipa::path(
    get, path = "/v1/parents/{parent}/inbox", operation_id = "inbox", tag = "deliveries",
    params(OfParent),
    responses((status = 200, description = "Its notices.", body = Inbox), Refusals),
)]
pub(crate) async fn inbox(
    State(door): State<Door>,
    Named(named): Named<String>,
    Query(_): Query<Nothing>,
) -> Answer<Response> {
    let parent: ParentRef = parsed("parent", &named)?;
    let notices = door.homing.owed(&parent).await?;
    Ok(ok(&Inbox { parent, notices }))
}
