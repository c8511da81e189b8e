//! Owns the names of the files in a run's directory, and making them for their owner's eyes only.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

const LOG: &str = "log";

/// The directory of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDir(PathBuf);

impl RunDir {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Makes it, with all above it; there already is as good.
    pub fn make(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.0)
    }

    /// What the process of this pid supervises, if it is a shim: that has the run's log for its errors. Only a guess,
    /// until the run's claim names the process.
    pub fn of_shim(pid: i32) -> Option<Self> {
        let log = std::fs::read_link(format!("/proc/{pid}/fd/2")).ok()?;
        (log.file_name()? == LOG).then(|| log.parent().map(Self::at))?
    }

    /// What the shim itself has to say.
    pub(crate) fn log(&self) -> io::Result<File> {
        private().append(true).create(true).open(self.file(LOG))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a whole file at once: a reader sees all of it or none.
    pub fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = self.file(&format!("{name}.{}", std::process::id()));
        let file = private().write(true).create(true).truncate(true).open(&new)?;
        self.fill(file, &new, name, bytes)
    }

    /// The same in a file that is there, under a name of its own; it is gone from there then.
    pub fn put_over(&self, old: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        let old = self.file(old);
        let file = private().write(true).truncate(true).open(&old)?;
        self.fill(file, &old, name, bytes)
    }

    fn fill(&self, mut file: File, at: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
        let put = io::Write::write_all(&mut file, bytes);
        let put = put.and_then(|()| std::fs::rename(at, self.file(name)));
        // Half of it is nobody's.
        put.inspect_err(|_| drop(std::fs::remove_file(at)))
    }

    /// None when it is not there.
    pub fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(self.file(name)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(why),
        }
    }

    pub fn listen(&self) -> io::Result<UnixListener> {
        let directory = File::open(&self.0)?;
        UnixListener::bind(near(&directory))
    }

    pub fn connect(&self) -> io::Result<UnixStream> {
        let directory = File::open(&self.0)?;
        UnixStream::connect(near(&directory))
    }
}

/// A socket's path holds 108 bytes; a directory's may be longer.
fn near(directory: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/ctl", directory.as_raw_fd()))
}

/// For files that only their owner may read.
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}
