//! Waits for every process that has come to be below the shim, and tells of each end; ends when there is
//! none left.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::sync::mpsc;

use rustix::io::Errno;
use rustix::process::{WaitId, WaitIdOptions, WaitOptions, wait, waitid};

use crate::record::Ended;

const STACK: usize = 64 << 10;

/// One process ended.
#[derive(Debug)]
pub(crate) struct Reaped {
    pub pid: i32,
    pub ended: Ended,
}

/// What the reaper tells, and a pipe that wakes a sleeper.
pub(crate) struct Reaper {
    pub told: mpsc::Receiver<Reaped>,
    pub wakes: PipeReader,
    begin: mpsc::Sender<()>,
}

impl Reaper {
    /// Made before there is a child, so that nothing can fail once there is one.
    pub(crate) fn new() -> io::Result<Self> {
        let (wakes, wake) = io::pipe()?;
        let (tell, told) = mpsc::channel();
        let (begin, begins) = mpsc::channel();
        let reap = move || {
            if begins.recv().is_ok() {
                reap(&tell, wake);
            }
        };
        std::thread::Builder::new().name("reaper".to_owned()).stack_size(STACK).spawn(reap)?;
        Ok(Self { told, wakes, begin })
    }

    /// The first child was started.
    pub(crate) fn begin(&self) {
        // The thread is there: it waits for this.
        let _ = self.begin.send(());
    }
}

/// Whether nothing at all is below this process. What a child leaves behind is there once it is reaped.
pub(crate) fn is_alone() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

fn reap(tell: &mpsc::Sender<Reaped>, mut wake: PipeWriter) {
    loop {
        let reaped = match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let ended = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Ended::Code(code),
                    (None, Some(signal)) => Ended::Signal(signal),
                    (None, None) => continue,
                };
                Reaped { pid: pid.as_raw_nonzero().get(), ended }
            }
            Err(Errno::INTR) | Ok(None) => continue,
            // No child is left; the pipe closes with this.
            Err(_) => return,
        };
        if tell.send(reaped).is_err() || wake.write_all(&[0]).is_err() {
            return;
        }
    }
}
