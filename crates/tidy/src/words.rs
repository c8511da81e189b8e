//! What may not be written: unfinished work, silenced lints, skipped tests, unwraps outside tests,
//! sleeps inside them.

use crate::Finding;
use crate::file::RustFile;
use crate::items::attributes;
use crate::source::find_words;

const UNFINISHED: [&str; 2] = ["todo!(", "unimplemented!("];

/// All words of this module that the file should not have.
pub fn check(file: &RustFile) -> Vec<Finding> {
    let mut findings = unfinished(file);
    findings.extend(bad_attributes(file));
    findings.extend(unwraps(file));
    findings.extend(sleeps(file));
    findings
}

fn unfinished(file: &RustFile) -> Vec<Finding> {
    let source = &file.source;
    let macros =
        UNFINISHED.iter().flat_map(|word| source.find_in_code(word).map(move |at| (at, *word)));
    let marks = find_words(&source.comments, "FIXME").map(|at| (at, "FIXME"));
    macros
        .chain(marks)
        .map(|(at, word)| at_offset(file, at, format!("`{word}`: finish it, or leave it out")))
        .collect()
}

fn bad_attributes(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, text) in attributes(&file.source) {
        let head = text.split(|c: char| !c.is_alphanumeric() && c != '_').next();
        if head == Some("ignore") || text.contains(", ignore") {
            let what = "`#[ignore]` hides a test: make it run, or leave it out";
            findings.push(at_offset(file, at, what));
        }
        if head == Some("allow") || (head == Some("cfg_attr") && text.contains(" allow(")) {
            let what = "`#[allow(…)]` outlives its cause: write `#[expect(…, reason = \"…\")]`";
            findings.push(at_offset(file, at, what));
        }
        if head == Some("expect") && find_words(text, "reason").next().is_none() {
            let what = "`#[expect(…)]` without a reason: add `reason = \"…\"`";
            findings.push(at_offset(file, at, what));
        }
    }
    findings
}

fn unwraps(file: &RustFile) -> Vec<Finding> {
    let what = "`.unwrap()` outside a test: return the error, or make the case impossible";
    let found = file.source.find_in_code(".unwrap()").filter(|at| !file.serves_tests(*at));
    found.map(|at| at_offset(file, at, what)).collect()
}

/// A sleep in a test stands for a signal that nobody sent. A method `.sleep(` is a clock of our own.
fn sleeps(file: &RustFile) -> Vec<Finding> {
    let what = "a sleep in a test: wait for a signal or move virtual time; where the time itself is \
                the point, end the line with `// sleep: <reason>`";
    let found = ["sleep(", "sleep_ms(", "sleep_until("]
        .into_iter()
        .flat_map(|word| file.source.find_in_code(word));
    found
        .filter(|at| file.serves_tests(*at) && is_real_sleep(&file.source.code[..*at]))
        .filter(|at| !has_reason(file, *at))
        .map(|at| at_offset(file, at, what))
        .collect()
}

fn is_real_sleep(before: &str) -> bool {
    let before = before.trim_end();
    if before.ends_with("::") {
        return before.ends_with("thread::") || before.ends_with("time::");
    }
    let declared =
        before.strip_suffix("fn").is_some_and(|rest| !rest.ends_with(char::is_alphanumeric));
    !declared && !before.ends_with('.')
}

fn has_reason(file: &RustFile, at: usize) -> bool {
    let comment = file.source.comments[file.source.line_range(at)].trim();
    comment.strip_prefix("// sleep:").is_some_and(|reason| !reason.trim().is_empty())
}

fn at_offset(file: &RustFile, at: usize, what: impl Into<String>) -> Finding {
    Finding::new(file.path(), file.source.line_of(at), what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&RustFile::new(path, text)).iter().map(|finding| finding.line).collect()
    }

    fn own(text: &str) -> Vec<usize> {
        lines("crates/x/src/a.rs", text)
    }

    #[test]
    fn unfinished_work_is_found() {
        assert_eq!(own("fn a() {\n todo!()\n}"), [2]);
        assert_eq!(own("fn a() {\n unimplemented!(\"b\")\n}"), [2]);
        assert_eq!(own("// FIXME: b"), [1]);
        assert_eq!(own("fn a() { \"FIXME todo!()\" } // todo!()"), [0; 0]);
    }

    #[test]
    fn silenced_lints_are_found() {
        assert_eq!(own("\n#[allow(dead_code)]\nfn a() {}"), [2]);
        assert_eq!(own("#![allow(\n    dead_code\n)]"), [1]);
        assert_eq!(own("#[cfg_attr(test, allow(dead_code))]\nfn a() {}"), [1]);
        assert_eq!(own("#[expect(dead_code)]\nfn a() {}"), [1]);
        assert_eq!(own("#[expect(dead_code, reason = \"b\")]\nfn a() {}"), [0; 0]);
        assert_eq!(own("// #[allow(x)]\nfn allow(x: u8) { allow(x) }"), [0; 0]);
    }

    #[test]
    fn skipped_tests_are_found() {
        assert_eq!(own("#[test]\n#[ignore]\nfn a() {}"), [2]);
        assert_eq!(own("#[test]\n#[ignore = \"slow\"]\nfn a() {}"), [2]);
        assert_eq!(own("#[cfg_attr(x, ignore)]\nfn a() {}"), [1]);
    }

    #[test]
    fn an_unwrap_is_found_outside_tests() {
        let text = "fn a() {\n b()\n  .unwrap();\n c().unwrap_or(1);\n}";
        assert_eq!(own(text), [3]);
        assert_eq!(lines("crates/x/tests/a.rs", text), [0; 0]);
        assert_eq!(lines("crates/testkit/src/a.rs", text), [0; 0]);
        assert_eq!(own("#[cfg(test)]\nmod tests { fn a() { b().unwrap() } }"), [0; 0]);
        assert_eq!(own("/// a().unwrap()\nfn a() {}"), [0; 0]);
    }

    #[test]
    fn a_sleep_is_found_in_tests_unless_its_reason_is_given() {
        for call in [
            "std::thread::sleep(d)",
            "thread::sleep(d)",
            "tokio::time::sleep(d).await",
            "time::sleep_until(t)",
            "sleep(d).await",
        ] {
            let test = format!("#[test]\nfn a() {{\n    {call};\n}}");
            assert_eq!(own(&test), [3], "{call}");
            assert_eq!(own(&format!("fn a() {{ {call}; }}")), [0; 0], "{call}");
            let named =
                format!("#[test]\nfn a() {{\n    {call}; // sleep: the pause is measured\n}}");
            assert_eq!(own(&named), [0; 0], "{call}");
            let empty = format!("#[test]\nfn a() {{\n    {call}; // sleep:\n}}");
            assert_eq!(own(&empty), [3], "{call}");
        }
        assert_eq!(own("#[test]\nfn a() { clock.sleep(d); world::sleep(d); }"), [0; 0]);
        assert_eq!(lines("crates/x/tests/a.rs", "fn sleep(d: u8) {}"), [0; 0]);
    }
}
