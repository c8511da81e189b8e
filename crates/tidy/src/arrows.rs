//! Which crate of the workspace may depend on which. The table here is the shape of the whole; a crate
//! is known by its directory under `crates/`.

use crate::Finding;
use crate::cargo::Package;
use std::path::Path;

/// A crate and the crates it may be built from.
const ARROWS: [(&str, &[&str]); 15] = [
    ("core", &[]),
    ("ports", &["core"]),
    ("store", &["core", "ports"]),
    ("hosts", &["core", "ports", "shim"]),
    ("rooms", &["core", "ports"]),
    ("shim", &[]),
    ("runtime", &["core", "ports"]),
    ("server", &["core", "ports", "runtime", "client", "mcp"]),
    ("client", &["core"]),
    ("mcp", &["core", "client"]),
    (
        "cli",
        &[
            "core", "ports", "store", "hosts", "rooms", "shim", "runtime", "server", "client",
            "mcp", "testkit",
        ],
    ),
    ("testkit", &["core", "ports"]),
    ("sim", &["core", "ports", "runtime"]),
    (
        "bench",
        &[
            "core", "ports", "store", "hosts", "rooms", "shim", "runtime", "server", "client",
            "cli", "testkit", "sim",
        ],
    ),
    ("tidy", &[]),
];

/// What the tests of any crate but the core may use besides.
const FOR_TESTS: [&str; 5] = ["testkit", "store", "rooms", "hosts", "client"];

/// One arrow, as a manifest draws it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrow {
    /// Directory name of the crate that depends.
    pub from: String,
    /// Directory name of the crate it depends on.
    pub to: String,
    /// Only its tests do.
    pub dev: bool,
}

/// All arrows between crates of the workspace at `root`.
pub fn arrows(root: &Path, packages: &[Package]) -> Vec<Arrow> {
    let crates = root.join("crates");
    let name_of = |directory: &Path| {
        let inside = directory.strip_prefix(&crates).or_else(|_| directory.strip_prefix(root));
        inside.ok().map(|name| name.to_string_lossy().into_owned())
    };
    let mut found = Vec::new();
    for package in packages {
        let Some(from) = package.manifest_path.parent().and_then(name_of) else {
            continue;
        };
        for dependency in &package.dependencies {
            let Some(to) = dependency.path.as_deref().and_then(name_of) else {
                continue;
            };
            let dev = dependency.kind.as_deref() == Some("dev");
            found.push(Arrow { from: from.clone(), to, dev });
        }
    }
    found
}

/// What is wrong with an arrow, if anything.
pub fn check(arrow: &Arrow) -> Option<String> {
    let Arrow { from, to, dev } = arrow;
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| name == from) else {
        return Some(format!("crate `{from}` has no place yet: add it to the table of arrows"));
    };
    let for_tests = *dev && (from == to || (from != "core" && FOR_TESTS.contains(&to.as_str())));
    if for_tests || allowed.contains(&to.as_str()) {
        return None;
    }
    let kind = if *dev { "the tests of " } else { "" };
    let may = match allowed.join(", ") {
        nothing if nothing.is_empty() => "nothing of the workspace".to_owned(),
        some => some,
    };
    Some(format!(
        "{kind}`{from}` may not depend on `{to}` (allowed: {may}): move the code, or put a trait in `ports`"
    ))
}

/// A crate that the table of arrows does not know.
pub fn unknown(directory: &str) -> Option<String> {
    let known = ARROWS.iter().any(|(name, _)| *name == directory);
    (!known).then(|| format!("crate `{directory}` has no place yet: add it to the table of arrows"))
}

/// The finding for an arrow, at its line in the manifest.
pub fn locate(arrow: &Arrow, manifest: &str, what: String) -> Finding {
    let name = format!("homing-{}", arrow.to);
    let mut in_section = false;
    let mut line = 1;
    for (index, text) in manifest.lines().enumerate() {
        if text.trim_start().starts_with('[') {
            in_section = text.contains("dependencies") && text.contains("dev-") == arrow.dev;
        }
        if in_section && text.contains(&name) {
            line = index + 1;
            break;
        }
    }
    Finding::new(format!("crates/{}/Cargo.toml", arrow.from), line, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::Dependency;

    fn arrow(from: &str, to: &str, dev: bool) -> Arrow {
        Arrow { from: from.into(), to: to.into(), dev }
    }

    fn refused(from: &str, to: &str, dev: bool) -> bool {
        check(&arrow(from, to, dev)).is_some()
    }

    #[test]
    fn an_arrow_outside_the_table_is_found() {
        for (from, to) in [
            ("core", "ports"),
            ("ports", "store"),
            ("store", "runtime"),
            ("shim", "core"),
            ("rooms", "shim"),
            ("runtime", "store"),
            ("runtime", "hosts"),
            ("client", "ports"),
            ("server", "store"),
            ("testkit", "runtime"),
            ("sim", "store"),
            ("tidy", "core"),
            ("cli", "sim"),
            ("core", "core"),
        ] {
            assert!(refused(from, to, false), "{from} -> {to}");
        }
    }

    #[test]
    fn the_arrows_of_the_table_pass() {
        for (from, to) in [
            ("ports", "core"),
            ("hosts", "shim"),
            ("runtime", "ports"),
            ("server", "runtime"),
            ("cli", "server"),
            ("cli", "testkit"),
            ("bench", "cli"),
            ("sim", "runtime"),
        ] {
            assert!(!refused(from, to, false), "{from} -> {to}");
        }
    }

    #[test]
    fn tests_may_use_more_but_not_those_of_the_core() {
        assert!(!refused("runtime", "store", true) && !refused("ports", "testkit", true));
        assert!(!refused("core", "core", true));
        assert!(refused("core", "testkit", true) && refused("core", "ports", true));
        assert!(refused("runtime", "server", true));
    }

    #[test]
    fn a_crate_without_a_place_is_found() {
        assert!(refused("misc", "core", false) && unknown("misc").is_some());
        assert_eq!(unknown("core"), None);
    }

    #[test]
    fn arrows_are_read_from_path_dependencies() {
        let dependency = |name: &str, path: Option<&str>, kind: Option<&str>| Dependency {
            name: name.into(),
            path: path.map(Into::into),
            kind: kind.map(Into::into),
        };
        let package = Package {
            name: "homing-ports".into(),
            manifest_path: "/w/crates/ports/Cargo.toml".into(),
            dependencies: vec![
                dependency("serde", None, None),
                dependency("homing-core", Some("/w/crates/core"), None),
                dependency("homing-testkit", Some("/w/crates/testkit"), Some("dev")),
            ],
            targets: Vec::new(),
        };
        let expected = [arrow("ports", "core", false), arrow("ports", "testkit", true)];
        assert_eq!(arrows(Path::new("/w"), &[package]), expected);
    }

    #[test]
    fn a_finding_names_the_line_of_the_manifest() {
        let manifest = "[package]\nname = \"homing-core\"\n[dependencies]\nhoming-store = 1\n\
                        [dev-dependencies]\nhoming-store = 1\n";
        let line = |dev| locate(&arrow("core", "store", dev), manifest, String::new()).line;
        assert_eq!((line(false), line(true)), (4, 6));
    }
}
