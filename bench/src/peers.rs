//! Programs that people use for the same work today, fetched once into a cache beside nobody's repository.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PUEUE: &str = "4.0.4";

fn cache() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let caches = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let cache = caches.unwrap_or_else(std::env::temp_dir).join("homing-bench");
    std::fs::create_dir_all(&cache).unwrap();
    cache
}

/// Where `pueue` and `pueued` are.
pub fn pueue() -> PathBuf {
    let root = cache().join(format!("pueue-{PUEUE}"));
    let programs = root.join("bin");
    if !programs.join("pueued").exists() {
        let mut install = Command::new("cargo");
        install.args(["install", "pueue", "--locked", "--version", PUEUE]).arg("--root").arg(&root);
        done(&mut install);
    }
    programs
}

/// The program `tsp`.
pub fn spooler() -> PathBuf {
    let root = cache().join("task-spooler");
    let program = root.join("usr/bin/tsp");
    if !program.exists() {
        std::fs::create_dir_all(&root).unwrap();
        done(Command::new("apt-get").args(["download", "task-spooler"]).current_dir(&root));
        let package = std::fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
        let package = { package }.find(|path| path.extension().is_some_and(|end| end == "deb"));
        done(Command::new("dpkg").arg("-x").arg(package.unwrap()).arg(&root));
    }
    program
}

/// Runs a command that must end well.
pub fn done(command: &mut Command) {
    let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap();
    assert!(ended.success(), "{command:?}: {ended}");
}

/// A directory as an argument.
pub fn text(path: &Path) -> String {
    path.display().to_string()
}
