//! A gate that a command waits at: a pipe of which it reads a line.
//!
//! The pipe is held open at this end. So whoever opens the gate never waits for somebody to come, one who comes later
//! goes through, too, and of several who wait each line lets one through.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;

/// See the module. Those who wait go on when it is gone.
#[derive(Debug)]
pub struct Gate {
    path: PathBuf,
    pipe: File,
}

impl Gate {
    pub fn at(path: PathBuf) -> io::Result<Self> {
        let made = Command::new("mkfifo").arg(&path).status()?;
        if !made.success() {
            return Err(io::Error::other(format!("no pipe can be made at {}", path.display())));
        }
        let pipe = File::options().read(true).write(true).open(&path)?;
        Ok(Self { path, pipe })
    }

    /// Lets one through, who may yet have to come.
    pub fn open(&self) -> io::Result<()> {
        self.open_with("go")
    }

    /// Lets one through, with a word.
    pub fn open_with(&self, word: &str) -> io::Result<()> {
        (&self.pipe).write_all(format!("{word}\n").as_bytes())
    }

    /// What a shell does to wait here.
    pub fn wait(&self) -> String {
        format!("read x < '{}'", self.path.display())
    }
}

impl Deref for Gate {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn each_line_lets_one_through_whoever_comes_first() {
        let path = std::env::temp_dir().join(format!("homing-gate-{}", std::process::id()));
        let gate = Gate::at(path.clone()).unwrap();
        gate.open().unwrap();
        gate.open().unwrap();
        let comes = || {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{}; echo through", gate.wait())]).stdout(Stdio::piped());
            shell.spawn().unwrap()
        };
        let all = [comes(), comes(), comes()];
        // Two go through; the third is let through only now.
        gate.open().unwrap();
        for one in all {
            assert_eq!(one.wait_with_output().unwrap().stdout, b"through\n");
        }
        std::fs::remove_file(path).unwrap();
    }
}
