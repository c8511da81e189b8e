//! Secrets, each in a file for its owner alone. Those of the home: the token that calls over TCP need, and what requests
//! to a webhook are signed with. Those of others: where homing.toml says.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use homing_hosts::system::random;
use homing_ports::door::Token;
use homing_rooms::webhook::Secret;
use homing_shim::run_dir::RunDir;

use crate::expected::Expected;
use crate::home::Home;

const NAME: &str = "token";
/// So that one that was put where it does not belong is found.
const PREFIX: &str = "homing_";

/// See the module.
#[derive(Debug, Clone)]
pub struct TokenFile {
    home: Home,
    name: String,
    form: fn(&[u8; 32]) -> String,
}

impl TokenFile {
    /// What a program must know that calls over TCP.
    pub fn of(home: &Home) -> Self {
        let form = |bytes: &[u8; 32]| {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{PREFIX}{hex}")
        };
        Self { home: home.clone(), name: NAME.to_owned(), form }
    }

    /// What requests to this webhook are signed with.
    pub fn of_webhook(home: &Home, name: &str) -> Self {
        let form = |bytes: &[u8; 32]| Secret::text_of(bytes);
        Self { home: home.clone(), name: format!("webhook-{name}.secret"), form }
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.home.folder(&self.name)
    }

    /// As it is; made if there is none.
    pub fn get(&self) -> Result<String, Expected> {
        let known = self.read().map_err(|why| self.home.unusable(&why))?;
        known.map_or_else(|| self.rotate(), Ok)
    }

    /// A new one. The old one is worth nothing from now on.
    pub fn rotate(&self) -> Result<String, Expected> {
        self.home.make()?;
        self.make().map_err(|why| self.home.unusable(&why))
    }

    fn make(&self) -> io::Result<String> {
        let mut bytes = [0; 32];
        for each in bytes.chunks_exact_mut(8) {
            each.copy_from_slice(&random()?.to_le_bytes());
        }
        let text = (self.form)(&bytes);
        RunDir::at(self.home.dir()).put(&self.name, text.as_bytes())?;
        Ok(text)
    }

    fn read(&self) -> io::Result<Option<String>> {
        let bytes = RunDir::at(self.home.dir()).get(&self.name)?;
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        Ok(text.filter(|text| !text.is_empty()))
    }
}

impl Token for TokenFile {
    fn token(&self) -> io::Result<String> {
        Ok(self.read()?.unwrap_or_default())
    }
}

/// A secret of others: a token that a homeserver gave. Never printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    /// Relative: in the home.
    File(PathBuf),
    /// A variable of the daemon.
    Env(String),
}

/// More is no token.
const GIVEN_MOST: u64 = 16 << 10;

impl Given {
    /// The same, wherever the process is.
    pub fn of(&self, home: &Home) -> Self {
        match self {
            Self::File(path) => Self::File(home.dir().join(path)),
            Self::Env(name) => Self::Env(name.clone()),
        }
    }

    /// A file that cannot be used is said at the start. A variable may be missing where a daemon is started anew.
    pub fn check(&self) -> Result<(), (String, String)> {
        match self {
            Self::File(path) => {
                let hint =
                    format!("a file with the token alone, and: chmod 600 '{}'", path.display());
                read_own(path).map(drop).map_err(|why| (why.to_string(), hint))
            }
            Self::Env(_) => Ok(()),
        }
    }
}

impl Token for Given {
    fn token(&self) -> io::Result<String> {
        match self {
            Self::File(path) => read_own(path),
            Self::Env(name) => {
                let missing = format!("the variable {name} is not set");
                let found = std::env::var(name).map(|text| text.trim().to_owned());
                found.map_err(|_| io::Error::new(io::ErrorKind::NotFound, missing))
            }
        }
    }
}

/// What a file holds that nobody else can look into.
fn read_own(path: &Path) -> io::Result<String> {
    let shown = path.display();
    let wrong = |why: String| io::Error::other(format!("{shown}: {why}"));
    let about = fs::metadata(path).map_err(|why| wrong(why.to_string()))?;
    if !about.is_file() {
        return Err(wrong("it is no file".to_owned()));
    }
    let file = File::open(path).map_err(|why| wrong(why.to_string()))?;
    let mode = file.metadata()?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(wrong(format!("others can read it or write to it ({mode:03o})")));
    }
    let mut text = String::new();
    file.take(GIVEN_MOST).read_to_string(&mut text).map_err(|why| wrong(why.to_string()))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(wrong("it is empty".to_owned()));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_token_is_read_if_its_owner_alone_can() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        let given = Given::File(path.clone());
        let (why, hint) = given.check().unwrap_err();
        assert!(why.contains("No such file") && hint.contains("chmod 600"), "{why}; {hint}");
        fs::write(&path, "syt_secret\n").unwrap();
        for mode in [0o640, 0o604, 0o620, 0o777] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let (why, hint) = given.check().unwrap_err();
            assert!(why.contains("others can read it"), "{mode:o}: {why}");
            assert!(hint.contains("chmod 600") && !why.contains("syt_"), "{why}; {hint}");
            assert!(given.token().is_err(), "{mode:o}");
        }
        for mode in [0o600, 0o400] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(given.check(), Ok(()));
            assert_eq!(given.token().unwrap(), "syt_secret");
        }
        assert!(Given::File(dir.path().to_owned()).check().is_err());
    }

    #[test]
    fn a_variable_that_is_missing_is_named() {
        let given = Given::Env("HOMING_TEST_NOT_SET".to_owned());
        assert_eq!(given.check(), Ok(()));
        assert!(given.token().unwrap_err().to_string().contains("HOMING_TEST_NOT_SET"));
    }
}
