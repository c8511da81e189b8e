//! One request to a server elsewhere: looked up, checked, connected, sent. What its answer means is for whoever asks.
//!
//! - `place` says which addresses may be called at all.

mod place;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use homing_core::input::PostFact;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{HeaderMap, Method, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

pub(crate) use place::Target;
pub use place::{BadPlace, Place};

/// For one of several addresses; the next may answer.
const CONNECT: Duration = Duration::from_secs(10);

/// Why a request was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Untaken {
    /// Another time, perhaps.
    Failed { why: String, retry_after_ms: Option<u64> },
    /// Never, as things are set up.
    Refused { why: String },
}

/// What it is for a post.
pub(crate) fn post_fact(came: Result<(), Untaken>) -> PostFact {
    match came {
        Ok(()) => PostFact::Posted,
        Err(Untaken::Failed { why, retry_after_ms }) => {
            PostFact::Failed { why: why.into(), retry_after_ms }
        }
        Err(Untaken::Refused { why }) => PostFact::Closed { why: why.into() },
    }
}

/// What is asked, the same wherever it goes.
pub(crate) struct Asking {
    pub method: Method,
    pub headers: HeaderMap,
    /// JSON.
    pub body: Bytes,
}

pub(crate) fn failed(why: impl Into<String>) -> Untaken {
    Untaken::Failed { why: why.into(), retry_after_ms: None }
}

/// A request and its answer, or that there was none in time.
pub(crate) async fn within<T>(
    span: Duration,
    asked: impl Future<Output = Result<T, Untaken>>,
) -> Result<T, Untaken> {
    match tokio::time::timeout(span, asked).await {
        Ok(came) => came,
        Err(_) => Err(failed(format!("no answer within {} s", span.as_secs_f32()))),
    }
}

/// Seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(seconds.saturating_mul(1_000));
    }
    let wait = httpdate::parse_http_date(text).ok()?.duration_since(now).ok()?;
    u64::try_from(wait.as_millis()).ok()
}

/// Asks at this address, if it may be called.
pub(crate) async fn exchange(
    place: &Place,
    target: &Target,
    asking: &Asking,
) -> Result<Response<Incoming>, Untaken> {
    let found = look_up(target).await.map_err(|why| failed(format!("{}: {why}", target.host)))?;
    let found = place.reachable(target, &found).map_err(|why| Untaken::Refused { why })?;
    let stream = connect(&found).await.map_err(|why| failed(format!("{target}: {why}")))?;
    if !target.tls {
        return send(stream, target, asking).await;
    }
    let name = ServerName::try_from(target.host.clone());
    let name = name.map_err(|_| Untaken::Refused { why: format!("{target}: no name for TLS") })?;
    let tls = TlsConnector::from(trusted().await.map_err(failed)?).connect(name, stream).await;
    send(tls.map_err(|why| failed(format!("{target}: {why}")))?, target, asking).await
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

async fn send<S>(stream: S, target: &Target, asking: &Asking) -> Result<Response<Incoming>, Untaken>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let authority = HeaderValue::from_str(&target.authority());
    let never = |why: String| Untaken::Refused { why: format!("{target}: {why}") };
    let mut request = Request::new(Full::new(asking.body.clone()));
    *request.method_mut() = asking.method.clone();
    *request.uri_mut() = target.path.parse::<Uri>().map_err(|why| never(why.to_string()))?;
    *request.headers_mut() = asking.headers.clone();
    let headers = request.headers_mut();
    headers.insert(HOST, authority.map_err(|why| never(why.to_string()))?);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        USER_AGENT,
        HeaderValue::from_static(concat!("homing/", env!("CARGO_PKG_VERSION"))),
    );
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
