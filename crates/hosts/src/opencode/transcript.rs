//! What was said in a session, for people.

use std::fmt::Write;

use homing_core::path::escaped;
use homing_ports::host::Place;

use super::OpenCode;
use super::http::Trouble;
use super::turn::{Message, Part};

impl OpenCode {
    pub(super) async fn transcript_of(&self, place: &Place) -> Result<Vec<u8>, String> {
        let server = self.servers.get().await?;
        let trouble = |why: Trouble| format!("OpenCode: {why}");
        let session = match &place.session {
            Some(session) => session.to_string(),
            None => {
                let found = self.find(&server, place.task, place.fence.attempt).await;
                found.map_err(trouble)?.ok_or("it has no session yet")?
            }
        };
        Ok(written(&self.messages(&session).await?).into_bytes())
    }

    /// All that is stored of a session.
    pub(super) async fn messages(&self, session: &str) -> Result<Vec<Message>, String> {
        let server = self.servers.get().await?;
        let trouble = |why: Trouble| format!("OpenCode: {why}");
        let query = self.known(&server, session).await.map_err(trouble)?.query();
        let path = format!("/session/{}/message?{query}", escaped(session));
        server.door.get(&path).await.map_err(trouble)
    }
}

fn written(messages: &[Message]) -> String {
    let mut out = String::new();
    for message in messages {
        let who = if message.is_prompt() { ">" } else { "<" };
        for part in &message.parts {
            let text = match part.kind.as_str() {
                "text" => part.text.clone().unwrap_or_default(),
                "tool" => tool(part),
                _ => continue,
            };
            if !text.trim().is_empty() {
                // A String takes all that is written to it.
                let _ = writeln!(out, "{who} {}", text.trim_end());
            }
        }
        if let Some(error) = &message.info.error {
            let _ = writeln!(out, "{who} {}: {}", error.name, error.told().message);
        }
    }
    out
}

fn tool(part: &Part) -> String {
    let name = part.tool.as_deref().unwrap_or("a tool");
    let came = match (&part.state.error, part.state.output.as_str()) {
        (Some(error), _) => error.as_str(),
        (None, Some(output)) => output,
        (None, None) => "…",
    };
    format!("[{name} {}]\n{came}", part.state.input)
}
