//! One command under way: started, its output kept, its end waited for, its group ended with it.
//! Never reports to anybody.

use std::convert::Infallible;
use std::ffi::OsString;
use std::future::Future;
use std::io::{self, PipeReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use homing_core::fact::{ErrorClass, Exit, Fact, HostError};
use homing_core::payload::Payload;
use homing_ports::host::Opening;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;

use super::capture::Capture;
use crate::system::processes::{End, Leader};

/// With the line that says what was left out, a result stays under 1 MiB.
const HALF_MAX: usize = 496 << 10;
const ERRORS_MAX: usize = 16 << 10;

/// Variables that a command may have from the one who runs homing; `LC_*` besides.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TERM"];

/// A command that this process started.
#[derive(Debug)]
pub(super) struct Run {
    leader: Leader,
    stop: watch::Sender<u32>,
    end: watch::Receiver<Option<Fact>>,
    written: watch::Receiver<u64>,
    output: Arc<Mutex<Output>>,
}

#[derive(Debug)]
struct Output {
    out: Capture,
    err: Capture,
}

impl Run {
    /// Starts the command. It is its own group's leader and reads nothing.
    pub(super) fn start(opening: &Opening, grace: Duration) -> Result<Self, HostError> {
        let (child, out, err) = spawn(opening)?;
        let mut child = Reaped(Some(child));
        let prepared = prepare(&child, out, err).map_err(|why| start_error("spawn", &why));
        let (leader, leader_end, out, err) = prepared?;
        let output =
            Output { out: Capture::new(HALF_MAX, HALF_MAX), err: Capture::new(0, ERRORS_MAX) };
        let output = Arc::new(Mutex::new(output));
        let (written, written_seen) = watch::channel(0);
        let (end, end_seen) = watch::channel(None);
        let (stop, stop_seen) = watch::channel(0);
        let pipes = Pipes { out, err, output: Arc::clone(&output), written };
        if let Some(child) = child.0.take() {
            let keeper =
                Keeper { child, leader: leader.clone(), leader_end, pipes, stop: stop_seen, grace };
            tokio::spawn(async move {
                let fact = keeper.keep().await;
                end.send_replace(Some(fact));
            });
        }
        Ok(Self { leader, stop, end: end_seen, written: written_seen, output })
    }

    pub(super) fn leader(&self) -> &Leader {
        &self.leader
    }

    /// How it ended, once it has.
    pub(super) fn end(&self) -> Option<Fact> {
        self.end.borrow().clone()
    }

    /// Resolves when nothing of it runs any more.
    pub(super) async fn ended(&self) -> Fact {
        let mut end = self.end.clone();
        match end.wait_for(Option::is_some).await.map(|fact| fact.clone()) {
            Ok(Some(fact)) => fact,
            Ok(None) | Err(_) => {
                Fact::LookFailed { why: "nobody waits for the command any more".into() }
            }
        }
    }

    /// How much it has written so far, to be watched.
    pub(super) fn written(&self) -> watch::Receiver<u64> {
        self.written.clone()
    }

    /// Asks for its end; `ended` tells when it came.
    pub(super) fn stop(&self) {
        self.stop.send_modify(|asked| *asked += 1);
    }

    /// All that is kept of what it wrote.
    pub(super) fn transcript(&self) -> Vec<u8> {
        let output = lock(&self.output);
        let mut bytes = output.out.bytes();
        append_errors(&mut bytes, &output.err);
        bytes
    }
}

fn lock(output: &Mutex<Output>) -> MutexGuard<'_, Output> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child that is ended and reaped unless somebody takes it over.
struct Reaped(Option<Child>);

impl Drop for Reaped {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

fn spawn(opening: &Opening) -> Result<(Child, PipeReader, PipeReader), HostError> {
    let order = &opening.order;
    let refused = |name: &str, why: &str| Err(HostError::new(ErrorClass::Other, name, why));
    let Some((program, arguments)) = order.command.split_first() else {
        return refused("command", "the process host runs a command, and none was given");
    };
    if !order.env.is_empty() {
        let names = order.env.join(", ");
        return refused("env", &format!("the process host cannot pass variables on yet: {names}"));
    }
    let mut command = Command::new(program);
    command.args(arguments).process_group(0).env_clear().envs(passed_on(std::env::vars_os()));
    command.env("HOMING_TASK", opening.task.to_string());
    if let Some(model) = &opening.model {
        command.env("HOMING_MODEL", model.to_string());
    }
    if let Some(cwd) = &order.cwd {
        if !Path::new(cwd).is_dir() {
            return refused("cwd", &format!("{cwd:?} is not a directory"));
        }
        command.current_dir(cwd);
    }
    piped(command).map_err(|why| start_error(program, &why))
}

fn piped(mut command: Command) -> io::Result<(Child, PipeReader, PipeReader)> {
    let (out, out_end) = io::pipe()?;
    let (err, err_end) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(out_end).stderr(err_end);
    Ok((command.spawn()?, out, err))
}

fn passed_on(
    all: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    all.filter(|(name, _)| {
        let name = name.to_string_lossy();
        PASSED_ON.contains(&&*name) || name.starts_with("LC_")
    })
}

fn prepare(
    child: &Reaped,
    out: PipeReader,
    err: PipeReader,
) -> io::Result<(Leader, Option<End>, Receiver, Receiver)> {
    let pid = child.0.as_ref().map(Child::id).unwrap_or_default();
    let leader = Leader::of(pid)?;
    let end = leader.end()?;
    Ok((leader, end, Receiver::from_owned_fd(out.into())?, Receiver::from_owned_fd(err.into())?))
}

/// A program that is not there stays so; a machine that is out of something may have it again soon.
fn start_error(name: &str, why: &io::Error) -> HostError {
    let soon = matches!(
        why.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory | io::ErrorKind::ResourceBusy
    );
    let class = if soon { ErrorClass::Transient } else { ErrorClass::Other };
    HostError::new(class, "spawn", &format!("{name}: {why}"))
}

/// Whoever stays with a command until nothing of it runs.
struct Keeper {
    child: Child,
    leader: Leader,
    leader_end: Option<End>,
    pipes: Pipes,
    stop: watch::Receiver<u32>,
    grace: Duration,
}

impl Keeper {
    async fn keep(mut self) -> Fact {
        let (leader, leader_end, stop) = (&self.leader, &self.leader_end, &mut self.stop);
        let over = async {
            tokio::select! {
                biased;
                () = ended(leader_end.as_ref()) => {}
                () = asked(stop) => {}
            }
        };
        self.pipes.during(over).await;
        // The command is not reaped before its group is over, so that no other process can have its number.
        loop {
            match self.pipes.during(leader.end_group(self.grace)).await {
                Ok(()) => break,
                Err(_) => self.pipes.during(asked(stop)).await,
            }
        }
        self.pipes.during(ended(leader_end.as_ref())).await;
        self.pipes.drain();
        match self.child.wait() {
            Ok(status) => {
                let exit = Exit { code: status.code(), signal: status.signal() };
                Fact::Exited { exit, text: text(&lock(&self.pipes.output), exit) }
            }
            Err(why) => Fact::Interrupted {
                why: format!("how the command ended is not known: {why}").into(),
            },
        }
    }
}

async fn ended(end: Option<&End>) {
    if let Some(end) = end
        && end.wait().await.is_err()
    {
        std::future::pending::<()>().await;
    }
}

async fn asked(stop: &mut watch::Receiver<u32>) {
    if stop.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// What is told of the output: of a command that failed, the end of its errors too.
fn text(output: &Output, exit: Exit) -> Option<Payload> {
    let payload = output.out.payload();
    if exit == (Exit { code: Some(0), signal: None }) || output.err.is_blank() {
        return payload;
    }
    let mut bytes = output.out.bytes();
    append_errors(&mut bytes, &output.err);
    let mut whole = Payload::new(bytes);
    whole.text.full_bytes = payload.and_then(|payload| payload.text.full_bytes);
    Some(whole)
}

fn append_errors(bytes: &mut Vec<u8>, err: &Capture) {
    if err.is_blank() {
        return;
    }
    if bytes.last().is_some_and(|last| *last != b'\n') {
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(b"[standard error]\n");
    bytes.extend_from_slice(&err.bytes());
}

/// Both streams of a command.
struct Pipes {
    out: Receiver,
    err: Receiver,
    output: Arc<Mutex<Output>>,
    written: watch::Sender<u64>,
}

/// What fits into a pipe, and so all that can be in one after its last writer ended.
const PIPE_MAX: usize = 1 << 20;
const PIECE: usize = 16 << 10;

impl Pipes {
    /// Does something else while the streams are kept empty.
    async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let pump = async {
            let pumped = tokio::join!(
                self.pump(&self.out, |output| &mut output.out),
                self.pump(&self.err, |output| &mut output.err),
            );
            pumped.0
        };
        tokio::select! {
            biased;
            done = work => done,
            never = pump => match never {},
        }
    }

    async fn pump(&self, pipe: &Receiver, into: fn(&mut Output) -> &mut Capture) -> Infallible {
        let mut piece = vec![0; PIECE];
        while let Ok(()) = pipe.readable().await {
            match pipe.try_read(&mut piece) {
                Ok(0) => break,
                Ok(count) => self.keep(&piece[..count], into),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
        std::future::pending().await
    }

    /// Takes what is still in the pipes. Whoever else holds their other end is not waited for.
    fn drain(&self) {
        for (pipe, into) in [
            (&self.out, (|output| &mut output.out) as fn(&mut Output) -> &mut Capture),
            (&self.err, |output| &mut output.err),
        ] {
            let mut piece = vec![0; PIECE];
            let mut left = PIPE_MAX;
            // Past what tokio knows of the pipe: it may not have heard of the last bytes yet.
            while let Ok(count @ 1..) = rustix::io::read(pipe, &mut *piece) {
                self.keep(&piece[..count], into);
                left = left.saturating_sub(count);
                if left == 0 {
                    break;
                }
            }
        }
    }

    fn keep(&self, piece: &[u8], into: fn(&mut Output) -> &mut Capture) {
        into(&mut lock(&self.output)).push(piece);
        self.written.send_modify(|written| *written += piece.len() as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_are_passed_on() {
        let all =
            ["PATH", "HOMING_TOKEN", "LC_ALL", "AWS_SECRET_ACCESS_KEY", "LANGUAGE", "HOME", "TERM"];
        let all = all.map(|name| (OsString::from(name), OsString::from("x")));
        let names: Vec<OsString> = passed_on(all.into_iter()).map(|(name, _)| name).collect();
        assert_eq!(names, ["PATH", "LC_ALL", "HOME", "TERM"]);
    }
}
