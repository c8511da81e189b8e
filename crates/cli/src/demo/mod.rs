//! The demos: each on a home of its own, through the same door as everybody, with a daemon that it starts and
//! ends itself.
//!
//! - `story`: a parent, three children, one debrief.
//! - `group`: a bot in a group, and what its room holds at the end.
//! - `crash`: a daemon that is killed again and again, and a count from outside its ledger.

mod crash;
mod group;
mod story;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use homing_client::{Client, Error};
use homing_core::words::Code;

use crate::daemon;
use crate::expected::Expected;
use crate::home::Home;
use crate::verbs::daemon::blocking;

pub use crash::crash;
pub use group::group;
pub use story::story;

/// A home that is gone afterwards, with all that ran in it.
struct Stage {
    dir: PathBuf,
    home: Home,
}

impl Stage {
    fn new() -> anyhow::Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let name = format!("homing-demo-{}-{now}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let home = Home::find(Some(dir.join("home")))?;
        home.make()?;
        Ok(Self { dir, home })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Ok(Some((_, client))) = daemon::running(&self.home) {
            // One that does not answer has nothing left to run: its home goes now.
            drop(blocking(async { Ok(client.stop(true).await?) }));
        }
        // What cannot be removed is a few files under the temporary directory.
        drop(std::fs::remove_dir_all(&self.dir));
    }
}

/// The daemon of a home, started when none runs; from within an async block.
async fn door(home: &Home) -> Result<Client, Expected> {
    let dir = home.dir().to_owned();
    let found = tokio::task::spawn_blocking(move || daemon::ensure(&Home::find(Some(dir))?));
    found.await.map_err(|why| Expected::Output(std::io::Error::other(why)))?
}

/// Whether the same question, asked again, may be answered.
fn passes(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::CutOff { .. } => true,
        Error::Problem(_) => matches!(error.code(), Some(Code::Unavailable | Code::Unsure)),
        Error::Odd { .. } => false,
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
