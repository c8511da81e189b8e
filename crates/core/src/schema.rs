//! What is written as one piece of text, for whoever reads the API's document: its form and an example. Says nothing that the
//! parsers do not: a test holds both against each other.

use std::borrow::Cow;

use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{RefOr, schema};
use utoipa::{PartialSchema, ToSchema};

use crate::ids::{AskId, ConversationId, DebriefId, PostId, TaskId};
use crate::payload::Digest;
use crate::refs::{Origin, ParentRef};
use crate::wire::Words;
use crate::words::DeliveryState;

/// Text of one form.
fn text(pattern: &str, example: &str, description: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(pattern))
        .examples([example])
        .description(Some(description))
}

/// One of these words.
pub(crate) fn one_of(words: impl IntoIterator<Item = &'static str>) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
}

macro_rules! texts {
    ($($name:ident: $pattern:expr, $example:literal, $description:literal;)+) => {$(
        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                text($pattern, $example, $description).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    )+};
}

/// A time with its unit, which is never nothing.
pub enum Span {}
/// A task by its id, a unique beginning of it, or its name.
pub enum Named {}
/// Where the next page begins.
pub enum Cursor {}
/// Whose inbox is drained.
pub enum Consumer {}
/// What may be acknowledged.
pub enum Key {}
/// What may be sent again.
pub enum OutKey {}
/// `PROVIDER/MODEL`.
pub enum ModelName {}
/// Words that say something.
pub enum Said {}

macro_rules! id {
    ($prefix:literal) => {
        concat!("^", $prefix, "_[0-9a-hjkmnp-tv-z]{12}$")
    };
}

/// A part of a reference: not only dots.
macro_rules! part {
    () => {
        r"\.{0,8}[A-Za-z0-9_-][A-Za-z0-9._-]{0,119}"
    };
}

texts! {
    TaskId: id!("bg"), "bg_4t7mzq0k2hxw", "The id of a task.";
    ConversationId: id!("cv"), "cv_4t7mzq0k2hxw", "The id of a conversation.";
    AskId: id!("ask"), "ask_4t7mzq0k2hxw", "The id of an ask.";
    DebriefId: id!("db"), "db_4t7mzq0k2hxw", "The id of a debrief, which is also what acknowledges it.";
    PostId: id!("po"), "po_4t7mzq0k2hxw", "The id of a message to a room.";
    ParentRef: concat!(
        "^(none|inbox:", part!(), "(/", part!(), ")?|(task:bg|conv:cv)_[0-9a-hjkmnp-tv-z]{12}|webhook:", part!(),
        "|(opencode|claude|codex|acp)(@", part!(), ")?:", part!(), ")$"
    ), "inbox:bot/room-7",
        "Who is told: `none`, `inbox:NAME[/KEY]`, `task:ID`, `conv:ID`, `webhook:NAME` or `HOST[@INSTANCE]:SESSION`.";
    Origin: concat!(
        "^", part!(), ":", part!(), r"/[^#\u0000-\u001f\u007f-\u009f]+(#[^\u0000-\u001f\u007f-\u009f]+)?$"
    ), "group:matrix/!room:example.org#$root",
        "Where the request came from: `KIND:ROOM/ADDRESS[#THREAD]`, of kind direct, group, channel or thread; any other kind \
         is kept and never posted to.";
    Digest: "^[0-9a-f]{32}$", "af1349b9f5f9a1a6a0404dea36dcc949", "The first 128 bits of the bytes' BLAKE3.";
    Span: "^[1-9][0-9]{0,9}(ms|s|m|h|d)$", "30s", "A time with its unit: 300ms, 30s, 5m, 2h or 1d.";
    Cursor: r"^-?[0-9]{1,18}\.bg_[0-9a-hjkmnp-tv-z]{12}$", "1763294400000.bg_4t7mzq0k2hxw",
        "`next` of the page before, as it was given.";
    Consumer: concat!("^", part!(), "(/", part!(), ")?$"), "bot", "`NAME` or `NAME/KEY` of an inbox.";
    Key: "^(db_[0-9a-hjkmnp-tv-z]{12}|bg_[0-9a-hjkmnp-tv-z]{12}/[0-9]{1,9})$", "db_4t7mzq0k2hxw",
        "What is acknowledged: a debrief, or one generation of a task, `bg_…/1`, with its slash escaped.";
    OutKey: "^(db|po)_[0-9a-hjkmnp-tv-z]{12}$", "db_4t7mzq0k2hxw", "A debrief, or a message to a room: `po_…`.";
    ModelName: r"^[^/ \u0000-\u001f\u007f-\u009f]{1,32}/[^ \u0000-\u001f\u007f-\u009f]{1,32}$", "anthropic/opus",
        "`PROVIDER/MODEL`.";
    Said: r"\S", "Look again, please.", "It may not be empty.";
}

impl PartialSchema for Named {
    fn schema() -> RefOr<Schema> {
        text(r"\S", "bg_4t7mzq0k2hxw", "A task: its id, a unique beginning of it, or its name.")
            .max_length(Some(256))
            .into()
    }
}

impl ToSchema for Named {}

impl PartialSchema for Words {
    fn schema() -> RefOr<Schema> {
        let word = || Object::with_type(Type::String);
        OneOfBuilder::new()
            .item(word())
            .item(ArrayBuilder::new().items(word()))
            .description(Some("One word, or several."))
            .into()
    }
}

impl ToSchema for Words {}

/// Models in the order they are tried.
pub enum Models {}

impl PartialSchema for Models {
    fn schema() -> RefOr<Schema> {
        OneOfBuilder::new()
            .item(ModelName::schema())
            .item(ArrayBuilder::new().items(ModelName::schema()))
            .description(Some("A model, or several in the order they are tried."))
            .into()
    }
}

impl ToSchema for Models {}

/// How far something has come that may not be owed at all.
pub enum Reached {}

impl PartialSchema for Reached {
    fn schema() -> RefOr<Schema> {
        let reached = DeliveryState::ALL.iter().map(|state| state.word());
        one_of(["none"].into_iter().chain(reached))
    }
}

impl ToSchema for Reached {}

/// One of three, each without the others.
pub enum Answering {}

impl PartialSchema for Answering {
    fn schema() -> RefOr<Schema> {
        let only = |value: bool| {
            ObjectBuilder::new().schema_type(Type::Boolean).enum_values(Some([value])).build()
        };
        let null = || Object::with_type(Type::Null);
        let one = |said: &str, allow: Object, deny: Object, text: Object| {
            ObjectBuilder::new()
                .title(Some(said))
                .property("allow", allow)
                .property("deny", deny)
                .property("text", text)
                .property("parent", OneOfBuilder::new().item(null()).item(ParentRef::schema()))
                .required(said)
                .additional_properties(Some(schema::AdditionalProperties::FreeForm(false)))
        };
        OneOfBuilder::new()
            .item(one("allow", only(true), only(false), null()))
            .item(one("deny", only(false), only(true), null()))
            .item(one("text", only(false), only(false), Object::with_type(Type::String)))
            .description(Some("One of the three."))
            .into()
    }
}

impl ToSchema for Answering {}

/// What becomes of a command's standard input.
pub enum Stdin {}

impl PartialSchema for Stdin {
    fn schema() -> RefOr<Schema> {
        let one = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["eof", "open"]));
        one.into()
    }
}

impl ToSchema for Stdin {}

/// Variables for a child.
pub enum Env {}
/// What is around the caller.
pub enum CallerEnv {}

fn variables(names: &str) -> RefOr<Schema> {
    let text = |pattern: &str| {
        ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).build()
    };
    ObjectBuilder::new()
        .property_names(Some(Schema::Object(text(names))))
        .additional_properties(Some(RefOr::T(Schema::Object(text(r"^[^\u0000]*$")))))
        .into()
}

impl PartialSchema for Env {
    fn schema() -> RefOr<Schema> {
        variables("^[A-Za-z_][A-Za-z0-9_]*$")
    }
}

impl ToSchema for Env {}

impl PartialSchema for CallerEnv {
    fn schema() -> RefOr<Schema> {
        variables("^(PATH|LANG|LANGUAGE|TERM|TZ|LC_[A-Za-z0-9_]*)$")
    }
}

impl ToSchema for CallerEnv {}
