//! Real programs for tests: packages of npm at fixed versions, installed once into a cache. What cannot be installed
//! fails the test that needs it.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The suite of the protocol's own makers, and a Node that it runs on.
pub const CONFORMANCE: &[&str] =
    &["node@22.23.3", "@modelcontextprotocol/conformance@0.2.0-alpha.12"];

pub const CLAUDE: &[&str] = &["@anthropic-ai/claude-code@2.1.325"];
pub const OPENCODE: &[&str] = &["opencode-ai@1.18.33"];
/// For measurements alone.
pub const OH_MY_OPENAGENT: &[&str] = &["oh-my-openagent@4.19.4"];

/// Programs in a folder of their own.
#[derive(Debug, Clone)]
pub struct Programs {
    bin: PathBuf,
}

impl Programs {
    /// These packages, at these versions; from the cache, or installed into it now.
    pub fn of(packages: &[&str]) -> Result<Self, String> {
        let folder = cache()?.join(packages.join("+").replace(['/', '@'], "_"));
        fs::create_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
        // Two tests at once install it once.
        let lock = File::create(folder.join("lock")).map_err(|why| why.to_string())?;
        lock.lock().map_err(|why| why.to_string())?;
        let done = folder.join("done");
        if !done.exists() {
            install(&folder, packages)?;
            File::create(&done)
                .and_then(|mut file| file.write_all(b"all of it\n"))
                .map_err(|why| why.to_string())?;
        }
        Ok(Self { bin: folder.join("node_modules/.bin") })
    }

    /// A file of one of the packages.
    pub fn file(&self, path: &str) -> PathBuf {
        self.bin.join("..").join(path)
    }

    /// One of them, which finds the others.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.bin.display()));
        command
    }
}

/// `HOMING_TEST_CACHE`, else a folder in the user's cache.
pub(crate) fn cache() -> Result<PathBuf, String> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let found = set("HOMING_TEST_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("homing-tests")))
        .or_else(|| set("HOME").map(|dir| dir.join(".cache/homing-tests")));
    found.ok_or_else(|| "no place for programs: set HOMING_TEST_CACHE".to_owned())
}

fn install(folder: &Path, packages: &[&str]) -> Result<(), String> {
    fs::write(folder.join("package.json"), "{\"private\": true}\n")
        .map_err(|why| why.to_string())?;
    let installed = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--save-exact", "--prefix"])
        .arg(folder)
        .args(packages)
        .stdin(Stdio::null())
        .output()
        .map_err(|why| format!("npm: {why}; these tests need Node with npm"))?;
    if installed.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&installed.stderr);
    Err(format!("npm install {}: {said}", packages.join(" ")))
}
