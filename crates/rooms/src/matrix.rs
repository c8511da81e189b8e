//! Matrix: a message as one event of a Matrix room, sent to a homeserver by a plain request. The key is the transaction: a
//! homeserver takes the same one once, whichever side died in between.
//!
//! - `event` is what a message looks like there.
//! - `answer` is what the homeserver's answers mean.

mod answer;
mod event;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use homing_core::input::PostFact;
use homing_core::refs::Origin;
use homing_ports::door::Token;
use homing_ports::host::Flight;
use homing_ports::parent::{Message, Room};
use http_body_util::{BodyExt, Limited};
use hyper::Method;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::Value;

use crate::http::{Asking, Place, Untaken, exchange, failed, post_fact, within};

/// Of an answer; more than any that is meant for us.
const ANSWER_MOST: usize = 64 << 10;
const API: &str = "/_matrix/client/v3";

/// One account on one homeserver, which speaks in the rooms it has joined.
pub struct Matrix {
    pub homeserver: Place,
    /// Read for each request: a new one counts at once.
    pub token: Arc<dyn Token>,
    /// For one request, its answer included.
    pub within: Duration,
}

impl Matrix {
    /// Whom the token is of, as the homeserver says: `@bot:example.org`; else why that is not known.
    pub async fn whoami(&self) -> Result<String, String> {
        let asked = self.ask(Method::GET, "/account/whoami", Bytes::new());
        let known = match within(self.within, asked).await {
            Ok(known) => known,
            Err(Untaken::Failed { why, .. } | Untaken::Refused { why }) => return Err(why),
        };
        let who = known["user_id"].as_str().map(str::to_owned);
        who.ok_or_else(|| "it answers, but not as a homeserver does".to_owned())
    }

    async fn send(&self, message: Message) -> Result<(), Untaken> {
        let Message { key, origin, text, tries: _ } = message;
        checked(&origin).map_err(|why| Untaken::Refused { why })?;
        let content = event::content(&String::from_utf8_lossy(&text), origin.thread.as_deref());
        let room = event::escaped(&origin.address);
        let path = format!("/rooms/{room}/send/m.room.message/{key}");
        let taken = self.ask(Method::PUT, &path, Bytes::from(content.to_string())).await?;
        // Its receipt. Whatever else says 200 is no homeserver.
        if taken["event_id"].is_string() {
            return Ok(());
        }
        Err(failed("it answered 200, but named no event"))
    }

    async fn ask(&self, method: Method, path: &str, body: Bytes) -> Result<Value, Untaken> {
        let token = self.token()?;
        let bearer = HeaderValue::from_str(&format!("Bearer {token}"));
        // Why not is not said: it would show the token.
        let mut bearer = bearer.map_err(|_| failed("its token cannot be used: it is no token"))?;
        bearer.set_sensitive(true);
        let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
        let target = self.homeserver.target().below(&format!("{API}{path}"));
        let asking = Asking { method, headers, body };
        let answer = exchange(&self.homeserver, &target, &asking).await?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, ANSWER_MOST).collect().await;
        let body = body.map_err(|_| failed(format!("{target}: the answer was cut off")))?;
        let said = answer::Said::of(&body.to_bytes(), &token);
        let untaken = match said.meant(head.status, &head.headers, SystemTime::now()) {
            Ok(()) => return Ok(said.value),
            Err(untaken) => untaken,
        };
        let refused = matches!(untaken, Untaken::Refused { .. });
        if refused && said.is_about_token() && self.token().is_ok_and(|new| new != token) {
            return Err(failed("its token was changed meanwhile"));
        }
        Err(untaken)
    }

    fn token(&self) -> Result<String, Untaken> {
        let token = self.token.token();
        let token = token.map_err(|why| failed(format!("its token cannot be used: {why}")))?;
        if token.is_empty() {
            return Err(failed("its token cannot be used: it is empty"));
        }
        Ok(token)
    }
}

/// Rooms by their ids alone: an alias can be given to another room, and has the sign that a thread begins with.
fn checked(origin: &Origin) -> Result<(), String> {
    if !origin.address.starts_with('!') {
        let (room, address) = (&origin.room, &origin.address);
        return Err(format!(
            "origin: {room} is on Matrix, and {address:?} is no id of a room there: !…"
        ));
    }
    match &origin.thread {
        Some(root) if !root.starts_with('$') => {
            Err(format!("origin: {root:?} is no id of an event, with which a thread begins: $…"))
        }
        Some(_) | None => Ok(()),
    }
}

impl Room for Matrix {
    fn check(&self, origin: &Origin) -> Result<(), String> {
        checked(origin)
    }

    fn post(&self, message: Message) -> Flight<'_, PostFact> {
        Box::pin(async move { post_fact(within(self.within, self.send(message)).await) })
    }
}
