//! A model on loopback that does what the prompt tells it to, as two APIs: chat completions and messages. Agents of others are
//! run against it, so that what they do is real and what they hear is known. For tests only.
//!
//! - `script`: what a prompt can tell it.
//! - `openai`, `anthropic`: how that is said in each API.

pub mod anthropic;
pub mod openai;
pub mod script;

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use futures_core::Stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// A request, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The last words of a person.
    pub prompt: String,
    /// What it was told before everything else.
    pub system: String,
    /// Results of tools since.
    pub results: usize,
    /// What the last of them said.
    pub told: String,
    pub model: String,
    pub streams: bool,
    /// Of the whole request.
    pub bytes: usize,
}

/// A piece of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Text(String),
    Delay(u64),
    /// Nothing more, and no end.
    Stall,
    /// No more, and no proper end.
    Cut,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Stream(Vec<Part>),
    Whole(Value),
    Refused { code: u16, after: Option<u64>, body: Value },
}

/// One request, as it was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The agent's session, where it says so.
    pub session: Option<String>,
    pub asked: Asked,
    /// Names of the tools that it may call.
    pub tools: Vec<String>,
}

/// Headers in which agents say which session they are.
const SESSIONS: [&str; 3] = ["x-session-affinity", "x-claude-code-session-id", "session-id"];

/// A model that listens. Ends with the runtime it was started in.
#[derive(Debug, Clone, Default)]
pub struct Model {
    log: Arc<Mutex<Vec<Heard>>>,
    /// What it does besides when it is told something, by what that holds.
    when: Arc<Mutex<Vec<(String, String)>>>,
    port: u16,
}

impl Model {
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let model = Self { port, ..Self::default() };
        let routes = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/messages/count_tokens", post(counted))
            .route("/v1/chat/completions", post(completions))
            .fallback(any(nothing))
            .with_state(model.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Ok(model)
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What was asked so far, in order.
    pub fn log(&self) -> Vec<Heard> {
        lock(&self.log).clone()
    }

    /// For what is told by one who gives no lines of a script: prompts that hold `words` end with these.
    pub fn when(&self, words: &str, lines: &str) {
        lock(&self.when).push((words.to_owned(), lines.to_owned()));
    }

    fn note(&self, headers: &HeaderMap, body: &Value, asked: &Asked) {
        let session = SESSIONS.iter().find_map(|name| headers.get(*name)?.to_str().ok());
        let tools = body["tools"].as_array().into_iter().flatten();
        let name = |tool: &Value| {
            let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
            name.map(str::to_owned)
        };
        let tools = tools.filter_map(name).collect();
        let session = session.map(str::to_owned);
        lock(&self.log).push(Heard { session, asked: asked.clone(), tools });
    }

    /// With the lines that it was given for such a prompt.
    fn scripted(&self, mut asked: Asked) -> Asked {
        for (words, lines) in &*lock(&self.when) {
            if asked.prompt.contains(words) {
                asked.prompt = format!("{}\n{lines}", asked.prompt);
            }
        }
        asked
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The text of a message, however it is said.
fn text(content: &Value) -> String {
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => {
            let parts = content.as_array().into_iter().flatten();
            let texts = parts.filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

async fn messages(State(model): State<Model>, headers: HeaderMap, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = anthropic::read(&body);
    model.note(&headers, &body, &asked);
    answer(anthropic::reply(&model.scripted(asked)))
}

async fn completions(State(model): State<Model>, headers: HeaderMap, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let asked = openai::read(&body);
    model.note(&headers, &body, &asked);
    answer(openai::reply(&model.scripted(asked)))
}

async fn counted() -> Response {
    json_body(StatusCode::OK, &json!({"input_tokens": 10}))
}

async fn nothing() -> Response {
    json_body(StatusCode::NOT_FOUND, &json!({"error": {"message": "nothing is here"}}))
}

fn json_body(status: StatusCode, body: &Value) -> Response {
    (status, [("content-type", "application/json")], body.to_string()).into_response()
}

fn answer(reply: Reply) -> Response {
    match reply {
        Reply::Whole(body) => json_body(StatusCode::OK, &body),
        Reply::Refused { code, after, body } => {
            let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let mut answer = json_body(status, &body);
            if let Some(after) = after {
                answer.headers_mut().insert("retry-after", after.into());
            }
            answer
        }
        Reply::Stream(parts) => {
            let (chunks, taken) = mpsc::channel::<Result<String, io::Error>>(4);
            tokio::spawn(speak(parts, chunks));
            let body = Body::from_stream(Chunks { taken, rests: false });
            ([("content-type", "text/event-stream")], body).into_response()
        }
    }
}

/// What is said, each piece sent before the next is looked at: so it is heard even when the next one breaks off.
struct Chunks {
    taken: mpsc::Receiver<Result<String, io::Error>>,
    rests: bool,
}

impl Stream for Chunks {
    type Item = Result<String, io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.rests) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = self.taken.poll_recv(context);
        self.rests = next.is_ready();
        next
    }
}

/// Piece by piece, until nobody listens.
async fn speak(parts: Vec<Part>, chunks: mpsc::Sender<Result<String, io::Error>>) {
    for part in parts {
        let sent = match part {
            Part::Text(text) => chunks.send(Ok(text)).await,
            Part::Delay(ms) => {
                tokio::time::sleep(Duration::from_millis(ms)).await; // sleep: the prompt asks for it
                Ok(())
            }
            Part::Stall => {
                chunks.closed().await;
                return;
            }
            Part::Cut => {
                let cut = io::Error::other("cut off, as it was told to");
                drop(chunks.send(Err(cut)).await);
                return;
            }
        };
        if sent.is_err() {
            return;
        }
    }
}
