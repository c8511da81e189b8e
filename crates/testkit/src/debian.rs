//! Programs from Debian's packages that tests need: the machine's own where it has one, else unpacked into the cache, not installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::npm::cache;

/// What makes a terminal, and what it is linked against.
const TMUX: [&str; 3] = ["tmux", "libevent-core-2.1-7", "libutempter0"];
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

/// A program, and where its libraries are if they are not the machine's own.
#[derive(Debug, Clone)]
pub struct Program {
    file: PathBuf,
    libraries: Option<PathBuf>,
}

impl Program {
    pub fn tmux() -> Result<Self, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = std::env::split_paths(&path).map(|dir| dir.join("tmux")).find(|at| at.is_file());
        match own {
            Some(file) => Ok(Self { file, libraries: None }),
            None => Self::unpacked(&cache()?.join("tmux")),
        }
    }

    /// What is there already is taken as it is.
    fn unpacked(dir: &Path) -> Result<Self, String> {
        let found = Self { file: dir.join("usr/bin/tmux"), libraries: Some(dir.join(LIBRARIES)) };
        if found.file.is_file() {
            return Ok(found);
        }
        let beside = dir.with_extension(std::process::id().to_string());
        let failed = |what: &str, why: String| format!("tmux: {what}: {why}");
        std::fs::create_dir_all(&beside).map_err(|why| failed("a directory", why.to_string()))?;
        let script =
            "apt-get download \"$@\" || { apt-get update && apt-get download \"$@\"; } || exit 1
            for package in *.deb; do dpkg -x \"$package\" . || exit 1; done";
        let mut fetch = Command::new("sh");
        fetch.current_dir(&beside).args(["-c", script, "sh"]).args(TMUX);
        let said = fetch.output().map_err(|why| failed("apt-get", why.to_string()))?;
        if !said.status.success() {
            let why = String::from_utf8_lossy(&said.stderr).into_owned();
            return Err(failed("it is not on this machine, and cannot be fetched", why));
        }
        // Somebody else may have been quicker.
        if std::fs::rename(&beside, dir).is_err() && !found.file.is_file() {
            return Err(failed("the cache", format!("{} cannot be made", dir.display())));
        }
        Ok(found)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.file);
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }
}
