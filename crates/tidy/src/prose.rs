//! Paths and links in the documents. It knows as much of markdown as that needs: fences, inline code,
//! links and link definitions. Whether a path exists is asked of the caller.

use crate::Finding;

/// Folders whose every mention in backticks is a path, with or without an extension.
const FOLDERS: [&str; 4] = ["crates/", "docs/", "examples/", ".ci/"];

/// Backticked paths of a document that do not exist.
pub fn missing_paths(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, words) in prose_lines(text) {
        for named in words.split('`').skip(1).step_by(2).filter(|named| is_path(named)) {
            if !exists(named) {
                let what = format!("names `{named}`, which does not exist: correct the path");
                findings.push(Finding::new(path, line, what));
            }
        }
    }
    findings
}

/// Relative links of a document whose target does not exist.
pub fn broken_links(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, words) in prose_lines(text) {
        for target in targets(&without_code(words)) {
            let Some(file) = resolve(path, &target) else {
                continue;
            };
            if !exists(&file) {
                let what = format!("links to `{target}`, but there is no {file}: correct the link");
                findings.push(Finding::new(path, line, what));
            }
        }
    }
    findings
}

/// Lines outside fenced blocks, numbered from 1.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let opened = ["```", "~~~"].into_iter().find(|mark| line.trim_start().starts_with(mark));
        match (fence, opened) {
            (None, Some(_)) => fence = opened,
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => return Some((index + 1, line)),
            (Some(_), _) => {}
        }
        None
    })
}

fn is_path(named: &str) -> bool {
    let plain = named.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte));
    let outside = named.starts_with(['/', '~']) || !named.contains('/');
    let last = named.rsplit('/').next().unwrap_or_default();
    let extension = last.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
    let has_extension =
        extension.is_some_and(|(_, ext)| ext.bytes().any(|b| b.is_ascii_alphabetic()));
    plain && !outside && (has_extension || FOLDERS.iter().any(|folder| named.starts_with(folder)))
}

fn without_code(line: &str) -> String {
    line.split('`')
        .enumerate()
        .map(|(index, part)| if index % 2 == 0 { part } else { "" })
        .collect()
}

/// What `[text](target)` and `[name]: target` point at.
fn targets(line: &str) -> Vec<String> {
    let mut found: Vec<String> = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter_map(first_word)
        .collect();
    if let Some((_, rest)) = line.trim_start().strip_prefix('[').and_then(|l| l.split_once("]:")) {
        found.extend(first_word(rest));
    }
    found
}

fn first_word(rest: &str) -> Option<String> {
    let word = rest.split_whitespace().next()?;
    Some(word.trim_start_matches('<').trim_end_matches('>').to_owned())
}

/// The file a relative link means, from the workspace root; none for other links.
fn resolve(document: &str, target: &str) -> Option<String> {
    let file = target.split('#').next().unwrap_or_default();
    let scheme = file.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'));
    if file.is_empty() || scheme {
        return None;
    }
    let mut parts: Vec<&str> = match file.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => document.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect(),
    };
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Some(file.to_owned()),
            ".." => {}
            name => parts.push(name),
        }
    }
    Some(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> bool {
        false
    }

    fn linked(document: &str, text: &str) -> Vec<String> {
        let found = broken_links(document, text, nothing);
        found
            .iter()
            .filter_map(|f| f.what.split("no ").nth(1)?.split(':').next().map(Into::into))
            .collect()
    }

    #[test]
    fn a_path_that_does_not_exist_is_found() {
        let text = "One.\n\nSee `crates/core/src/rules.rs` and `crates/core/`.\n";
        let found = missing_paths("ARCHITECTURE.md", text, |path| path == "crates/core/");
        assert_eq!(found.len(), 1);
        assert!(
            found[0].to_string().starts_with("ARCHITECTURE.md:3: names `crates/core/src/rules.rs`")
        );
        assert_eq!(missing_paths("ARCHITECTURE.md", text, nothing).len(), 2);
    }

    #[test]
    fn what_is_no_path_is_left_alone() {
        for text in [
            "`a/b`",
            "`x.rs`",
            "`/etc/x.conf`",
            "`~/x.toml`",
            "`a b/c.rs`",
            "`GET /v1/{x}.y`",
            "a/b.rs",
        ] {
            assert_eq!(missing_paths("A.md", text, nothing), [], "{text}");
        }
        assert_eq!(missing_paths("A.md", "```\n`a/b.rs`\n```\n", nothing), []);
    }

    #[test]
    fn a_broken_link_is_found_where_it_points() {
        assert_eq!(
            linked("README.md", "[a](docs/a.md) and [b](./b.md#c \"t\")"),
            ["docs/a.md", "b.md"]
        );
        assert_eq!(
            linked("docs/a.md", "[a](b.md) [c](../README.md) [d](/LICENSE-MIT)"),
            ["docs/b.md", "README.md", "LICENSE-MIT"]
        );
        assert_eq!(linked("README.md", "[a]: docs/a.md"), ["docs/a.md"]);
        assert_eq!(linked("README.md", "![p](<docs/p.svg>)"), ["docs/p.svg"]);
    }

    #[test]
    fn links_elsewhere_are_left_alone() {
        let text = "[a](https://x.y/z) [b](#c) [d](mailto:x@y) `[e](f.md)`\n```\n[g](h.md)\n```\n";
        assert_eq!(broken_links("README.md", text, nothing), []);
    }
}
