//! One event as one line: when, how grave, of what, what, and its fields. Nothing in it can begin another line.

use std::fmt::{Debug, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use homing_core::compose::iso;
use serde_json::{Map, Value};
use tracing::Event;
use tracing::field::{Field, Visit};

use crate::out;

/// Of one field.
const LONG: usize = 500;

/// With the end of its line.
pub fn of(event: &Event<'_>, json: bool) -> String {
    let mut fields = Fields::default();
    event.record(&mut fields);
    let target = event.metadata().target();
    let target = target.strip_prefix("homing::").unwrap_or(target);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at = at(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    let level = event.metadata().level().as_str();
    if json { fields.json(&at, level, target) } else { fields.text(&at, level, target) }
}

/// As RFC 3339 has it, to the millisecond.
fn at(wall_ms: i64) -> String {
    let seconds = iso(wall_ms);
    format!("{}.{:03}Z", seconds.trim_end_matches('Z'), wall_ms.rem_euclid(1_000))
}

#[derive(Default)]
struct Fields {
    message: String,
    all: Vec<(&'static str, Value)>,
}

impl Fields {
    fn text(&self, at: &str, level: &str, target: &str) -> String {
        let mut line = format!("{at} {level:5} {target}: {}", out::plain(&self.message, LONG));
        for (name, value) in &self.all {
            // A text takes whatever is written to it.
            let _ = write!(line, " {name}={}", shown(value));
        }
        line.push('\n');
        line
    }

    fn json(self, at: &str, level: &str, target: &str) -> String {
        let mut line = Map::new();
        line.insert("at".to_owned(), at.into());
        line.insert("level".to_owned(), level.to_ascii_lowercase().into());
        line.insert("target".to_owned(), target.into());
        line.insert("message".to_owned(), out::plain(&self.message, LONG).into());
        for (name, value) in self.all {
            line.insert(name.to_owned(), value);
        }
        format!("{}\n", Value::Object(line))
    }

    fn put(&mut self, field: &Field, value: Value) {
        self.all.push((field.name(), value));
    }
}

/// A text stands in quotes where its end could not be told.
fn shown(value: &Value) -> String {
    let Some(text) = value.as_str() else {
        return value.to_string();
    };
    if !text.is_empty() && !text.contains([' ', '"', '=', '\\']) {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('"', "\\\""))
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        match field.name() {
            "message" => self.message = text,
            _ => self.put(field, out::plain(&text, LONG).into()),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => value.clone_into(&mut self.message),
            _ => self.put(field, out::plain(value, LONG).into()),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(why: &str) -> Fields {
        let all = vec![
            ("key", "db_1".into()),
            ("tries", 2.into()),
            ("why", out::plain(why, LONG).into()),
        ];
        Fields { message: "it\nfailed".to_owned(), all }
    }

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let hostile = "a\nb\u{1b}[2J\r\u{202e} \"c\" d=e";
        let text = fields(hostile).text("2026-11-16T10:00:00.007Z", "INFO", "delivery");
        assert_eq!(
            text,
            "2026-11-16T10:00:00.007Z INFO  delivery: it\\nfailed key=db_1 tries=2 \
             why=\"a\\nb\\u{1b}[2J\\r\\u{202e} \\\"c\\\" d=e\"\n"
        );
        let json = fields(hostile).json("2026-11-16T10:00:00.007Z", "INFO", "delivery");
        assert_eq!(json.lines().count(), 1);
        let read: Value = serde_json::from_str(&json).unwrap();
        assert_eq!((&read["level"], &read["tries"]), (&"info".into(), &2.into()));
        assert_eq!(read["why"], "a\\nb\\u{1b}[2J\\r\\u{202e} \"c\" d=e");
        assert!(fields(&"x".repeat(9_000)).text("", "", "").len() < 600, "and not a long one");
    }

    #[test]
    fn a_time_has_its_milliseconds() {
        assert_eq!(at(1_000_000_000_007), "2001-09-09T01:46:40.007Z");
    }
}
