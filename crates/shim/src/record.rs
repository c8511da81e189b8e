//! How a run ended, as a file that is there once nothing of it runs; and the child's name while it does.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::claim::{self, Held};
use crate::processes::Process;
use crate::run_dir::{RunDir, private};
use crate::spec::Spec;

const EXIT: &str = "exit";
const WHY_MAX: usize = 1 << 10;

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal(i32),
    /// It was never started; `soon` when the machine may have room for it again.
    NotStarted {
        soon: bool,
        why: String,
    },
}

/// All that is known of the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    pub ended: Ended,
    /// It was asked to.
    pub asked: bool,
    /// Bytes it wrote.
    pub out: u64,
    pub err: u64,
    /// Bytes that the disk did not take.
    pub lost: u64,
    /// Processes that it left behind and that were ended.
    pub left: u64,
}

/// A place for the record, on disk before it is needed.
#[derive(Debug)]
pub struct Room {
    file: File,
    run: RunDir,
}

impl Room {
    /// Finds it where the spec is, before anything is begun: a full disk cannot lose the end.
    pub fn find(run: &RunDir) -> io::Result<Self> {
        let file = private().write(true).open(Spec::file(run))?;
        Ok(Self { file, run: run.clone() })
    }

    /// Takes it: nothing of the spec stays, which holds the environment. Its file is used on and not deleted: where
    /// one is deleted for every run, making the next ones becomes dear.
    pub fn take(&self) -> io::Result<()> {
        std::fs::rename(Spec::file(&self.run), new(&self.run))?;
        let length = usize::try_from(self.file.metadata()?.len()).unwrap_or(0);
        self.file.write_all_at(&vec![b'\n'; length], 0)
    }

    /// May be tried again.
    pub fn write(&self, exit: &Exit) -> io::Result<()> {
        self.file.write_all_at(exit.text().as_bytes(), 0)?;
        std::fs::rename(new(&self.run), self.run.file(EXIT))
    }
}

/// Each process that may come to run it has its own.
fn new(run: &RunDir) -> PathBuf {
    run.file(&format!("{EXIT}.{}", std::process::id()))
}

impl Exit {
    fn text(&self) -> String {
        let how = match &self.ended {
            Ended::Code(code) => format!("code {code}"),
            Ended::Signal(signal) => format!("signal {signal}"),
            Ended::NotStarted { soon, why } => {
                let class = if *soon { "soon" } else { "never" };
                let why: String = why.chars().filter(|c| !c.is_control()).take(WHY_MAX).collect();
                format!("{class} {why}")
            }
        };
        let Self { asked, out, err, lost, left, .. } = self;
        format!("{how}\nasked {asked}\nout {out}\nerr {err}\nlost {lost}\nleft {left}\nend\n")
    }

    /// For a run that was never begun.
    pub fn write(&self, run: &RunDir) -> io::Result<()> {
        run.put(EXIT, self.text().as_bytes())
    }

    /// None while something of the run may run.
    pub fn read(run: &RunDir) -> io::Result<Option<Self>> {
        let Some(bytes) = run.get(EXIT)? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        let broken = || io::Error::new(io::ErrorKind::InvalidData, "the exit record is broken");
        Self::parse(&text).map(Some).ok_or_else(broken)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (word, rest) = lines.next()?.split_once(' ')?;
        let why = || rest.to_owned();
        let ended = match word {
            "code" => Ended::Code(rest.parse().ok()?),
            "signal" => Ended::Signal(rest.parse().ok()?),
            "soon" => Ended::NotStarted { soon: true, why: why() },
            "never" => Ended::NotStarted { soon: false, why: why() },
            _ => return None,
        };
        let mut exit = Self { ended, asked: false, out: 0, err: 0, lost: 0, left: 0 };
        for line in lines {
            let Some((word, rest)) = line.split_once(' ') else {
                return (line == "end").then_some(exit);
            };
            match word {
                "asked" => exit.asked = rest == "true",
                "out" => exit.out = rest.parse().ok()?,
                "err" => exit.err = rest.parse().ok()?,
                "lost" => exit.lost = rest.parse().ok()?,
                "left" => exit.left = rest.parse().ok()?,
                // A later release may say more.
                _ => {}
            }
        }
        None
    }
}

/// A child that was started, and the pipes it writes to: by these, what is left of it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    pub process: Process,
    /// Their numbers, as the kernel calls them.
    pub pipes: Vec<u64>,
}

impl Child {
    /// It stands in the claim.
    pub fn write(&self, claim: &mut Held) -> io::Result<()> {
        let pipes: String = self.pipes.iter().map(|pipe| format!("pipe {pipe}\n")).collect();
        claim.add(&format!("{}\n{pipes}", self.process))
    }

    /// None when none was started, or a crash came between.
    pub fn read(run: &RunDir) -> io::Result<Option<Self>> {
        let Some(text) = claim::added(run)? else {
            return Ok(None);
        };
        let mut lines = text.lines();
        let process = lines.next().and_then(Process::parse);
        let pipes = lines.filter_map(|line| line.strip_prefix("pipe ")?.parse().ok()).collect();
        Ok(process.map(|process| Self { process, pipes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Taken;

    fn spec() -> Spec {
        Spec {
            command: vec!["true".into()],
            env: vec![("TOKEN".into(), "secret".repeat(10_000).into())],
            cwd: None,
            reads: false,
            spool: 0,
            grace: std::time::Duration::ZERO,
        }
    }

    #[test]
    fn nothing_of_what_was_to_be_run_stays_once_the_room_for_its_end_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        spec().write(&run).unwrap();
        let room = Room::find(&run).unwrap();
        room.take().unwrap();
        assert_eq!(Spec::read(&run).unwrap(), None);
        let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().collect();
        let [Ok(left)] = left.as_slice() else {
            panic!("one file and no other: {left:?}");
        };
        let bytes = std::fs::read(left.path()).unwrap();
        assert!(bytes.len() >= crate::spec::ROOM && bytes.iter().all(|byte| *byte == b'\n'));
        let exit = Exit { ended: Ended::Code(3), asked: false, out: 1, err: 2, lost: 0, left: 0 };
        room.write(&exit).unwrap();
        assert_eq!(Exit::read(&run).unwrap(), Some(exit));
    }

    #[test]
    fn a_child_reads_back() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        let own = Process::own().unwrap();
        assert_eq!(Child::read(&run).unwrap(), None);
        let Taken::Now(mut held) = claim::take(&run, &own).unwrap() else { panic!("taken before") };
        assert_eq!(Child::read(&run).unwrap(), None);
        let child = Child { process: own.clone(), pipes: vec![4, 5] };
        child.write(&mut held).unwrap();
        assert_eq!(claim::find(&run).unwrap().unwrap().shim, own);
        assert_eq!(Child::read(&run).unwrap(), Some(child));
    }

    #[test]
    fn a_record_reads_back_and_half_a_record_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        spec().write(&run).unwrap();
        let room = Room::find(&run).unwrap();
        room.take().unwrap();
        assert_eq!(Exit::read(&run).unwrap(), None);
        let failed = Ended::NotStarted { soon: true, why: "no\nroom".to_owned() };
        for ended in [Ended::Code(-3), Ended::Signal(9), failed] {
            let exit = Exit { ended, asked: true, out: 1, err: 2, lost: 3, left: 4 };
            let text = exit.text();
            for cut in 0..text.len() - 1 {
                assert_eq!(Exit::parse(&text[..cut]), None, "{cut}");
            }
            let one_line = |exit: Exit| match exit.ended {
                Ended::NotStarted { soon, why } => {
                    let why = why.replace('\n', "");
                    Exit { ended: Ended::NotStarted { soon, why }, ..exit }
                }
                Ended::Code(_) | Ended::Signal(_) => exit,
            };
            assert_eq!(Exit::parse(&text), Some(one_line(exit)));
        }
        let exit = Exit { ended: Ended::Code(0), asked: false, out: 0, err: 0, lost: 0, left: 0 };
        room.write(&exit).unwrap();
        assert_eq!(Exit::read(&run).unwrap(), Some(exit));
        std::fs::write(run.file(EXIT), "code zero\nend\n").unwrap();
        assert!(Exit::read(&run).is_err());
    }
}
