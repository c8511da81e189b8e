//! Watching a command: reports that it moves, and how it ended. Never says more than was seen.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use homing_core::fact::Fact;
use homing_core::words::Tri;
use homing_ports::host::{Place, Reports};
use tokio::time::timeout;

use super::run::Run;
use super::{Found, UNKNOWN_END, look_at, running};
use crate::system::processes::Leader;

/// A command that writes without a pause is reported as active this often.
const ACTIVE_EVERY: Duration = Duration::from_secs(1);

/// One who watches.
pub(super) struct Watch {
    pub place: Place,
    pub reports: Arc<dyn Reports>,
    /// For what a command of before left behind.
    pub grace: Duration,
}

impl Watch {
    pub(super) async fn watch(self, found: Found) {
        match found {
            Found::Run(run) => self.own(&run).await,
            Found::Left(leader) => {
                self.report(running(Tri::Unknown)).await;
                let end = match self.left_ended(&leader).await {
                    Ok(()) => Fact::Interrupted { why: UNKNOWN_END.into() },
                    Err(why) => Fact::LookFailed { why: why.to_string().into() },
                };
                self.report(end).await;
            }
            Found::Blank | Found::Nothing | Found::Odd(_) => self.report(look_at(found)).await,
        }
    }

    async fn own(&self, run: &Run) {
        let mut written = run.written();
        let end = loop {
            tokio::select! {
                biased;
                end = run.ended() => break end,
                moved = written.changed() => {
                    if moved.is_err() {
                        break run.ended().await;
                    }
                }
            }
            self.report(Fact::Active).await;
            if let Ok(end) = timeout(ACTIVE_EVERY, run.ended()).await {
                break end;
            }
        };
        self.report(end).await;
    }

    /// What a command left in its group is ended with it, whoever started it.
    async fn left_ended(&self, leader: &Leader) -> io::Result<()> {
        if let Some(end) = leader.end()? {
            end.wait().await?;
        }
        leader.end_group(self.grace).await
    }

    async fn report(&self, fact: Fact) {
        self.reports.report(self.place.task, self.place.fence, fact).await;
    }
}
