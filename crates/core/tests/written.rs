//! What people and programs write as one piece of text: anything may come, nothing panics, and what is understood is written
//! back as it was. What the API's document says is right is understood.

use homing_core::ids::{AskId, DebriefId, PostId, TaskId};
use homing_core::refs::{Origin, ParentRef};
use homing_core::span;
use homing_core::spec::Model;
use proptest::prelude::*;

/// Anything, and what looks nearly right.
fn text() -> impl Strategy<Value = String> {
    let part = "[a-z0-9._@/#: -]{0,12}";
    let near =
        (prop::sample::select(&["inbox:", "task:bg_", "claude@", "group:", "bg_", "7"][..]), part);
    prop_oneof![any::<String>(), near.prop_map(|(begins, rest)| format!("{begins}{rest}"))]
}

proptest! {
    #[test]
    fn what_is_understood_of_any_text_is_written_back_as_it_was(text in text()) {
        macro_rules! reads_back {
            ($($kind:ty),+) => {$(
                if let Ok(read) = text.parse::<$kind>() {
                    prop_assert_eq!(read.to_string(), &*text);
                }
            )+};
        }
        reads_back!(TaskId, AskId, DebriefId, PostId, ParentRef, Origin, Model);
        if let Ok(span) = span::parse(&text) {
            prop_assert_eq!(span::parse(&span::words(span)), Ok(span));
        }
    }

    #[test]
    fn every_id_reads_back(bits: u64) {
        let id = TaskId::from_bits(bits);
        prop_assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn every_span_reads_back(ms in 1..u64::MAX) {
        let span = std::time::Duration::from_millis(ms);
        prop_assert_eq!(span::parse(&span::words(span)), Ok(span));
    }
}

#[cfg(feature = "schema")]
#[expect(clippy::expect_used, reason = "a test ends where its set-up fails")]
#[expect(clippy::panic, reason = "a test ends where its set-up fails")]
mod schema {
    use homing_core::schema::{ModelName, Span};
    use proptest::string::string_regex;
    use proptest::test_runner::TestRunner;
    use utoipa::PartialSchema;
    use utoipa::openapi::{RefOr, Schema};

    use super::*;

    fn pattern<T: PartialSchema>() -> String {
        match T::schema() {
            RefOr::T(Schema::Object(object)) => object.pattern.expect("it has a pattern"),
            RefOr::T(_) | RefOr::Ref(_) => panic!("not one piece of text"),
        }
    }

    fn understood<T: PartialSchema>(read: impl Fn(&str) -> bool) {
        let pattern = pattern::<T>();
        let texts = string_regex(pattern.trim_matches(['^', '$'])).expect("a pattern can be read");
        let run = TestRunner::deterministic().run(&texts, |text| {
            prop_assert!(read(&text), "{} is not understood", text);
            Ok(())
        });
        run.unwrap_or_else(|why| panic!("{pattern}: {why}"));
    }

    #[test]
    fn what_fits_the_form_in_the_document_is_understood() {
        understood::<TaskId>(|text| text.parse::<TaskId>().is_ok());
        understood::<AskId>(|text| text.parse::<AskId>().is_ok());
        understood::<DebriefId>(|text| text.parse::<DebriefId>().is_ok());
        understood::<PostId>(|text| text.parse::<PostId>().is_ok());
        understood::<ParentRef>(|text| text.parse::<ParentRef>().is_ok());
        understood::<Origin>(|text| text.parse::<Origin>().is_ok());
        understood::<Span>(|text| span::parse(text).is_ok());
        understood::<ModelName>(|text| text.parse::<Model>().is_ok());
    }
}
