//! Reading from the store, apart from the committer: a few connections, used from blocking threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homing_ports::store::{Reader, StoreError};
use tokio::sync::Semaphore;

/// None once nothing is read any more.
type Idle = Option<Vec<Box<dyn Reader>>>;

/// See the module.
#[derive(Clone)]
pub(crate) struct Readers {
    idle: Arc<Mutex<Idle>>,
    free: Arc<Semaphore>,
    places: u32,
}

fn lock(idle: &Mutex<Idle>) -> MutexGuard<'_, Idle> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Readers {
    pub(crate) fn new(readers: Vec<Box<dyn Reader>>) -> Self {
        let free = Arc::new(Semaphore::new(readers.len()));
        Self {
            places: u32::try_from(readers.len()).unwrap_or(u32::MAX),
            idle: Arc::new(Mutex::new(Some(readers))),
            free,
        }
    }

    /// Lets go of the store, once what is being read is read to its end.
    pub(crate) async fn close(&self) {
        drop(lock(&self.idle).take());
        // Never closed: every place comes back.
        drop(self.free.acquire_many(self.places).await);
    }

    /// Reads on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let unavailable = |what: String| StoreError::Unavailable { what };
        let place = self
            .free
            .clone()
            .acquire_owned()
            .await
            .map_err(|error| unavailable(error.to_string()))?;
        let idle = Arc::clone(&self.idle);
        let read = tokio::task::spawn_blocking(move || {
            let _place = place;
            let Some(reader) = lock(&idle).as_mut().and_then(Vec::pop) else {
                return Err(StoreError::Unavailable { what: "the runtime has stopped".to_owned() });
            };
            let answer = ask(reader.as_ref());
            if let Some(idle) = lock(&idle).as_mut() {
                idle.push(reader);
            }
            answer
        });
        read.await.unwrap_or_else(|error| Err(unavailable(error.to_string())))
    }
}
