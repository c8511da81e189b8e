//! The home's token: a file for its owner alone. Whoever can read it may call over TCP.

use std::io;

use homing_hosts::system::random;
use homing_ports::door::Token;
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
}

impl TokenFile {
    pub fn of(home: &Home) -> Self {
        Self { home: home.clone() }
    }

    pub fn path(&self) -> std::path::PathBuf {
        self.home.folder(NAME)
    }

    /// The token; made if there is none.
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
        let mut token = PREFIX.to_owned();
        for _ in 0..4 {
            token.push_str(&format!("{:016x}", random()?));
        }
        RunDir::at(self.home.dir()).put(NAME, token.as_bytes())?;
        Ok(token)
    }

    fn read(&self) -> io::Result<Option<String>> {
        let bytes = RunDir::at(self.home.dir()).get(NAME)?;
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
        Ok(text.filter(|text| !text.is_empty()))
    }
}

impl Token for TokenFile {
    fn token(&self) -> io::Result<String> {
        Ok(self.read()?.unwrap_or_default())
    }
}
