//! What a running daemon writes down about itself in its home, and takes away when it ends. Never trusted alone:
//! the process it names must still be that one, and somebody must listen at the socket.

use std::path::PathBuf;

use homing_shim::processes::Process;
use homing_shim::run_dir::RunDir;
use serde::{Deserialize, Serialize};

use crate::expected::Expected;
use crate::home::Home;

const NAME: &str = "daemon.json";

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub pid: u32,
    /// The pid with its start time and boot: no recycled pid is taken for it.
    pub process: String,
    /// Milliseconds since the epoch.
    pub since: i64,
    pub version: String,
    pub socket: PathBuf,
    /// Where it listens on TCP.
    #[serde(default)]
    pub http: Option<String>,
}

impl Note {
    pub fn read(home: &Home) -> Result<Option<Self>, Expected> {
        let bytes = match RunDir::at(home.dir()).get(NAME) {
            Ok(bytes) => bytes,
            // The home itself is not a directory: whoever needs it says so.
            Err(why) if why.kind() == std::io::ErrorKind::NotADirectory => None,
            Err(why) => return Err(home.unusable(&why)),
        };
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub fn write(&self, home: &Home) -> Result<(), Expected> {
        // Plain data with text keys: it always has a form as JSON.
        let text = serde_json::to_vec_pretty(self).unwrap_or_default();
        RunDir::at(home.dir()).put(NAME, &text).map_err(|why| home.unusable(&why))
    }

    pub fn remove(home: &Home) {
        // One that stays names a process that is gone.
        drop(std::fs::remove_file(home.folder(NAME)));
    }

    /// The process, if it is the one that wrote this.
    pub fn process(&self) -> Option<Process> {
        Process::parse(&self.process).filter(|process| process.runs().unwrap_or(false))
    }
}
