//! Processes by pid, start time and boot: whether they are there, who is below them, signals. Never takes a
//! recycled pid for the process it was.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
/// How much of the boot id goes into a name.
const BOOT_CHARS: usize = 8;
/// How often a program that begins is asked for its environment: at first at once, then after a pause.
const STARTING_MAX: usize = 2_000;
const AT_ONCE: usize = 50;
const PAUSE: Duration = Duration::from_millis(1);

/// A process, as no other is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Process {
    pub pid: i32,
    /// Clock ticks after the boot.
    pub start: u64,
    pub boot: Arc<str>,
}

/// Which boot of the machine this is.
pub fn boot_id() -> io::Result<String> {
    Ok(std::fs::read_to_string(BOOT_ID)?.trim().to_owned())
}

/// Read once: a process lives in one boot.
fn short_boot() -> io::Result<Arc<str>> {
    static BOOT: OnceLock<Arc<str>> = OnceLock::new();
    if let Some(boot) = BOOT.get() {
        return Ok(Arc::clone(boot));
    }
    let boot = boot_id()?.chars().take(BOOT_CHARS).collect::<String>().into();
    Ok(Arc::clone(BOOT.get_or_init(|| boot)))
}

impl Process {
    /// The living (or not yet reaped) process of this pid.
    pub fn of(pid: i32) -> io::Result<Self> {
        let stat = stat(pid)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        Ok(Self { pid, start: stat.start, boot: short_boot()? })
    }

    pub fn own() -> io::Result<Self> {
        Self::of(std::process::id().cast_signed())
    }

    /// Reads a name back.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (pid, start, boot) = (parts.next()?, parts.next()?, parts.next()?);
        let known = parts.next().is_none() && boot.len() == BOOT_CHARS;
        let pid = pid.parse().ok().filter(|pid| *pid > 1)?;
        known.then_some(Self { pid, start: start.parse().ok()?, boot: boot.into() })
    }

    /// Whether it runs. Nothing survives a boot.
    pub fn runs(&self) -> io::Result<bool> {
        let stat = stat(self.pid)?;
        Ok(stat.is_some_and(|stat| stat.runs && stat.start == self.start)
            && self.is_of_this_boot()?)
    }

    /// Whether it has its number still: it runs, or nobody has asked how it ended.
    pub fn is_there(&self) -> io::Result<bool> {
        let stat = stat(self.pid)?;
        Ok(stat.is_some_and(|stat| stat.start == self.start) && self.is_of_this_boot()?)
    }

    pub fn is_of_this_boot(&self) -> io::Result<bool> {
        Ok(*self.boot == *short_boot()?)
    }

    /// Sends a signal; one that is not there any more needs none.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return Ok(());
        };
        // Opened before the check: what is checked is what is signalled.
        let fd = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(fd) => fd,
            Err(Errno::SRCH) => return Ok(()),
            Err(why) => return Err(why.into()),
        };
        if !self.runs()? {
            return Ok(());
        }
        match pidfd_send_signal(fd, signal) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
}

impl fmt::Display for Process {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.pid, self.start, self.boot)
    }
}

/// What tools that list processes call this one, at most 15 bytes of it.
pub fn call_this(name: &CStr) {
    // It goes by another name, and works all the same.
    let _ = rustix::thread::set_name(name);
}

/// The process above; 0 where none can be seen. None when there is no such process.
pub fn parent_of(pid: i32) -> io::Result<Option<i32>> {
    Ok(stat(pid)?.map(|stat| stat.parent))
}

/// All processes that run now and have one of these above them; the given ones are not among them.
pub fn below(above: &[i32]) -> io::Result<Vec<Process>> {
    Ok(below_of(&all()?, above.to_vec()))
}

fn below_of(all: &All, mut open: Vec<i32>) -> Vec<Process> {
    let mut found = Vec::new();
    while let Some(at) = open.pop() {
        for (process, stat) in all.values().filter(|(_, stat)| stat.parent == at) {
            open.push(process.pid);
            if stat.runs {
                found.push(process.clone());
            }
        }
    }
    found
}

/// All processes of this user that run now and were given `NAME=VALUE` in their environment or hold one of these
/// pipes, with all below them. Those that began before `since` are others.
pub fn marked(mark: &str, pipes: &[u64], since: &Process) -> io::Result<Vec<Process>> {
    if !since.is_of_this_boot()? {
        return Ok(Vec::new());
    }
    let all = all()?;
    let given = |process: &Process| {
        // Another user's, or gone meanwhile: not one of ours.
        let environment = environment(process.pid).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|pair| pair == mark.as_bytes())
    };
    let held: Vec<PathBuf> = pipes.iter().map(|pipe| format!("pipe:[{pipe}]").into()).collect();
    let own = all.values().filter(|(process, stat)| stat.runs && process.start >= since.start);
    let own = own.map(|(process, _)| process).filter(|process| process.pid != own_pid());
    let mut found: BTreeSet<Process> =
        own.filter(|process| given(process) || holds(process, &held)).cloned().collect();
    let below = below_of(&all, found.iter().map(|process| process.pid).collect());
    found.extend(below);
    Ok(found.into_iter().collect())
}

/// What the program of a process was started with, as `NAME=VALUE` with a zero after each. One that is just being put in the
/// place of another shows none for a moment: it is read when it is there.
pub fn environment(pid: i32) -> io::Result<Vec<u8>> {
    for n in 0..STARTING_MAX {
        if !stat(pid)?.is_some_and(|stat| stat.is_starting) {
            break;
        }
        // On a busy machine it may not have gone on yet, and nothing tells when it does.
        if n < AT_ONCE { std::thread::yield_now() } else { std::thread::sleep(PAUSE) }
    }
    kernel_text(&format!("/proc/{pid}/environ"))
}

fn own_pid() -> i32 {
    std::process::id().cast_signed()
}

fn holds(process: &Process, held: &[PathBuf]) -> bool {
    if held.is_empty() {
        return false;
    }
    // Another user's, or gone meanwhile: not one of ours.
    let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", process.pid)) else {
        return false;
    };
    let links = open.flatten().filter_map(|fd| std::fs::read_link(fd.path()).ok());
    links.into_iter().any(|link| held.contains(&link))
}

type All = BTreeMap<i32, (Process, Stat)>;

fn all() -> io::Result<All> {
    let boot = short_boot()?;
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(stat) = stat(pid)? {
            let process = Process { pid, start: stat.start, boot: Arc::clone(&boot) };
            found.insert(pid, (process, stat));
        }
    }
    Ok(found)
}

/// What the kernel says of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    runs: bool,
    /// Its memory is there, and its program is not in it yet.
    is_starting: bool,
    parent: i32,
    start: u64,
}

/// What the kernel writes has no length beforehand: room for nearly all of it saves most of the reads.
fn kernel_text(path: &str) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(1 << 10);
    File::open(path)?.take(u64::MAX).read_to_end(&mut text)?;
    Ok(text)
}

fn stat(pid: i32) -> io::Result<Option<Stat>> {
    match kernel_text(&format!("/proc/{pid}/stat")) {
        Ok(line) => Ok(read_stat(&String::from_utf8_lossy(&line))),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) if why.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => Ok(None),
        Err(why) => Err(why),
    }
}

/// The name of a program may hold anything, also a parenthesis: what counts comes after the last one.
fn read_stat(line: &str) -> Option<Stat> {
    let (_, rest) = line.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // Its first thread may be over while others run.
    let threads: u32 = fields.nth(15)?.parse().ok()?;
    let start = fields.nth(1)?.parse().ok()?;
    let over = matches!(state, "Z" | "X") && threads <= 1;
    let has_memory = fields.next()? != "0";
    let code = fields.nth(2);
    let is_starting = has_memory && code == Some("0");
    Some(Stat { runs: !over, is_starting, parent, start })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn the_line_of_a_program_with_an_odd_name_is_read() {
        let rest =
            "S 30942 77 23209 0 -1 4227084 76 0 0 0 0 0 0 0 20 0 1 0 295423 0 0 184467440737";
        let stat = read_stat(&format!("30983 (a) Z 1 (b)) {rest}")).unwrap();
        let expected = Stat { runs: true, is_starting: false, parent: 30_942, start: 295_423 };
        assert_eq!(stat, expected);
        assert!(read_stat("").is_none() && read_stat("1 (x) S 2").is_none());
    }

    #[test]
    fn b6_the_environment_of_a_program_that_just_begins_is_read() {
        for _ in 0..200 {
            let mut command = Command::new("sleep");
            let mut child = command.arg("1000").env("HOMING_TEST_BEGINS", "1").spawn().unwrap();
            let environment = environment(child.id().cast_signed()).unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            let environment = String::from_utf8(environment).unwrap();
            assert!(environment.contains("HOMING_TEST_BEGINS=1\0"), "{environment:?}");
        }
        // One that was given nothing, and one that is over.
        let mut child = Command::new("sleep").arg("1000").env_clear().spawn().unwrap();
        let pid = child.id().cast_signed();
        assert_eq!(environment(pid).unwrap(), b"");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(environment(pid).is_err());
    }

    #[test]
    fn a_name_reads_back_and_garbage_does_not() {
        let own = Process::own().unwrap();
        assert_eq!(Process::parse(&own.to_string()), Some(own));
        for text in
            ["", "1.2", "0.1.aaaaaaaa", "-4.1.aaaaaaaa", "4.x.aaaaaaaa", "4.1.aaaaaaaa.5", "4.1.a"]
        {
            assert_eq!(Process::parse(text), None, "{text}");
        }
    }

    #[test]
    fn r4_a_recycled_pid_is_another_process_and_is_never_signalled() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let now = Process::of(child.id().cast_signed()).unwrap();
        assert!(now.runs().unwrap());
        let before = Process { start: now.start - 1, ..now.clone() };
        let other_boot = Process { boot: "00000000".into(), ..now.clone() };
        for gone in [before, other_boot] {
            assert!(!gone.runs().unwrap());
            gone.signal(Signal::KILL).unwrap();
        }
        now.signal(Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
    }

    #[test]
    fn those_below_and_those_with_a_mark_are_found() {
        let own = Process::own().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "sleep 1000 & wait"])
            .env("HOMING_TEST_MARK", "a mark")
            .spawn()
            .unwrap();
        let shell = Process::of(child.id().cast_signed()).unwrap();
        // The shell forks in its own time: a bounded wait on the condition.
        let pair = (0..10_000)
            .find_map(|_| {
                std::thread::yield_now();
                let found = below(&[shell.pid]).unwrap();
                (found.len() == 1).then_some(found)
            })
            .unwrap();
        assert!(below(&[own.pid]).unwrap().contains(&pair[0]));
        let mut marked = marked("HOMING_TEST_MARK=a mark", &[], &own).unwrap();
        marked.retain(|process| *process == shell || *process == pair[0]);
        assert_eq!(marked.len(), 2);
        for process in [&pair[0], &shell] {
            process.signal(Signal::KILL).unwrap();
        }
        child.wait().unwrap();
    }
}
