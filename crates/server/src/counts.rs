//! What the door counts: requests by route, and readers of streams. Told apart by what is served here alone, never by what a
//! caller sends: a path is counted under its pattern, a method that nobody knows under one word.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use homing_runtime::figures::{Cell, Spread, micros};
use tracing::debug;

use crate::door::Door;
use crate::request_id;

/// What nothing is served at.
const NOWHERE: &str = "none";
const MICROS: &[u64] =
    &[500, 1_000, 2_500, 5_000, 10_000, 50_000, 250_000, 1_000_000, 10_000_000, 60_000_000];

/// See the module.
#[derive(Clone, Default)]
pub struct Counts(Arc<Inner>);

#[derive(Default)]
struct Inner {
    requests: Mutex<Requests>,
    readers: Cell,
    dropped: Cell,
}

/// By pattern, then by method.
pub(crate) type Requests = BTreeMap<String, BTreeMap<&'static str, Asked>>;

/// What was asked at one route by one method.
pub(crate) struct Asked {
    pub statuses: BTreeMap<u16, u64>,
    pub micros: Spread,
}

impl Default for Asked {
    fn default() -> Self {
        Self { statuses: BTreeMap::new(), micros: Spread::new(MICROS) }
    }
}

impl Counts {
    /// Held only as long as it takes to add or to print.
    pub(crate) fn requests(&self) -> MutexGuard<'_, Requests> {
        self.0.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self, route: &str, method: &'static str, status: u16, lasted: Duration) {
        let mut all = self.requests();
        let by_method = match all.get_mut(route) {
            Some(known) => known,
            None => all.entry(route.to_owned()).or_default(),
        };
        let asked = by_method.entry(method).or_default();
        *asked.statuses.entry(status).or_default() += 1;
        asked.micros.add(micros(lasted));
    }

    /// A reader of server-sent events, as long as what comes back is held.
    pub(crate) fn reader(&self) -> Reader {
        self.0.readers.add(1);
        Reader(self.clone())
    }

    pub(crate) fn dropped(&self) {
        self.0.dropped.add(1);
    }

    pub(crate) fn readers(&self) -> (u64, u64) {
        (self.0.readers.get(), self.0.dropped.get())
    }
}

/// One who reads.
pub(crate) struct Reader(Counts);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.0.readers.take(1);
    }
}

/// Counts a request once its answer begins; a stream goes on after that.
pub(crate) async fn count(State(door): State<Door>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = word(request.method());
    let answer = next.run(request).await;
    let route = route.as_ref().map_or(NOWHERE, MatchedPath::as_str);
    let (status, lasted) = (answer.status().as_u16(), begun.elapsed());
    door.counts.answered(route, method, status, lasted);
    let ms = u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX);
    let id = answer.headers().get(request_id::NAME).and_then(|id| id.to_str().ok());
    debug!(target: "homing::http", method, route, status, ms, id, "answered");
    answer
}

fn word(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}
