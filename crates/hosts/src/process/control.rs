//! Speaking with a shim over its socket. One that cannot be reached is gone around.

use std::io;
use std::time::Duration;

use homing_shim::frames::{self, Frame};
use homing_shim::processes::{self, Process};
use homing_shim::run_dir::RunDir;
use homing_shim::talk::{Ask, Said};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::system::processes::{end_all, ended};

/// A shim says its first line at once; one that does not is stuck or not a shim.
const HELLO_MAX: Duration = Duration::from_secs(10);
/// Insisting takes its time, too; longer than this, and the abort is not confirmed.
const STOP_MAX: Duration = Duration::from_secs(20);

/// A connection to a shim.
pub(crate) struct Control {
    stream: BufReader<UnixStream>,
    line: String,
}

impl Control {
    pub(crate) async fn connect(run: &RunDir) -> io::Result<Self> {
        let stream = run.connect()?;
        stream.set_nonblocking(true)?;
        let stream = BufReader::new(UnixStream::from_std(stream)?);
        let mut control = Self { stream, line: String::new() };
        let hello = timeout(HELLO_MAX, control.hear()).await.map_err(io::Error::from)??;
        match hello {
            Some(Said::Hello { .. }) => Ok(control),
            Some(Said::Acked { .. } | Said::Wrote { .. } | Said::Ended) | None => {
                Err(io::Error::new(io::ErrorKind::InvalidData, "it does not speak as a shim does"))
            }
        }
    }

    /// What it says next; none when it is gone. What is not known here is passed over.
    pub(crate) async fn hear(&mut self) -> io::Result<Option<Said>> {
        loop {
            self.line.clear();
            if self.stream.read_line(&mut self.line).await? == 0 {
                return Ok(None);
            }
            if let Some(said) = Said::parse(&self.line) {
                return Ok(Some(said));
            }
        }
    }

    async fn ask(&mut self, ask: Ask) -> io::Result<()> {
        self.stream.get_mut().write_all(ask.line().as_bytes()).await
    }
}

/// Gives a run one more frame; resolves when its command has it.
pub(crate) async fn say(run: &RunDir, frame: &Frame) -> io::Result<()> {
    let mut control = Control::connect(run).await?;
    frames::append(run, frame)?;
    control.ask(Ask::Input).await?;
    loop {
        match control.hear().await? {
            Some(Said::Acked { n }) if n >= frame.n => return Ok(()),
            Some(Said::Acked { .. } | Said::Wrote { .. } | Said::Hello { .. }) => {}
            Some(Said::Ended) | None => {
                return Err(io::Error::new(io::ErrorKind::BrokenPipe, "it has ended"));
            }
        }
    }
}

/// Ends a run; resolves when its shim is gone.
pub(crate) async fn stop(run: &RunDir, shim: &Process, grace: Duration) -> io::Result<()> {
    let mut control = Control::connect(run).await;
    let asked = match &mut control {
        Ok(control) => control.ask(Ask::Stop).await.is_ok(),
        Err(_) => false,
    };
    if !asked && shim.runs()? {
        // Its socket is not there any more: what is below it is ended from here.
        end_all(|| processes::below(&[shim.pid]), grace).await?;
    }
    let why = "the command does not end";
    timeout(STOP_MAX.max(grace * 2), ended(shim)).await.map_err(|_| io::Error::other(why))?
}
