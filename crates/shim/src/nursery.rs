//! Where shims come from: a small process that does nothing but make copies of itself, because loading a program for
//! every shim costs more than all that the shim then does. It ends with the one who asks it; its shims go on.
//!
//! Asked over its standard input, a socket that keeps messages apart: a run's directory, and with it the pipe that the
//! shim says its one line to.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{Pid, PidfdFlags, WaitOptions, pidfd_open, setsid, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use crate::processes::{Process, call_this};
use crate::run_dir::RunDir;

/// No path is longer.
const PATH_BYTES: usize = 4 << 10;
/// The two ends between a nursery and who asks it; the first one is the nursery's.
pub fn ends() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Asks for a shim of this run, which says its line to `says`. Does not wait where there is no room for it.
pub fn ask(nursery: BorrowedFd<'_>, run: &RunDir, says: BorrowedFd<'_>) -> io::Result<()> {
    let path = run.path().as_os_str().as_bytes();
    if path.len() > PATH_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidFilename, "the run's path is too long"));
    }
    let fds = [says];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    with.push(SendAncillaryMessage::ScmRights(&fds));
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    sendmsg(nursery, &[IoSlice::new(path)], &mut with, flags)?;
    Ok(())
}

/// Makes shims for as long as somebody may ask; in a shim, supervises.
pub fn nurse() -> io::Result<()> {
    call_this(c"homing-nursery");
    // It ends with the one who asks, and not by a key on that one's terminal.
    let _ = setsid();
    // Found once, for all of them.
    Process::own()?;
    match until_born()? {
        Some(birth) => birth.live(),
        None => Ok(()),
    }
}

/// What a shim is born with.
struct Birth {
    run: RunDir,
    says: OwnedFd,
}

impl Birth {
    fn live(self) -> io::Result<()> {
        call_this(c"homing-shim");
        dup2_stdin(File::open("/dev/null")?)?;
        dup2_stdout(&self.says)?;
        drop(self.says);
        match self.run.log() {
            Ok(log) => dup2_stderr(log)?,
            Err(why) => return say(io::stdout(), &why),
        }
        crate::supervise(&self.run)
    }
}

/// A shim that this process made.
struct Living {
    pid: Pid,
    /// Readable when it ended.
    fd: OwnedFd,
}

/// None when nobody can ask any more. A birth is told in the new process, which has nothing else of this one.
fn until_born() -> io::Result<Option<Birth>> {
    let asks = io::stdin().as_fd().try_clone_to_owned()?;
    let mut living: Vec<Living> = Vec::new();
    loop {
        let asked = sleep(&asks, &mut living)?;
        if !asked {
            continue;
        }
        let Some(birth) = hear(&asks)? else {
            return Ok(None);
        };
        match fork() {
            Ok(None) => return Ok(Some(birth)),
            Ok(Some(pid)) => {
                // One that cannot be waited for is reaped when this process is gone.
                if let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) {
                    living.push(Living { pid, fd });
                }
            }
            Err(why) => say(File::from(birth.says), &why)?,
        }
    }
}

/// Until somebody asks or is gone (then true), or a shim has ended, which is reaped.
fn sleep(asks: &OwnedFd, living: &mut Vec<Living>) -> io::Result<bool> {
    let input = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
    let mut fds = vec![input(asks.as_fd())];
    fds.extend(living.iter().map(|one| input(one.fd.as_fd())));
    match poll(&mut fds, None) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(false),
        Err(why) => return Err(why.into()),
    }
    let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
    let mut of_living = ready[1..].iter();
    living.retain(|one| match of_living.next() {
        Some(true) => !matches!(waitpid(Some(one.pid), WaitOptions::NOHANG), Ok(Some(_))),
        Some(false) | None => true,
    });
    Ok(ready[0])
}

/// None when whoever asked is gone.
fn hear(asks: &OwnedFd) -> io::Result<Option<Birth>> {
    let mut path = vec![0; PATH_BYTES];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut with = RecvAncillaryBuffer::new(&mut space);
    let mut into = [IoSliceMut::new(&mut path)];
    let heard = match recvmsg(asks, &mut into, &mut with, RecvFlags::CMSG_CLOEXEC) {
        Ok(heard) => heard.bytes,
        Err(Errno::CONNRESET) => 0,
        Err(why) => return Err(why.into()),
    };
    if heard == 0 {
        return Ok(None);
    }
    path.truncate(heard);
    let mut pipes = with.drain().filter_map(|one| {
        if let RecvAncillaryMessage::ScmRights(fds) = one { Some(fds) } else { None }
    });
    let says = pipes.next().and_then(|mut fds| fds.next());
    let no_pipe = || io::Error::new(io::ErrorKind::InvalidData, "asked without a pipe");
    let run = RunDir::at(OsString::from_vec(path));
    Ok(Some(Birth { run, says: says.ok_or_else(no_pipe)? }))
}

/// Why there is no shim. Whoever asked may be gone.
fn say(mut to: impl Write, why: &io::Error) -> io::Result<()> {
    drop(writeln!(to, "no shim: {why}").and_then(|()| to.flush()));
    Ok(())
}

/// None in the new process.
#[expect(unsafe_code, reason = "a process can be copied no other way")]
fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: this process has one thread and starts none before a birth, so that the copy has all of it: no lock is
    // held by a thread that is not there.
    let pid = unsafe { libc::fork() };
    match pid {
        ..0 => Err(io::Error::last_os_error()),
        0.. => Ok(Pid::from_raw(pid)),
    }
}
