//! Reads the workspace from the disk: its root, its files, its Rust files with their roles. It never
//! judges and never writes.

use crate::file::RustFile;
use crate::items::test_modules;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders that are not ours: built, fetched, or kept by a tool.
const NOT_OURS: [&str; 3] = ["target", "node_modules", "corpus"];

/// The root of the workspace this crate is in. Cargo's word at run time goes first: checkouts that share
/// a target directory share the built test, too.
pub fn root() -> PathBuf {
    let built = || env!("CARGO_MANIFEST_DIR").into();
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(built));
    here.ancestors().nth(2).unwrap_or(&here).to_owned()
}

/// All files of the workspace as paths from its root, sorted. Hidden folders but `.ci` are left out.
pub fn files(root: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    walk(root, "", &mut found)?;
    found.sort();
    Ok(found)
}

/// All Rust files among `files`, with what is declared a test elsewhere marked as one.
pub fn rust_files(root: &Path, files: &[String]) -> io::Result<Vec<RustFile>> {
    let mut found = Vec::new();
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        found.push(RustFile::new(path.as_str(), read(root, path)?));
    }
    let declared: BTreeSet<String> = found.iter().flat_map(declared_tests).collect();
    for file in &mut found {
        file.is_test |= declared.contains(file.path());
    }
    Ok(found)
}

/// A file of the workspace as text.
pub fn read(root: &Path, path: &str) -> io::Result<String> {
    fs::read_to_string(root.join(path))
        .map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
}

/// The files that a file's `#[cfg(test)] mod name;` can mean.
fn declared_tests(file: &RustFile) -> Vec<String> {
    let path = file.path();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = match name {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => format!("{folder}/{}", name.trim_end_matches(".rs")),
    };
    let modules = test_modules(&file.source);
    modules
        .iter()
        .flat_map(|module| [format!("{folder}/{module}.rs"), format!("{folder}/{module}/mod.rs")])
        .collect()
}

fn walk(root: &Path, folder: &str, found: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        if !entry.file_type()?.is_dir() {
            found.push(path);
        } else if !NOT_OURS.contains(&name.as_str()) && (!name.starts_with('.') || name == ".ci") {
            walk(root, &path, found)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_this_crate() {
        let files = files(&root()).unwrap();
        assert!(files.iter().any(|path| path == "crates/tidy/src/workspace.rs"));
        assert!(
            files.iter().all(|path| !path.starts_with("target/") && !path.starts_with(".git/"))
        );
    }

    #[test]
    fn a_test_module_in_a_file_of_its_own_is_found() {
        let lib = RustFile::new("crates/x/src/lib.rs", "#[cfg(test)]\nmod walk;\n");
        assert_eq!(declared_tests(&lib), ["crates/x/src/walk.rs", "crates/x/src/walk/mod.rs"]);
        let inner = RustFile::new("crates/x/src/a.rs", "#[cfg(test)]\nmod walk;\n");
        assert_eq!(declared_tests(&inner)[0], "crates/x/src/a/walk.rs");
    }
}
