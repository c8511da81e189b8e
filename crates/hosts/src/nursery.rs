//! The daemon's side of the nursery: it is started when the first shim is asked for, and anew when somebody killed it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use homing_shim::nursery;
use homing_shim::run_dir::RunDir;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::process::Command;

/// Whom shims are asked of. It ends when the last one who may ask is gone.
#[derive(Debug, Clone)]
pub(crate) struct Nursery {
    /// How it is started.
    command: Arc<[OsString]>,
    at: Arc<Mutex<Option<Arc<UnixStream>>>>,
}

impl Nursery {
    pub(crate) fn new(command: Vec<OsString>) -> Self {
        Self { command: command.into(), at: Arc::default() }
    }

    /// Has a shim made for this run, and waits for its one line; it goes on whatever becomes of this process. Nothing
    /// is said by one that was killed before it could.
    pub(crate) async fn shim_of(&self, run: &RunDir) -> io::Result<String> {
        let before = self.open()?;
        match ask(&before, run).await {
            Ok(said) if !said.is_empty() => Ok(said),
            // The nursery was killed, perhaps with this in its hands: a run's claim is taken once, so asking again is
            // harmless.
            Ok(_) | Err(_) => {
                self.close(&before);
                ask(&*self.open()?, run).await
            }
        }
    }

    fn open(&self) -> io::Result<Arc<UnixStream>> {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*at {
            return Ok(Arc::clone(open));
        }
        let open = Arc::new(start(&self.command)?);
        Ok(Arc::clone(at.insert(open)))
    }

    /// Whoever asks next has a new one.
    fn close(&self, this: &Arc<UnixStream>) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        at.take_if(|open| Arc::ptr_eq(open, this));
    }
}

fn start(command: &[OsString]) -> io::Result<UnixStream> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(io::Error::other("nobody said how shims are made"));
    };
    let (its, ours) = nursery::ends()?;
    let mut command = Command::new(program);
    command.arg0("homing").args(arguments).env_clear();
    command.stdin(its).stdout(Stdio::null());
    // Nobody waits for it here: it is reaped when it ends, as long as this process is its parent.
    drop(command.spawn()?);
    let ours = std::os::unix::net::UnixStream::from(ours);
    ours.set_nonblocking(true)?;
    UnixStream::from_std(ours)
}

async fn ask(nursery: &UnixStream, run: &RunDir) -> io::Result<String> {
    let (said, says) = io::pipe()?;
    let says = OwnedFd::from(says);
    let ask = || nursery::ask(nursery.as_fd(), run, says.as_fd());
    nursery.async_io(Interest::WRITABLE, ask).await?;
    // The writing end is the shim's alone, so that its end is seen.
    drop(says);
    first_line(Receiver::from_owned_fd(said.into())?).await
}

async fn first_line(pipe: Receiver) -> io::Result<String> {
    let mut line = Vec::new();
    let mut bytes = [0; 256];
    while !line.contains(&b'\n') {
        pipe.readable().await?;
        match pipe.try_read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(&bytes[..count]),
            Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
            Err(why) => return Err(why),
        }
    }
    Ok(String::from_utf8_lossy(&line).lines().next().unwrap_or_default().to_owned())
}
