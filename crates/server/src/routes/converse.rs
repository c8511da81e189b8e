//! `/v1/conversations`: a parent session that homing owns the door of is opened, shown and closed.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use homing_core::ids::ConversationId;
use homing_core::refs::ParentRef;
use homing_core::wire::{self, ConversationView, Converse, Nothing, Opened};
use homing_core::words::Code;

use super::launch::{Given, idempotency_key, ordered};
use super::{Named, accepted, ok};
use crate::asked::{Body, parsed};
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfConversation, TOLD, WRITTEN, refuses};
use crate::peer::By;
use crate::problem::Answer;

refuses!(Refusals: [TOLD, ASKED, KEPT, WRITTEN], Code::KeyReused);

/// Opens a conversation on a host.
///
/// It is durable when this answers. Its session is made with its first turn. What is launched from inside of it is told to it in
/// turns of their own, and what it says then goes to its origin.
#[utoipa::path(
    post, path = "/v1/conversations", operation_id = "converse", tag = "conversations",
    params((
        "Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 512, pattern = "^[ -~]*$",
        description = "The same key again gives the same conversation; `key` in the body says the same."
    )),
    request_body = Converse,
    responses((
        status = 202, description = "Opened.", body = Opened,
        headers(("location" = String, description = "The conversation.")),
        links(
            ("conversation" = (operation_id = "conversation", parameters(("conversation" = "$response.body#/id")))),
            ("speak" = (operation_id = "speak", parameters(("conversation" = "$response.body#/id")))),
            ("close" = (operation_id = "close", parameters(("conversation" = "$response.body#/id")))),
        )
    ), Refusals),
)]
pub(crate) async fn converse(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    headers: HeaderMap,
    Body(body): Body<Converse>,
) -> Answer<Response> {
    let Converse {
        host,
        agent,
        name,
        model,
        variant,
        system,
        tools,
        permissions,
        cwd,
        origin,
        key,
    } = body;
    let key = idempotency_key(&headers, key)?;
    let launch = wire::Launch {
        host,
        agent,
        name,
        model,
        variant,
        system,
        tools,
        permissions,
        cwd,
        origin,
        // It may: that is what it is for.
        delegate: true,
        ..wire::Launch::default()
    };
    let (launch, _) = ordered(&door, By(None), launch, &Given::default()).await?;
    let launch = match &key {
        Some(key) => launch.key(key),
        None => launch,
    };
    let (id, existing) = by.homing(&door).converse(launch).await?;
    let parent = ParentRef::Conversation(id).to_string();
    let place = format!("/v1/conversations/{id}");
    let told = accepted(&Opened { id, existing, parent });
    Ok(([(header::LOCATION, place)], told).into_response())
}

/// The conversation that a path names.
pub(super) fn named(text: &str) -> Answer<ConversationId> {
    parsed("conversation", text)
}

refuses!(Unknown: [TOLD, ASKED, KEPT], Code::NotFound);

/// A conversation with its latest turns.
#[utoipa::path(
    get, path = "/v1/conversations/{conversation}", operation_id = "conversation", tag = "conversations",
    params(OfConversation),
    responses((status = 200, description = "As it stands.", body = ConversationView), Unknown),
)]
pub(crate) async fn conversation(
    State(door): State<Door>,
    Named(id): Named<String>,
) -> Answer<Response> {
    Ok(ok(&door.homing.conversation(named(&id)?).await?))
}

refuses!(CloseRefusals: [TOLD, ASKED, KEPT, WRITTEN], Code::NotFound);

/// Closes a conversation: it takes no further turn, and what it has out is cancelled.
#[utoipa::path(
    post, path = "/v1/conversations/{conversation}/close", operation_id = "close", tag = "conversations",
    params(OfConversation), request_body = Nothing,
    responses((status = 200, description = "As it stands now.", body = ConversationView), CloseRefusals),
)]
pub(crate) async fn close(
    State(door): State<Door>,
    Named(id): Named<String>,
    Body(Nothing {}): Body<Nothing>,
) -> Answer<Response> {
    let id = named(&id)?;
    door.homing.close(id).await?;
    Ok(ok(&door.homing.conversation(id).await?))
}
