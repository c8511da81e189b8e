//! `POST /v1/adopt`: a session that was started elsewhere becomes a task, one however often it is adopted.

use axum::Extension;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use homing_core::wire::{self, Accepted, Adopt};
use homing_core::words::Code;
use homing_runtime::Launched;

use super::accepted;
use super::launch::{Given, ordered};
use crate::asked::Body;
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, TOLD, WRITTEN, refuses};
use crate::peer::By;
use crate::problem::{Answer, Problem};

refuses!(
    Refusals: [TOLD, ASKED, KEPT, WRITTEN],
    Code::NotFound,
    Code::Ended,
    Code::DepthExceeded,
    Code::LivingLimit,
    Code::LineageUnknown,
    Code::LineageCycle,
);

/// Takes in a session that was started elsewhere.
///
/// It is watched from now on, and its end is told to the parent. One session is one task; another parent takes over what is owed.
#[utoipa::path(
    post, path = "/v1/adopt", operation_id = "adopt", tag = "tasks",
    request_body = Adopt,
    responses((
        status = 202, description = "Accepted.", body = Accepted,
        headers(("location" = String, description = "The task.")),
    ), Refusals),
)]
pub(crate) async fn adopt(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Body(body): Body<Adopt>,
) -> Answer<Response> {
    if body.session.trim().is_empty() {
        return Err(Problem::invalid("session: it is empty; say which one"));
    }
    let Adopt { host, session, name, parent, origin, notify } = body;
    let launch =
        wire::Launch { host: Some(host), name, parent, origin, notify, ..wire::Launch::default() };
    let (launch, parent) = ordered(&door, by, launch, &Given::default()).await?;
    let Launched { task, existing } = by.homing(&door).adopt(launch, &session).await?;
    let place = format!("/v1/tasks/{task}");
    Ok(([(header::LOCATION, place)], accepted(&Accepted { id: task, existing, parent }))
        .into_response())
}
