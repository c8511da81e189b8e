//! Waiting for a change in a directory, without a look now and then.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::unix::AsyncFd;

use super::processes::readable;

/// The names of a directory from now on.
#[derive(Debug)]
pub struct Names(AsyncFd<OwnedFd>);

impl Names {
    pub fn watch(directory: &Path) -> io::Result<Self> {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let away = WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        inotify::add_watch(&fd, directory, away)?;
        Ok(Self(readable(fd)?))
    }

    /// Resolves when a name went away or another file took its place, since the watch began.
    pub async fn changed(&self) -> io::Result<()> {
        self.0.readable().await.map(drop)
    }
}
