//! What a route may be refused with, as the document tells it: a status has the codes that come with it.

use std::collections::BTreeMap;

use axum::http::StatusCode;
use homing_core::wire::Problem;
use homing_core::words::Code;
use utoipa::ToSchema;
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, Schema, Type};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use crate::codes::Own;
use crate::problem::kind;

/// A code, of the core or of the door.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Refusal {
    Core(Code),
    Door(Own),
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Self::Core(code)
    }
}

impl From<Own> for Refusal {
    fn from(code: Own) -> Self {
        Self::Door(code)
    }
}

impl Refusal {
    fn status(self) -> StatusCode {
        match self {
            Self::Core(code) => kind(code).0,
            Self::Door(code) => code.status(),
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Core(code) => code.word(),
            Self::Door(code) => code.word(),
        }
    }
}

/// Of whatever is called. Not available: also when the token cannot be read.
pub(crate) const TOLD: &[Refusal] = &[
    Refusal::Door(Own::Host),
    Refusal::Door(Own::Origin),
    Refusal::Door(Own::OtherUser),
    Refusal::Door(Own::CallerUnknown),
    Refusal::Core(Code::Unavailable),
];

/// Besides, of whatever needs the token and can be asked for what makes no sense.
pub(crate) const ASKED: &[Refusal] = &[Refusal::Door(Own::Token), Refusal::Core(Code::Invalid)];

/// Besides, of whatever is read from the ledger.
pub(crate) const KEPT: &[Refusal] = &[Refusal::Door(Own::Damaged)];

/// Besides, of whatever takes a body and changes something.
pub(crate) const WRITTEN: &[Refusal] =
    &[Refusal::Door(Own::Slow), Refusal::Door(Own::TooLarge), Refusal::Core(Code::Unsure)];

/// The refusals of a route: sets of them, then codes of its own.
macro_rules! refuses {
    ($name:ident: [$($set:expr),*] $(, $code:expr)* $(,)?) => {
        /// What is refused here.
        pub(crate) enum $name {}

        impl utoipa::IntoResponses for $name {
            fn responses() -> std::collections::BTreeMap<
                String,
                utoipa::openapi::RefOr<utoipa::openapi::Response>,
            > {
                let own: &[crate::openapi::Refusal] = &[$($code.into()),*];
                crate::openapi::refusals(&[$($set,)* own])
            }
        }
    };
}
pub(crate) use refuses;

pub(crate) fn refusals(sets: &[&[Refusal]]) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status: BTreeMap<StatusCode, Vec<&str>> = BTreeMap::new();
    for refusal in sets.iter().copied().flatten() {
        by_status.entry(refusal.status()).or_default().push(refusal.word());
    }
    let each = |(status, codes): (StatusCode, Vec<&str>)| {
        (status.as_str().to_owned(), RefOr::T(answer(status, &codes)))
    };
    by_status.into_iter().map(each).collect()
}

fn answer(status: StatusCode, codes: &[&str]) -> Response {
    let one = |kind: Type| ObjectBuilder::new().schema_type(kind);
    let narrow = ObjectBuilder::new()
        .property("status", one(Type::Integer).enum_values(Some([status.as_u16()])))
        .property("code", one(Type::String).enum_values(Some(codes.iter().copied())));
    let problem = AllOfBuilder::new().item(Ref::from_schema_name(Problem::name())).item(narrow);
    let content = ContentBuilder::new().schema(Some(Schema::AllOf(problem.build())));
    let words: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
    ResponseBuilder::new()
        .description(format!("Refused: {}.", words.join(", ")))
        .content("application/problem+json", content.build())
        .build()
}
