//! `GET /v1/asks`: what waits for somebody, across hosts, oldest first.

use axum::extract::State;
use axum::response::Response;
use homing_core::wire::{Asks, Nothing};

use super::ok;
use crate::asked::Query;
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, TOLD, refuses};
use crate::problem::Answer;

refuses!(Refusals: [TOLD, ASKED, KEPT]);

/// What waits for somebody, across hosts, oldest first.
#[utoipa::path(
    get, path = "/v1/asks", operation_id = "asks", tag = "asks",
    responses((status = 200, description = "All that are open.", body = Asks), Refusals),
)]
pub(crate) async fn asks(State(door): State<Door>, Query(_): Query<Nothing>) -> Answer<Response> {
    Ok(ok(&Asks { asks: door.homing.asks().await? }))
}
