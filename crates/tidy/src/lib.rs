//! House rules as tests. Each module owns one kind of rule and turns text into findings; only
//! [`workspace`] and [`cargo`] touch the disk or start cargo, so every rule can be shown firing on
//! a snippet.
//!
//! How a rule sees a source file: [`source`] sorts every byte into code, comment or literal, and
//! offers the file with the other kinds blanked out, line for line. [`items`] finds on that view
//! where functions and tests begin and end. The rules then look for words:
//!
//! - [`arrows`]: which crate may depend on which;
//! - [`purity`]: what the core may not name and may not be built from;
//! - [`shape`]: length of files and functions, the opening line, file names;
//! - [`words`]: what may not be written, outside tests or at all;
//! - [`wildcards`]: catch-all arms in the transition table;
//! - [`prose`]: paths and links in the documents;
//! - [`scenarios`]: which scenario has a test;
//! - [`parity`]: the tests that the table for those who move over names.
//!
//! It never changes a file and knows no types: where a rule needs real syntax, clippy has it.

pub mod arrows;
pub mod cargo;
pub mod file;
pub mod items;
pub mod parity;
pub mod prose;
pub mod purity;
pub mod scenarios;
pub mod shape;
pub mod source;
pub mod wildcards;
pub mod words;
pub mod workspace;

use std::fmt;

/// One broken rule: where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the workspace root, with `/`.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub what: String,
}

impl Finding {
    /// A finding at a line of a file.
    pub fn new(file: impl Into<String>, line: usize, what: impl Into<String>) -> Self {
        Self { file: file.into(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// All findings as one message, sorted, one per line; empty when there are none.
pub fn report(mut findings: Vec<Finding>) -> String {
    findings.sort();
    findings.dedup();
    findings.iter().map(|finding| format!("{finding}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_sorted_and_names_file_and_line() {
        let findings = vec![
            Finding::new("b.rs", 2, "late"),
            Finding::new("a.rs", 10, "early"),
            Finding::new("b.rs", 2, "late"),
        ];
        assert_eq!(report(findings), "a.rs:10: early\nb.rs:2: late\n");
    }
}
