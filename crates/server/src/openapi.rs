//! What is served here, for programs and people who write clients: an OpenAPI document, made of what each route says beside
//! its code. `served!` takes the routes and the document from one list, so that none is without the other. Made when it is
//! asked for, and not kept.

mod named;
mod refusals;

pub(crate) use named::{
    Bytes, JournalLine, OfAsk, OfConversation, OfKey, OfNotice, OfOutKey, OfParent, OfTask, OfTurn,
    Resuming, SentEvent,
};
pub(crate) use refusals::{ASKED, KEPT, Refusal, TOLD, WRITTEN, refusals, refuses};

use axum::routing::MethodFilter;
use utoipa::openapi::path::{HttpMethod, Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{Info, License, OpenApi, RefOr, Required, SecurityRequirement, Server};

const TOKEN: &str = "token";

const ABOUT: &str = "\
A durable runtime for background agent work: tasks are launched, run on the agent programs that people already have, and \
their results are brought home once.

The same on the daemon's unix socket, for its owner alone, and on TCP, with the token that `homing token` prints. A task is \
named by its id, a unique beginning of it, or its name. Times have a unit: `30s`. What is not known is refused with the \
nearest that is.

Every refusal is `application/problem+json` with a stable `code`; another method than those listed is 405 `E_METHOD`. Every \
answer has `x-request-id`: the caller's own, if it sent a plain one, else one of ours.

Beside what is listed, `/mcp` has the same as tools for agents: the Model Context Protocol, JSON-RPC over streamable HTTP.";

const TAGS: [(&str, &str); 6] = [
    ("tasks", "One piece of delegated work each, durable."),
    (
        "conversations",
        "Parent sessions, spoken to in turns; what their tasks bring home is a turn of its own.",
    ),
    ("asks", "Permissions and questions that a task waits on."),
    ("deliveries", "What is owed to those who delegated, and their receipts."),
    ("watching", "The journal and the record of every end, as they grow."),
    ("daemon", "Who serves, and how it is."),
];

/// Takes handlers that say with `utoipa::path` what they serve: `routes` leads to them, `document` tells of them.
macro_rules! served {
    ($($module:ident::$verb:ident),+ $(,)?) => {
        fn routes() -> axum::Router<crate::door::Door> {
            axum::Router::new()$(.route(
                &pastey::paste!(<$module::[<__path_ $verb>] as utoipa::Path>::path()),
                axum::routing::on(
                    pastey::paste!(crate::openapi::method::<$module::[<__path_ $verb>]>()),
                    $module::$verb,
                ),
            ))+
        }

        #[derive(utoipa::OpenApi)]
        #[openapi(
            paths($($module::$verb),+),
            components(schemas(homing_core::wire::Problem, homing_core::wire::Delivered)),
        )]
        struct Described;

        fn document(version: &str) -> utoipa::openapi::OpenApi {
            crate::openapi::whole(<Described as utoipa::OpenApi>::openapi(), version)
        }
    };
}
pub(crate) use served;

/// How a handler is asked.
pub(crate) fn method<T: utoipa::Path>() -> MethodFilter {
    let each = |method: &HttpMethod| match method {
        HttpMethod::Get => MethodFilter::GET,
        HttpMethod::Post => MethodFilter::POST,
        HttpMethod::Put => MethodFilter::PUT,
        HttpMethod::Delete => MethodFilter::DELETE,
        HttpMethod::Options => MethodFilter::OPTIONS,
        HttpMethod::Head => MethodFilter::HEAD,
        HttpMethod::Patch => MethodFilter::PATCH,
        HttpMethod::Trace => MethodFilter::TRACE,
    };
    let all = T::methods();
    let first = all.first().map_or(MethodFilter::GET, each);
    all.iter().map(each).fold(first, MethodFilter::or)
}

/// With all that no route says by itself.
pub(crate) fn whole(mut document: OpenApi, version: &str) -> OpenApi {
    document.info = Info::builder()
        .title("homing")
        .version(version)
        .description(Some(ABOUT))
        .license(Some(
            License::builder()
                .name("Apache-2.0 OR MIT")
                .identifier(Some("Apache-2.0 OR MIT"))
                .build(),
        ))
        .build();
    document.servers = Some(vec![Server::new("/")]);
    let tag =
        |(name, about): (&str, &str)| TagBuilder::new().name(name).description(Some(about)).build();
    document.tags = Some(TAGS.map(tag).into());
    document.security = Some(vec![SecurityRequirement::new(TOKEN, Vec::<String>::new())]);
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("Over TCP: what `homing token` prints. The socket needs none."));
    let components = document.components.get_or_insert_default();
    components.add_security_scheme(TOKEN, SecurityScheme::Http(bearer.build()));
    document.paths.paths.values_mut().flat_map(operations).for_each(leave_out);
    document
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [item.get.as_mut(), item.post.as_mut()].into_iter().flatten()
}

/// A body may be left out where nothing has to be said.
fn leave_out(operation: &mut Operation) {
    const SAY: [&str; 6] = ["launch", "resume", "send", "answer", "speak", "reroute"];
    let named = operation.operation_id.as_deref().unwrap_or_default();
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        body.required = Some(if SAY.contains(&named) { Required::True } else { Required::False });
    }
}
