//! On whose behalf a call is made, and so who is told: what the call says, else what its client says of itself, else
//! an inbox of the connection's own.

use std::collections::BTreeMap;

use homing_core::refs::ParentRef;
use rmcp::model::RequestMetaObject;
use serde_json::Value;

use crate::answers::Sorry;

/// Where the client of a connection sits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// The task that it is inside of, or the session that started this connection, where it said so.
    pub session: Option<ParentRef>,
    /// For everybody else.
    pub inbox: ParentRef,
    /// Where its tasks run, unless their preset says otherwise.
    pub cwd: Option<String>,
    /// Its path and locale.
    pub around: BTreeMap<String, String>,
    /// The turn that it is in, where that is known beforehand.
    pub turn: Option<String>,
    /// What the call is named, so that it is known when it is made again.
    pub key: Option<String>,
}

/// A parent, and how it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub parent: ParentRef,
    /// What the agent must know to hear of the outcome, where nobody brings it.
    pub word: Option<String>,
    /// The turn that the call belongs to: tasks of one turn are told of together.
    pub turn: Option<String>,
}

impl Seat {
    /// An inbox `mcp/KEY` for a connection that says nothing of itself; what cannot stand in a name is left out.
    pub fn of_connection(key: &str) -> ParentRef {
        let fine = |each: &char| each.is_ascii_alphanumeric() || "._-".contains(*each);
        let key: String = key.chars().filter(fine).take(64).collect();
        ParentRef::Inbox { name: "mcp".into(), key: (!key.is_empty()).then(|| key.into()) }
    }

    pub(crate) fn told(
        &self,
        said: Option<&str>,
        meta: Option<&RequestMetaObject>,
    ) -> Result<Told, Sorry> {
        let codex = |name: &str| meta.and_then(|meta| codex(meta, name));
        let turn = self.turn.clone().or_else(|| codex("turn_id"));
        if let Some(said) = said {
            let parent = said.parse().map_err(|why| {
                Sorry::new(format!("parent: {why}"), "inbox:NAME, task:bg_…, or leave it out")
            })?;
            return Ok(Told { parent, word: None, turn });
        }
        let codex = codex("thread_id").or_else(|| codex("session_id"));
        let codex = codex.and_then(|thread| format!("codex:{thread}").parse().ok());
        // Whoever is inside a task acts as that task.
        let task = self.session.clone().filter(|known| matches!(known, ParentRef::Task(_)));
        if let Some(parent) = task.or(codex).or_else(|| self.session.clone()) {
            return Ok(Told { parent, word: None, turn });
        }
        let inbox = self.inbox.clone();
        let word = Some(format!(
            "This client does not say which session it is: outcomes are kept in {inbox}, and nobody can wake you. \
             Read them with background_list and background_output."
        ));
        Ok(Told { parent: inbox, word, turn })
    }
}

/// What Codex says of itself with each call: at the top, or in an object of its own.
fn codex(meta: &RequestMetaObject, name: &str) -> Option<String> {
    let camel = match name {
        "thread_id" => "threadId",
        "session_id" => "sessionId",
        _ => "turnId",
    };
    let own = meta.get("x-codex-turn-metadata");
    let known = |from: &Value| {
        from.get(name).or_else(|| from.get(camel)).and_then(Value::as_str).map(str::to_owned)
    };
    own.and_then(known).or_else(|| {
        let top = meta.get(name).or_else(|| meta.get(camel));
        top.and_then(Value::as_str).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seat(session: Option<&str>) -> Seat {
        let session = session.map(|session| session.parse().unwrap());
        let inbox = Seat::of_connection("a/b c-1");
        Seat { session, inbox, cwd: None, around: BTreeMap::new(), turn: None, key: None }
    }

    fn meta(fields: Value) -> RequestMetaObject {
        serde_json::from_value(fields).unwrap()
    }

    #[test]
    fn what_is_said_goes_before_what_the_client_says_and_that_before_the_inbox() {
        let codex = meta(json!({"x-codex-turn-metadata": {"thread_id": "t-1", "turn_id": "9"}}));
        let none = meta(json!({}));
        let claude = Some("claude:c-1");
        let parent =
            |seat: &Seat, said, meta| seat.told(said, Some(meta)).unwrap().parent.to_string();
        assert_eq!(parent(&seat(claude), Some("inbox:me"), &codex), "inbox:me");
        assert_eq!(parent(&seat(claude), None, &codex), "codex:t-1");
        assert_eq!(parent(&seat(claude), None, &none), "claude:c-1");
        assert_eq!(parent(&seat(None), None, &none), "inbox:mcp/abc-1");
        assert_eq!(
            parent(&seat(Some("task:bg_0123456789ab")), None, &codex),
            "task:bg_0123456789ab"
        );
        let top = meta(json!({"threadId": "t-2"}));
        assert_eq!(parent(&seat(None), None, &top), "codex:t-2");
        let told = seat(None).told(None, Some(&codex)).unwrap();
        assert_eq!((told.turn.as_deref(), told.word), (Some("9"), None));
        let word = seat(None).told(None, Some(&none)).unwrap().word.unwrap();
        assert!(word.contains("inbox:mcp/abc-1") && word.contains("background_list"), "{word}");
        assert!(seat(None).told(Some("nobody"), None).is_err());
    }
}
