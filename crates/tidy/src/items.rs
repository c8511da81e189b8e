//! Where functions and tests begin and end in a file. It works on the code view and matches brackets;
//! it never looks at what a function does.

use crate::source::{Source, closing, find_words, is_word};
use std::ops::Range;

/// A function with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Byte range from the word `fn` to its closing brace.
    pub range: Range<usize>,
    /// Whether one of its attributes is `#[test]` or ends in `::test`.
    pub is_test: bool,
}

/// All functions with a body, in order; nested ones too.
pub fn functions(source: &Source) -> Vec<Function> {
    let tests = test_attributes(source);
    find_words(&source.code, "fn").filter_map(|at| function_at(source, at, &tests)).collect()
}

/// Byte ranges that belong to tests: items under `#[cfg(test)]` and test functions, from attribute to end.
pub fn test_ranges(source: &Source) -> Vec<Range<usize>> {
    if attributes(source).any(|(at, text)| is_cfg_test(text) && is_inner(source, at)) {
        return std::iter::once(0..source.text.len()).collect();
    }
    attributes(source)
        .filter(|(at, text)| !is_inner(source, *at) && (is_cfg_test(text) || is_test(text)))
        .map(|(at, _)| at..item_end(source, at))
        .collect()
}

/// Names of the modules declared as `#[cfg(test)] mod name;`.
pub fn test_modules(source: &Source) -> Vec<String> {
    attributes(source)
        .filter(|(at, text)| !is_inner(source, *at) && is_cfg_test(text))
        .filter_map(|(at, _)| {
            let item = source.code[at..item_end(source, at)].strip_suffix(';')?;
            let mut words = item.split_whitespace().rev();
            let name = words.next()?;
            (words.next() == Some("mod")).then(|| name.to_owned())
        })
        .collect()
}

/// Attributes as (offset of the `#`, text between the brackets), in order.
pub fn attributes(source: &Source) -> impl Iterator<Item = (usize, &str)> {
    let code = source.code.as_str();
    code.match_indices('#').filter_map(move |(at, _)| {
        let open = if code[at + 1..].starts_with('!') { at + 2 } else { at + 1 };
        if !code[open..].starts_with('[') {
            return None;
        }
        let close = closing(code, open)?;
        Some((at, code[open + 1..close].trim()))
    })
}

/// Whether an attribute is an inner one, `#![…]`.
pub fn is_inner(source: &Source, at: usize) -> bool {
    source.code[at + 1..].starts_with('!')
}

fn test_attributes(source: &Source) -> Vec<Range<usize>> {
    attributes(source)
        .filter(|(_, text)| is_test(text))
        .map(|(at, _)| at..item_end(source, at))
        .collect()
}

fn is_test(attribute: &str) -> bool {
    let path = attribute.split('(').next().unwrap_or_default().trim();
    path == "test" || path.ends_with("::test")
}

fn is_cfg_test(attribute: &str) -> bool {
    let squeezed: String = attribute.split_whitespace().collect();
    squeezed == "cfg(test)" || squeezed.starts_with("cfg(all(test,")
}

fn function_at(source: &Source, at: usize, tests: &[Range<usize>]) -> Option<Function> {
    let code = &source.code;
    let rest = code[at + 2..].trim_start();
    let length = rest.bytes().take_while(|byte| is_word(*byte) || *byte == b'#').count();
    let name = rest.get(..length).filter(|name| !name.is_empty())?;
    let open = body_or_semicolon(code, at)?;
    if code.as_bytes()[open] != b'{' {
        return None;
    }
    let end = closing(code, open)? + 1;
    let is_test = tests.iter().any(|test| test.contains(&at) && test.end == end);
    Some(Function { name: name.to_owned(), range: at..end, is_test })
}

/// The end of the item that the attribute at `at` belongs to.
fn item_end(source: &Source, at: usize) -> usize {
    let code = &source.code;
    let mut from = at;
    while code[from..].starts_with('#') {
        let open = from + 1;
        let Some(close) = closing(code, open) else {
            return code.len();
        };
        let rest = &code[close + 1..];
        from = close + 1 + (rest.len() - rest.trim_start().len());
    }
    let Some(stop) = body_or_semicolon(code, from) else {
        return code.len();
    };
    if code.as_bytes()[stop] == b'{' {
        return closing(code, stop).map_or(code.len(), |close| close + 1);
    }
    stop + 1
}

/// The first `{` or `;` from `from` on that stands outside round and square brackets, or the `}` that
/// closes what is around the item.
fn body_or_semicolon(code: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(byte) = code.as_bytes().get(at) {
        match byte {
            b'(' | b'[' => at = closing(code, at)? + 1,
            b'{' | b';' | b'}' => return Some(at),
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, bool, usize)> {
        let source = Source::new("a.rs", text);
        let lines =
            |f: &Function| source.line_of(f.range.end - 1) - source.line_of(f.range.start) + 1;
        functions(&source).into_iter().map(|f| (f.name.clone(), f.is_test, lines(&f))).collect()
    }

    #[test]
    fn functions_are_found_with_their_lengths() {
        let text = "fn a() {\n  x\n}\nimpl X {\n  pub async fn b<T>(f: fn(u8) -> u8, g: [u8; 3])\n  where T: Y {\n  }\n}\n";
        assert_eq!(names(text), [("a".into(), false, 3), ("b".into(), false, 3)]);
    }

    #[test]
    fn braces_in_literals_and_comments_do_not_end_a_function() {
        let text = "fn a() {\n  let x = \"}\"; // }\n  let y = '}'; /* } */\n  let z = r#\"}\"#;\n}\nfn b() {}";
        assert_eq!(names(text), [("a".into(), false, 5), ("b".into(), false, 1)]);
    }

    #[test]
    fn a_function_without_a_body_is_none() {
        assert_eq!(names("trait T { fn a(&self) -> [u8; 3]; fn b(&self) {} }").len(), 1);
        assert_eq!(names("type F = fn(u8) -> u8; struct S { f: Box<dyn Fn()> }"), []);
    }

    #[test]
    fn tests_are_known_by_their_attribute() {
        let text = "#[test]\nfn a() {}\n#[tokio::test(start_paused = true)]\n#[should_panic]\nasync fn b() { fn inner() {} }\nfn c() {}";
        let found: Vec<_> = names(text).into_iter().map(|(name, test, _)| (name, test)).collect();
        let expected = [("a", true), ("b", true), ("inner", false), ("c", false)];
        assert_eq!(found, expected.map(|(name, test)| (name.to_owned(), test)));
    }

    #[test]
    fn test_ranges_cover_modules_functions_and_single_items() {
        let text = "fn a() {}\n#[cfg(test)]\nuse x::{y};\nfn b() {}\n#[cfg(test)]\nmod tests {\n fn c() {}\n}\nfn d() {}";
        let source = Source::new("a.rs", text);
        let covered = |needle: &str| {
            let at = text.find(needle).unwrap();
            test_ranges(&source).iter().any(|range| range.contains(&at))
        };
        assert!(covered("use x") && covered("fn c"));
        assert!(!covered("fn a") && !covered("fn b") && !covered("fn d"));
    }

    #[test]
    fn an_inner_cfg_test_makes_the_whole_file_a_test() {
        let source = Source::new("a.rs", "//! x\n#![cfg(test)]\nfn a() {}");
        let ranges = test_ranges(&source);
        assert_eq!((ranges.len(), &ranges[0]), (1, &(0..source.text.len())));
    }

    #[test]
    fn modules_of_tests_in_files_of_their_own_are_named() {
        let text = "#[cfg(test)]\nmod tests;\n#[cfg(test)]\nmod inline {}\nmod other;\n#[cfg(test)]\npub(crate) mod more;";
        assert_eq!(test_modules(&Source::new("a.rs", text)), ["tests", "more"]);
    }
}
