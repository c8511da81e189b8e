//! A file that is set aside when it is large: two of them at most, for their owner alone.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use homing_shim::run_dir::private;

/// Bytes after which a new one is begun.
pub const MOST: u64 = 8 << 20;

/// See the module.
#[derive(Debug)]
pub struct Rotating {
    path: PathBuf,
    file: File,
    size: u64,
    most: u64,
    /// Whether standard output and error are this file, too: what ends a process is said there.
    standard: bool,
}

impl Rotating {
    pub fn open(path: &Path, most: u64, standard: bool) -> io::Result<Self> {
        let file = append(path)?;
        let size = file.metadata()?.len();
        let this = Self { path: path.to_owned(), file, size, most, standard };
        this.stand()?;
        Ok(this)
    }

    /// Whole lines. What cannot be written is lost.
    pub fn write(&mut self, line: &[u8]) {
        let more = line.len() as u64;
        if self.size > 0 && self.size + more > self.most {
            self.begin_anew();
        }
        if self.file.write_all(line).is_ok() {
            self.size += more;
        }
    }

    fn begin_anew(&mut self) {
        let moved = std::fs::rename(&self.path, aside(&self.path));
        match moved.and_then(|()| append(&self.path)) {
            Ok(file) => {
                self.file = file;
                // As it was before: then what it says by itself goes on where it went.
                drop(self.stand());
            }
            // Rather without what was said before than without bound.
            Err(_) => drop(self.file.set_len(0)),
        }
        self.size = 0;
    }

    fn stand(&self) -> io::Result<()> {
        if self.standard {
            rustix::stdio::dup2_stdout(&self.file)?;
            rustix::stdio::dup2_stderr(&self.file)?;
        }
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    private().append(true).create(true).open(path)
}

/// Where the one before is kept.
pub fn aside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn it_is_bounded_private_and_keeps_the_latest_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        std::fs::write(&path, "old\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        let mut file = Rotating::open(&path, 100, false).unwrap();
        for n in 0..1_000 {
            file.write(format!("line {n:04}\n").as_bytes());
        }
        let now = std::fs::read_to_string(&path).unwrap();
        let before = std::fs::read_to_string(aside(&path)).unwrap();
        assert!(now.len() <= 100 && before.len() <= 100, "{now}{before}");
        let both: Vec<&str> = before.lines().chain(now.lines()).collect();
        let first = 1_000 - both.len();
        let expected: Vec<String> = (first..1_000).map(|n| format!("line {n:04}")).collect();
        assert_eq!(both, expected, "none is missing between the two");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        for path in [&path, &aside(&path)] {
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[test]
    fn one_that_cannot_be_set_aside_is_bounded_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        std::fs::create_dir_all(aside(&path).join("in the way")).unwrap();
        let mut file = Rotating::open(&path, 100, false).unwrap();
        for n in 0..1_000 {
            file.write(format!("line {n:04}\n").as_bytes());
        }
        let now = std::fs::read_to_string(&path).unwrap();
        assert!(now.len() <= 100 && now.ends_with("line 0999\n"), "{now}");
    }
}
