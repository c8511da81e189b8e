//! The library's door for consumers: debriefs of an inbox, each given to one of them at a time.

use std::sync::Arc;
use std::time::Duration;

use homing_core::input::Input;
use homing_core::refs::ParentRef;
use homing_core::reply::{Lease, Told};
use homing_core::words::Code;
use homing_ports::store::Reader;

use crate::answers::{Debrief, Refused};
use crate::fresh::Composed;
use crate::homing::{Homing, the_answer};
use crate::shown;

impl Homing {
    /// The next debrief of an inbox, if one waits. It is kept for this consumer until it is acknowledged, let go
    /// of, or its lease is over.
    pub async fn take(
        &self,
        consumer: &str,
        inbox: &ParentRef,
    ) -> Result<Option<Debrief>, Refused> {
        match self.lease(consumer, inbox, false).await? {
            Some(lease) => self.leased(lease).await.map(Some),
            None => Ok(None),
        }
    }

    /// As `take`, but waits for one to come, at most this long.
    pub async fn next(
        &self,
        consumer: &str,
        inbox: &ParentRef,
        at_most: Duration,
    ) -> Result<Option<Debrief>, Refused> {
        let coming = async {
            let mut anew = self.anew.clone();
            loop {
                anew.mark_unchanged();
                match self.lease(consumer, inbox, true).await {
                    Ok(Some(lease)) => return self.leased(lease).await.map(Some),
                    Ok(None) => return Ok(None),
                    // The store failed meanwhile. Nothing was given, and to ask again costs nothing.
                    Err(Refused::Because { code: Code::Unavailable | Code::Unsure, .. }) => {
                        anew.changed().await.map_err(|_| Refused::Stopped)?;
                    }
                    Err(refused) => return Err(refused),
                }
            }
        };
        tokio::time::timeout(at_most, coming).await.unwrap_or(Ok(None))
    }

    /// The consumer that was given this goes without its receipt: another one may have it at once.
    pub async fn let_go(&self, lease: Lease) -> Result<(), Refused> {
        self.tell(Input::LetGo(lease)).await
    }

    async fn lease(
        &self,
        consumer: &str,
        inbox: &ParentRef,
        stays: bool,
    ) -> Result<Option<Lease>, Refused> {
        let (consumer, parent) = (Arc::from(consumer), inbox.clone());
        let told = self.ask(|request| Input::Lease { request, consumer, parent, stays }).await?;
        the_answer!(told, Told::Leased { lease } => lease)
    }

    /// What is leased, in full. Whoever goes away before it is read leaves it to others.
    async fn leased(&self, lease: Lease) -> Result<Debrief, Refused> {
        let key = lease.debrief;
        if let Some(Composed { parent, notices, text }) = self.fresh.take(lease.digest) {
            let (parent, text) = (Some(parent), text.bytes.to_vec());
            return Ok(Debrief { key, lease, parent, notices, text });
        }
        let mut unread = Unread { homing: self, lease: Some(lease) };
        let read = move |reader: &dyn Reader| {
            let text = reader.blob(&key.to_string())?.unwrap_or_default();
            let known = shown::find_debrief(reader, key)?;
            let (parent, notices) = known.map(|known| (known.parent, known.notices)).unzip();
            let notices = notices.unwrap_or_default();
            Ok(Debrief { key, lease, parent, notices, text })
        };
        let debrief = self.read(read).await?;
        unread.lease = None;
        Ok(debrief)
    }
}

/// Lets go of a lease when it falls.
struct Unread<'a> {
    homing: &'a Homing,
    lease: Option<Lease>,
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        if let Some(lease) = self.lease {
            self.homing.try_tell(Input::LetGo(lease));
        }
    }
}
