//! Secrets of the home, each in a file for its owner alone: the token that calls over TCP need, and what requests to a
//! webhook are signed with.

use std::io;

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
