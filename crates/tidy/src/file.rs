//! A Rust file together with its role: which crate it is of, and which of its bytes are tests.

use crate::items::test_ranges;
use crate::source::Source;
use std::ops::Range;

/// Crates that exist for tests: they may unwrap, and a sleep in them is a sleep in a test.
const TEST_CRATES: [&str; 3] = ["testkit", "sim", "bench"];

/// The contract suites live in a library so that every implementation can run them; they are tests.
const CONTRACTS: &str = "crates/ports/src/contract";

/// A Rust file and its role.
#[derive(Debug, Clone)]
pub struct RustFile {
    /// The file and its views.
    pub source: Source,
    /// The whole file is a test: in a `tests` directory, or declared under `#[cfg(test)]`.
    pub is_test: bool,
    test_ranges: Vec<Range<usize>>,
}

impl RustFile {
    /// A file whose role follows from its path and text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let source = Source::new(path, text);
        let is_test = source.path.split('/').any(|part| part == "tests" || part == "tests.rs");
        let test_ranges = test_ranges(&source);
        Self { source, is_test, test_ranges }
    }

    /// Path from the workspace root.
    pub fn path(&self) -> &str {
        &self.source.path
    }

    /// The directory name of its crate; empty for a file outside `crates/`.
    pub fn krate(&self) -> &str {
        let path = self.path();
        let beside = ["sim", "bench"].into_iter().find(|name| path.split('/').next() == Some(name));
        let inside = path.strip_prefix("crates/").and_then(|rest| rest.split('/').next());
        inside.or(beside).unwrap_or_default()
    }

    /// Whether this byte is in a test.
    pub fn in_test(&self, offset: usize) -> bool {
        self.is_test || self.test_ranges.iter().any(|range| range.contains(&offset))
    }

    /// Whether this byte is in a test or in something written only for tests.
    pub fn serves_tests(&self, offset: usize) -> bool {
        TEST_CRATES.contains(&self.krate())
            || self.path().starts_with(CONTRACTS)
            || self.in_test(offset)
    }

    /// Lines that are not tests.
    pub fn own_lines(&self) -> usize {
        let mut lines = self.source.lines();
        let mut done = 0;
        for range in &self.test_ranges {
            let first = self.source.line_of(range.start).max(done + 1);
            let last = self.source.line_of(range.end.saturating_sub(1));
            lines -= (last + 1).saturating_sub(first).min(lines);
            done = done.max(last);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_crate_and_role() {
        assert_eq!(RustFile::new("crates/core/src/rules.rs", "").krate(), "core");
        assert_eq!(RustFile::new("examples/embed.rs", "").krate(), "");
        assert_eq!(RustFile::new("sim/src/lib.rs", "").krate(), "sim");
        assert!(RustFile::new("crates/core/tests/walk.rs", "").is_test);
        assert!(RustFile::new("crates/core/src/rules/tests.rs", "").is_test);
        assert!(!RustFile::new("crates/testkit/src/lib.rs", "").is_test);
        assert!(RustFile::new("crates/testkit/src/lib.rs", "").serves_tests(0));
        assert!(RustFile::new("crates/ports/src/contract/store.rs", "").serves_tests(0));
        assert!(!RustFile::new("crates/ports/src/store.rs", "").serves_tests(0));
    }

    #[test]
    fn own_lines_leave_out_tests_once() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n// end\n";
        assert_eq!(RustFile::new("crates/core/src/a.rs", text).own_lines(), 2);
    }
}
