//! Any verb finds a daemon: the one that runs, or one that is started now and waited for until it is ready.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use homing_client::Client;
use homing_hosts::system::names::Names;
use homing_hosts::system::processes::ended;
use homing_ports::door::{Callers, Calling};
use homing_shim::processes::Process;
use homing_shim::run_dir::private;
use homing_store::Holder;

use super::{Note, running};
use crate::config::Config;
use crate::expected::Expected;
use crate::home::Home;
use crate::verbs::daemon::blocking;

/// What a detached daemon says first, once it can be spoken to; else it says why not.
pub const READY: &str = "ready";
/// A ledger of millions of lines is examined within this.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// A socket that was removed is there again within this.
const BACK_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks for a socket whose directory is gone.
const LOOK: Duration = Duration::from_millis(20);
/// A daemon that stops has ended within this.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// What marks the inside of a task; a daemon belongs to none.
const MARKS: [&str; 5] =
    ["HOMING_TASK", "HOMING_ATTEMPT", "HOMING_RUN", "HOMING_MODEL", "HOMING_PARENT"];

/// The daemon of this home.
pub fn ensure(home: &Home) -> Result<Client, Expected> {
    if let Some((_, client)) = running(home)? {
        return Ok(client);
    }
    home.make()?;
    // Two verbs at once start one daemon: the second waits here, and finds it.
    let _turn = turn(home)?;
    if let Some((_, client)) = running(home)? {
        return Ok(client);
    }
    if let Some(client) = coming_back(home)? {
        return Ok(client);
    }
    outside(home)?;
    let mut told = spawn(home)?;
    if matches!(told, Told::Not { code: HELD, .. }) && holder_ended(home)? {
        told = spawn(home)?;
    }
    match (told, running(home)?) {
        (_, Some((_, client))) => Ok(client),
        (Told::Not { code, what, hint }, None) => Err(Expected::Daemon { code, what, hint }),
        (Told::Ready, None) => Err(Expected::Held {
            path: home.dir().display().to_string(),
            by: Holder::of(home.ledger()),
        }),
    }
}

/// The code of a home that somebody holds.
const HELD: u8 = 6;

/// A daemon that lives makes its socket again when somebody removed it: it is waited for, for a while.
fn coming_back(home: &Home) -> Result<Option<Client>, Expected> {
    let Some(note) = Note::read(home)?.filter(|note| note.process().is_some()) else {
        return Ok(None);
    };
    let made = async {
        loop {
            // Watched first: what happens after the look is not missed.
            let names = note.socket.parent().and_then(|dir| Names::watch(dir).ok());
            if running(home)?.is_some() {
                return Ok(());
            }
            match names {
                Some(names) if names.changed().await.is_ok() => {}
                // Its directory is gone, too, and is made again with it.
                Some(_) | None => tokio::time::sleep(LOOK).await,
            }
        }
    };
    // Not within its time: then it is said who holds the home.
    blocking(async { tokio::time::timeout(BACK_WITHIN, made).await.unwrap_or(Ok(())) })?;
    Ok(running(home)?.map(|(_, client)| client))
}

/// Whether the one who held the home has ended since, as one does that was told to stop, or that is just being killed.
fn holder_ended(home: &Home) -> Result<bool, Expected> {
    let serves = Note::read(home)?.is_some_and(|note| note.process().is_some());
    let Some(holder) = Holder::of(home.ledger()).filter(|_| !serves) else {
        return Ok(false);
    };
    let Ok(process) = Process::of(holder.pid.cast_signed()) else {
        return Ok(true);
    };
    blocking(async { Ok(tokio::time::timeout(ENDS_WITHIN, ended(&process)).await.is_ok()) })
}

/// Held while a daemon is started.
pub fn turn(home: &Home) -> Result<File, Expected> {
    let path = home.folder("daemon.start");
    let file = private().read(true).write(true).create(true).truncate(false).open(path);
    let file = file.map_err(|why| home.unusable(&why))?;
    file.lock().map_err(|why| home.unusable(&why))?;
    Ok(file)
}

/// What a daemon started inside a task would not survive is refused: it would end with that task's command.
fn outside(home: &Home) -> Result<(), Expected> {
    let host = home.process_host(&Config::default())?;
    match host.calling(std::process::id().cast_signed()) {
        Calling::Inside(task) => Err(Expected::Daemon {
            code: 6,
            what: format!(
                "no daemon runs, and one that is started inside {task} would end with it"
            ),
            hint: "homing daemon start, from outside of any task".to_owned(),
        }),
        Calling::Serving | Calling::Outside | Calling::Unknown => Ok(()),
    }
}

/// What the daemon said first.
enum Told {
    Ready,
    Not { code: u8, what: String, hint: String },
}

fn spawn(home: &Home) -> Result<Told, Expected> {
    let unusable = |why: std::io::Error| home.unusable(&why);
    let (mut said, says) = std::io::pipe().map_err(unusable)?;
    let log = private().append(true).create(true).open(home.log()).map_err(unusable)?;
    let mut command = this_program(home, "--apart");
    for mark in MARKS {
        command.env_remove(mark);
    }
    // Threads that read now and then need no heap of their own; none of this reaches a command.
    command.env("MALLOC_ARENA_MAX", "2");
    command.stdin(Stdio::null()).stdout(says).stderr(log).current_dir("/");
    let apart = command.status().map_err(unusable)?;
    if !apart.success() {
        return Err(unusable(std::io::Error::other("no process can be made")));
    }
    // The writing end is the daemon's alone, so that its end is seen.
    drop(command);
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        // What cannot be read was not said.
        drop(said.read_to_string(&mut text));
        drop(tell.send(text));
    });
    let text = told.recv_timeout(READY_WITHIN).unwrap_or_default();
    Ok(read(home, &text))
}

/// Starts the daemon and ends at once, so that the daemon is nobody's child: an agent that ends with all that it started, and
/// all that these started, does not end what others wait for.
pub fn apart(home: &Home) -> Result<u8, Expected> {
    let mut command = this_program(home, "--detached");
    drop(command.spawn().map_err(|why| home.unusable(&why))?);
    Ok(0)
}

/// This very program, even when another one has taken its place on disk.
fn this_program(home: &Home, how: &str) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("homing").arg("--home").arg(home.dir()).args(["daemon", "run", how]);
    command
}

fn read(home: &Home, text: &str) -> Told {
    let mut lines = text.lines();
    match (lines.next(), lines.next(), lines.next()) {
        (Some(READY), ..) => Told::Ready,
        (Some(code), Some(what), hint) => Told::Not {
            code: code.parse().unwrap_or(6),
            what: what.to_owned(),
            hint: hint.unwrap_or_default().to_owned(),
        },
        _ => Told::Not {
            code: 1,
            what: "the daemon ended, or hangs, before it was ready".to_owned(),
            hint: format!("see what it wrote: {}", home.log().display()),
        },
    }
}
