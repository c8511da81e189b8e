//! One server's HTTP door: small requests on connections of their own, and the stream of events. On loopback, so plain.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::net::TcpStream;
use tracing::debug;

use super::LOG;
use crate::system::mono_us;

/// Of one answer. A session's messages hold what its tools put out, and every picture and document that was read.
const ANSWER_MAX: usize = 256 << 20;
/// Of one event; a longer one is passed over.
const EVENT_MAX: usize = 16 << 20;
/// For anything but the stream.
const WITHIN: Duration = Duration::from_secs(20);
/// OpenCode says something every ten seconds.
const SILENCE: Duration = Duration::from_secs(35);

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Trouble {
    /// Nothing of it went out.
    #[error("it cannot be reached at {at}: {why}")]
    Unreachable { at: SocketAddr, why: String },
    /// What became of it is not known.
    #[error("its answer was cut off: {why}")]
    CutOff { why: String },
    #[error("it answered {status}: {said}")]
    Refused { status: u16, said: String },
    #[error("its answer cannot be read: {why}")]
    Odd { why: String },
}

impl Trouble {
    /// What was named is not there.
    pub(super) fn is_absence(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }
}

/// Where a server listens, and what it wants to hear first.
#[derive(Debug, Clone)]
pub(super) struct Door {
    pub address: SocketAddr,
    /// The header's value.
    pub authorization: Option<String>,
}

impl Door {
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Trouble> {
        let body = self.call(Method::GET, path, None, WITHIN).await?;
        serde_json::from_slice(&body).map_err(|why| Trouble::Odd { why: why.to_string() })
    }

    /// As `get`, for one that may not be able to answer at all yet.
    pub(super) async fn get_soon(&self, path: &str, within: Duration) -> Result<Value, Trouble> {
        let body = self.call(Method::GET, path, None, within).await?;
        serde_json::from_slice(&body).map_err(|why| Trouble::Odd { why: why.to_string() })
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, Trouble> {
        let body = self.call(Method::POST, path, Some(body), WITHIN).await?;
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body).map_err(|why| Trouble::Odd { why: why.to_string() })
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        within: Duration,
    ) -> Result<Bytes, Trouble> {
        let from = mono_us();
        let whole = async {
            let answer = self.send(method, path, body).await?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
            let body = body.map_err(|why| Trouble::CutOff { why: why.to_string() })?.to_bytes();
            if status.is_success() {
                return Ok(body);
            }
            let said: String = String::from_utf8_lossy(&body).chars().take(500).collect();
            Err(Trouble::Refused { status: status.as_u16(), said })
        };
        let late =
            || Trouble::CutOff { why: format!("nothing came within {} s", within.as_secs()) };
        let came = tokio::time::timeout(within, whole).await.unwrap_or_else(|_| Err(late()));
        debug!(target: LOG, path, from, until = mono_us(), "asked");
        came
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response<Incoming>, Trouble> {
        let unreachable = |why: &dyn std::fmt::Display| Trouble::Unreachable {
            at: self.address,
            why: why.to_string(),
        };
        let mut request =
            Request::builder().method(method).uri(path).header("host", self.address.to_string());
        if let Some(authorization) = &self.authorization {
            request = request.header("authorization", authorization);
        }
        let bytes = body.map(ToString::to_string).unwrap_or_default();
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let request = request.body(Full::new(Bytes::from(bytes)));
        let request = request.map_err(|why| unreachable(&why))?;
        let stream = TcpStream::connect(self.address).await.map_err(|why| unreachable(&why))?;
        stream.set_nodelay(true).map_err(|why| unreachable(&why))?;
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = shaken.map_err(|why| unreachable(&why))?;
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(|why| Trouble::CutOff { why: why.to_string() })
    }

    /// Everything that happens on the server from now on.
    pub(super) async fn events(&self) -> Result<Events, Trouble> {
        let late = || Trouble::CutOff { why: "no stream came".to_owned() };
        let answer = self.send(Method::GET, "/global/event", None);
        let answer = tokio::time::timeout(WITHIN, answer).await.unwrap_or_else(|_| Err(late()))?;
        if !answer.status().is_success() {
            let status = answer.status().as_u16();
            return Err(Trouble::Refused { status, said: "no stream of events".to_owned() });
        }
        Ok(Events { body: answer.into_body(), lines: Lines::default() })
    }
}

/// A stream of events.
#[derive(Debug)]
pub(super) struct Events {
    body: Incoming,
    lines: Lines,
}

/// What a stream gave.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Heard {
    Event(Value),
    /// Something was too long, or no JSON: what it said is not known.
    Garbage,
}

impl Events {
    /// None when it has ended, or says nothing any more.
    pub(super) async fn next(&mut self) -> Option<Heard> {
        loop {
            if let Some(heard) = self.lines.next() {
                return Some(heard);
            }
            let frame = tokio::time::timeout(SILENCE, self.body.frame()).await.ok()??.ok()?;
            if let Ok(data) = frame.into_data() {
                self.lines.add(data);
            }
        }
    }
}

/// Lines out of pieces; no longer ones than are bearable.
#[derive(Debug, Default)]
struct Lines {
    held: Vec<u8>,
    /// How much of it was looked through for the end of a line.
    looked: usize,
    /// Of a line that is passed over, up to its end.
    passing: bool,
}

impl Lines {
    fn add(&mut self, mut data: Bytes) {
        while data.has_remaining() {
            let chunk = data.chunk();
            self.held.extend_from_slice(chunk);
            let taken = chunk.len();
            data.advance(taken);
        }
    }

    fn next(&mut self) -> Option<Heard> {
        loop {
            let end = self.held[self.looked..].iter().position(|byte| *byte == b'\n');
            let Some(end) = end.map(|end| self.looked + end) else {
                self.looked = self.held.len();
                if self.held.len() > EVENT_MAX {
                    self.held.clear();
                    self.looked = 0;
                    self.passing = true;
                }
                return None;
            };
            let rest = self.held.split_off(end + 1);
            let line = std::mem::replace(&mut self.held, rest);
            self.looked = 0;
            if std::mem::take(&mut self.passing) {
                return Some(Heard::Garbage);
            }
            let Some(data) = line.strip_prefix(b"data:") else {
                continue;
            };
            return Some(serde_json::from_slice(data).map_or(Heard::Garbage, Heard::Event));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r5_events_come_out_of_any_pieces_and_garbage_is_told() {
        let mut lines = Lines::default();
        lines.add(Bytes::from_static(b"data: {\"a\":"));
        assert_eq!(lines.next(), None);
        lines.add(Bytes::from_static(b"1}\n\nid: 7\ndata: no json\ndata: 2\n"));
        assert_eq!(lines.next(), Some(Heard::Event(json!({"a": 1}))));
        assert_eq!(lines.next(), Some(Heard::Garbage));
        assert_eq!(lines.next(), Some(Heard::Event(json!(2))));
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn r5_an_endless_line_is_not_kept() {
        let mut lines = Lines::default();
        for _ in 0..40 {
            lines.add(Bytes::from(vec![b'x'; 1 << 20]));
            assert_eq!(lines.next(), None);
            assert!(lines.held.len() <= EVENT_MAX + (1 << 20));
        }
        lines.add(Bytes::from_static(b"x\ndata: 1\n"));
        assert_eq!(lines.next(), Some(Heard::Garbage));
        assert_eq!(lines.next(), Some(Heard::Event(json!(1))));
    }
}
