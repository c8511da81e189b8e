//! What is said in a turn, as it comes: what is stored first, then what the stream adds to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use homing_core::fact::TurnRecord;
use homing_ports::host::{Ears, PartKind, Place, Said};
use serde_json::Value;

use super::hub::Word;
use super::turn::{self, Message};
use super::{OpenCode, ids};

impl OpenCode {
    pub(super) async fn hear_turn(
        &self,
        place: &Place,
        ears: &dyn Ears,
        follows: bool,
    ) -> Result<(), String> {
        let session = place.session.as_deref().ok_or("it has no session yet")?;
        let mut words = self.hub.listen(session);
        let prompt = ids::message(place.task, place.fence);
        let mut heard = Heard {
            ears,
            prompt,
            prompts: BTreeMap::new(),
            answers: BTreeSet::new(),
            parts: BTreeMap::new(),
        };
        loop {
            let messages = self.messages(session).await?;
            if !heard.stored(&messages, follows).await
                || !follows
                || self.is_over(&messages, &heard)
            {
                return Ok(());
            }
            loop {
                match words.next().await {
                    None => return Ok(()),
                    Some(Word::Beat | Word::Asks) => {}
                    Some(Word::Missed) => {
                        // What was added meanwhile is not known: they are told when they are stored.
                        heard.parts.retain(|_, told| told.whole);
                        break;
                    }
                    Some(Word::Event(event)) => match heard.event(&event).await {
                        Came::More => {}
                        Came::Perhaps => break,
                        Came::Nobody => return Ok(()),
                    },
                }
            }
        }
    }

    fn is_over(&self, messages: &[Message], heard: &Heard<'_>) -> bool {
        let seen = turn::turn(messages, &heard.prompt, self.result);
        matches!(seen.record, TurnRecord::Ended(_))
    }
}

/// What an event came to.
enum Came {
    More,
    /// Perhaps the end: the messages tell.
    Perhaps,
    Nobody,
}

/// What was told so far.
struct Heard<'a> {
    ears: &'a dyn Ears,
    prompt: String,
    /// Prompts that something answers, and whether they are of the turn.
    prompts: BTreeMap<String, bool>,
    /// Messages that answer the prompt.
    answers: BTreeSet<String>,
    parts: BTreeMap<Arc<str>, Told>,
}

/// What was told of a part.
#[derive(Default)]
struct Told {
    kind: Option<PartKind>,
    text: String,
    /// It is stored, and nothing is added to it any more.
    whole: bool,
}

impl Heard<'_> {
    /// Whether somebody listens still.
    async fn stored(&mut self, messages: &[Message], follows: bool) -> bool {
        let ours = turn::prompts(messages, &self.prompt).map(|(_, ours)| ours).unwrap_or_default();
        for message in messages.iter().filter(|message| message.is_answer()) {
            let Some(prompt) = &message.info.parent else {
                continue;
            };
            let is_ours = ours.contains(&prompt.as_str());
            self.prompts.insert(prompt.clone(), is_ours);
            if !is_ours {
                continue;
            }
            self.answers.insert(message.info.id.clone());
            for part in &message.parts {
                let (Some(id), Some((kind, text))) = (&part.id, told(&part.kind, part)) else {
                    continue;
                };
                // Text that flows is stored at its end: before that, nobody can tell what was said already.
                let flows = follows && part.time.end.is_none() && kind != PartKind::Tool;
                if !flows && !self.all(id.as_str().into(), kind, &text, true).await {
                    return false;
                }
            }
        }
        true
    }

    /// All of a part as it is now.
    async fn all(&mut self, part: Arc<str>, kind: PartKind, text: &str, whole: bool) -> bool {
        let known = self.parts.entry(Arc::clone(&part)).or_default();
        (known.kind, known.whole) = (Some(kind), whole);
        // What flows on is not taken back by what is stored of it.
        if !whole && known.text.starts_with(text) {
            return true;
        }
        let from = if text.starts_with(known.text.as_str()) { known.text.len() } else { 0 };
        text.clone_into(&mut known.text);
        if text.len() == from {
            return true;
        }
        let (from, text) = (from as u64, text[from..].to_owned());
        self.ears.hear(Said { part, kind, from, text }).await
    }

    async fn event(&mut self, event: &Value) -> Came {
        let properties = &event["properties"];
        match event["type"].as_str() {
            Some("message.updated") => {
                let info = &properties["info"];
                let Some(prompt) = info["parentID"].as_str().filter(|_| info["summary"] != true)
                else {
                    return Came::More;
                };
                match self.prompts.get(prompt) {
                    Some(true) => {}
                    Some(false) => return Came::More,
                    None if prompt == self.prompt => {}
                    // Whose it is, the messages tell.
                    None => {
                        self.prompts.insert(prompt.to_owned(), false);
                        return Came::Perhaps;
                    }
                }
                self.answers.extend(info["id"].as_str().map(str::to_owned));
                if info["time"]["completed"].is_null() { Came::More } else { Came::Perhaps }
            }
            Some("message.part.updated") => {
                let part = &properties["part"];
                let read = serde_json::from_value::<turn::Part>(part.clone()).ok();
                let (Some(id), Some(read)) = (part["id"].as_str(), read) else {
                    return Came::More;
                };
                let ours = part["messageID"].as_str().is_some_and(|id| self.answers.contains(id));
                let whole = read.time.end.is_some();
                match told(&read.kind, &read).filter(|_| ours) {
                    Some((kind, text)) => went(self.all(id.into(), kind, &text, whole).await),
                    None => Came::More,
                }
            }
            Some("message.part.delta") => self.delta(properties).await,
            Some(_) | None => Came::More,
        }
    }

    async fn delta(&mut self, properties: &Value) -> Came {
        let word = |name: &str| properties[name].as_str();
        let ours = word("messageID").is_some_and(|id| self.answers.contains(id));
        let text = word("delta").filter(|_| word("field") == Some("text") && ours);
        let (Some(part), Some(text)) = (word("partID"), text) else {
            return Came::More;
        };
        // One whose beginning was not heard is told when it is stored.
        let Some(known) = self.parts.get_mut(part) else {
            return Came::More;
        };
        let (from, kind) = (known.text.len() as u64, known.kind.unwrap_or(PartKind::Text));
        known.text.push_str(text);
        let (part, text) = (part.into(), text.to_owned());
        went(self.ears.hear(Said { part, kind, from, text }).await)
    }
}

fn went(heard: bool) -> Came {
    if heard { Came::More } else { Came::Nobody }
}

/// What people are told of a part.
fn told(kind: &str, part: &turn::Part) -> Option<(PartKind, String)> {
    match kind {
        "text" if part.synthetic || part.ignored => None,
        "text" => Some((PartKind::Text, part.text.clone().unwrap_or_default())),
        "reasoning" => Some((PartKind::Thought, part.text.clone().unwrap_or_default())),
        "tool" => Some((PartKind::Tool, part.tool.clone().unwrap_or_default())),
        _ => None,
    }
}
