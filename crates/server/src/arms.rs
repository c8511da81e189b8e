//! `/v1/arms`: for plugins inside of agent programs, on the socket alone. A plugin offers to do requests in its program, takes
//! them as events, and tells of turns there. Its tools are those of `/mcp`, called from the session that calls them.
//!
//! Spoken between a plugin and a daemon of the same release; not a part of what is described for others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::connect_info::ConnectInfo;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use homing_core::ids::TaskId;
use homing_core::input::{ParentFact, Receipt};
use homing_core::refs::ParentRef;
use homing_mcp::{Answer as Told, Daemon, Ended, Request, Seat, by_plugin};
use homing_ports::door::{Calling, News, Offer, Order, Orders, Word};
use homing_ports::store::TaskQuery;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::asked::parsed;
use crate::door::Door;
use crate::peer::{By, Peer};
use crate::problem::{Answer, Problem};
use crate::routes::ok;
use crate::stream::{self, Gone, Out};

/// Where all of it is.
pub(crate) const PATH: &str = "/v1/arms";
/// What a program stored of its sessions comes as one answer.
const BODY_MAX: usize = 64 << 20;
/// Sessions that an arm says it ran, the last ones.
const SESSIONS_MAX: usize = 200;
/// Answers to calls whose arrival is waited for.
const READS_MAX: usize = 4_096;

/// Ends, by the message and the call that told them.
type Reads = BTreeMap<(String, String), (TaskId, u32)>;

/// What the routes work on.
#[derive(Clone)]
struct Hands {
    door: Door,
    tools: Arc<dyn Daemon>,
    /// Told by an answer that may not have arrived yet.
    reads: Arc<Mutex<Reads>>,
}

/// The routes; tools reach the others by `tools`.
pub(crate) fn routes(door: &Door, tools: Arc<dyn Daemon>) -> Router<Door> {
    let hands = Hands { door: door.clone(), tools, reads: Arc::default() };
    let at = |path: &str| format!("{PATH}{path}");
    Router::new()
        .route(PATH, post(offer))
        .route(&at("/{arm}/answers/{order}/{status}"), post(answer))
        .route(&at("/{arm}/words"), post(word))
        .route(&at("/{arm}/env"), post(env))
        .route(&at("/{arm}/tools/{tool}"), post(tool))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(hands)
}

fn read<T: DeserializeOwned>(said: &Bytes) -> Answer<T> {
    serde_json::from_slice(said).map_err(|why| Problem::invalid(format!("the body: {why}")))
}

fn no_arm() -> Problem {
    Problem::not_found("this arm is not connected").hint("POST /v1/arms")
}

#[derive(Deserialize)]
struct Hello {
    data: String,
    #[serde(default)]
    directories: Vec<String>,
    #[serde(default)]
    sessions: Vec<Value>,
}

/// A program is there; what comes back are its orders, as long as both are.
async fn offer(
    State(hands): State<Hands>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    said: Bytes,
) -> Answer<Response> {
    let Hello { data, directories, sessions } = read(&said)?;
    // What another release says of its sessions is not worth more than being connected.
    let known = sessions.into_iter().rev().take(SESSIONS_MAX).map(serde_json::from_value);
    let sessions = known.filter_map(Result::ok).collect();
    let pid = peer.pid().ok_or_else(Problem::nobody)?;
    let ours = peer.calling(&hands.door) == Calling::Serving;
    let offer = Offer { pid, data, directories, sessions, ours };
    let orders = hands.door.arms.offer(offer).map_err(Problem::invalid)?;
    Ok(stream::events(&hands.door.clone(), |out| work(hands, orders, out)))
}

async fn work(hands: Hands, mut orders: Box<dyn Orders>, out: Out) -> Option<String> {
    let name = orders.arm().to_owned();
    let hello = json!({"arm": name, "home": hands.door.identity.home});
    out.put(stream::aside("hello", &hello)).await.ok()?;
    // It asks the arm, which works meanwhile.
    let (greeting, arm) = (hands.clone(), name.clone());
    let greeted = tokio::spawn(async move {
        let news = greeting.door.arms.greet(&arm).await;
        greeting.report(news).await;
    });
    let mut closing = hands.door.stops.closing();
    let last = loop {
        tokio::select! {
            order = orders.next() => match order {
                Some(order) => if let Err(Gone) = out.put(written(&order)).await {
                    break None;
                },
                None => break None,
            },
            () = closes(&mut closing) => {
                break Some(stream::aside("stopped", &json!({"why": "the daemon stops"})));
            }
            () = out.closed() => break None,
        }
    };
    greeted.abort();
    if last.is_none() {
        let left = hands.door.arms.left(&name);
        drop(orders);
        let news = tokio::select! {
            news = left => news,
            () = closes(&mut closing) => Vec::new(),
        };
        hands.report(news).await;
    }
    last
}

async fn closes(closing: &mut watch::Receiver<bool>) {
    drop(closing.wait_for(|closing| *closing).await);
}

fn written(order: &Order) -> String {
    let Order { id, method, path, next, body, between, stores } = order;
    let order = json!({
        "id": id, "method": method, "path": path, "next": next, "body": body, "between": between,
        "stores": stores,
    });
    stream::aside("order", &order)
}

/// What came of an order.
async fn answer(
    State(hands): State<Hands>,
    Path((arm, order, status)): Path<(String, String, String)>,
    body: Bytes,
) -> Answer<StatusCode> {
    let (order, status) = (parsed("order", &order)?, parsed("status", &status)?);
    match hands.door.arms.answer(&arm, order, status, body.to_vec()) {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Problem::not_found("nobody waits for this answer")),
    }
}

/// Something happened in a session.
async fn word(
    State(hands): State<Hands>,
    Path(arm): Path<String>,
    said: Bytes,
) -> Answer<StatusCode> {
    let word: Word = read(&said)?;
    if let Word::Stored { message, call, .. } = &word
        && !hands.reads().contains_key(&(message.clone(), call.clone()))
    {
        return Ok(StatusCode::NO_CONTENT);
    }
    let news = hands.door.arms.hear(&arm, word).await.ok_or_else(no_arm)?;
    hands.report(news).await;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct InSession {
    session: String,
}

/// What a shell below a session has in its environment, so that its launches are the session's.
async fn env(
    State(hands): State<Hands>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(arm): Path<String>,
    said: Bytes,
) -> Answer<Response> {
    let InSession { session } = read(&said)?;
    let (by, parent) = hands.caller(&peer, &arm, &session).await?;
    let mut env = json!({"HOMING_HOME": hands.door.identity.home});
    match by.0 {
        Some(task) => {
            let mark = hands.door.arms.mark(task);
            let no_mark = |why| Problem::unavailable(&format!("no mark can be made: {why}"));
            let (name, value) = mark.map_err(no_mark)?;
            env[name] = json!(value);
            env["HOMING_TASK"] = json!(task);
        }
        None => env["HOMING_PARENT"] = json!(parent),
    }
    Ok(ok(&json!({ "env": env })))
}

#[derive(Deserialize)]
struct Called {
    session: String,
    message: String,
    call: String,
    turn: Option<String>,
    directory: Option<String>,
    #[serde(default)]
    args: Map<String, Value>,
}

/// A call of a tool, from the session that made it.
async fn tool(
    State(hands): State<Hands>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path((arm, tool)): Path<(String, String)>,
    said: Bytes,
) -> Answer<Response> {
    let Called { session, message, call, turn, directory, args } = read(&said)?;
    let (by, parent) = hands.caller(&peer, &arm, &session).await?;
    // A conversation's turns are known to the daemon, whoever launches in them.
    let turn = turn.filter(|_| !matches!(parent, ParentRef::Conversation(_)));
    let seat = Seat {
        session: Some(parent.clone()),
        inbox: Seat::of_connection(&arm),
        cwd: directory,
        around: BTreeMap::new(),
        turn: turn.clone(),
        key: Some(format!("{}:{session}:{message}:{call}", hands.door.arms.host())),
    };
    let (mut request, ()) = axum::http::Request::new(()).into_parts();
    request.extensions.insert(by);
    let request: Request = request;
    let told = by_plugin(&*hands.tools, &request, seat, &tool, args).await;
    let Some(told) = told else {
        return Err(Problem::not_found("there is no such tool"));
    };
    if let (ParentRef::Session { .. }, Some(turn)) = (&parent, turn) {
        // It is in a turn: this one.
        let fact = ParentFact::TurnBegan { turn: turn.into() };
        hands.report(vec![News::Parent(parent.clone(), fact)]).await;
    }
    Ok(ok(&match told {
        Ok(Told { data, words, ended }) => {
            hands.told(message, call, &parent, ended);
            json!({"words": words, "data": data})
        }
        Err(words) => json!({"words": words, "failed": true}),
    }))
}

impl Hands {
    fn reads(&self) -> MutexGuard<'_, Reads> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// On whose behalf a session calls, and who is told of what it launches. The session of a task, or one below it, acts as that
    /// task; below any other, the one that people speak to is told.
    async fn caller(&self, peer: &Peer, arm: &str, session: &str) -> Answer<(By, ParentRef)> {
        let inside = match peer.calling(&self.door) {
            Calling::Inside(task) => Some(task),
            Calling::Serving | Calling::Outside => None,
            Calling::Unknown => return Err(Problem::nobody()),
        };
        if let Some(task) = inside {
            return self.as_task(task).await;
        }
        let lineage = self.door.arms.lineage(arm, session).await;
        let lineage = lineage.map_err(|why| Problem::unavailable(&why))?;
        for session in &lineage {
            if let Some(task) = self.task_of(session).await? {
                return self.as_task(task).await;
            }
        }
        let top = lineage.last().map_or(session, String::as_str);
        let parent = self.door.arms.parent(arm, top).ok_or_else(no_arm)?;
        Ok((By(None), parent))
    }

    /// As a task calls; one that carries a conversation calls as that.
    async fn as_task(&self, task: TaskId) -> Answer<(By, ParentRef)> {
        Ok((By(Some(task)), self.door.homing.caller_as_parent(task).await?))
    }

    /// The living task whose session this is.
    async fn task_of(&self, session: &str) -> Answer<Option<TaskId>> {
        let session = Some(format!("{}:{session}", self.door.arms.host()));
        let query = TaskQuery { session, living: Some(true), limit: 1, ..TaskQuery::default() };
        Ok(self.door.homing.list(query).await?.first().map(|task| task.id))
    }

    /// An end that was told to its owner is settled once the answer is known to have arrived.
    fn told(&self, message: String, call: String, parent: &ParentRef, ended: Option<Ended>) {
        if let Some(ended) = ended.filter(|ended| ended.parent == *parent) {
            let mut reads = self.reads();
            while reads.len() >= READS_MAX {
                reads.pop_first();
            }
            reads.insert((message, call), (ended.task, ended.generation));
        }
    }

    async fn report(&self, news: Vec<News>) {
        for each in news {
            // A runtime that has stopped needs no news.
            match each {
                News::Parent(parent, fact) => drop(self.door.homing.parent(parent, fact).await),
                News::Debrief(key, fact) => drop(self.door.homing.delivered(key, fact).await),
                News::Arrived { message, call } => {
                    let read = self.reads().remove(&(message, call));
                    if let Some((task, generation)) = read {
                        drop(self.door.homing.ack(Receipt::Notice { task, generation }).await);
                    }
                }
            }
        }
    }
}
