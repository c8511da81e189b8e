//! Reads what is written as one text (an id, a digest, a reference) without a copy of that text.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Visitor};

/// Reads a text and makes of it what `make` says.
pub(crate) fn parsed<'de, D: Deserializer<'de>, T, E: fmt::Display>(
    from: D,
    make: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error> {
    from.deserialize_str(Text(make))
}

struct Text<F>(F);

impl<T, E: fmt::Display, F: FnOnce(&str) -> Result<T, E>> Visitor<'_> for Text<F> {
    type Value = T;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text")
    }

    fn visit_str<R: Error>(self, text: &str) -> Result<T, R> {
        (self.0)(text).map_err(R::custom)
    }
}
