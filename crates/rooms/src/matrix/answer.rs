//! What a homeserver's answers mean: taken, another time, or never. A word of the homeserver itself may be for good; one
//! of whatever stands before it may pass.

use std::time::SystemTime;

use hyper::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::http::{Untaken, retry_after};

/// Of what it says in words.
const WORDS_MOST: usize = 200;

/// An answer's body; null if it was none in JSON.
pub(super) struct Said {
    pub value: Value,
    /// As people may read it.
    words: String,
}

impl Said {
    /// Whatever repeats the token is not passed on.
    pub(super) fn of(body: &[u8], token: &str) -> Self {
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        let text = |name: &str| {
            let text = value[name].as_str().unwrap_or_default().replace(token, "…");
            let text = text.chars().filter(|letter| !letter.is_control());
            text.take(WORDS_MOST).collect::<String>()
        };
        let (code, error) = (text("errcode"), text("error"));
        let words = match (code.is_empty(), error.is_empty()) {
            (true, _) => String::new(),
            (false, true) => format!(", {code}"),
            (false, false) => format!(", {code}: {error}"),
        };
        Self { value, words }
    }

    fn code(&self) -> Option<&str> {
        self.value["errcode"].as_str()
    }

    pub(super) fn is_about_token(&self) -> bool {
        matches!(self.code(), Some("M_UNKNOWN_TOKEN" | "M_MISSING_TOKEN"))
    }

    pub(super) fn meant(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        now: SystemTime,
    ) -> Result<(), Untaken> {
        if status == StatusCode::OK {
            return Ok(());
        }
        let why = format!("it answered {status}{}", self.words);
        if status.is_redirection() {
            let why = format!("{why}; it is called where `homeserver` says, and nowhere else");
            return Err(Untaken::Refused { why });
        }
        if self.is_for_good(status) {
            return Err(Untaken::Refused { why });
        }
        let told = || self.value["retry_after_ms"].as_u64();
        let retry_after_ms = retry_after(headers, now).or_else(told);
        Err(Untaken::Failed { why, retry_after_ms })
    }

    fn is_for_good(&self, status: StatusCode) -> bool {
        let Some(code) = self.code() else {
            // A proxy's word, perhaps, while the homeserver is away.
            return false;
        };
        match (status.as_u16(), code) {
            // The account can be taken up again with a new token, or was locked for a time.
            (401, _) => self.value["soft_logout"] != true,
            // The homeserver is full; its room is not closed.
            (403, "M_RESOURCE_LIMIT_EXCEEDED") => false,
            (400 | 403 | 404 | 405 | 410 | 413, _) => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::{HeaderValue, RETRY_AFTER};

    fn meant(status: u16, body: &str, after: Option<&'static str>) -> Result<(), Untaken> {
        let status = StatusCode::from_u16(status).unwrap();
        let mut headers = HeaderMap::new();
        if let Some(after) = after {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(after));
        }
        Said::of(body.as_bytes(), "syt_secret").meant(status, &headers, SystemTime::now())
    }

    #[test]
    fn the_homeservers_own_no_is_for_good_and_the_rest_may_pass() {
        assert_eq!(meant(200, "{}", None), Ok(()));
        for (status, body) in [
            (403, r#"{"errcode": "M_FORBIDDEN", "error": "not in room"}"#),
            (404, r#"{"errcode": "M_NOT_FOUND"}"#),
            (404, r#"{"errcode": "M_UNRECOGNIZED"}"#),
            (400, r#"{"errcode": "M_UNKNOWN"}"#),
            (413, r#"{"errcode": "M_TOO_LARGE"}"#),
            (401, r#"{"errcode": "M_UNKNOWN_TOKEN"}"#),
            (401, r#"{"errcode": "M_UNKNOWN_TOKEN", "soft_logout": false}"#),
            (301, ""),
            (308, ""),
        ] {
            let never = meant(status, body, None);
            assert!(matches!(never, Err(Untaken::Refused { .. })), "{status} {body}: {never:?}");
        }
        for (status, body) in [
            (401, r#"{"errcode": "M_UNKNOWN_TOKEN", "soft_logout": true}"#),
            (403, r#"{"errcode": "M_RESOURCE_LIMIT_EXCEEDED"}"#),
            (429, r#"{"errcode": "M_LIMIT_EXCEEDED"}"#),
            (401, "<html>"),
            (403, "<html>"),
            (404, ""),
            (400, "[]"),
            (408, ""),
            (500, r#"{"errcode": "M_UNKNOWN"}"#),
            (502, "<html>"),
            (503, ""),
            (204, ""),
        ] {
            let later = meant(status, body, None);
            assert!(matches!(later, Err(Untaken::Failed { .. })), "{status} {body}: {later:?}");
        }
    }

    #[test]
    fn g16_how_long_to_wait_is_in_the_header_or_else_in_the_body() {
        let body = r#"{"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 1709}"#;
        for (after, ms) in
            [(Some("2"), Some(2_000)), (None, Some(1_709)), (Some("soon"), Some(1_709))]
        {
            let Err(Untaken::Failed { retry_after_ms, .. }) = meant(429, body, after) else {
                panic!("{after:?}");
            };
            assert_eq!(retry_after_ms, ms, "{after:?}");
        }
    }

    #[test]
    fn what_it_says_is_passed_on_in_one_short_line_without_the_token() {
        let long = "x".repeat(10_000);
        let body = format!(r#"{{"errcode": "M_FORBIDDEN", "error": "no\n syt_secret, {long}"}}"#);
        let Err(Untaken::Refused { why }) = meant(403, &body, None) else {
            panic!("it was taken");
        };
        assert!(why.starts_with("it answered 403 Forbidden, M_FORBIDDEN: no …, xxx"), "{why}");
        assert!(why.len() < 300 && !why.contains("syt_secret"), "{why}");
    }
}
