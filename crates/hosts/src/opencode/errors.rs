//! What kind of error OpenCode tells of: by its name and the provider's status, never by its words.

use std::sync::Arc;

use homing_core::fact::{ErrorClass, HostError};
use serde::Deserialize;
use serde_json::Value;

/// An error in a message or an event.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(super) struct Failure {
    pub name: String,
    #[serde(default)]
    pub data: Value,
}

/// Somebody stopped the turn.
const ABORTED: &str = "MessageAbortedError";
/// A message is as long as it may be told.
const MESSAGE_MAX: usize = 2_000;

impl Failure {
    pub(super) fn is_abort(&self) -> bool {
        self.name == ABORTED
    }

    pub(super) fn told(&self) -> HostError {
        let status = self.data["statusCode"].as_u64().and_then(|code| u16::try_from(code).ok());
        let message = self.data["message"].as_str().unwrap_or(&self.name);
        HostError {
            class: class(&self.name, status),
            status,
            name: self.name.as_str().into(),
            message: short(message),
            retry_after_ms: self.retry_after_ms(),
            until_wall: None,
        }
    }

    /// As the provider's answer says, in milliseconds or in seconds.
    fn retry_after_ms(&self) -> Option<u64> {
        let headers = &self.data["responseHeaders"];
        let number = |name: &str| headers[name].as_str()?.trim().parse::<u64>().ok();
        number("retry-after-ms").or_else(|| Some(number("retry-after")?.saturating_mul(1_000)))
    }
}

fn class(name: &str, status: Option<u16>) -> ErrorClass {
    match (name, status) {
        ("ProviderAuthError", _) => ErrorClass::Auth,
        ("ContextOverflowError", _) => ErrorClass::Overflow,
        ("ContentFilterError" | "StructuredOutputError", _) => ErrorClass::BadRequest,
        (_, Some(401 | 403)) => ErrorClass::Auth,
        (_, Some(404)) => ErrorClass::UnknownModel,
        (_, Some(402 | 429)) => ErrorClass::RateLimited,
        (_, Some(413)) => ErrorClass::Overflow,
        (_, Some(408 | 409 | 425)) => ErrorClass::Transient,
        (_, Some(400..=499)) => ErrorClass::BadRequest,
        (_, Some(500..)) => ErrorClass::Transient,
        (_, Some(_) | None) => ErrorClass::Other,
    }
}

/// Nobody reads a page of it.
pub(super) fn short(text: &str) -> Arc<str> {
    let mut cut = text.len().min(MESSAGE_MAX);
    while !text.is_char_boundary(cut) {
        cut -= 1;
    }
    text[..cut].into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn failure(name: &str, data: Value) -> HostError {
        Failure { name: name.to_owned(), data }.told()
    }

    #[test]
    fn f4_an_error_is_told_by_name_and_status() {
        let api = |code: u16| failure("APIError", json!({"statusCode": code, "message": "no"}));
        for (code, class) in [
            (400, ErrorClass::BadRequest),
            (401, ErrorClass::Auth),
            (404, ErrorClass::UnknownModel),
            (429, ErrorClass::RateLimited),
            (500, ErrorClass::Transient),
            (529, ErrorClass::Transient),
        ] {
            assert_eq!((api(code).class, api(code).status), (class, Some(code)));
        }
        assert_eq!(failure("ContextOverflowError", json!({})).class, ErrorClass::Overflow);
        assert_eq!(failure("ProviderAuthError", json!(null)).class, ErrorClass::Auth);
        // Its words name a status; they are words.
        let odd = failure("UnknownError", json!({"message": "429 rate limit"}));
        assert_eq!((odd.class, &*odd.message), (ErrorClass::Other, "429 rate limit"));
    }

    #[test]
    fn f5_the_providers_own_time_is_read() {
        let with = |headers: Value| {
            failure("APIError", json!({"statusCode": 429, "responseHeaders": headers}))
        };
        assert_eq!(with(json!({"retry-after": "7"})).retry_after_ms, Some(7_000));
        assert_eq!(with(json!({"retry-after-ms": "70"})).retry_after_ms, Some(70));
        assert_eq!(with(json!({"retry-after": "tomorrow"})).retry_after_ms, None);
        assert_eq!(short(&"ü".repeat(2_000)).len(), 2_000);
    }
}
