//! Processes by pid, start time and boot, and process groups: whether they live, their end, signals.
//! Never takes a recycled pid for the process it was.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::timeout;

/// How much of the boot id goes into a name.
const BOOT_CHARS: usize = 8;

/// A killed process that is not gone after this is stuck in the kernel.
const KILLED_WITHIN: Duration = Duration::from_secs(5);

/// A process that leads its own group, as no other is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    pid: i32,
    /// Clock ticks after the boot.
    start: u64,
    boot: Arc<str>,
}

impl Leader {
    /// The living (or not yet reaped) process of this pid.
    pub fn of(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).map_err(io::Error::other)?;
        let stat = stat(pid)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(Self { pid, start: stat.start, boot: short_boot()? })
    }

    /// Reads a name back.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (pid, start, boot) = (parts.next()?, parts.next()?, parts.next()?);
        let known = parts.next().is_none() && boot.len() == BOOT_CHARS;
        let pid = pid.parse().ok().filter(|pid| *pid > 1)?;
        known.then_some(Self { pid, start: start.parse().ok()?, boot: boot.into() })
    }

    /// Whether any process of its group runs. Nothing survives a boot.
    pub fn group_runs(&self) -> io::Result<bool> {
        Ok(!self.members()?.is_empty())
    }

    /// Resolves when no process of its group runs any more.
    pub async fn group_ended(&self) -> io::Result<()> {
        loop {
            let members = self.members()?;
            if members.is_empty() {
                return Ok(());
            }
            for pid in members {
                if let Some(end) = End::of(pid)? {
                    end.wait().await?;
                }
            }
        }
    }

    /// The end of the process itself; none: it is over.
    pub fn end(&self) -> io::Result<Option<End>> {
        // Opened before the check: what is checked is what is waited for.
        let end = End::of(self.pid)?;
        Ok(if self.is_there()? { end } else { None })
    }

    /// Ends its whole group: asks, and after `grace` insists. An error says what is still there.
    pub async fn end_group(&self, grace: Duration) -> io::Result<()> {
        self.signal_group(Signal::TERM)?;
        if let Ok(ended) = timeout(grace, self.group_ended()).await {
            return ended;
        }
        self.signal_group(Signal::KILL)?;
        let why = "it does not end, even by SIGKILL";
        timeout(KILLED_WITHIN, self.group_ended()).await.map_err(|_| io::Error::other(why))?
    }

    pub fn signal_group(&self, signal: Signal) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid).filter(|_| !self.is_recycled().unwrap_or(true))
        else {
            return Ok(());
        };
        match kill_process_group(pid, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }

    fn is_there(&self) -> io::Result<bool> {
        let stat = stat(self.pid)?;
        Ok(stat.is_some_and(|stat| stat.start == self.start) && self.is_of_this_boot()?)
    }

    /// Its number belongs to another now; so no process of its group is left.
    fn is_recycled(&self) -> io::Result<bool> {
        let other = stat(self.pid)?.is_some_and(|stat| stat.start != self.start);
        Ok(other || !self.is_of_this_boot()?)
    }

    fn is_of_this_boot(&self) -> io::Result<bool> {
        Ok(*self.boot == *short_boot()?)
    }

    fn members(&self) -> io::Result<Vec<i32>> {
        let mut found = Vec::new();
        if self.is_recycled()? {
            return Ok(found);
        }
        for entry in std::fs::read_dir("/proc")? {
            let name = entry?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if stat(pid)?.is_some_and(|stat| stat.group == self.pid && stat.runs) {
                found.push(pid);
            }
        }
        Ok(found)
    }
}

impl fmt::Display for Leader {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.pid, self.start, self.boot)
    }
}

fn short_boot() -> io::Result<Arc<str>> {
    Ok(super::boot_id()?.chars().take(BOOT_CHARS).collect::<String>().into())
}

/// The end of one process, to be waited for. Does not reap it.
#[derive(Debug)]
pub struct End(AsyncFd<OwnedFd>);

impl End {
    /// None: it is not there any more.
    fn of(pid: i32) -> io::Result<Option<Self>> {
        let Some(pid) = Pid::from_raw(pid) else {
            return Ok(None);
        };
        match pidfd_open(pid, PidfdFlags::NONBLOCK) {
            Ok(fd) => Ok(Some(Self(readable(fd)?))),
            Err(rustix::io::Errno::SRCH) => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    pub async fn wait(&self) -> io::Result<()> {
        self.0.readable().await.map(drop)
    }
}

#[expect(
    deprecated,
    reason = "its successor is an unsafe function; with an owned fd both are sound"
)]
fn readable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

/// What the kernel says of a process.
struct Stat {
    runs: bool,
    group: i32,
    start: u64,
}

fn stat(pid: i32) -> io::Result<Option<Stat>> {
    match std::fs::read(format!("/proc/{pid}/stat")) {
        Ok(line) => Ok(read_stat(&String::from_utf8_lossy(&line))),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) if why.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => Ok(None),
        Err(why) => Err(why),
    }
}

/// The name of a program may hold anything, also a parenthesis: what counts comes after the last one.
fn read_stat(line: &str) -> Option<Stat> {
    let (_, rest) = line.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let group = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(16)?.parse().ok()?;
    Some(Stat { runs: !matches!(state, "Z" | "X"), group, start })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    use super::*;

    #[test]
    fn the_line_of_a_program_with_an_odd_name_is_read() {
        let rest = "S 30942 77 23209 0 -1 4227084 76 0 0 0 0 0 0 0 20 0 1 0 295423 0 0 18446744073709551615";
        let stat = read_stat(&format!("30983 (a) Z 1 (b)) {rest}")).unwrap();
        assert!(stat.runs);
        assert_eq!((stat.group, stat.start), (77, 295_423));
        assert!(read_stat("").is_none() && read_stat("1 (x) S 2").is_none());
    }

    #[test]
    fn a_name_reads_back_and_garbage_does_not() {
        let own = Leader::of(std::process::id()).unwrap();
        assert_eq!(Leader::parse(&own.to_string()), Some(own));
        for text in
            ["", "1.2", "0.1.aaaaaaaa", "-4.1.aaaaaaaa", "4.x.aaaaaaaa", "4.1.aaaaaaaa.5", "4.1.a"]
        {
            assert_eq!(Leader::parse(text), None, "{text}");
        }
    }

    #[test]
    fn r4_a_recycled_pid_is_another_process_and_is_never_signalled() {
        let mut child = Command::new("sleep").arg("1000").process_group(0).spawn().unwrap();
        let now = Leader::of(child.id()).unwrap();
        assert!(now.group_runs().unwrap());
        let before = Leader { start: now.start - 1, ..now.clone() };
        let other_boot = Leader { boot: "00000000".into(), ..now.clone() };
        for gone in [before, other_boot] {
            assert!(!gone.is_there().unwrap());
            assert!(!gone.group_runs().unwrap());
            gone.signal_group(Signal::KILL).unwrap();
        }
        now.signal_group(Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    }
}
