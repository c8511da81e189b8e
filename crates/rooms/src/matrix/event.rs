//! What a message looks like on Matrix: plain text that calls nobody by name, in its thread, and not longer than an event
//! may be.

use std::borrow::Cow;

use serde_json::{Value, json};

/// Bytes of a text as JSON. An event has at most 65,536, with what the homeserver adds: relations, hashes, signatures.
const TEXT_MOST: usize = 60_000;
/// Kept free for the line that says what is missing.
const NOTE_MOST: usize = 64;

/// The content of the event. The same message is the same content.
pub(super) fn content(text: &str, thread: Option<&str>) -> Value {
    // Without mentions, clients and servers look for names in the text, and ring.
    let mut content = json!({"msgtype": "m.text", "body": fitting(text), "m.mentions": {}});
    if let Some(root) = thread {
        content["m.relates_to"] = json!({
            "rel_type": "m.thread",
            "event_id": root,
            // For clients that know no threads.
            "is_falling_back": true,
            "m.in_reply_to": {"event_id": root},
        });
    }
    content
}

/// The whole text, or its beginning and how much is missing.
fn fitting(text: &str) -> Cow<'_, str> {
    if text.chars().map(as_json).sum::<usize>() <= TEXT_MOST {
        return Cow::Borrowed(text);
    }
    let mut taken = 0;
    let end = text.char_indices().find_map(|(at, letter)| {
        taken += as_json(letter);
        (taken > TEXT_MOST - NOTE_MOST).then_some(at)
    });
    let (shown, rest) = text.split_at(end.unwrap_or(text.len()));
    Cow::Owned(format!("{shown}\n[{} more bytes do not fit here]", rest.len()))
}

/// Bytes of a character in a JSON text.
fn as_json(letter: char) -> usize {
    match letter {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..='\u{1f}' => 6,
        _ => letter.len_utf8(),
    }
}

/// As one segment of a path.
pub(super) fn escaped(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_plain_and_names_nobody() {
        let said = content("@room <b>x</b>", None);
        assert_eq!(said, json!({"msgtype": "m.text", "body": "@room <b>x</b>", "m.mentions": {}}));
    }

    #[test]
    fn g14_a_message_of_a_thread_relates_to_its_root() {
        let said = content("x", Some("$root"));
        let relates = json!({"rel_type": "m.thread", "event_id": "$root", "is_falling_back": true,
            "m.in_reply_to": {"event_id": "$root"}});
        assert_eq!(said["m.relates_to"], relates);
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_at_a_character_and_says_how_much_is_missing() {
        for letter in ['a', 'ü', '\u{1f6f0}', '"', '\n', '\u{1}'] {
            let most = TEXT_MOST / as_json(letter);
            let whole: String = std::iter::repeat_n(letter, most).collect();
            assert_eq!(fitting(&whole), whole, "{letter:?}");
            let long: String = std::iter::repeat_n(letter, most + 100).collect();
            let cut = fitting(&long);
            let (shown, note) = cut.rsplit_once('\n').unwrap();
            let missing = long.len() - shown.len();
            assert!(long.starts_with(shown), "{letter:?}");
            assert_eq!(note, format!("[{missing} more bytes do not fit here]"));
            let bytes = serde_json::to_string(&cut).unwrap().len() - 2;
            assert!((TEXT_MOST - NOTE_MOST..=TEXT_MOST).contains(&bytes), "{letter:?}: {bytes}");
        }
    }

    #[test]
    fn ids_of_rooms_are_one_segment_of_a_path() {
        assert_eq!(escaped("!a/b+c:server.org"), "%21a%2Fb%2Bc%3Aserver.org");
        assert_eq!(escaped("../ü?#%"), "..%2F%C3%BC%3F%23%25");
    }
}
