//! Events to readers of any speed. A task of its own pulls what is next and hands it over; a reader that takes
//! nothing for a while is let go of, with last words that say where to go on. Never holds more than a few pages.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_core::Stream;
use serde::Serialize;
use tokio::sync::mpsc::error::{SendTimeoutError, TrySendError};
use tokio::sync::{mpsc, oneshot};

use crate::counts::{Counts, Reader};
use crate::door::Door;
use crate::problem::Problem;

/// Chunks that may wait for a reader.
const AHEAD: usize = 2;

/// Where a stream's maker puts what it has.
pub(crate) struct Out {
    chunks: mpsc::Sender<Bytes>,
    slow: Duration,
    counts: Counts,
}

/// The reader is gone, or as good as gone: nothing more is to be made.
pub(crate) struct Gone;

impl Out {
    /// Waits until the reader takes more.
    pub(crate) async fn room(&self) -> Result<(), Gone> {
        match tokio::time::timeout(self.slow, self.chunks.reserve()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) => Err(Gone),
            Err(_) => Err(self.let_go()),
        }
    }

    pub(crate) async fn put(&self, chunk: impl Into<Bytes>) -> Result<(), Gone> {
        match self.chunks.try_send(chunk.into()) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(_)) => Err(Gone),
            Err(TrySendError::Full(chunk)) => {
                match self.chunks.send_timeout(chunk, self.slow).await {
                    Ok(()) => Ok(()),
                    Err(SendTimeoutError::Closed(_)) => Err(Gone),
                    Err(SendTimeoutError::Timeout(_)) => Err(self.let_go()),
                }
            }
        }
    }

    fn let_go(&self) -> Gone {
        self.counts.dropped();
        Gone
    }

    /// Resolves when the reader went away.
    pub(crate) async fn closed(&self) {
        self.chunks.closed().await;
    }
}

/// One event as it is written.
pub(crate) fn event(id: &str, kind: &str, data: &impl Serialize) -> String {
    // Plain data with text keys: it always has a form as JSON, and that has no line breaks.
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("id: {id}\nevent: {kind}\ndata: {data}\n\n")
}

/// An event that moves no cursor.
pub(crate) fn aside(kind: &str, data: &impl Serialize) -> String {
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("event: {kind}\ndata: {data}\n\n")
}

/// The end of a stream that went wrong.
pub(crate) fn last_words(problem: Problem) -> String {
    aside("problem", &problem.wire())
}

/// Server-sent events, made by `make`; what it returns is said last.
pub(crate) fn events<F>(door: &Door, make: impl FnOnce(Out) -> F) -> Response
where
    F: Future<Output = Option<String>> + Send + 'static,
{
    let reader = door.counts.reader();
    respond("text/event-stream", door, Some(reader), make)
}

/// One JSON object a line.
pub(crate) fn lines<F>(door: &Door, make: impl FnOnce(Out) -> F) -> Response
where
    F: Future<Output = Option<String>> + Send + 'static,
{
    respond("application/x-ndjson", door, None, make)
}

fn respond<F>(
    kind: &'static str,
    door: &Door,
    reader: Option<Reader>,
    make: impl FnOnce(Out) -> F,
) -> Response
where
    F: Future<Output = Option<String>> + Send + 'static,
{
    let (chunks, taken) = mpsc::channel(AHEAD);
    let (say, last) = oneshot::channel();
    let making = make(Out { chunks, slow: door.slow, counts: door.counts.clone() });
    tokio::spawn(async move {
        // Nobody there to hear it is as good.
        drop(say.send(making.await));
        drop(reader);
    });
    let body = Body::from_stream(Chunks { taken, last: Some(last) });
    let kind = HeaderValue::from_static(kind);
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, body).into_response()
}

/// The chunks of a stream, then its last words.
struct Chunks {
    taken: mpsc::Receiver<Bytes>,
    last: Option<oneshot::Receiver<Option<String>>>,
}

impl Stream for Chunks {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.taken.poll_recv(context) {
            Poll::Ready(Some(chunk)) => return Poll::Ready(Some(Ok(chunk))),
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => {}
        }
        let Some(last) = &mut self.last else {
            return Poll::Ready(None);
        };
        match Pin::new(last).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(said) => {
                self.last = None;
                Poll::Ready(said.ok().flatten().map(|text| Ok(Bytes::from(text))))
            }
        }
    }
}
