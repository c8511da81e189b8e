//! `POST /v1/asks/{id}/answer`: answers an ask, named by its id or by a task that has one open.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use homing_core::ids::AskId;
use homing_core::reason::Caller;
use homing_core::refs::ParentRef;
use homing_core::schema::Answering;
use homing_core::task;
use homing_core::wire::{AnswerBody, Answered};
use homing_core::words::Code;

use super::{Named, ok};
use crate::asked::{Body, parsed};
use crate::door::Door;
use crate::openapi::{ASKED, KEPT, OfAsk, TOLD, WRITTEN, refuses};
use crate::peer::By;
use crate::problem::{Answer, Problem};

refuses!(
    Refusals: [TOLD, ASKED, KEPT, WRITTEN],
    Code::NotFound, Code::AskClosed, Code::OwnAsk, Code::PeopleOnly
);

/// Answers an ask, named by its id or by a task that has one open.
///
/// From inside the asking task it is refused; an agent that says which parent it is for may give permissions if policy
/// names that parent.
#[utoipa::path(
    post, path = "/v1/asks/{ask}/answer", operation_id = "answer", tag = "asks",
    params(OfAsk), request_body = Answering,
    responses((status = 200, description = "Answered.", body = Answered), Refusals),
)]
pub(crate) async fn answer(
    State(door): State<Door>,
    Extension(by): Extension<By>,
    Named(named): Named<String>,
    Body(body): Body<AnswerBody>,
) -> Answer<Response> {
    let said = match (body.allow, body.deny, body.text) {
        (true, false, None) => task::Answer::Allow,
        (false, true, None) => task::Answer::Deny,
        (false, false, Some(text)) => task::Answer::Text(text.into()),
        _ => {
            let why = "say one of: \"allow\": true, \"deny\": true, \"text\": \"…\"";
            return Err(Problem::invalid(why));
        }
    };
    let homing = match (by, body.parent) {
        // Who calls from inside a task is that task, whatever it says.
        (By(Some(_)), _) | (By(None), None) => by.homing(&door),
        (By(None), Some(parent)) => {
            let parent: ParentRef = parsed("parent", &parent)?;
            door.homing.on_behalf_of(Caller::Agent(Arc::new(parent)))
        }
    };
    let id = ask(&door, &named).await?;
    homing.answer(id, said).await?;
    Ok(ok(&Answered { id }))
}

async fn ask(door: &Door, named: &str) -> Answer<AskId> {
    if named.starts_with(AskId::PREFIX) {
        return named.parse().map_err(|why| Problem::invalid(format!("{why}")));
    }
    let id = super::task(door, named).await?;
    let mut open = door.homing.asks().await?;
    open.retain(|ask| ask.task == id);
    match open.as_slice() {
        [one] => Ok(one.id),
        [] => Err(Problem::not_found(&format!("{id} asks nothing now")).hint("GET /v1/asks")),
        several => {
            let ids: Vec<String> = several.iter().map(|ask| ask.id.to_string()).collect();
            let why = format!("{id} asks more than one thing: {}; name the ask", ids.join(", "));
            Err(Problem::invalid(why))
        }
    }
}
