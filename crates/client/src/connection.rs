//! One request over one connection, and how its answer is read.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use crate::{Client, Error};

/// A request in the making.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    method: Method,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Call {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn post(path: impl Into<String>, body: &impl Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(body).map_err(|why| Error::Odd { why: why.to_string() })?;
        Ok(Self { method: Method::POST, path: path.into(), headers: Vec::new(), body })
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Client {
    /// Sends it; an answer that is a refusal is an error.
    pub(crate) async fn send(&self, call: Call) -> Result<Response<Incoming>, Error> {
        let unreachable = |why: &dyn std::fmt::Display| Error::Unreachable {
            socket: self.socket().display().to_string(),
            why: why.to_string(),
        };
        let stream = UnixStream::connect(self.socket()).await.map_err(|why| unreachable(&why))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|why| unreachable(&why))?;
        // Ends with the answer's body, or when nobody wants that any more.
        tokio::spawn(connection);
        let mut request =
            Request::builder().method(call.method).uri(call.path).header(HOST, "homing");
        if !call.body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        for (name, value) in call.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(call.body)));
        let request = request.map_err(|why| Error::Odd { why: why.to_string() })?;
        let answer = sender.send_request(request).await;
        let answer = answer.map_err(|why| Error::CutOff { why: why.to_string() })?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let body = whole(answer).await?;
        match serde_json::from_slice(&body) {
            Ok(problem) => Err(Error::Problem(Box::new(problem))),
            Err(_) => {
                let text: String = String::from_utf8_lossy(&body).chars().take(200).collect();
                Err(Error::Odd { why: format!("{status}: {text}") })
            }
        }
    }

    pub(crate) async fn bytes(&self, call: Call) -> Result<Vec<u8>, Error> {
        whole(self.send(call).await?).await
    }

    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        let body = self.bytes(call).await?;
        serde_json::from_slice(&body).map_err(|why| Error::Odd { why: why.to_string() })
    }
}

pub(crate) async fn whole(answer: Response<Incoming>) -> Result<Vec<u8>, Error> {
    let body = answer.into_body().collect().await;
    Ok(body.map_err(|why| Error::CutOff { why: why.to_string() })?.to_bytes().to_vec())
}

/// Text as a part of a path or a query.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte as char);
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_has_a_meaning_in_a_path_is_escaped() {
        assert_eq!(escaped("bg_1-a.b~"), "bg_1-a.b~");
        assert_eq!(escaped("inbox:a/b ü%?"), "inbox%3Aa%2Fb%20%C3%BC%25%3F");
    }
}
