//! Waiting for processes to end, without a look now and then; and what they have open. Who a process is, `homing_shim` knows.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use homing_shim::processes::Process;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

/// A killed process that is not gone after this is stuck in the kernel.
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// Resolves when the process does not run any more. Does not reap it.
pub async fn ended(process: &Process) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(process.pid) else {
        return Ok(());
    };
    // Opened before the check: what is checked is what is waited for.
    let fd = match pidfd_open(pid, PidfdFlags::NONBLOCK) {
        Ok(fd) => readable(fd)?,
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(why) => return Err(why.into()),
    };
    if process.is_there()? {
        fd.readable().await.map(drop)?;
    }
    Ok(())
}

/// Ends all that `find` finds: asks, and after `grace` insists. An error says that something is still there.
pub async fn end_all(
    find: impl Fn() -> io::Result<Vec<Process>>,
    grace: Duration,
) -> io::Result<()> {
    signal_all(&find()?, Signal::TERM)?;
    if let Ok(gone) = timeout(grace, all_ended(&find, None)).await {
        return gone;
    }
    let why = "something of it does not end, even by SIGKILL";
    let killed = timeout(KILLED_WITHIN, all_ended(&find, Some(Signal::KILL)));
    killed.await.map_err(|_| io::Error::other(why))?
}

async fn all_ended(
    find: &impl Fn() -> io::Result<Vec<Process>>,
    signal: Option<Signal>,
) -> io::Result<()> {
    loop {
        let found = find()?;
        let Some(first) = found.first() else {
            return Ok(());
        };
        if let Some(signal) = signal {
            signal_all(&found, signal)?;
        }
        ended(first).await?;
    }
}

fn signal_all(processes: &[Process], signal: Signal) -> io::Result<()> {
    processes.iter().try_for_each(|process| process.signal(signal))
}

#[expect(
    deprecated,
    reason = "its successor is an unsafe function; with an owned fd both are sound"
)]
pub(super) fn readable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

/// The processes that have this open, as far as they can be seen.
pub fn openers(file: &Path) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let pid = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(pid) = pid
            && open_of(pid).any(|open| open == file)
        {
            found.push(pid);
        }
    }
    Ok(found)
}

/// Where a file of this name lies that a process has open.
pub fn opens(pid: i32, name: &str) -> Option<PathBuf> {
    open_of(pid).find(|open| open.file_name().is_some_and(|file| file == name))
}

/// What cannot be looked at is another user's, or gone.
fn open_of(pid: i32) -> impl Iterator<Item = PathBuf> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd"));
    files.into_iter().flatten().flatten().filter_map(|file| std::fs::read_link(file.path()).ok())
}
