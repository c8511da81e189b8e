//! What keeps the core pure: it names nothing that touches the world, is built from nothing that does,
//! and forbids unsafe code.

use crate::Finding;
use crate::file::RustFile;
use crate::source::{closing, find_words};

const LIB: &str = "crates/core/src/lib.rs";

/// Modules of `std` that touch the world.
const WORLD: [&str; 5] = ["fs", "net", "thread", "process", "env"];

/// Names whose answer differs from run to run.
const CHANCE: [&str; 5] = ["Instant", "SystemTime", "HashMap", "HashSet", "RandomState"];

/// The one place that may hold a hash map, in a shape that cannot be walked.
const INDEX: (&str, &str) = ("crates/core/src/index.rs", "HashMap");

/// Packages that bring async, IO, a clock, randomness or the operating system.
const PACKAGES: [&str; 33] = [
    "ahash",
    "async-std",
    "chrono",
    "crossbeam",
    "crossbeam-channel",
    "fastrand",
    "getrandom",
    "h2",
    "hyper",
    "jiff",
    "libc",
    "libsqlite3-sys",
    "log",
    "metrics",
    "mio",
    "nix",
    "num_cpus",
    "parking_lot",
    "polling",
    "quanta",
    "rand",
    "rayon",
    "reqwest",
    "rusqlite",
    "rustix",
    "smol",
    "socket2",
    "sqlx",
    "time",
    "tokio",
    "tracing",
    "ureq",
    "windows-sys",
];

/// The same, by how the name begins.
const FAMILIES: [&str; 7] = ["async-", "futures", "hyper-", "rand_", "sqlx-", "tokio-", "tracing-"];

/// Arrows that are harmless: asking the processor what it can do, for a hash function.
const HARMLESS: [(&str, &str); 1] = [("cpufeatures", "libc")];

/// Names in a file of the core that have no place there.
pub fn check_names(file: &RustFile) -> Vec<Finding> {
    let source = &file.source;
    let paths = WORLD.iter().flat_map(|module| {
        let path = format!("std::{module}");
        find_words(&source.code, &path).map(|at| (at, path.clone())).collect::<Vec<_>>()
    });
    let names = CHANCE.iter().flat_map(|name| {
        source.find_in_code(name).map(|at| (at, (*name).to_owned())).collect::<Vec<_>>()
    });
    paths
        .chain(names)
        .chain(grouped(&source.code))
        .filter(|(_, name)| (file.path(), name.as_str()) != INDEX)
        .map(|(at, name)| {
            let instead = instead_of(&name);
            let what = format!("the core names `{name}`: {instead}");
            Finding::new(file.path(), source.line_of(at), what)
        })
        .collect()
}

fn instead_of(name: &str) -> &'static str {
    match name {
        "HashMap" | "HashSet" => "use a BTreeMap or BTreeSet, or `Index` where nothing is walked",
        "RandomState" => "let what is random come in as an argument",
        "Instant" | "SystemTime" => "let the time come in as an argument",
        _ => "the core touches nothing; do it in the runtime or in a crate behind a port",
    }
}

/// Whether the core's `lib.rs` forbids unsafe code.
pub fn check_forbids_unsafe(lib: Option<&RustFile>) -> Option<Finding> {
    let forbids = |file: &RustFile| file.source.code.contains("#![forbid(unsafe_code)]");
    let what = "the core must say `#![forbid(unsafe_code)]`";
    (!lib.is_some_and(forbids)).then(|| Finding::new(LIB, 1, what))
}

/// Whether this is the core's `lib.rs`.
pub fn is_lib(path: &str) -> bool {
    path == LIB
}

/// Packages in the printed tree of the core that have no place there, with the way they came in.
pub fn check_tree(tree: &str) -> Vec<Finding> {
    let mut way: Vec<&str> = Vec::new();
    let mut findings = Vec::new();
    for line in tree.lines() {
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(depth) = line[..digits].parse::<usize>() else {
            continue;
        };
        let name = line[digits..].split(' ').next().unwrap_or_default();
        way.truncate(depth);
        let from = way.last().copied().unwrap_or_default();
        way.push(name);
        if is_impure(name) && !HARMLESS.contains(&(from, name)) {
            let what =
                format!("the core is built from `{name}` ({}): leave it out", way.join(" → "));
            findings.push(Finding::new("crates/core/Cargo.toml", 1, what));
        }
    }
    findings
}

fn is_impure(package: &str) -> bool {
    PACKAGES.contains(&package) || FAMILIES.iter().any(|family| package.starts_with(family))
}

/// Modules named inside a group: `use std::{fmt, fs};`.
fn grouped(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for open in find_words(code, "std::{").map(|at| at + "std::".len()) {
        let close = closing(code, open).unwrap_or(code.len());
        for module in WORLD {
            let inside = find_words(&code[open..close], module).map(|at| open + at);
            let first = inside.filter(|at| !code[..*at].ends_with("::"));
            found.extend(first.map(|at| (at, format!("std::{module}"))));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(text: &str) -> RustFile {
        RustFile::new(LIB, text)
    }

    fn lines(text: &str) -> Vec<usize> {
        check_names(&core(text)).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn names_that_touch_the_world_are_found() {
        for name in WORLD {
            assert_eq!(lines(&format!("\nuse std::{name};")), [2], "{name}");
            assert_eq!(lines(&format!("\nuse std::{{fmt, {name}::x}};")), [2], "{name}");
        }
        for name in CHANCE {
            assert_eq!(lines(&format!("\nfn a(b: {name}) {{}}")), [2], "{name}");
        }
    }

    #[test]
    fn only_the_index_may_hold_a_hash_map() {
        let index = RustFile::new(INDEX.0, "type Map = HashMap<u8, u8>;\ntype Set = HashSet<u8>;");
        let found: Vec<_> = check_names(&index).iter().map(|finding| finding.line).collect();
        assert_eq!(found, [2]);
    }

    #[test]
    fn comments_strings_and_longer_words_are_not_names() {
        let text = "// std::fs Instant\nlet a = \"HashMap\"; struct InstantMs; use std::{fmt, mem};\n\
                    use crate::process; use std::{ops::net};";
        assert_eq!(lines(text), [0; 0]);
    }

    #[test]
    fn a_core_that_does_not_forbid_unsafe_is_found() {
        assert!(check_forbids_unsafe(None).is_some());
        assert!(check_forbids_unsafe(Some(&core("// #![forbid(unsafe_code)]"))).is_some());
        assert_eq!(check_forbids_unsafe(Some(&core("#![forbid(unsafe_code)]"))), None);
    }

    #[test]
    fn an_impure_package_is_found_with_its_way() {
        let tree = "0homing-core v0.1.0 (/w)\n1serde v1.0.0\n1a v1.0.0\n2rand_core v0.9.0\n\
                    3getrandom v0.3.0\n1futures-util v0.3.0 (*)\n";
        let found: Vec<_> = check_tree(tree).into_iter().map(|finding| finding.what).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[1].contains("homing-core → a → rand_core → getrandom"), "{found:?}");
    }

    #[test]
    fn a_harmless_arrow_passes_only_where_it_was_drawn() {
        assert_eq!(check_tree("0core v1\n1cpufeatures v1\n2libc v1\n"), []);
        assert_eq!(check_tree("0core v1\n1cpufeatures v1\n1libc v1\n").len(), 1);
    }
}
