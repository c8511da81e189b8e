//! Real programs for tests: packages of PyPI, every one of them at the version that a list says, installed once into a cache.
//! What cannot be installed fails the test that needs it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::npm::cache;

/// Programs in an environment of their own.
#[derive(Debug, Clone)]
pub struct Programs {
    bin: PathBuf,
}

impl Programs {
    /// What the list says; from the cache, or installed into it now.
    pub fn of(name: &str, list: &Path) -> Result<Self, String> {
        let wanted = fs::read(list).map_err(|why| format!("{}: {why}", list.display()))?;
        let folder = cache()?.join(name);
        fs::create_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
        // Two tests at once install it once.
        let lock = File::create(folder.join("lock")).map_err(|why| why.to_string())?;
        lock.lock().map_err(|why| why.to_string())?;
        let (done, place) = (folder.join("done"), folder.join("environment"));
        if fs::read(&done).ok().as_ref() != Some(&wanted) {
            install(&place, list)?;
            fs::write(&done, &wanted).map_err(|why| why.to_string())?;
        }
        Ok(Self { bin: place.join("bin") })
    }

    pub fn command(&self, name: &str) -> Command {
        Command::new(self.bin.join(name))
    }
}

fn install(place: &Path, list: &Path) -> Result<(), String> {
    // What an earlier list left is not mixed with this one.
    let made = Command::new("python3").args(["-m", "venv", "--clear"]).arg(place).output();
    run(made, "python3 -m venv")?;
    let pip = Command::new(place.join("bin/python"))
        .args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "-r"])
        .arg(list)
        .stdin(Stdio::null())
        .output();
    run(pip, "pip install")
}

fn run(ended: std::io::Result<std::process::Output>, what: &str) -> Result<(), String> {
    let ended =
        ended.map_err(|why| format!("{what}: {why}; these tests need Python 3 with pip"))?;
    if ended.status.success() {
        return Ok(());
    }
    Err(format!("{what}: {}", String::from_utf8_lossy(&ended.stderr)))
}
