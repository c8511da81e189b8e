//! OpenCode as a parent: a debrief is one message, under names that derive from its key, sent between the turns of the session
//! by the process that runs it, and looked for in the transcript before and after.

use std::sync::Arc;
use std::time::Duration;

use homing_core::fact::{Finish, TurnRecord};
use homing_core::ids::DebriefId;
use homing_core::input::{DeliveryFact, ParentFact};
use homing_core::path::escaped;
use homing_core::refs::ParentRef;
use homing_core::words::Tri;
use homing_ports::door::News;
use homing_ports::host::Flight;
use homing_ports::parent::{Delivery, Parent};
use serde_json::{Value, json};
use tracing::warn;

use super::arms::{self, Arm, Runs};
use super::http::Trouble;
use super::look::{Session, busy};
use super::turn::{self, Message, Stopped};
use super::{LOG, OpenCode, ids};
use crate::system::wall_ms;

/// Of a session's messages, the last ones: what is older has long been told.
const SEEN: usize = 100;
/// A record that is open while nothing runs is closed that soon, or never.
const CLOSES: Duration = Duration::from_millis(300);
/// What is open for so long while nothing runs was left so by a crash, or wants no answer.
const LEFT_MS: i64 = 10_000;
/// What failed so often is not tried again at once.
const TRIES: u32 = 5;

/// A session as it stands.
struct Stand {
    session: Arc<Session>,
    busy: Tri,
    messages: Vec<Message>,
}

impl Stand {
    /// The turn that it is in, or something else that a debrief waits for.
    fn turn(&self) -> Option<String> {
        let prompts = || self.messages.iter().rev().filter(|message| message.is_prompt());
        let last_prompt = || prompts().next().map(|message| message.info.id.clone());
        if self.busy != Tri::No {
            return Some(last_prompt().unwrap_or_else(|| "a turn".to_owned()));
        }
        if !self.session.revert.is_null() {
            return Some("undone".to_owned());
        }
        let last = self.messages.last()?;
        let open = last.is_prompt() || last.info.time.completed.is_none();
        (open && !is_old(last)).then(last_prompt).flatten()
    }

    /// Whether it is idle, and its last message is not closed yet.
    fn settles(&self) -> bool {
        let open = self.messages.last().filter(|last| last.info.time.completed.is_none());
        self.busy == Tri::No && open.is_some_and(|last| !is_old(last))
    }

    /// The name under which it has a debrief.
    fn name_of(&self, key: DebriefId) -> Option<&str> {
        let names = self.messages.iter().map(|message| message.info.id.as_str());
        names.into_iter().find(|name| ids::is_debrief(name, key))
    }

    /// What became of a debrief that is stored, in the program of this name.
    fn became(&self, name: &str, program: &str, most: usize) -> Became {
        let seen = turn::turn(&self.messages, name, most);
        let later = self.messages.iter().skip_while(|message| message.info.id != name).skip(1);
        let prompts = later.filter(|message| message.is_prompt() && !message.goes_on());
        let shared = prompts
            .map(|prompt| turn::turn(&self.messages, &prompt.info.id, 1))
            .any(|turn| matches!(&turn.record, TurnRecord::Ended(end) if end.error.is_none()));
        match seen.record {
            TurnRecord::Ended(end) if end.finish == Finish::Cancelled => {
                Became::Over(DeliveryFact::Shared)
            }
            TurnRecord::Ended(end) if end.error.is_none() => {
                Became::Over(DeliveryFact::Answered { text: end.text })
            }
            _ if shared => Became::Over(DeliveryFact::Shared),
            _ if self.busy != Tri::No => Became::Open,
            TurnRecord::Ended(end) => {
                let why = end.error.map(|error| error.message.to_string()).unwrap_or_default();
                Became::Failed(why)
            }
            TurnRecord::Open => match seen.stopped {
                // Somebody else's prompt came after it, and waits for its answer; unless it never gets one.
                Some(Stopped::Overtaken) if !self.is_left() => Became::Open,
                // Somebody who was there refused it a tool, or stopped it: what was brought was seen.
                Some(Stopped::Refused | Stopped::Aborted) if self.is_by(name, program) => {
                    Became::Over(DeliveryFact::Shared)
                }
                // As far as that went, another program went on with it, and that has ended.
                Some(Stopped::Refused | Stopped::Aborted) => Became::Unanswered,
                Some(Stopped::Overtaken | Stopped::Unanswered | Stopped::Cut) | None => {
                    Became::Unanswered
                }
            },
            TurnRecord::Absent | TurnRecord::Unreadable => Became::Unanswered,
        }
    }
}

impl Stand {
    /// Whether the last prompt is not answered any more.
    fn is_left(&self) -> bool {
        self.messages.iter().rev().find(|message| message.is_prompt()).is_some_and(is_old)
    }

    /// Whether this program took a debrief.
    fn is_by(&self, name: &str, program: &str) -> bool {
        let message = self.messages.iter().find(|message| message.info.id == name);
        let mut parts = message.into_iter().flat_map(|message| &message.parts);
        parts.any(|part| part.metadata["homing"]["program"] == program)
    }
}

/// The prompt that is answered last, where it is not among what was read: its turn has very many steps.
fn further_up(messages: &[Message]) -> Option<&str> {
    let prompt = messages.last()?.info.parent.as_deref()?;
    let read = messages.len() < SEEN || messages.iter().any(|message| message.info.id == prompt);
    (!read).then_some(prompt)
}

fn is_old(message: &Message) -> bool {
    let began = message.info.time.created.unwrap_or_default();
    (wall_ms() as f64) - began > LEFT_MS as f64
}

/// What became of a debrief that is in the transcript.
enum Became {
    Over(DeliveryFact),
    /// It is being answered.
    Open,
    /// The answer broke off.
    Failed(String),
    /// It is the last word, and nobody answers it.
    Unanswered,
}

impl OpenCode {
    /// The arm that runs a parent.
    pub(super) async fn arm_of(&self, parent: &ParentRef) -> Result<Arc<Arm>, Held> {
        let ParentRef::Session { session, instance, .. } = parent else {
            return Err(Held::Away);
        };
        match self.arms.who_runs(session, instance.as_deref()) {
            Runs::This(arm) => Ok(arm),
            Runs::Since(arm, prompt) => match self.last_prompt(&arm, session).await {
                Ok(last) if last.as_ref() == Some(&prompt) => Ok(arm),
                Err(why) if why.is_absence() => Err(Held::Gone),
                Ok(_) | Err(_) => Err(Held::Unsure),
            },
            Runs::Two(pids) => {
                warn!(target: LOG, %parent, pids, "two programs run this session; nothing is brought until one is done");
                Err(Held::Two(format!("two programs run it: {pids}")))
            }
            Runs::Nobody => Err(Held::Away),
            Runs::Perhaps(arms) => {
                let directory = self.directory(&arms, session).await?;
                let found = arms.iter().find(|arm| arm.works_in(&directory));
                found.cloned().ok_or(Held::Away)
            }
        }
    }

    /// Where a session works, by the first of these programs that says so: one may be suspended.
    async fn directory(&self, arms: &[Arc<Arm>], session: &str) -> Result<String, Held> {
        if let Some(known) = self.table().sessions.get(session) {
            return Ok(known.directory.clone());
        }
        for arm in arms {
            match arm.get::<Session>(&session_path(session)).await {
                Ok(known) => return Ok(self.keep(known).directory.clone()),
                Err(why) if why.is_absence() => return Err(Held::Gone),
                Err(_) => {}
            }
        }
        Err(Held::Away)
    }

    /// The prompt that is answered last, whoever runs that.
    async fn last_prompt(&self, arm: &Arm, session: &str) -> Result<Option<String>, Trouble> {
        let path = format!("{}/message?limit=1", session_path(session));
        let last = arm.get::<Vec<Message>>(&path).await?.pop();
        Ok(last.map(|last| last.info.parent.unwrap_or(last.info.id)))
    }

    async fn stand(&self, arm: &Arm, session: &str) -> Result<Stand, Trouble> {
        let path = session_path(session);
        // Where it is never changes.
        let place = self.table().sessions.get(session).map(Arc::clone);
        let query = match place {
            Some(place) => place.query(),
            None => self.keep(arm.get(&path).await?).query(),
        };
        // In this order: a session that is not busy has written down what it did. And the session anew: what was undone stands
        // in it.
        let messages = format!("{path}/message?limit={SEEN}&{query}");
        let status = format!("/session/status?{query}");
        let all = arm.get_all(&status, [&path, &messages]).await?;
        let (status, known, mut messages): (Value, Session, Vec<Message>) = all;
        if let Some(prompt) = further_up(&messages) {
            let found = arm.get(&format!("{path}/message/{}?{query}", escaped(prompt))).await;
            match found {
                Ok(prompt) => messages.insert(0, prompt),
                Err(why) if why.is_absence() => {}
                Err(why) => return Err(why),
            }
        }
        Ok(Stand { session: Arc::new(known), busy: busy(status, session), messages })
    }

    /// As `stand`; one whose last record is about to be closed is seen once more.
    async fn settled(&self, arm: &Arm, session: &str) -> Result<Stand, Trouble> {
        let stand = self.stand(arm, session).await?;
        if !stand.settles() {
            return Ok(stand);
        }
        tokio::time::sleep(CLOSES).await;
        self.stand(arm, session).await
    }

    async fn look_parent(&self, parent: &ParentRef) -> ParentFact {
        let arm = match self.arm_of(parent).await {
            Ok(arm) => arm,
            Err(Held::Gone) => return ParentFact::Deleted,
            Err(Held::Two(turn)) => {
                self.arms.found_in(session_of(parent), &turn);
                return ParentFact::TurnBegan { turn: turn.into() };
            }
            Err(Held::Away | Held::Unsure) => {
                self.arms.missed(parent);
                return ParentFact::Unreachable;
            }
        };
        let session = session_of(parent);
        match self.settled(&arm, session).await {
            Ok(stand) => match stand.turn() {
                Some(turn) => {
                    self.arms.found_in(session, &turn);
                    ParentFact::TurnBegan { turn: turn.into() }
                }
                None => ParentFact::Between,
            },
            Err(why) if why.is_absence() => ParentFact::Deleted,
            Err(_) => {
                self.arms.missed(parent);
                ParentFact::Unreachable
            }
        }
    }

    async fn deliver_now(&self, delivery: &Delivery) -> DeliveryFact {
        let parent = &delivery.parent;
        let session = session_of(parent);
        let arm = match self.arm_of(parent).await {
            Ok(arm) => arm,
            Err(Held::Gone) => return DeliveryFact::Gone,
            // Nothing was sent. When its arm is back, that is told as the end of a turn.
            Err(Held::Two(_)) => return DeliveryFact::Busy,
            Err(Held::Away | Held::Unsure) => {
                self.arms.missed(parent);
                return DeliveryFact::Busy;
            }
        };
        match self.deliver_by(&arm, session, delivery).await {
            Ok(fact) => {
                if !matches!(fact, DeliveryFact::Accepted) {
                    self.arms.closed(session, delivery.key);
                }
                fact
            }
            Err(why) if why.is_absence() => DeliveryFact::Gone,
            Err(why) => failed(&why),
        }
    }

    async fn deliver_by(
        &self,
        arm: &Arm,
        session: &str,
        delivery: &Delivery,
    ) -> Result<DeliveryFact, Trouble> {
        let stand = self.settled(arm, session).await?;
        if let Some(name) = stand.name_of(delivery.key) {
            return match stand.became(name, &arm.program(), self.result) {
                Became::Over(fact) => Ok(fact),
                Became::Open => {
                    self.arms.opened(session, delivery.key);
                    Ok(DeliveryFact::Accepted)
                }
                Became::Failed(why) if delivery.tries > TRIES => {
                    Ok(failed(&format!("the parent's answer broke off: {why}")))
                }
                // What is said now, is said for good, and what was undone is gone.
                Became::Failed(_) | Became::Unanswered if !stand.session.revert.is_null() => {
                    Ok(DeliveryFact::Busy)
                }
                Became::Failed(_) | Became::Unanswered => {
                    self.send(arm, &stand, delivery, name).await
                }
            };
        }
        let name = ids::of_debrief(delivery.key, delivery.sealed);
        // Long ago: others were answered since with it in view.
        if stand.messages.len() >= SEEN && stored(arm, &stand.session, &name).await? {
            return Ok(DeliveryFact::Shared);
        }
        if let Some(turn) = stand.turn() {
            self.arms.found_in(session, &turn);
            return Ok(DeliveryFact::Busy);
        }
        self.send(arm, &stand, delivery, &name).await
    }

    async fn send(
        &self,
        arm: &Arm,
        stand: &Stand,
        delivery: &Delivery,
        name: &str,
    ) -> Result<DeliveryFact, Trouble> {
        let session = &stand.session;
        let path = format!("{}/prompt_async?{}", session_path(&session.id), session.query());
        let body = prompt(delivery, name, &arm.program(), &stand.messages);
        // Before it is sent: its answer may be there before it is known to be stored.
        self.arms.opened(&session.id, delivery.key);
        if !arm.prompt(&path, &body, &session.id, name).await? {
            return Ok(DeliveryFact::Busy);
        }
        // What the program took may still be lost: it counts when it is stored.
        match stored(arm, session, name).await? {
            true => Ok(DeliveryFact::Accepted),
            false => Ok(failed(&"OpenCode took it and does not show it")),
        }
    }

    /// What an arm tells of a session: debriefs that have been answered meanwhile, and whether a turn runs.
    pub(super) async fn attend(&self, arm: &Arm, session: &str, all: bool) -> Vec<News> {
        let parent = arms::parent(arm, session);
        let Ok(stand) = self.settled(arm, session).await else {
            return Vec::new();
        };
        let mut keys = self.arms.open(session);
        if all {
            keys.extend(stand.messages.iter().filter_map(key_of));
        }
        let mut news = Vec::new();
        for key in keys {
            let Some(name) = stand.name_of(key) else {
                continue;
            };
            match stand.became(name, &arm.program(), self.result) {
                Became::Over(fact) => {
                    self.arms.closed(session, key);
                    news.push(News::Debrief(key, fact));
                }
                Became::Open => self.arms.opened(session, key),
                Became::Failed(_) | Became::Unanswered => {}
            }
        }
        let fact = match stand.turn() {
            Some(turn) => {
                self.arms.found_in(session, &turn);
                ParentFact::TurnBegan { turn: turn.into() }
            }
            None => ParentFact::TurnEnded { turn: self.arms.ended(arm, session).into() },
        };
        news.push(News::Parent(parent, fact));
        news
    }
}

/// Why nothing can be brought now.
pub(super) enum Held {
    /// Nobody is connected who runs it.
    Away,
    /// Whoever ran it last may not have come yet.
    Unsure,
    Two(String),
    Gone,
}

fn failed(why: &dyn std::fmt::Display) -> DeliveryFact {
    DeliveryFact::Failed { why: format!("OpenCode: {why}").into(), retry_after_ms: None }
}

fn session_of(parent: &ParentRef) -> &str {
    match parent {
        ParentRef::Session { session, .. } => session,
        ParentRef::None
        | ParentRef::Inbox { .. }
        | ParentRef::Task(_)
        | ParentRef::Conversation(_)
        | ParentRef::Webhook(_) => "",
    }
}

pub(super) fn session_path(session: &str) -> String {
    format!("/session/{}", escaped(session))
}

async fn stored(arm: &Arm, session: &Session, name: &str) -> Result<bool, Trouble> {
    let path = format!("{}/message/{name}?{}", session_path(&session.id), session.query());
    match arm.get::<Value>(&path).await {
        Ok(_) => Ok(true),
        Err(why) if why.is_absence() => Ok(false),
        Err(why) => Err(why),
    }
}

/// The debrief that a message is.
fn key_of(message: &Message) -> Option<DebriefId> {
    let key = |part: &turn::Part| part.metadata["homing"]["debrief"].as_str()?.parse().ok();
    message.parts.iter().find_map(key)
}

/// The first line is for people, too; the rest is for the agent.
fn prompt(delivery: &Delivery, name: &str, program: &str, before: &[Message]) -> Value {
    let text = String::from_utf8_lossy(&delivery.text);
    let (line, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let mark = json!({"homing": {"debrief": delivery.key.to_string(), "program": program}});
    let mut parts = vec![json!({
        "id": ids::part_of_debrief(delivery.key, 0), "type": "text", "text": line, "metadata": mark,
    })];
    if !rest.is_empty() {
        parts.push(json!({
            "id": ids::part_of_debrief(delivery.key, 1), "type": "text", "text": rest,
            "synthetic": true, "metadata": mark,
        }));
    }
    let mut body = json!({"messageID": name, "parts": parts});
    // As it was last spoken to; what OpenCode says itself when it sums up is not that.
    let prompts = || before.iter().rev().filter(|message| message.is_prompt());
    let last = prompts().find(|message| !message.sums_up()).or_else(|| prompts().next());
    let Some(last) = last else {
        return body;
    };
    let info = &last.info;
    if let Some(agent) = &info.agent {
        body["agent"] = json!(agent);
    }
    if let (Some(provider), Some(id)) =
        (info.model["providerID"].as_str(), info.model["modelID"].as_str())
    {
        body["model"] = json!({"providerID": provider, "modelID": id});
    }
    let variant = [&info.model["variant"], &info.variant].into_iter().find_map(Value::as_str);
    if let Some(variant) = variant {
        body["variant"] = json!(variant);
    }
    if info.tools.is_object() {
        body["tools"] = info.tools.clone();
    }
    body
}

impl Parent for OpenCode {
    fn check(&self, parent: &ParentRef) -> Result<(), String> {
        match session_of(parent) {
            "" => Err(format!("{parent} is no session of OpenCode")),
            _ => Ok(()),
        }
    }

    fn look(&self, parent: ParentRef) -> Flight<'_, ParentFact> {
        Box::pin(async move { self.look_parent(&parent).await })
    }

    fn deliver(&self, delivery: Delivery) -> Flight<'_, DeliveryFact> {
        Box::pin(async move { self.deliver_now(&delivery).await })
    }
}

#[cfg(test)]
mod tests;
