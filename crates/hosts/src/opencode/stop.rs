//! Ending a turn, and answering what it waits for.

use std::io;
use std::time::Duration;

use homing_core::fact::Fact;
use homing_core::path::escaped;
use homing_core::task::Answer;
use homing_ports::host::Place;
use homing_shim::processes::marked;
use serde_json::{Value, json};

use super::OpenCode;
use super::http::Trouble;
use super::server::Server;
use super::turn::Message;
use crate::marks::MARK;
use crate::system::processes;

/// An abort that is not seen to have worked by then is tried again.
const STOPS: Duration = Duration::from_secs(10);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// So many looks at a session that is aborted and does nothing.
const QUIET: u32 = 3;
/// Between asking what is left to end and insisting.
const GRACE: Duration = Duration::from_secs(2);

impl OpenCode {
    pub(super) async fn stop_now(&self, place: &Place) -> Fact {
        let refused =
            |why: &dyn std::fmt::Display| Fact::StopRefused { why: why.to_string().into() };
        // What ran on a server of ours that is gone was taken with it.
        let Some(server) = self.servers.running().await else {
            return match self.servers.are_ours() {
                true => Fact::Stopped,
                false => refused(&"OpenCode cannot be reached"),
            };
        };
        let session = match &place.session {
            Some(session) => Some(session.to_string()),
            None => match self.find(&server, place.task, place.fence.attempt).await {
                Ok(found) => found,
                Err(why) => return refused(&format!("OpenCode: {why}")),
            },
        };
        let Some(session) = session else {
            return Fact::Stopped;
        };
        match tokio::time::timeout(STOPS, self.stop(&server, &session)).await {
            Ok(Ok(())) => match self.reap(&server, place).await {
                Ok(()) => Fact::Stopped,
                Err(why) => refused(&format!("what its tools left behind: {why}")),
            },
            Ok(Err(why)) => {
                self.servers.doubt(&server).await;
                refused(&format!("OpenCode: {why}"))
            }
            Err(_) => refused(&"OpenCode took the abort, and the session is still busy"),
        }
    }

    /// What tools of the task left running on a server of ours has its mark, and ends with it.
    async fn reap(&self, server: &Server, place: &Place) -> io::Result<()> {
        let Some(shim) = server.shim() else {
            return Ok(());
        };
        let mark = format!("{MARK}={}", self.marks.of(place.task)?);
        processes::end_all(|| marked(&mark, &[], &shim), GRACE).await
    }

    /// Until it is not busy, and its last answer is closed.
    async fn stop(&self, server: &Server, session: &str) -> Result<(), Trouble> {
        let known = match self.known(server, session).await {
            Ok(known) => known,
            // What was never there, or was removed: nothing of it can be told.
            Err(why) if why.is_absence() || matches!(why, Trouble::Refused { status: 400, .. }) => {
                return Ok(());
            }
            Err(why) => return Err(why),
        };
        let query = known.query();
        let mut quiet = 0;
        loop {
            let status: Value = server.door.get(&format!("/session/status?{query}")).await?;
            if status[session].is_null() {
                let closed = self.is_closed(server, session, &query).await?;
                if closed || quiet == QUIET {
                    return Ok(());
                }
                quiet += 1;
            }
            let path = format!("/session/{}/abort?{query}", escaped(session));
            server.door.post(&path, &json!({})).await?;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Whether its last answer is done, or nothing was ever said. A prompt that was just sent begins to be answered after a
    /// moment, and an answer that a program left open when it ended stays so: of these only time can tell.
    async fn is_closed(
        &self,
        server: &Server,
        session: &str,
        query: &str,
    ) -> Result<bool, Trouble> {
        let path = format!("/session/{}/message?limit=2&{query}", escaped(session));
        match server.door.get::<Vec<Message>>(&path).await {
            Ok(last) => Ok(last.last().is_none_or(|last| last.info.time.completed.is_some())),
            Err(why) if why.is_absence() => Ok(true),
            Err(why) => Err(why),
        }
    }

    pub(super) async fn answer_now(
        &self,
        place: &Place,
        key: &str,
        answer: &Answer,
    ) -> Result<(), String> {
        let server = self.servers.running().await.ok_or("OpenCode does not run")?;
        let session = place.session.as_deref().ok_or("its session is not known")?;
        let trouble = |why: Trouble| format!("OpenCode: {why}");
        let query = self.known(&server, session).await.map_err(trouble)?.query();
        let key = escaped(key);
        let (path, body) = match (key.starts_with("que"), answer) {
            (false, Answer::Allow) => ("permission", json!({"reply": "once"})),
            (false, Answer::Deny) => ("permission", json!({"reply": "reject"})),
            (false, Answer::Text(text)) => {
                ("permission", json!({"reply": "reject", "message": &**text}))
            }
            (true, Answer::Text(text)) => ("question", json!({"answers": [[&**text]]})),
            (true, Answer::Allow) => ("question", json!({"answers": [["yes"]]})),
            (true, Answer::Deny) => {
                let path = format!("/question/{key}/reject?{query}");
                return server.door.post(&path, &json!({})).await.map(drop).map_err(trouble);
            }
        };
        let path = format!("/{path}/{key}/reply?{query}");
        server.door.post(&path, &body).await.map(drop).map_err(trouble)
    }
}
