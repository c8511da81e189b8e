//! `GET /openapi.json`: what is served here, as an OpenAPI document.

use axum::extract::State;
use axum::response::Response;
use homing_core::wire::Nothing;

use super::{document, ok};
use crate::asked::Query;
use crate::door::Door;
use crate::openapi::{ASKED, TOLD, refuses};

refuses!(Refusals: [TOLD, ASKED]);

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "openapi", tag = "daemon",
    responses((status = 200, description = "OpenAPI 3.1.", body = Value), Refusals),
)]
pub(crate) async fn described(State(door): State<Door>, Query(_): Query<Nothing>) -> Response {
    ok(&document(&door.identity.version))
}
