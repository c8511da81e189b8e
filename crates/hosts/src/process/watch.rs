//! Watching a command: reports that it moves, and how it ended. Never says more than was seen.

use std::io;
use std::sync::Arc;

use homing_core::fact::Fact;
use homing_core::words::Tri;
use homing_ports::host::{Place, Reports};
use homing_shim::processes::Process;
use homing_shim::talk::Said;

use super::control::Control;
use super::{Found, ProcessHost, running};
use crate::system::processes::ended;

/// One who watches.
pub(super) struct Watch {
    pub host: ProcessHost,
    pub place: Place,
    pub reports: Arc<dyn Reports>,
    /// Nothing was missed of it.
    pub fresh: bool,
}

impl Watch {
    pub(super) async fn watch(self) {
        if !self.fresh && matches!(self.host.find(&self.place), Ok(Found::Running(_))) {
            self.report(running(Tri::Yes)).await;
        }
        if let Ok(Found::Running(shim)) = self.host.find(&self.place)
            && let Err(why) = self.follow(&shim).await
        {
            return self.report(Fact::LookFailed { why: why.to_string().into() }).await;
        }
        self.report(self.host.look_at(&self.place).await).await;
    }

    /// Until the shim has said that all is over, or is gone.
    async fn follow(&self, shim: &Process) -> io::Result<()> {
        let run = self.host.run(self.place.task, self.place.fence.attempt);
        // One that cannot be spoken to can still be waited for.
        if let Ok(mut control) = Control::connect(&run).await {
            let mut seen = 0;
            while let Ok(Some(said)) = control.hear().await {
                match said {
                    Said::Wrote { total } if total > seen => {
                        seen = total;
                        self.report(Fact::Active).await;
                    }
                    Said::Ended => return Ok(()),
                    Said::Hello { .. } | Said::Acked { .. } | Said::Wrote { .. } => {}
                }
            }
        }
        ended(shim).await
    }

    async fn report(&self, fact: Fact) {
        self.reports.report(self.place.task, self.place.fence, fact).await;
    }
}
