//! `GET /v1/parents/{ref}/inbox`: what a parent is owed. Reading settles nothing.

use axum::extract::State;
use axum::response::Response;
use homing_core::refs::ParentRef;
use homing_core::wire::{Inbox, Nothing};

use super::{Named, ok};
use crate::asked::{Query, parsed};
use crate::door::Door;
use crate::problem::Answer;

pub(crate) async fn inbox(
    State(door): State<Door>,
    Named(named): Named<String>,
    Query(_): Query<Nothing>,
) -> Answer<Response> {
    let parent: ParentRef = parsed("parent", &named)?;
    let notices = door.homing.owed(&parent).await?;
    Ok(ok(&Inbox { parent, notices }))
}
