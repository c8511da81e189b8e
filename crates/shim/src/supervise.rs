//! One run from claim to exit record: starts the child, keeps what it writes, gives it its input, ends what
//! it leaves behind. One loop that sleeps until something happens.

use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{StatVfs, fstat, statvfs};
use rustix::process::{Pid, Signal, set_child_subreaper, setsid};

use crate::claim::{self, Taken};
use crate::processes::{self, Process};
use crate::reaper::{self, Reaped, Reaper};
use crate::record::{self, Ended, Exit, Room};
use crate::run_dir::RunDir;
use crate::spec::Spec;
use crate::streams::Streams;
use crate::talk::{Ask, Said, VERSION};

/// A child that writes without a pause is told of this often.
const WROTE_EVERY: Duration = Duration::from_secs(1);
/// What does not end by SIGKILL at once may have had a child meanwhile.
const INSIST_EVERY: Duration = Duration::from_millis(50);
/// Taking room on the disk costs more than a quick command may: it is taken for those that run longer than this,
/// and at once where little is left.
const ROOM_AFTER: Duration = Duration::from_secs(1);
const FREE_MIN: u64 = 256 << 20;
const TALKERS_MAX: usize = 16;
const LINE_MAX: usize = 256;

/// Supervises the run of this directory until nothing of it runs. Says one line on standard output.
pub fn supervise(run: &RunDir) -> io::Result<()> {
    // A process of its own session: it has nobody's terminal. One that leads a group already cannot.
    let _ = setsid();
    let own = Process::own()?;
    set_child_subreaper(Pid::from_raw(own.pid))?;
    let Some(spec) = Spec::read(run)? else {
        return say("taken");
    };
    // Before the claim: where there is no room for its end, nothing is begun.
    let room = Room::find(run).inspect_err(|why| drop(say(&format!("no room: {why}"))))?;
    let Taken::Now(mut held) = claim::take(run, &own)? else {
        // It names values that nobody reads any more.
        Spec::remove(run);
        return say("taken");
    };
    room.take()?;
    let listener = run.listen()?;
    listener.set_nonblocking(true)?;
    let reaper = Reaper::new()?;
    let mut child = match spawn(&spec) {
        Ok(child) => child,
        Err(why) => {
            let ended = not_started(&spec, &why);
            let exit = Exit { ended, asked: false, out: 0, err: 0, lost: 0, left: 0 };
            write_down(&room, &exit);
            drop(held);
            return say("failed");
        }
    };
    // From here on nothing but the child's end is a reason to end.
    reaper.begin();
    let pid = child.id().cast_signed();
    let streams = Streams::of(run, &spec, &mut child);
    let pipes = streams.open().filter_map(|fd| Some(fstat(fd).ok()?.st_ino)).collect();
    let noted =
        Process::of(pid).and_then(|process| record::Child { process, pipes }.write(&mut held));
    if let Err(why) = noted {
        eprintln!("the child could not be written down: {why}");
    }
    say("started")?;
    let watched = Watched {
        own: own.pid,
        child: pid,
        grace: spec.grace,
        ended: None,
        asked: false,
        left: 0,
        insist: None,
    };
    let talkers = Vec::new();
    let mut at_work = AtWork {
        listener,
        talkers,
        streams,
        reaper,
        watched,
        told: 0,
        tell_at: None,
        room_at: None,
    };
    at_work.plan_room(run);
    at_work.turn_over()?;
    write_down(&room, &at_work.exit());
    drop(held);
    // Who waits need not wait for the rest of this process, too.
    at_work.tell(Said::Ended);
    Ok(())
}

/// Whoever spawned this may be gone: that is no reason to end.
fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
    Ok(())
}

fn spawn(spec: &Spec) -> io::Result<Child> {
    let Some((program, arguments)) = spec.command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no command was given"));
    };
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
    command.stdin(if spec.reads { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    if let Some(cwd) = &spec.cwd {
        if !cwd.is_dir() {
            let why = format!("{} is not a directory", cwd.display());
            return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
        }
        command.current_dir(cwd);
    }
    command.spawn()
}

/// A program that is not there stays so; a machine that is out of something may have it again soon.
fn not_started(spec: &Spec, why: &io::Error) -> Ended {
    let soon = matches!(
        why.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory | io::ErrorKind::ResourceBusy
    );
    let program = spec
        .command
        .first()
        .map_or_else(String::new, |program| format!("{}: ", program.to_string_lossy()));
    Ended::NotStarted { soon, why: format!("{program}{why}") }
}

/// A disk that is full may have room again, and one that cannot be written to be mended; a directory that is
/// gone is nobody's any more.
fn write_down(room: &Room, exit: &Exit) {
    while let Err(why) = room.write(exit) {
        let waits = matches!(
            why.kind(),
            io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::ReadOnlyFilesystem
        );
        if !waits {
            eprintln!("the end could not be written down: {why}");
            return;
        }
        std::thread::park_timeout(WROTE_EVERY);
    }
}

/// The child and all below it.
struct Watched {
    own: i32,
    child: i32,
    grace: Duration,
    ended: Option<Ended>,
    asked: bool,
    left: u64,
    /// When those that do not end are killed.
    insist: Option<Instant>,
}

impl Watched {
    fn reaped(&mut self, reaped: Reaped) {
        if reaped.pid != self.child || self.ended.is_some() {
            return;
        }
        self.ended = Some(reaped.ended);
        // Most leave nobody behind; then nobody is looked for among all processes.
        if reaper::is_alone() {
            return;
        }
        self.left = self.signal(Signal::TERM);
        if self.insist.is_none() {
            self.insist = Some(Instant::now() + self.grace);
        }
    }

    fn stop(&mut self) {
        if !self.asked {
            self.asked = true;
            self.signal(Signal::TERM);
            self.insist = Some(Instant::now() + self.grace);
        }
    }

    fn insist_if_due(&mut self) {
        let now = Instant::now();
        if self.insist.is_some_and(|at| at <= now) {
            self.signal(Signal::KILL);
            self.insist = Some(now + INSIST_EVERY);
        }
    }

    /// All that is below, now; how many.
    fn signal(&self, signal: Signal) -> u64 {
        let below = processes::below(&[self.own]).unwrap_or_default();
        for process in &below {
            // One that cannot be signalled is insisted on, or given up on by who asked.
            drop(process.signal(signal));
        }
        below.len() as u64
    }
}

/// Someone who is connected.
struct Talker {
    stream: UnixStream,
    line: Vec<u8>,
    /// It did not take all of a line.
    deaf: bool,
}

struct AtWork {
    listener: UnixListener,
    talkers: Vec<Talker>,
    streams: Streams,
    reaper: Reaper,
    watched: Watched,
    /// Bytes that were told of, and when more may be.
    told: u64,
    tell_at: Option<Instant>,
    /// When room is taken for the output.
    room_at: Option<Instant>,
}

/// What woke the loop.
struct Woken {
    reaper: bool,
    listener: bool,
    talkers: Vec<bool>,
}

impl AtWork {
    fn turn_over(&mut self) -> io::Result<()> {
        loop {
            let woken = self.sleep()?;
            self.streams.keep(false);
            if self.streams.feed() {
                self.tell_acked();
            }
            if woken.listener {
                self.welcome();
            }
            self.listen(&woken.talkers);
            self.watched.insist_if_due();
            if self.room_at.is_some_and(|at| at <= Instant::now()) {
                self.room_at = None;
                self.streams.take_room();
            }
            self.tell_wrote();
            if woken.reaper && !self.heard() {
                self.streams.keep(true);
                self.streams.over();
                return Ok(());
            }
        }
    }

    fn plan_room(&mut self, run: &RunDir) {
        let plenty = |disk: StatVfs| disk.f_bavail.saturating_mul(disk.f_frsize) >= FREE_MIN;
        if statvfs(run.path()).is_ok_and(plenty) {
            self.room_at = Some(Instant::now() + ROOM_AFTER);
        } else {
            self.streams.take_room();
        }
    }

    fn exit(&self) -> Exit {
        let (out, err) = self.streams.spools();
        Exit {
            ended: self.watched.ended.clone().unwrap_or(Ended::Signal(Signal::KILL.as_raw())),
            asked: self.watched.asked,
            out: out.total(),
            err: err.total(),
            lost: out.lost() + err.lost(),
            left: self.watched.left,
        }
    }

    fn sleep(&self) -> io::Result<Woken> {
        let input = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let mut fds: Vec<PollFd<'_>> =
            vec![input(self.reaper.wakes.as_fd()), input(self.listener.as_fd())];
        fds.extend(self.talkers.iter().map(|talker| input(talker.stream.as_fd())));
        fds.extend(self.streams.open().map(input));
        if let Some(pipe) = self.streams.waits_for_room() {
            fds.push(PollFd::from_borrowed_fd(pipe, PollFlags::OUT));
        }
        let until = [self.watched.insist, self.tell_at, self.room_at].into_iter().flatten().min();
        let wait = until.map(|at| at.saturating_duration_since(Instant::now()));
        let wait = wait.and_then(|wait| Timespec::try_from(wait).ok());
        match poll(&mut fds, wait.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(why) => return Err(why.into()),
        }
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ok(Woken {
            reaper: ready(&fds[0]),
            listener: ready(&fds[1]),
            talkers: fds[2..2 + self.talkers.len()].iter().map(ready).collect(),
        })
    }

    /// Takes in who ended; false when nobody is left.
    fn heard(&mut self) -> bool {
        let mut bytes = [0; 64];
        let open = read_some(&mut self.reaper.wakes, &mut bytes);
        while let Ok(reaped) = self.reaper.told.try_recv() {
            self.watched.reaped(reaped);
        }
        open
    }

    fn welcome(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.talkers.len() >= TALKERS_MAX || stream.set_nonblocking(true).is_err() {
                continue;
            }
            let mut talker = Talker { stream, line: Vec::new(), deaf: false };
            talker.say(Said::Hello { version: VERSION });
            talker.say(Said::Acked { n: self.streams.acked() });
            talker.say(Said::Wrote { total: self.streams.total() });
            self.talkers.push(talker);
        }
    }

    fn listen(&mut self, ready: &[bool]) {
        let mut asks = Vec::new();
        let mut ready = ready.iter();
        self.talkers.retain_mut(|talker| match ready.next() {
            Some(true) => talker.hear(&mut asks),
            Some(false) | None => true,
        });
        for ask in asks {
            match ask {
                Ask::Stop => self.watched.stop(),
                Ask::Input => {
                    if self.streams.feed() {
                        self.tell_acked();
                    }
                }
            }
        }
    }

    fn tell_acked(&mut self) {
        self.tell(Said::Acked { n: self.streams.acked() });
    }

    fn tell_wrote(&mut self) {
        let now = Instant::now();
        let total = self.streams.total();
        if self.tell_at.is_some_and(|at| at > now) {
            return;
        }
        if total == self.told {
            self.tell_at = None;
            return;
        }
        self.told = total;
        self.tell_at = Some(now + WROTE_EVERY);
        self.tell(Said::Wrote { total });
    }

    fn tell(&mut self, said: Said) {
        self.talkers.iter_mut().for_each(|talker| talker.say(said));
    }
}

impl Talker {
    /// One who does not listen is told no more; what it asks still counts.
    fn say(&mut self, said: Said) {
        let line = said.line();
        if !self.deaf {
            self.deaf = self.stream.write(line.as_bytes()).ok() != Some(line.len());
        }
    }

    /// What it asks; false when it is gone.
    fn hear(&mut self, asks: &mut Vec<Ask>) -> bool {
        let mut bytes = [0; LINE_MAX];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => self.line.extend_from_slice(&bytes[..count]),
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => break,
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
            while let Some(end) = self.line.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.line.drain(..=end).collect();
                asks.extend(Ask::parse(&String::from_utf8_lossy(&line)));
            }
            if self.line.len() > LINE_MAX {
                return false;
            }
        }
        true
    }
}

/// False at the end.
fn read_some(pipe: &mut PipeReader, bytes: &mut [u8]) -> bool {
    loop {
        match pipe.read(bytes) {
            Ok(count) => return count > 0,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}
