//! `GET /healthz` and `/readyz`: whether the daemon answers, and whether its ledger does.

use axum::extract::State;
use axum::response::{IntoResponse, Response};

use crate::door::Door;
use crate::openapi::{KEPT, TOLD, refuses};
use crate::problem::{Answer, Problem};

refuses!(AliveRefusals: [TOLD]);
refuses!(ReadyRefusals: [TOLD, KEPT]);

/// Whether the daemon answers.
#[utoipa::path(
    get, path = "/healthz", operation_id = "healthz", tag = "daemon", security(()),
    responses((status = 200, description = "It does.", content((String = "text/plain"))), AliveRefusals),
)]
pub(crate) async fn alive() -> Response {
    "ok\n".into_response()
}

/// Whether its ledger can be read.
#[utoipa::path(
    get, path = "/readyz", operation_id = "readyz", tag = "daemon", security(()),
    responses((status = 200, description = "It can.", content((String = "text/plain"))), ReadyRefusals),
)]
pub(crate) async fn ready(State(door): State<Door>) -> Answer<Response> {
    if *door.stops.closing().borrow() {
        return Err(Problem::unavailable("the daemon stops"));
    }
    let head = *door.homing.head().borrow();
    // From the head on nothing is missing: only whether it can be read is asked.
    door.homing.events(head, 1).await?;
    Ok("ready\n".into_response())
}
