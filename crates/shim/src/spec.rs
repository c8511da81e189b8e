//! What a shim is to run, as a file of words that end with a NUL: any bytes but that one can be said.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use crate::run_dir::RunDir;

const NAME: &str = "spec";
/// So much is kept free in it.
pub(crate) const ROOM: usize = 4 << 10;
/// The first word; another one is of a release that this one does not know.
const VERSION: &str = "homing-shim 1";

/// A command with all it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The program first.
    pub command: Vec<OsString>,
    /// All of it: nothing is inherited.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: Option<PathBuf>,
    /// Whether it reads the frames of its run; else it reads nothing.
    pub reads: bool,
    /// Bytes of each output stream that are kept.
    pub spool: u64,
    /// Between asking to end and insisting.
    pub grace: Duration,
}

impl Spec {
    pub fn write(&self, run: &RunDir) -> io::Result<()> {
        let mut words: Vec<Vec<u8>> = vec![VERSION.into()];
        let mut say = |tag: &str, value: &OsStr| {
            words.push(tag.into());
            words.push(value.as_bytes().to_vec());
        };
        for word in &self.command {
            say("arg", word);
        }
        for (name, value) in &self.env {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            say("env", &pair);
        }
        if let Some(cwd) = &self.cwd {
            say("cwd", cwd.as_os_str());
        }
        say("reads", OsStr::new(if self.reads { "yes" } else { "no" }));
        say("spool", OsStr::new(&self.spool.to_string()));
        say("grace_ms", OsStr::new(&self.grace.as_millis().to_string()));
        if words.iter().any(|word| word.contains(&0)) {
            return Err(bad("a word of a command cannot hold a NUL"));
        }
        // Its file becomes the record of the end: that has its room on disk before anything is begun.
        words.push("room".into());
        words.push(vec![b' '; ROOM]);
        let bytes: Vec<u8> =
            words.into_iter().flat_map(|word| word.into_iter().chain([0])).collect();
        run.put(NAME, &bytes)
    }

    /// The file, to be overwritten.
    pub(crate) fn file(run: &RunDir) -> PathBuf {
        run.file(NAME)
    }

    /// None when it was read before, and overwritten.
    pub fn read(run: &RunDir) -> io::Result<Option<Self>> {
        run.get(NAME)?.map(|bytes| Self::parse(&bytes)).transpose()
    }

    pub fn remove(run: &RunDir) {
        // One that stays is read by nobody: the claim is taken.
        drop(std::fs::remove_file(run.file(NAME)));
    }

    fn parse(bytes: &[u8]) -> io::Result<Self> {
        let Some(bytes) = bytes.strip_suffix(&[0]) else {
            return Err(bad("it is cut off"));
        };
        let mut words = bytes.split(|byte| *byte == 0);
        if words.next() != Some(VERSION.as_bytes()) {
            return Err(bad("it is of another release"));
        }
        let mut spec = Self {
            command: Vec::new(),
            env: Vec::new(),
            cwd: None,
            reads: false,
            spool: 0,
            grace: Duration::ZERO,
        };
        while let (Some(tag), Some(value)) = (words.next(), words.next()) {
            spec.take(tag, value)?;
        }
        Ok(spec)
    }

    fn take(&mut self, tag: &[u8], value: &[u8]) -> io::Result<()> {
        let word = || OsString::from_vec(value.to_vec());
        let number = || {
            let text = std::str::from_utf8(value).ok();
            text.and_then(|text| text.parse().ok()).ok_or_else(|| bad("a number is none"))
        };
        match tag {
            b"arg" => self.command.push(word()),
            b"env" => {
                let middle = value.iter().position(|byte| *byte == b'=');
                let (name, pair) =
                    value.split_at(middle.ok_or_else(|| bad("a variable has no ="))?);
                let own = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
                self.env.push((own(name), own(&pair[1..])));
            }
            b"cwd" => self.cwd = Some(word().into()),
            b"reads" => self.reads = value == b"yes",
            b"spool" => self.spool = number()?,
            b"grace_ms" => self.grace = Duration::from_millis(number()?),
            // A later release may say more.
            _ => {}
        }
        Ok(())
    }
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the run's spec cannot be used: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec {
            command: vec!["sh".into(), "".into(), OsString::from_vec(vec![0xff, b'\n', b' '])],
            env: vec![("A".into(), "x=y".into()), ("B".into(), "".into())],
            cwd: Some("/tmp/a b".into()),
            reads: true,
            spool: 1 << 40,
            grace: Duration::from_millis(1_500),
        }
    }

    #[test]
    fn it_reads_back_as_it_was_written_and_only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        spec().write(&run).unwrap();
        assert_eq!(Spec::read(&run).unwrap(), Some(spec()));
        let mode = std::fs::metadata(run.file(NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        Spec::remove(&run);
        assert_eq!(Spec::read(&run).unwrap(), None);
    }

    #[test]
    fn what_is_cut_off_foreign_or_odd_is_refused() {
        for bytes in [&b""[..], b"homing-shim 1\0arg\0sh", b"homing-shim 9\0", b"other\0"] {
            assert!(Spec::parse(bytes).is_err(), "{bytes:?}");
        }
        assert!(Spec::parse(b"homing-shim 1\0env\0A\0").is_err());
        assert!(Spec::parse(b"homing-shim 1\0spool\0many\0").is_err());
        let nul = Spec { command: vec![OsString::from_vec(vec![0])], ..spec() };
        let directory = tempfile::tempdir().unwrap();
        assert!(nul.write(&RunDir::at(directory.path())).is_err());
    }
}
