//! Who may call over TCP: whoever has the home's token, under a name of this machine, and not from a web page that
//! nobody named. A page in a browser can reach every port of its machine: without these three it could speak here.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Extension, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use homing_ports::door::{Calling, Token};

use crate::codes::Own;
use crate::door::Door;
use crate::peer::By;
use crate::problem::Problem;
use crate::tcp::Ends;

/// What tells nothing, and needs no token.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];
/// What a page that is allowed may send.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST");
const HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, content-type, idempotency-key, last-event-id");
/// What such a page may see beside the body.
const SHOWN: HeaderValue =
    HeaderValue::from_static("location, x-request-id, homing-from, homing-written");
const TOKEN_MAX: usize = 512;

/// See the module.
#[derive(Clone)]
pub struct Guard {
    pub token: Arc<dyn Token>,
    /// Names beside this machine's own that a request may be for, in lower case, without a port.
    pub hosts: Arc<[String]>,
    /// Web pages that may call: `https://example.org`.
    pub origins: Arc<[String]>,
}

impl Guard {
    /// Where a request says that it goes to.
    fn is_for_us(&self, headers: &HeaderMap, here: SocketAddr) -> bool {
        let mut all = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (all.next().and_then(|host| host.to_str().ok()), all.next())
        else {
            return false;
        };
        let Some(name) = without_port(host) else {
            return false;
        };
        let own = match name.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || address == here.ip(),
            Err(_) => name == "localhost",
        };
        own || self.hosts.contains(&name)
    }

    /// The page that a browser says the request comes from, where it is one that may call.
    fn origin(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, String> {
        let mut all = headers.get_all(header::ORIGIN).iter();
        let Some(origin) = all.next() else {
            return Ok(None);
        };
        let text = origin.to_str().unwrap_or_default().to_ascii_lowercase();
        // A page of our own says where it was read.
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let own = host.is_some_and(|host| text == format!("http://{}", host.to_ascii_lowercase()));
        if all.next().is_none() && (own || self.origins.contains(&text)) {
            return Ok(Some(origin.clone()));
        }
        Err(text.chars().take(200).collect())
    }

    /// Compared by digests, which takes as long whatever differs.
    fn is_known(&self, headers: &HeaderMap) -> Result<bool, Problem> {
        let mut all = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(said), None) = (all.next(), all.next()) else {
            return Ok(false);
        };
        let said = said.to_str().ok().and_then(|said| said.split_once(' '));
        let Some((_, said)) = said.filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer")) else {
            return Ok(false);
        };
        let token = self.token.token().map_err(|why| {
            Problem::unavailable(&format!("the token of this home cannot be read: {why}"))
                .hint("homing doctor")
        })?;
        let same = blake3::hash(said.trim().as_bytes()) == blake3::hash(token.as_bytes());
        Ok(same && !token.is_empty() && said.len() <= TOKEN_MAX)
    }
}

/// In lower case; none when it is no name.
fn without_port(host: &str) -> Option<String> {
    let host = host.to_ascii_lowercase();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => {
            port.parse::<u16>().ok()?;
            name
        }
        _ => &host,
    };
    let fine = !name.is_empty() && (!name.contains(':') || name.starts_with('['));
    fine.then(|| name.to_owned())
}

/// Refuses whoever may not call, and finds out on whose behalf the others do.
pub(crate) async fn admit(
    State((door, guard)): State<(Door, Guard)>,
    Extension(ends): Extension<Ends>,
    mut request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    if !guard.is_for_us(headers, ends.here) {
        let why = "the header Host names another machine than this one";
        return Problem::forbidden(Own::Host, why)
            .hint("127.0.0.1, localhost, or a name in [http] hosts of homing.toml")
            .into_response();
    }
    let origin = match guard.origin(headers) {
        Ok(origin) => origin,
        Err(origin) => {
            let why = format!("pages of {origin:?} may not call");
            return Problem::forbidden(Own::Origin, &why)
                .hint("[http] origins in homing.toml")
                .into_response();
        }
    };
    if request.method() == Method::OPTIONS && origin.is_some() {
        return shown_to(origin, StatusCode::NO_CONTENT.into_response());
    }
    let open = OPEN.contains(&request.uri().path());
    let calling = match guard.is_known(headers) {
        Ok(true) => ends.calling(&door).await,
        // Nobody is looked for who is told nothing.
        Ok(false) if open => Calling::Outside,
        Ok(false) => return shown_to(origin, Problem::unknown_caller().into_response()),
        Err(problem) => return shown_to(origin, problem.into_response()),
    };
    let by = match calling {
        Calling::Inside(task) => By(Some(task)),
        Calling::Outside => By(None),
        Calling::Serving | Calling::Unknown => {
            return shown_to(origin, Problem::nobody().into_response());
        }
    };
    request.extensions_mut().insert(by);
    shown_to(origin, next.run(request).await)
}

/// Lets the page read the answer.
fn shown_to(origin: Option<HeaderValue>, mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, SHOWN);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_without_its_port() {
        for (host, name) in [
            ("127.0.0.1:80", Some("127.0.0.1")),
            ("LocalHost", Some("localhost")),
            ("[::1]:7000", Some("[::1]")),
            ("[::1]", Some("[::1]")),
            ("::1", None),
            ("example.org:", None),
            ("example.org:x", None),
            (":80", None),
            ("", None),
        ] {
            assert_eq!(without_port(host).as_deref(), name, "{host:?}");
        }
    }
}
