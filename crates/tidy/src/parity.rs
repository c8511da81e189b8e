//! The table for those who move over: every row names tests that exist.

use std::collections::BTreeSet;

use crate::Finding;
use crate::file::RustFile;
use crate::items::functions;

/// Where it is.
pub const TABLE: &str = "docs/parity.md";

/// Rows without a test, and names that no test has.
pub fn check(table: &str, files: &[RustFile]) -> Vec<Finding> {
    let tests: BTreeSet<String> = files
        .iter()
        .flat_map(|file| functions(&file.source))
        .filter(|function| function.is_test)
        .map(|function| function.name)
        .collect();
    let rows = table.lines().enumerate().filter(|(_, line)| line.starts_with("| "));
    // The first one is the head.
    let rows = rows.skip(1).map(|(index, line)| (index + 1, line));
    rows.flat_map(|(line, row)| wrong(row, &tests).map(|what| Finding::new(TABLE, line, what)))
        .collect()
}

fn wrong(row: &str, tests: &BTreeSet<String>) -> Option<String> {
    let last = row.trim_end().trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    let names: Vec<&str> = last.split('`').skip(1).step_by(2).collect();
    if names.is_empty() {
        return Some("no test is named: write its name into the last column".to_owned());
    }
    let unknown = names.into_iter().find(|name| !tests.contains(*name))?;
    Some(format!("there is no test {unknown}: name one that there is"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_without_a_test_that_exists_is_found() {
        let table = "# T\n\n| ability | shown by |\n|---|---|\n| one `x` | `it_works`, `so_too` |\n\
                     | two | nothing |\n| three | `it_works`, `gone` |\n";
        let text = "#[test]\nfn it_works() {}\n#[test]\nfn so_too() {}\nfn gone() {}\n";
        let found = check(table, &[RustFile::new("crates/x/tests/a.rs", text)]);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/parity.md:6: no test is named: write its name into the last column",
                "docs/parity.md:7: there is no test gone: name one that there is",
            ]
        );
    }
}
