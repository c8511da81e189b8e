//! What paths name and what comes back beside JSON, as the document tells it.

use homing_core::ids::{ConversationId, TaskId};
use homing_core::refs::ParentRef;
use homing_core::schema::{Key, Named, OutKey};
use serde_json::Value;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::openapi::{RefOr, Required};
use utoipa::{IntoParams, PartialSchema, ToSchema};

fn in_path<T: PartialSchema>(name: &str, about: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Path)
        .required(Required::True)
        .description(Some(about))
        .schema(Some(T::schema()))
        .build()
}

macro_rules! paths {
    ($($(#[$doc:meta])* $name:ident { $($field:literal: $kind:ty, $about:literal);+ })+) => {$(
        $(#[$doc])*
        pub(crate) enum $name {}

        impl IntoParams for $name {
            fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
                vec![$(in_path::<$kind>($field, $about)),+]
            }
        }
    )+};
}

/// Which of its ends, or turns.
enum Generation {}

impl PartialSchema for Generation {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
        number.maximum(Some(u32::MAX)).examples([1]).into()
    }
}

paths! {
    OfTask { "task": Named, "A task: its id, a unique beginning of it, or its name." }
    OfConversation { "conversation": ConversationId, "A conversation." }
    OfTurn { "conversation": ConversationId, "A conversation."; "turn": Generation, "Which of its turns." }
    OfAsk { "ask": Named, "An ask, or a task that has one open." }
    OfParent { "parent": ParentRef, "Who is told." }
    OfOutKey { "key": OutKey, "What rests: a debrief, or a message to a room." }
    OfKey { "key": Key, "A debrief, or one generation of a task with its slash escaped: `bg_…%2F1`." }
    OfNotice { "task": TaskId, "The id of a task."; "generation": Generation, "Which of its generations." }
}

/// Where a reader of a stream goes on.
pub(crate) enum Resuming {}

impl IntoParams for Resuming {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let number = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(0));
        let header = ParameterBuilder::new()
            .name("Last-Event-ID")
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some("The `id` of the last event that was seen; goes over `after`."))
            .schema(Some(number));
        vec![header.build()]
    }
}

/// Bytes as they are.
pub(crate) enum Bytes {}

impl PartialSchema for Bytes {
    fn schema() -> RefOr<Schema> {
        let bytes = ObjectBuilder::new().schema_type(Type::String);
        bytes.format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary))).into()
    }
}

impl ToSchema for Bytes {}

/// One of the events that come.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "`stream` writes such events; this says what is in them")]
pub(crate) struct SentEvent {
    /// What to go on from; none in last words.
    id: Option<String>,
    event: String,
    /// JSON.
    data: String,
}

/// One line of the journal.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "the runtime writes such lines; this says what is in them")]
pub(crate) struct JournalLine {
    /// Its number in the whole journal.
    seq: u64,
    #[schema(format = DateTime)]
    at: String,
    wall_ms: i64,
    /// Milliseconds on the ledger's own clock.
    tick_ms: u64,
    task: Option<TaskId>,
    /// Its number among the task's lines.
    task_seq: Option<u64>,
    kind: String,
    /// What happened; by kind.
    body: Value,
}
