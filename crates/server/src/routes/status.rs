//! `GET /v1/status`: who serves this socket.

use axum::extract::State;
use axum::response::Response;
use homing_core::compose::iso;
use homing_core::wire::{Nothing, Status};

use super::ok;
use crate::asked::Query;
use crate::door::Door;
use crate::openapi::{ASKED, TOLD, refuses};

refuses!(Refusals: [TOLD, ASKED]);

/// Who serves.
#[utoipa::path(
    get, path = "/v1/status", operation_id = "status", tag = "daemon",
    responses((status = 200, description = "The daemon.", body = Status), Refusals),
)]
pub(crate) async fn status(State(door): State<Door>, Query(_): Query<Nothing>) -> Response {
    let who = &door.identity;
    ok(&Status {
        pid: who.pid,
        version: who.version.clone(),
        home: who.home.clone(),
        socket: who.socket.clone(),
        http: who.http.clone(),
        since: iso(who.since),
        hosts: door.homing.hosts(),
        presets: door.presets.keys().cloned().collect(),
        head: *door.homing.head().borrow(),
    })
}
