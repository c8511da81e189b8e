//! `POST /v1/deliveries/{key}/redrive`: what rests is sent again, under its key.

use axum::extract::State;
use axum::response::Response;
use homing_core::ids::{DebriefId, PostId};
use homing_core::input::Outgoing;
use homing_core::wire::{Nothing, Redriven};
use homing_core::words::Code;

use super::{Named, ok};
use crate::asked::{Body, parsed};
use crate::door::Door;
use crate::openapi::{ASKED, OfOutKey, TOLD, WRITTEN, refuses};
use crate::problem::Answer;

refuses!(
    Refusals: [TOLD, ASKED, WRITTEN],
    Code::NotFound, Code::OnItsWay, Code::SessionNotFound, Code::OriginUnhandled
);

/// Sends again what rests, under its key.
///
/// `db_…` is a debrief that its receiver refused, or for which a line in a room stands; `po_…` a message that its room
/// would not take.
#[utoipa::path(
    post, path = "/v1/deliveries/{key}/redrive", operation_id = "redrive", tag = "deliveries",
    params(OfOutKey), request_body = Nothing,
    responses((status = 200, description = "Whether something else goes first.", body = Redriven), Refusals),
)]
pub(crate) async fn redrive(
    State(door): State<Door>,
    Named(key): Named<String>,
    Body(_): Body<Nothing>,
) -> Answer<Response> {
    let what = if key.starts_with(PostId::PREFIX) {
        Outgoing::Post(parsed("key", &key)?)
    } else {
        Outgoing::Debrief(parsed::<DebriefId>("key", &key)?)
    };
    let waits = door.homing.redrive(what).await?;
    Ok(ok(&Redriven { key, waits }))
}
