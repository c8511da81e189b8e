//! Catch-all arms in the transition table. A new state or input must be answered in words there, so
//! the compiler has to ask for it: no `_`, and no name that takes whatever comes. Clippy's lints do
//! not see either inside a tuple.

use crate::Finding;
use crate::file::RustFile;
use crate::source::{find_words, is_word};

/// Where the transition table is: this file, or a folder of the same name.
pub const TABLE: &str = "crates/core/src/rules";

/// Whether a path belongs to the transition table.
pub fn is_table(path: &str) -> bool {
    path.strip_prefix(TABLE).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// Catch-alls of a file, tests apart.
pub fn check(file: &RustFile) -> Vec<Finding> {
    let code = file.source.code.as_str();
    let underscores = find_words(code, "_").filter(|at| !is_placeholder(code, *at));
    let names = code
        .match_indices("=>")
        .filter_map(|(at, _)| pattern_before(code, at))
        .filter(|(_, pattern)| takes_everything(pattern))
        .map(|(at, _)| at);
    let what = "a catch-all in the transition table: write out every case";
    underscores
        .chain(names)
        .filter(|at| !file.in_test(*at))
        .map(|at| Finding::new(file.path(), file.source.line_of(at), what))
        .collect()
}

/// `Vec<_>`, `as _`, `|_|` and `let _ =` are no patterns that hide a case.
fn is_placeholder(code: &str, at: usize) -> bool {
    let before = code[..at].trim_end();
    let after = code[at + 1..].trim_start();
    let closure = before.ends_with('|') && after.starts_with('|') && !after.starts_with("||");
    let discarded = before.ends_with("let") && after.starts_with('=') && !after.starts_with("=>");
    before.ends_with('<')
        || after.starts_with('>')
        || ends_with_word(before, "as")
        || closure
        || discarded
}

fn ends_with_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|rest| !rest.bytes().last().is_some_and(is_word))
}

/// The pattern of the arm whose `=>` is at `arrow`, without its guard, and where it begins.
fn pattern_before(code: &str, arrow: usize) -> Option<(usize, &str)> {
    let bytes = code.as_bytes();
    let mut depth = 0_usize;
    let mut start = 0;
    for at in (0..arrow).rev() {
        match bytes[at] {
            b'}' if depth == 0 && ends_an_arm(&code[at + 1..arrow]) => {
                start = at + 1;
                break;
            }
            b')' | b']' | b'}' => depth += 1,
            b'{' | b'(' | b'[' | b',' | b';' if depth == 0 => {
                start = at + 1;
                break;
            }
            b'(' | b'[' | b'{' => depth -= 1,
            _ => {}
        }
    }
    let arm = &code[start..arrow];
    let guard = find_words(arm, "if").next().unwrap_or(arm.len());
    let pattern = arm[..guard].trim();
    let begins = start + (arm.len() - arm.trim_start().len());
    (!pattern.is_empty()).then_some((begins, pattern))
}

/// After a `}` comes a new arm, unless the brace closed a struct pattern.
fn ends_an_arm(after: &str) -> bool {
    let after = after.trim_start();
    let next_is_guard = after.strip_prefix("if").is_some_and(|rest| rest.starts_with(' '));
    let first = after.bytes().next();
    !next_is_guard && first.is_some_and(|byte| is_word(byte) || matches!(byte, b'(' | b'&' | b'['))
}

/// A bare lower-case name, alone, as an alternative, or as a part of a tuple.
fn takes_everything(pattern: &str) -> bool {
    let pattern = pattern.trim().trim_start_matches('&').trim_start_matches("mut ").trim();
    if let Some(inner) = pattern.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return split(inner, b',').into_iter().any(takes_everything);
    }
    let alternatives = split(pattern, b'|');
    if alternatives.len() > 1 {
        return alternatives.into_iter().any(takes_everything);
    }
    let is_name = !pattern.is_empty() && pattern.bytes().all(is_word);
    let is_value = matches!(pattern, "true" | "false");
    pattern == ".."
        || (is_name && !is_value && pattern.starts_with(|c: char| c.is_lowercase() || c == '_'))
}

fn split(text: &str, separator: u8) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_i32;
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ if byte == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        let file = RustFile::new("crates/core/src/rules.rs", text);
        let mut lines: Vec<_> = check(&file).iter().map(|finding| finding.line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    #[test]
    fn the_table_is_a_file_or_a_folder() {
        assert!(is_table("crates/core/src/rules.rs") && is_table("crates/core/src/rules/stop.rs"));
        assert!(
            !is_table("crates/core/src/rules_text.rs") && !is_table("crates/core/src/queue.rs")
        );
    }

    #[test]
    fn an_underscore_is_found_alone_in_tuples_and_in_variants() {
        assert_eq!(lines("match a {\n A => 1,\n _ => 2,\n}"), [3]);
        assert_eq!(lines("match (a, b) {\n (A, B) => 1,\n (A, _) => 2,\n}"), [3]);
        assert_eq!(lines("match a {\n Some(_) => 1,\n None => 2,\n}"), [2]);
        assert_eq!(lines("match a {\n A => { 1 }\n _ if x => 2,\n B | _ => 3,\n}"), [3, 4]);
        assert_eq!(lines("if let (A, _) = a {}"), [1]);
        assert_eq!(lines("matches!(a, (A, _))"), [1]);
    }

    #[test]
    fn a_name_that_takes_everything_is_found() {
        assert_eq!(lines("match a {\n A => 1,\n other => 2,\n}"), [3]);
        assert_eq!(lines("match a {\n A => { 1 }\n _other => 2,\n}"), [3]);
        assert_eq!(
            lines("match (a, b) {\n (A, B) => 1,\n (A, rest) => 2,\n (B, ..) => 3,\n}"),
            [3, 4]
        );
        assert_eq!(lines("match a {\n A { b } if c => 1,\n any if c => 2,\n}"), [3]);
    }

    #[test]
    fn written_out_cases_pass() {
        let text = "match (a, b) {\n (A, B | C) => { f(|_| 1) }\n (B, true) => 1_000,\n \
                    D::E { x, y } => 1,\n Some(x) => x,\n}\nlet v: Vec<_> = w; let _ = f();";
        assert_eq!(lines(text), [0; 0]);
        assert_eq!(lines("#[cfg(test)]\nmod tests { fn a() { match a { _ => 1 } } }"), [0; 0]);
        assert_eq!(lines("// _ => 1\nlet a = \"_ => 1\";"), [0; 0]);
    }
}
