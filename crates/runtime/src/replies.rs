//! Who waits for which reply.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_core::input::Request;
use homing_core::reply::{Reply, Told};
use tokio::sync::oneshot;

#[derive(Default)]
pub(crate) struct Replies {
    next: AtomicU64,
    waiting: Mutex<BTreeMap<Request, oneshot::Sender<Told>>>,
}

impl Replies {
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<Request, oneshot::Sender<Told>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn expect(&self) -> (Request, oneshot::Receiver<Told>) {
        let request = self.next.fetch_add(1, Ordering::Relaxed) + 1;
        let (tell, told) = oneshot::channel();
        self.waiting().insert(request, tell);
        (request, told)
    }

    /// Gives back what nobody listens for any more.
    pub(crate) fn answer(&self, reply: Reply) -> Option<Told> {
        match self.waiting().remove(&reply.request) {
            Some(tell) => tell.send(reply.answer).err(),
            None => Some(reply.answer),
        }
    }

    /// Nobody will be answered any more.
    fn close(&self) {
        self.waiting().clear();
    }

    /// Tells whether it was still waited for.
    pub(crate) fn forget(&self, request: Request) -> bool {
        self.waiting().remove(&request).is_some()
    }
}

/// Lets go of everyone who waits, when it falls.
pub(crate) struct Closing(pub Arc<Replies>);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close();
    }
}
