//! What cargo knows about the workspace: packages, their dependencies, examples, and what a package is
//! built from. It starts cargo offline and reads its answer; it never builds and never downloads.

use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package of the workspace.
#[derive(Debug, Clone, Deserialize)]
pub struct Package {
    /// Its name in the manifest.
    pub name: String,
    /// Where its manifest is.
    pub manifest_path: PathBuf,
    /// What it depends on, of all kinds.
    pub dependencies: Vec<Dependency>,
    /// What it builds.
    pub targets: Vec<Target>,
}

/// One dependency as the manifest says it.
#[derive(Debug, Clone, Deserialize)]
pub struct Dependency {
    /// The package's name, renamed or not.
    pub name: String,
    /// The directory, where it is a path dependency.
    pub path: Option<PathBuf>,
    /// `dev`, `build`, or none for a normal one.
    pub kind: Option<String>,
}

/// One thing a package builds.
#[derive(Debug, Clone, Deserialize)]
pub struct Target {
    /// `lib`, `bin`, `example`, `test`, …
    pub kind: Vec<String>,
    /// Its name.
    pub name: String,
    /// Features it cannot be built without.
    #[serde(default, rename = "required-features")]
    pub required_features: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

/// The packages of the workspace at `root`.
pub fn packages(root: &Path) -> io::Result<Vec<Package>> {
    let json = cargo(root, &["metadata", "--no-deps", "--format-version", "1"])?;
    let metadata: Metadata = serde_json::from_str(&json).map_err(io::Error::other)?;
    Ok(metadata.packages)
}

/// What `package` is built from, as `cargo tree` prints it with a depth before each name. Tests of the
/// package do not count, its optional parts do.
pub fn tree(root: &Path, package: &str) -> io::Result<String> {
    let edges = ["-e", "normal,build", "--prefix", "depth", "--no-dedupe", "--all-features"];
    cargo(root, &[&["tree", "-p", package], edges.as_slice()].concat())
}

/// The arguments of `cargo run` for every example, in order of package and name.
pub fn example_arguments(packages: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for package in packages {
        let examples = package.targets.iter().filter(|target| target.kind == ["example"]);
        found.extend(examples.map(|target| {
            let features = match target.required_features.join(",") {
                none if none.is_empty() => String::new(),
                some => format!(" --features {some}"),
            };
            format!("-p {} --example {}{features}", package.name, target.name)
        }));
    }
    found.sort();
    found
}

fn cargo(root: &Path, arguments: &[&str]) -> io::Result<String> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output =
        Command::new(program).args(arguments).arg("--offline").current_dir(root).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("cargo {}: {said}", arguments.join(" "))));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_listed_with_what_they_need() {
        let json = r#"{"packages": [{"name": "p", "manifest_path": "/w/p/Cargo.toml", "dependencies": [],
            "targets": [{"kind": ["lib"], "name": "p"}, {"kind": ["example"], "name": "embed"},
            {"kind": ["example"], "name": "big", "required-features": ["x", "y"]}]}]}"#;
        let metadata: Metadata = serde_json::from_str(json).unwrap();
        let expected = ["-p p --example big --features x,y", "-p p --example embed"];
        assert_eq!(example_arguments(&metadata.packages), expected);
    }
}
