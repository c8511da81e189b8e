//! One file per verb, which says its own path; this one has the list of them.

mod ack;
mod adopt;
mod answer;
mod asks;
mod cancel;
mod converse;
mod deliveries;
mod described;
mod events;
mod health;
mod inbox;
mod launch;
mod list;
mod logs;
mod metrics;
mod output;
mod owned;
mod redrive;
mod reroute;
mod resume;
mod retry;
mod send;
mod show;
mod status;
mod stop;
mod telemetry;
mod turns;
mod why;

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, middleware};
use homing_core::ids::TaskId;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::arms;
use crate::counts;
use crate::door::Door;
use crate::feed::Feed;
use crate::guard::{self, Guard};
use crate::mcp;
use crate::openapi::served;
use crate::peer;
use crate::problem::{Answer, Problem};
use crate::request_id;

/// For whoever comes through the socket.
pub(crate) fn over_socket(door: Door) -> Router {
    let admit = middleware::from_fn_with_state(door.clone(), peer::admit);
    let within = mcp::within(&door, all(&door).with_state(door.clone()));
    numbered(with_tools(&door).merge(arms::routes(&door, within)).layer(admit), door)
}

/// For whoever comes over TCP.
pub(crate) fn over_tcp(door: Door, guard: Guard) -> Router {
    let admit = middleware::from_fn_with_state((door.clone(), guard), guard::admit);
    numbered(with_tools(&door).layer(admit), door)
}

fn numbered(routes: Router<Door>, door: Door) -> Router {
    let count = middleware::from_fn_with_state(door.clone(), counts::count);
    routes.layer(middleware::from_fn(request_id::number)).layer(count).with_state(door)
}

/// All routes, and the tools that use them.
fn with_tools(door: &Door) -> Router<Door> {
    let routes = all(door);
    let service = mcp::service(door, routes.clone().with_state(door.clone()));
    routes.route_service("/mcp", service)
}

served! {
    list::list,
    launch::launch,
    adopt::adopt,
    show::show,
    output::output,
    why::why,
    logs::logs,
    events::of_task,
    cancel::cancel,
    resume::resume,
    retry::retry,
    send::send,
    converse::converse,
    converse::conversation,
    converse::close,
    turns::happenings,
    turns::speak,
    turns::turn,
    turns::follow,
    asks::asks,
    answer::answer,
    events::all,
    telemetry::telemetry,
    inbox::inbox,
    owned::owned,
    deliveries::deliveries,
    ack::debrief,
    ack::notice,
    redrive::redrive,
    reroute::reroute,
    status::status,
    stop::stop,
    described::described,
    metrics::metrics,
    health::alive,
    health::ready,
}

fn all(door: &Door) -> Router<Door> {
    let feed = Feed::new(door.homing.clone());
    routes().fallback(nowhere).method_not_allowed_fallback(not_so).layer(Extension(feed))
}

async fn nowhere(uri: Uri) -> Problem {
    let path: String = uri.path().chars().take(200).collect();
    Problem::not_found(&format!("nothing is served at {path:?}")).hint("GET /v1/tasks")
}

async fn not_so(method: Method, uri: Uri) -> Problem {
    let path: String = uri.path().chars().take(200).collect();
    Problem::method(&format!("{method} means nothing at {path:?}"))
}

/// What the path names.
pub(crate) struct Named<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<Door> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Answer<Self> {
        let named = Path::<T>::from_request_parts(parts, door).await;
        let named = named.map_err(|why| Problem::invalid(format!("the path: {}", why.body_text())));
        Ok(Self(named?.0))
    }
}

/// The task that a path names: an id, a unique beginning of one, or a name.
async fn task(door: &Door, text: &str) -> Answer<TaskId> {
    Ok(door.homing.find(text).await?)
}

fn json(status: StatusCode, value: &impl Serialize) -> Response {
    // Plain data with text keys: it always has a form as JSON.
    let body = serde_json::to_vec(value).unwrap_or_default();
    (status, [("content-type", "application/json")], body).into_response()
}

pub(crate) fn ok(value: &impl Serialize) -> Response {
    json(StatusCode::OK, value)
}

fn accepted(value: &impl Serialize) -> Response {
    json(StatusCode::ACCEPTED, value)
}
