//! `GET /metrics`: the figures of the daemon, for Prometheus.

use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use homing_core::wire::Nothing;

use crate::asked::Query;
use crate::door::Door;
use crate::metrics;
use crate::openapi::{ASKED, TOLD, refuses};

/// Who decides answers within this, unless the store hangs: then the page says all but that.
const ASKED_WITHIN: Duration = Duration::from_secs(1);

refuses!(Refusals: [TOLD, ASKED]);

/// The figures of the daemon, as Prometheus reads them.
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "daemon",
    responses(
        (status = 200, description = "The text format, version 0.0.4.", content((String = "text/plain"))),
        Refusals
    ),
)]
pub(crate) async fn metrics(State(door): State<Door>, Query(_): Query<Nothing>) -> Response {
    let slots = tokio::time::timeout(ASKED_WITHIN, door.homing.slots()).await;
    let slots = slots.ok().and_then(Result::ok).flatten();
    let page = metrics::page(&door, slots.as_deref());
    ([(header::CONTENT_TYPE, metrics::text::CONTENT_TYPE)], page).into_response()
}
