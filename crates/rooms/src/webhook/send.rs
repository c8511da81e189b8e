//! One request: looked up, checked, connected, sent, and what its answer means.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, LOCATION, RETRY_AFTER, USER_AGENT};
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::Came;
use super::place::{Place, Target};

/// Redirects that are followed.
const HOPS: usize = 3;
/// For one of several addresses; the next may answer.
const CONNECT: Duration = Duration::from_secs(10);

/// A request that is ready to go, the same for every hop.
pub(super) struct Signed {
    pub id: String,
    /// Seconds since the epoch.
    pub at: u64,
    pub signature: String,
    pub body: Bytes,
}

/// Sends it, there or where it is redirected to.
pub(super) async fn post(place: &Place, signed: &Signed) -> Came {
    let mut target = place.target().clone();
    for _ in 0..=HOPS {
        let answer = match exchange(place, &target, signed).await {
            Ok(answer) => answer,
            Err(came) => return came,
        };
        let status = answer.status();
        if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
            return meant(status, answer.headers());
        }
        let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok()).unwrap_or_default();
        target = match place.redirected(&target, to) {
            Ok(target) => target,
            Err(why) => return Came::Refused { why },
        };
    }
    Came::Refused { why: format!("it redirects more than {HOPS} times") }
}

/// What an answer means for this request: taken, another time, or never.
fn meant(status: StatusCode, headers: &HeaderMap) -> Came {
    if status.is_success() {
        return Came::Taken;
    }
    let why = format!("it answered {status}");
    match status.as_u16() {
        // These speak of the request; what speaks of the receiver may pass.
        300..=399 | 400 | 405 | 406 | 410 | 411 | 413..=415 | 422 | 431 | 451 | 501 | 505 => {
            Came::Refused { why }
        }
        _ => Came::Failed { why, retry_after_ms: retry_after(headers, SystemTime::now()) },
    }
}

/// Seconds, or a date.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(seconds.saturating_mul(1_000));
    }
    let wait = httpdate::parse_http_date(text).ok()?.duration_since(now).ok()?;
    u64::try_from(wait.as_millis()).ok()
}

fn failed(why: impl Into<String>) -> Came {
    Came::Failed { why: why.into(), retry_after_ms: None }
}

async fn exchange(
    place: &Place,
    target: &Target,
    signed: &Signed,
) -> Result<Response<Incoming>, Came> {
    let found = look_up(target).await.map_err(|why| failed(format!("{}: {why}", target.host)))?;
    let found = place.reachable(target, &found).map_err(|why| Came::Refused { why })?;
    let stream = connect(&found).await.map_err(|why| failed(format!("{target}: {why}")))?;
    if !target.tls {
        return send(stream, target, signed).await;
    }
    let name = ServerName::try_from(target.host.clone());
    let name = name.map_err(|_| Came::Refused { why: format!("{target}: no name for TLS") })?;
    let tls = TlsConnector::from(trusted().await.map_err(failed)?).connect(name, stream).await;
    send(tls.map_err(|why| failed(format!("{target}: {why}")))?, target, signed).await
}

async fn look_up(target: &Target) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = target.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, target.port)]);
    }
    let found = tokio::net::lookup_host((target.host.as_str(), target.port)).await?;
    let found: Vec<SocketAddr> = found.collect();
    if found.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "its name has no address"));
    }
    Ok(found)
}

async fn connect(found: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "there is no address to call");
    for at in found {
        match tokio::time::timeout(CONNECT, TcpStream::connect(at)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(why)) => last = why,
            Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, "it does not connect"),
        }
    }
    Err(last)
}

async fn send<S>(stream: S, target: &Target, signed: &Signed) -> Result<Response<Incoming>, Came>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let request = Request::post(target.path.as_str())
        .header(HOST, target.authority())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("homing/", env!("CARGO_PKG_VERSION")))
        .header("webhook-id", &signed.id)
        .header("webhook-timestamp", signed.at)
        .header("webhook-signature", &signed.signature)
        .body(Full::new(signed.body.clone()));
    let request = request.map_err(|why| Came::Refused { why: format!("{target}: {why}") })?;
    let cut = |why: hyper::Error| failed(format!("{target}: the answer was cut off: {why}"));
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(cut)?;
    // Ends when its answer is let go of.
    tokio::spawn(connection);
    sender.send_request(request).await.map_err(cut)
}

/// Whom this machine trusts; read once, when somebody is called over TLS.
async fn trusted() -> Result<Arc<ClientConfig>, String> {
    static TRUSTED: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(known) = TRUSTED.get() {
        return Ok(Arc::clone(known));
    }
    let read = tokio::task::spawn_blocking(rustls_native_certs::load_native_certs).await;
    let found = read.map_err(|why| why.to_string())?;
    let mut roots = RootCertStore::empty();
    let (taken, _) = roots.add_parsable_certificates(found.certs);
    if taken == 0 {
        return Err("this machine trusts nobody: it has no certificates (ca-certificates)".into());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().map_err(|why| why.to_string())?;
    let config = Arc::new(config.with_root_certificates(roots).with_no_client_auth());
    Ok(Arc::clone(TRUSTED.get_or_init(|| config)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn what_speaks_of_the_request_is_for_good_and_the_rest_may_pass() {
        let said = |status: u16| meant(StatusCode::from_u16(status).unwrap(), &HeaderMap::new());
        for taken in [200, 201, 202, 204] {
            assert_eq!(said(taken), Came::Taken, "{taken}");
        }
        for never in [301, 302, 303, 400, 410, 413, 422] {
            assert!(matches!(said(never), Came::Refused { .. }), "{never}");
        }
        for later in [401, 403, 404, 408, 409, 425, 429, 500, 502, 503] {
            assert!(matches!(said(later), Came::Failed { .. }), "{later}");
        }
    }

    #[test]
    fn how_long_to_wait_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Fri, 06 Nov 2026 08:49:37 GMT").unwrap();
        let after = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_str(text).unwrap());
            retry_after(&headers, now)
        };
        assert_eq!(after("7"), Some(7_000));
        assert_eq!(after("Fri, 06 Nov 2026 08:50:37 GMT"), Some(60_000));
        for odd in ["", "soon", "-1", "Fri, 06 Nov 2026 08:48:37 GMT"] {
            assert_eq!(after(odd), None, "{odd}");
        }
    }
}
