//! One request at a time over a connection, and how its answer is read. A connection whose answer was read to its
//! end is kept for the next request.

use bytes::Bytes;
use homing_core::wire::Problem;
use homing_core::words::Code;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use crate::{Client, Error, Place};

/// Where requests go in, one after the other.
pub(crate) type Connection = http1::SendRequest<Full<Bytes>>;

/// Connections that wait for the next request; one who asks much at once makes more, and lets go of them.
const IDLE_MAX: usize = 8;
/// A longer path names nothing.
const PATH_MAX: usize = 8 << 10;

async fn shake<S>(stream: S) -> hyper::Result<Connection>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with the daemon, or when nobody wants it any more.
    tokio::spawn(connection);
    Ok(sender)
}

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

    fn request(self, place: &Place) -> Result<Request<Full<Bytes>>, Error> {
        if self.path.len() > PATH_MAX {
            return Err(too_long(self.path.len()));
        }
        let mut request = Request::builder().method(self.method).uri(self.path);
        request = match place {
            Place::Socket(_) | Place::Within(_) => request.header(HOST, "homing"),
            Place::Tcp { address, token } => {
                let token = HeaderValue::from_str(&format!("Bearer {token}"));
                let mut token =
                    token.map_err(|_| Error::Odd { why: "the token is none".into() })?;
                token.set_sensitive(true);
                request.header(HOST, address).header(AUTHORIZATION, token)
            }
        };
        if !self.body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(self.body)));
        request.map_err(|why| Error::Odd { why: why.to_string() })
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Nothing that a daemon knows has such a name.
fn too_long(bytes: usize) -> Error {
    Error::Problem(Box::new(Problem {
        status: 414,
        code: Code::Invalid.word().to_owned(),
        title: "the request cannot be made".to_owned(),
        detail: format!("what is named takes {bytes} bytes: no task, session or cursor is so long"),
        hint: Some("an id, the beginning of one, or a name".to_owned()),
    }))
}

impl Client {
    /// Sends it, for an answer that is read as it comes; one that is a refusal is an error.
    pub(crate) async fn send(&self, call: Call) -> Result<Response<Incoming>, Error> {
        let (answer, connection) = self.exchange(call).await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let body = whole(answer).await?;
        self.keep(connection);
        Err(refused(status, &body))
    }

    async fn exchange(&self, call: Call) -> Result<(Response<Incoming>, Connection), Error> {
        let mut request = call.request(&self.place)?;
        while let Some(mut kept) = self.kept() {
            if kept.ready().await.is_err() {
                continue;
            }
            match kept.try_send_request(request).await {
                Ok(answer) => return Ok((answer, kept)),
                // It had ended before: nothing of this went out.
                Err(mut failed) => match failed.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(cut_off(failed.error())),
                },
            }
        }
        let mut fresh = self.connect().await?;
        let answer = fresh.send_request(request).await.map_err(|why| cut_off(&why))?;
        Ok((answer, fresh))
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let unreachable = |why: &dyn std::fmt::Display| Error::Unreachable {
            place: self.place.to_string(),
            why: why.to_string(),
        };
        match &*self.place {
            Place::Socket(path) => {
                let stream = UnixStream::connect(path).await.map_err(|why| unreachable(&why))?;
                shake(stream).await.map_err(|why| unreachable(&why))
            }
            Place::Within(connect) => shake((connect.0)()).await.map_err(|why| unreachable(&why)),
            Place::Tcp { address, .. } => {
                let stream = TcpStream::connect(address).await.map_err(|why| unreachable(&why))?;
                // Requests are small, and waited for.
                stream.set_nodelay(true).map_err(|why| unreachable(&why))?;
                shake(stream).await.map_err(|why| unreachable(&why))
            }
        }
    }

    fn kept(&self) -> Option<Connection> {
        self.idle().pop()
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX && !connection.is_closed() {
            idle.push(connection);
        }
    }

    pub(crate) async fn bytes(&self, call: Call) -> Result<Vec<u8>, Error> {
        let (answer, connection) = self.exchange(call).await?;
        let status = answer.status();
        let body = whole(answer).await?;
        self.keep(connection);
        if status.is_success() { Ok(body) } else { Err(refused(status, &body)) }
    }

    pub(crate) async fn json<T: DeserializeOwned>(&self, call: Call) -> Result<T, Error> {
        let body = self.bytes(call).await?;
        serde_json::from_slice(&body).map_err(|why| Error::Odd { why: why.to_string() })
    }
}

fn refused(status: StatusCode, body: &[u8]) -> Error {
    match serde_json::from_slice(body) {
        Ok(problem) => Error::Problem(Box::new(problem)),
        Err(_) => {
            let text: String = String::from_utf8_lossy(body).chars().take(200).collect();
            Error::Odd { why: format!("{status}: {text}") }
        }
    }
}

fn cut_off(why: &hyper::Error) -> Error {
    Error::CutOff { why: why.to_string() }
}

pub(crate) async fn whole(answer: Response<Incoming>) -> Result<Vec<u8>, Error> {
    let body = answer.into_body().collect().await;
    Ok(body.map_err(|why| Error::CutOff { why: why.to_string() })?.to_bytes().to_vec())
}
