//! How a file must look from outside: its length, its functions' lengths, its opening line, its name.

use crate::Finding;
use crate::file::RustFile;
use crate::items::functions;

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 70;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 10] = [
    "manager",
    "managers",
    "util",
    "utils",
    "helper",
    "helpers",
    "common",
    "commons",
    "misc",
    "miscellaneous",
];

/// Length of the file and of each function, and the opening line.
pub fn check(file: &RustFile) -> Vec<Finding> {
    let mut findings = long_functions(file);
    findings.extend(long_file(file));
    findings.extend(no_opening(file));
    findings
}

/// A path with an empty name in it: `utils.rs`, `task_manager.rs`, `tests/common/mod.rs`.
pub fn empty_name(path: &str) -> Option<Finding> {
    let word = words_of(path).into_iter().find(|word| EMPTY_NAMES.contains(&word.as_str()))?;
    let what = format!("the name `{word}` says nothing: name the file for what it owns or does");
    Some(Finding::new(path, 1, what))
}

fn long_file(file: &RustFile) -> Option<Finding> {
    let lines = file.own_lines();
    if file.is_test || lines <= FILE_LINES_MAX {
        return None;
    }
    let what =
        format!("{lines} lines without tests, at most {FILE_LINES_MAX}: split by what it owns");
    Some(Finding::new(file.path(), FILE_LINES_MAX + 1, what))
}

fn long_functions(file: &RustFile) -> Vec<Finding> {
    let source = &file.source;
    let mut findings = Vec::new();
    for function in functions(source) {
        let first = source.line_of(function.range.start);
        let lines = source.line_of(function.range.end - 1) - first + 1;
        if lines > FUNCTION_LINES_MAX && !file.in_test(function.range.start) {
            let name = function.name;
            let what =
                format!("fn {name} has {lines} lines, at most {FUNCTION_LINES_MAX}: split it");
            findings.push(Finding::new(file.path(), first, what));
        }
    }
    findings
}

fn no_opening(file: &RustFile) -> Option<Finding> {
    let first = file.source.text.lines().next().unwrap_or_default();
    if first.strip_prefix("//!").is_some_and(|rest| !rest.trim().is_empty()) {
        return None;
    }
    let what = "no opening `//!` line: say what the file owns and what it never does";
    Some(Finding::new(file.path(), 1, what))
}

/// The words of a path, lower case: split at every sign and before every capital.
fn words_of(path: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous_lower = false;
    for c in path.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && previous_lower) {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&RustFile::new(path, text)).iter().map(ToString::to_string).collect()
    }

    fn function_of(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    x();\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_over_500_lines_is_found_and_its_tests_do_not_count() {
        let body = |lines: usize| format!("//! Opens.\n{}", "// x\n".repeat(lines - 1));
        assert_eq!(found("crates/x/src/a.rs", &body(500)), [""; 0]);
        let long = found("crates/x/src/a.rs", &body(501));
        assert_eq!(long.len(), 1);
        assert!(long[0].starts_with("crates/x/src/a.rs:501: 501 lines"), "{long:?}");
        let tail = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", body(500), "// x\n".repeat(300));
        assert_eq!(found("crates/x/src/a.rs", &tail), [""; 0]);
        assert_eq!(found("crates/x/tests/a.rs", &body(900)), [""; 0]);
    }

    #[test]
    fn a_function_over_70_lines_is_found_and_a_test_is_not() {
        let file = |function: String| format!("//! Opens.\n\n{function}");
        assert_eq!(found("crates/x/src/a.rs", &file(function_of(70))), [""; 0]);
        let long = found("crates/x/src/a.rs", &file(function_of(71)));
        assert_eq!(long, ["crates/x/src/a.rs:3: fn long has 71 lines, at most 70: split it"]);
        assert_eq!(
            found("crates/x/src/a.rs", &file(format!("#[test]\n{}", function_of(71)))),
            [""; 0]
        );
        assert_eq!(found("crates/x/tests/a.rs", &file(function_of(71))), [""; 0]);
    }

    #[test]
    fn a_file_without_an_opening_line_is_found() {
        for text in ["", "// A.\n", "\n//! A.\n", "//!\n", "#![forbid(unsafe_code)]\n//! A.\n"] {
            let found = found("crates/x/src/a.rs", text);
            assert_eq!(found.len(), 1, "{text:?}");
            assert!(found[0].contains("no opening `//!` line"), "{found:?}");
        }
    }

    #[test]
    fn empty_names_are_found_in_any_spelling() {
        for path in [
            "crates/x/src/utils.rs",
            "crates/x/src/Util.rs",
            "crates/x/src/task_manager.rs",
            "crates/x/src/taskManager.ts",
            "crates/x/tests/common/mod.rs",
            "crates/test-helpers/src/lib.rs",
            "docs/misc.md",
        ] {
            assert!(empty_name(path).is_some(), "{path}");
        }
        for path in ["crates/core/src/rules.rs", "docs/management.md", "crates/x/src/commonly.rs"] {
            assert_eq!(empty_name(path), None, "{path}");
        }
    }
}
