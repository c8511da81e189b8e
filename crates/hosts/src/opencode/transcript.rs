//! What was said in a session, for people.

use std::fmt::Write;

use homing_core::path::escaped;
use homing_ports::host::{Messages, Place, Reading};

use super::OpenCode;
use super::http::Trouble;
use super::turn::{Message, Part};

impl OpenCode {
    pub(super) async fn transcript_of(&self, place: &Place) -> Result<Vec<u8>, String> {
        let session = self.session_of(place).await?;
        Ok(written(&self.messages(&session).await?).into_bytes())
    }

    pub(super) async fn messages_of(
        &self,
        place: &Place,
        reading: &Reading,
    ) -> Result<Messages, String> {
        let session = self.session_of(place).await?;
        Ok(one_by_one(&self.messages(&session).await?, reading))
    }

    async fn session_of(&self, place: &Place) -> Result<String, String> {
        if let Some(session) = &place.session {
            return Ok(session.to_string());
        }
        let server = self.servers.get().await?;
        let found = self.find(&server, place.task, place.fence.attempt).await;
        let found = found.map_err(|why| format!("OpenCode: {why}"))?;
        found.ok_or_else(|| "it has no session yet".to_owned())
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

/// Each message below its id; one of which nothing is wanted is left out.
fn one_by_one(messages: &[Message], reading: &Reading) -> Messages {
    let mut from = 0;
    if let Some(since) = &reading.since {
        let Some(at) = messages.iter().position(|message| message.info.id == *since) else {
            return Messages::NoSuch;
        };
        from = at + 1;
    }
    let mut all = Vec::new();
    for message in &messages[from..] {
        let texts = message.parts.iter().filter_map(|part| {
            let text = part.text.clone().unwrap_or_default();
            let text = match part.kind.as_str() {
                "text" => text,
                "reasoning" if reading.thinking => format!("(thinks) {text}"),
                "tool" if reading.tools => tool(part),
                _ => return None,
            };
            (!text.trim().is_empty()).then(|| text.trim_end().to_owned())
        });
        let error = message.info.error.as_ref();
        let error = error.map(|error| format!("{}: {}", error.name, error.told().message));
        let said: Vec<String> = texts.chain(error).collect();
        if !said.is_empty() {
            let who = if message.is_prompt() { ">" } else { "<" };
            all.push(format!("{who} {}\n{}\n", message.info.id, said.join("\n")));
        }
    }
    let first = all.len().saturating_sub(reading.last.unwrap_or(usize::MAX));
    Messages::Apart(all[first..].concat())
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
