//! Reading from the store, apart from the committer: a few connections, used from blocking threads.

use std::sync::{Arc, Mutex, PoisonError};

use homing_ports::store::{Reader, StoreError};
use tokio::sync::Semaphore;

/// See the module.
#[derive(Clone)]
pub(crate) struct Readers {
    idle: Arc<Mutex<Vec<Box<dyn Reader>>>>,
    free: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(readers: Vec<Box<dyn Reader>>) -> Self {
        let free = Arc::new(Semaphore::new(readers.len()));
        Self { idle: Arc::new(Mutex::new(readers)), free }
    }

    /// Reads on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let unavailable = |what: String| StoreError::Unavailable { what };
        let place = self.free.clone().acquire_owned().await.map_err(|error| unavailable(error.to_string()))?;
        let idle = Arc::clone(&self.idle);
        let read = tokio::task::spawn_blocking(move || {
            let _place = place;
            let taken = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(reader) = taken else {
                return Err(StoreError::Unavailable { what: "no reader is left".to_owned() });
            };
            let answer = ask(reader.as_ref());
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(reader);
            answer
        });
        read.await.unwrap_or_else(|error| Err(unavailable(error.to_string())))
    }
}
