//! A name for each request, in its answer and in the log: the caller's own, or one of ours.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

pub(crate) const NAME: HeaderName = HeaderName::from_static("x-request-id");
const LONG: usize = 128;

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Gives the answer the name of its request.
pub(crate) async fn number(request: Request, next: Next) -> Response {
    let id = request.headers().get(NAME).filter(|id| is_plain(id)).cloned();
    let id = id.unwrap_or_else(fresh);
    let mut answer = next.run(request).await;
    answer.headers_mut().insert(NAME, id);
    answer
}

fn is_plain(id: &HeaderValue) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    (1..=LONG).contains(&id.len()) && id.as_bytes().iter().all(plain)
}

/// Of this daemon: its process and a number.
fn fresh() -> HeaderValue {
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let id = format!("{}-{n}", std::process::id());
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("none"))
}
