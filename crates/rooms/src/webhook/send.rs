//! A webhook's request: sent, redirected where it may be, and what its answer means.

use std::time::SystemTime;

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue, LOCATION};
use hyper::{Method, StatusCode};

use crate::http::{Asking, Place, Untaken, exchange, retry_after};

/// Redirects that are followed.
const HOPS: usize = 3;

/// A request that is ready to go, the same for every hop.
pub(super) struct Signed {
    pub id: String,
    /// Seconds since the epoch.
    pub at: u64,
    pub signature: String,
    pub body: Bytes,
}

impl Signed {
    fn asking(&self) -> Result<Asking, InvalidHeaderValue> {
        let headers = [
            ("webhook-id", HeaderValue::from_str(&self.id)?),
            ("webhook-timestamp", HeaderValue::from(self.at)),
            ("webhook-signature", HeaderValue::from_str(&self.signature)?),
        ];
        let headers =
            headers.into_iter().map(|(name, value)| (HeaderName::from_static(name), value));
        Ok(Asking { method: Method::POST, headers: headers.collect(), body: self.body.clone() })
    }
}

/// Sends it, there or where it is redirected to.
pub(super) async fn post(place: &Place, signed: &Signed) -> Result<(), Untaken> {
    let asking = signed.asking().map_err(|why| Untaken::Refused { why: why.to_string() })?;
    let mut target = place.target().clone();
    for _ in 0..=HOPS {
        let answer = exchange(place, &target, &asking).await?;
        let status = answer.status();
        if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
            return meant(status, answer.headers());
        }
        let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
        target = place.redirected(&target, to).map_err(|why| Untaken::Refused { why })?;
    }
    Err(Untaken::Refused { why: format!("it redirects more than {HOPS} times") })
}

/// What an answer means for this request: taken, another time, or never.
fn meant(status: StatusCode, headers: &HeaderMap) -> Result<(), Untaken> {
    if status.is_success() {
        return Ok(());
    }
    let why = format!("it answered {status}");
    Err(match status.as_u16() {
        // These speak of the request; what speaks of the receiver may pass.
        300..=399 | 400 | 405 | 406 | 410 | 411 | 413..=415 | 422 | 431 | 451 | 501 | 505 => {
            Untaken::Refused { why }
        }
        _ => Untaken::Failed { why, retry_after_ms: retry_after(headers, SystemTime::now()) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_speaks_of_the_request_is_for_good_and_the_rest_may_pass() {
        let said = |status: u16| meant(StatusCode::from_u16(status).unwrap(), &HeaderMap::new());
        for taken in [200, 201, 202, 204] {
            assert_eq!(said(taken), Ok(()), "{taken}");
        }
        for never in [301, 302, 303, 400, 410, 413, 422] {
            assert!(matches!(said(never), Err(Untaken::Refused { .. })), "{never}");
        }
        for later in [401, 403, 404, 408, 409, 425, 429, 500, 502, 503] {
            assert!(matches!(said(later), Err(Untaken::Failed { .. })), "{later}");
        }
    }
}
