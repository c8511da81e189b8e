//! What a request asks: its body and its query, read into their types. What is not known is refused with the
//! nearest that is, sizes are bounded, and times need their unit.

use std::str::FromStr;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::HeaderMap;
use axum::http::request::Parts;
use homing_core::nearest::nearest;
use homing_core::span;
use homing_core::wire::Fields;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::door::Door;
use crate::problem::{Answer, Problem};

/// A prompt of 1 MiB, escaped at its worst.
const BODY_MAX: usize = 8 << 20;
const BODY_WITHIN: Duration = Duration::from_secs(60);
const TEXT_MAX: usize = 4 << 10;

/// A body; an empty one says nothing.
pub(crate) struct Body<T>(pub T);

impl<T: Fields + DeserializeOwned> FromRequest<Door> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Door) -> Answer<Self> {
        let bytes = axum::body::to_bytes(request.into_body(), BODY_MAX);
        let bytes = tokio::time::timeout(BODY_WITHIN, bytes).await.map_err(|_| {
            Problem::slow(&format!("its body did not come within {} s", BODY_WITHIN.as_secs()))
        })?;
        let bytes = bytes.map_err(|_| {
            Problem::too_large(&format!("a body may have {BODY_MAX} bytes, or it was cut off"))
                .hint("put what is long into a file, and name the file")
        })?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return read(Map::new(), "field").map(Self);
        }
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(fields)) => read(fields, "field").map(Self),
            Ok(_) => Err(Problem::invalid("the body is not a JSON object")),
            Err(why) => Err(Problem::invalid(format!("the body is not JSON: {why}"))),
        }
    }
}

/// A query.
pub(crate) struct Query<T>(pub T);

impl<T: Fields + DeserializeOwned> FromRequestParts<Door> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Door) -> Answer<Self> {
        let fields = fields(parts.uri.query().unwrap_or_default())?;
        read(fields, "parameter").map(Self)
    }
}

/// The pairs of a query, none of them twice.
fn fields(query: &str) -> Answer<Map<String, Value>> {
    let mut fields = Map::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (plain(name)?, plain(value)?);
        if fields.insert(name.clone(), Value::String(value)).is_some() {
            return Err(Problem::invalid(format!("{name}: it is given twice")));
        }
    }
    Ok(fields)
}

/// Text of a query without its percent signs.
fn plain(text: &str) -> Answer<String> {
    if text.len() > TEXT_MAX {
        return Err(Problem::invalid(format!("the query: more than {TEXT_MAX} bytes in one word")));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: Option<u8>| byte.and_then(|byte| (byte as char).to_digit(16));
                match (digit(bytes.next()), digit(bytes.next())) {
                    (Some(high), Some(low)) => (high * 16 + low) as u8,
                    _ => return Err(Problem::invalid("the query: a % without two hex digits")),
                }
            }
            other => other,
        });
    }
    String::from_utf8(out).map_err(|_| Problem::invalid("the query: it is not UTF-8"))
}

fn read<T: Fields + DeserializeOwned>(fields: Map<String, Value>, kind: &str) -> Answer<T> {
    if let Some(name) = fields.keys().find(|name| !T::FIELDS.contains(&name.as_str())) {
        let name: String = name.chars().take(64).collect();
        let problem = Problem::invalid(format!("there is no {kind} {name:?}"));
        return Err(match nearest(&name, T::FIELDS.iter().copied()) {
            Some(near) => problem.hint(format!("did you mean {near:?}?")),
            None if T::FIELDS.is_empty() => problem.hint(format!("no {kind} at all")),
            None => problem.hint(format!("known: {}", T::FIELDS.join(", "))),
        });
    }
    serde_json::from_value(Value::Object(fields))
        .map_err(|why| Problem::invalid(format!("a {kind} is not what it should be: {why}")))
}

/// A text that must be of a kind; the problem names the field.
pub(crate) fn parsed<T>(field: &str, text: &str) -> Answer<T>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    text.parse().map_err(|why| Problem::invalid(format!("{field}: {why}")))
}

/// A time with its unit.
pub(crate) fn spanned(field: &str, text: &str) -> Answer<Duration> {
    span::parse(text).map_err(|why| Problem::invalid(format!("{field}: {why}")))
}

/// How many, within bounds.
pub(crate) fn limited(text: Option<&str>, usual: usize, most: usize) -> Answer<usize> {
    let Some(text) = text else {
        return Ok(usual);
    };
    match text.parse() {
        Ok(limit) if (1..=most).contains(&limit) => Ok(limit),
        Ok(_) | Err(_) => Err(Problem::invalid(format!("limit: a number from 1 to {most}"))),
    }
}

/// Yes or no.
pub(crate) fn yes(field: &str, text: Option<&str>) -> Answer<Option<bool>> {
    match text {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(Problem::invalid(format!("{field}: true or false"))),
    }
}

/// Whether the answer is wanted in this form.
pub(crate) fn accepts(headers: &HeaderMap, form: &str) -> bool {
    let accept = headers.get(axum::http::header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.split([',', ';']).any(|each| each.trim() == form))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use homing_core::wire::ListQuery;
    use proptest::prelude::*;

    use super::*;

    /// As a client may write it: every byte escaped, or only what must be.
    fn escaped(text: &str, all: bool) -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        let each = |byte: u8| match byte {
            byte if plain(byte) && !all => (byte as char).to_string(),
            b' ' if !all => "+".to_owned(),
            byte => format!("%{byte:02x}"),
        };
        text.bytes().map(each).collect()
    }

    proptest! {
        #[test]
        fn any_query_is_read_or_refused(query in "\\PC*", raw in "[%&=+0-9a-fA-F]*") {
            for query in [query, raw] {
                if let Ok(found) = fields(&query) {
                    drop(read::<ListQuery>(found, "parameter"));
                }
            }
        }

        #[test]
        fn what_a_client_escapes_is_read_as_it_was(
            pairs in prop::collection::btree_map(".{1,20}", ".{0,20}", 0..5),
            all: bool,
        ) {
            let written = |(name, value): (&String, &String)| {
                format!("{}={}", escaped(name, all), escaped(value, all))
            };
            let query: Vec<String> = pairs.iter().map(written).collect();
            let found = fields(&query.join("&")).unwrap();
            let found: BTreeMap<String, String> = found
                .into_iter()
                .map(|(name, value)| (name, value.as_str().unwrap_or_default().to_owned()))
                .collect();
            prop_assert_eq!(found, pairs);
        }

        #[test]
        fn a_number_within_bounds_is_taken_and_no_other(limit in 0_usize..3_000) {
            let read = limited(Some(&limit.to_string()), 100, 1_000);
            prop_assert_eq!(read.ok(), (1..=1_000).contains(&limit).then_some(limit));
        }
    }
}
