//! Making sessions and prompting them: each once, whatever is cut off.

use std::time::Duration;

use homing_core::fact::{ErrorClass, Fact, HostError};
use homing_core::ids::TaskId;
use homing_core::nearest;
use homing_core::path::escaped;
use homing_ports::host::{Opening, Prompting, Wanted};
use serde_json::{Value, json};

use super::errors::Failure;
use super::http::Trouble;
use super::hub::{Listening, Word};
use super::look::Session;
use super::server::Server;
use super::turn::{Mark, Message};
use super::{OpenCode, ids};

/// A prompt that the server took is stored within this, or it is looked for later.
const STORED: Duration = Duration::from_secs(5);
/// Of a session's title.
const TITLE_MAX: usize = 80;
/// Tools by which a child would delegate, and one that asks people; it has them when it was launched so.
const DELEGATES: [&str; 2] = ["task", "*background_task"];
const ASKS: &str = "question";

impl OpenCode {
    pub(super) async fn check_now(&self, wanted: &Wanted) -> Result<(), String> {
        rules(wanted)?;
        let server = self.servers.get().await?;
        let query = query_of(wanted);
        let trouble = |why: Trouble| format!("OpenCode: {why}");
        if let Some(agent) = &wanted.agent {
            let agents: Value =
                server.door.get(&format!("/agent?{query}")).await.map_err(trouble)?;
            let all = agents.as_array().into_iter().flatten();
            let shown = all.filter(|agent| agent["hidden"] != true);
            let names: Vec<&str> = shown.filter_map(|agent| agent["name"].as_str()).collect();
            if !names.contains(&&**agent) {
                return Err(nearest::unknown("agent", agent, names));
            }
        }
        if let Some(model) = &wanted.model {
            let path = format!("/config/providers?{query}");
            let providers: Value = server.door.get(&path).await.map_err(trouble)?;
            let all: Vec<String> = models(&providers);
            let name = model.to_string();
            if !all.contains(&name) {
                return Err(nearest::unknown("model", &name, all.iter().map(String::as_str)));
            }
        }
        Ok(())
    }

    pub(super) async fn open_now(&self, opening: &Opening) -> Vec<Fact> {
        let unsure = |why: &dyn std::fmt::Display| {
            vec![Fact::StartUnsure { why: format!("OpenCode: {why}").into() }]
        };
        let failed = |error: HostError| vec![Fact::StartFailed { error }];
        let server = match self.servers.get().await {
            Ok(server) => server,
            Err(why) => return failed(HostError::new(ErrorClass::Transient, "server", &why)),
        };
        match self.find(&server, opening.task, opening.attempt).await {
            Ok(Some(session)) => {
                return vec![Fact::SessionMade { session: session.as_str().into() }];
            }
            Ok(None) => {}
            Err(why) => {
                self.servers.doubt(&server).await;
                return unsure(&why);
            }
        }
        let above = self.above(&server, opening).await;
        let body = match session_of(opening, above) {
            Ok(body) => body,
            Err(why) => return failed(HostError::new(ErrorClass::BadRequest, "order", &why)),
        };
        let path = format!("/session?{}", query_of(&opening.wanted));
        match server.door.post(&path, &body).await {
            Ok(made) => match serde_json::from_value::<Session>(made) {
                Ok(session) => {
                    let session = self.keep(session);
                    self.servers.open_pane(opening.task);
                    vec![Fact::SessionMade { session: session.id.as_str().into() }]
                }
                Err(why) => unsure(&why),
            },
            Err(Trouble::Refused { status, said }) if status < 500 => {
                let why = format!("OpenCode made no session: {said}");
                failed(HostError {
                    status: Some(status),
                    ..HostError::new(ErrorClass::BadRequest, "session", &why)
                })
            }
            Err(why) => {
                self.servers.doubt(&server).await;
                unsure(&why)
            }
        }
    }

    /// The session that it is linked below, if this server knows it: a parent may work on other data.
    async fn above(&self, server: &Server, opening: &Opening) -> Option<String> {
        let above = opening.wanted.above.as_deref()?;
        self.known(server, above).await.ok().map(|above| above.id.clone())
    }

    /// The session that was made for this attempt, if one was.
    pub(super) async fn find(
        &self,
        server: &Server,
        task: TaskId,
        attempt: u32,
    ) -> Result<Option<String>, Trouble> {
        // The marker stands in its title, too: sessions are listed by that, in whatever directory they are.
        let marker = escaped(&ids::marker(task, attempt));
        let path = format!("/experimental/session?search={marker}&limit=100");
        let all: Vec<Session> = server.door.get(&path).await?;
        let found = all.into_iter().find(|session| session.is_of(task, attempt));
        Ok(found.map(|session| self.keep(session).id.clone()))
    }

    pub(super) async fn prompt_now(&self, prompting: &Prompting) -> Fact {
        let unsure = |why: &dyn std::fmt::Display| Fact::PromptUnsure {
            why: format!("OpenCode: {why}").into(),
        };
        let server = match self.servers.get().await {
            Ok(server) => server,
            Err(why) => return unsure(&why),
        };
        let known = match self.known(&server, &prompting.session).await {
            Ok(known) => known,
            Err(why) if why.is_absence() => return Fact::SessionDeleted,
            Err(why) => return unsure(&why),
        };
        if let Err(why) = self.warm(&server, &known).await {
            return unsure(&why);
        }
        let mut hears = self.hub.listen(&prompting.session);
        let name = ids::message(prompting.task, prompting.fence);
        // One that is there is never sent again: after another turn it would be answered once more.
        match self.has(&server, &known, &name).await {
            Ok(true) => return Fact::PromptTaken,
            Ok(false) => {}
            Err(why) => return unsure(&why),
        }
        let body = prompt_of(prompting, &server.identity);
        if tokio::time::timeout(STORED, self.hub.is_open()).await.is_err() {
            return unsure(&"its events cannot be heard");
        }
        let path =
            format!("/session/{}/prompt_async?{}", escaped(&prompting.session), known.query());
        match server.door.post(&path, &body).await {
            Ok(_) => {}
            Err(Trouble::Refused { status, said }) if status < 500 => {
                // Of a session that is known here from before, it may be gone.
                let path = format!("/session/{}", escaped(&prompting.session));
                let there = server.door.get::<serde_json::Value>(&path).await;
                return match there {
                    Err(why) if why.is_absence() => Fact::SessionDeleted,
                    Ok(_) | Err(_) => refused(ErrorClass::BadRequest, "prompt", &said),
                };
            }
            Err(why) => {
                self.servers.doubt(&server).await;
                return unsure(&why);
            }
        }
        // What the server took may still be lost: it counts when it is stored.
        let stored = self.stored(&server, &known, &name, &mut hears);
        match tokio::time::timeout(STORED, stored).await {
            Ok(Ok(None)) => Fact::PromptTaken,
            Ok(Ok(Some(error))) => Fact::PromptRefused { error },
            Ok(Err(why)) => unsure(&why),
            Err(_) => unsure(&"it took the prompt and does not show it"),
        }
    }

    /// Until the prompt is stored; or the error that came instead.
    async fn stored(
        &self,
        server: &Server,
        session: &Session,
        name: &str,
        hears: &mut Listening,
    ) -> Result<Option<HostError>, Trouble> {
        while let Some(word) = hears.next().await {
            let shows = match word {
                Word::Missed | Word::Beat => true,
                Word::Asks => false,
                Word::Event(event) => {
                    let properties = &event["properties"];
                    if event["type"] == "session.error" {
                        let error = properties["error"].clone();
                        if let Ok(error) = serde_json::from_value::<Failure>(error) {
                            return Ok(Some(error.told()));
                        }
                    }
                    event["type"] == "message.updated" && properties["info"]["id"] == name
                }
            };
            if shows && self.has(server, session, name).await? {
                return Ok(None);
            }
        }
        Err(Trouble::CutOff { why: "its events are not heard any more".to_owned() })
    }

    /// Has the server read its settings for a directory. It does so for the first session there, once, and an abort of that
    /// session in the middle of it would leave every later one in the directory without a model.
    async fn warm(&self, server: &Server, session: &Session) -> Result<(), Trouble> {
        let key = (server.identity.clone(), session.directory.clone());
        if self.table().warm.contains(&key) {
            return Ok(());
        }
        let path = format!("/config/providers?{}", session.query());
        server.door.get::<Value>(&path).await?;
        self.table().warm.insert(key);
        Ok(())
    }

    async fn has(&self, server: &Server, session: &Session, name: &str) -> Result<bool, Trouble> {
        let path = format!("/session/{}/message/{name}?{}", escaped(&session.id), session.query());
        match server.door.get::<Message>(&path).await {
            Ok(_) => Ok(true),
            Err(why) if why.is_absence() => Ok(false),
            Err(why) => Err(why),
        }
    }
}

fn refused(class: ErrorClass, name: &str, why: &dyn std::fmt::Display) -> Fact {
    Fact::PromptRefused { error: HostError::new(class, name, &why.to_string()) }
}

fn query_of(wanted: &Wanted) -> String {
    let directory = wanted.order.cwd.as_deref().map(escaped);
    directory.map(|directory| format!("directory={directory}")).unwrap_or_default()
}

fn models(providers: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for provider in providers["providers"].as_array().into_iter().flatten() {
        let Some(name) = provider["id"].as_str() else {
            continue;
        };
        let models = provider["models"].as_object().into_iter().flatten();
        all.extend(models.map(|(model, _)| format!("{name}/{model}")));
    }
    all
}

fn session_of(opening: &Opening, above: Option<String>) -> Result<Value, String> {
    let Opening { task, attempt, wanted, prompt } = opening;
    let marker = ids::marker(*task, *attempt);
    let name = match &wanted.name {
        Some(name) => name.to_string(),
        None => String::from_utf8_lossy(prompt).lines().next().unwrap_or_default().to_owned(),
    };
    let name: String = name.chars().take(TITLE_MAX).collect();
    let mut body = json!({
        "title": format!("{} [{marker}]", name.trim()),
        "metadata": {"homing": {"task": task.to_string(), "attempt": attempt}},
        "permission": rules(wanted)?,
    });
    if let Some(above) = above {
        body["parentID"] = json!(above);
    }
    Ok(body)
}

fn prompt_of(prompting: &Prompting, server: &str) -> Value {
    let Prompting { task, fence, wanted, text, .. } = prompting;
    let mark =
        Mark { task: *task, attempt: fence.attempt, turn: fence.turn, server: server.to_owned() };
    let mut body = json!({
        "messageID": ids::message(*task, *fence),
        "parts": [{
            "id": ids::part(*task, *fence),
            "type": "text",
            "text": String::from_utf8_lossy(text),
            "metadata": mark.json(),
        }],
    });
    if let Some(agent) = &wanted.agent {
        body["agent"] = json!(agent);
    }
    if let Some(model) = &wanted.model {
        body["model"] = json!({"providerID": model.provider, "modelID": model.id});
        if let Some(variant) = &model.variant {
            body["variant"] = json!(variant);
        }
    }
    if let Some(system) = &wanted.order.system {
        body["system"] = json!(system);
    }
    body
}

/// What a session may do. All of it stands in the session: tools that a prompt names would take the place of its permissions.
fn rules(wanted: &Wanted) -> Result<Vec<Value>, String> {
    let rule = |permission: &str, pattern: &str, action: &str| json!({"permission": permission, "pattern": pattern, "action": action});
    let mut rules = vec![rule(ASKS, "*", "deny")];
    if !wanted.order.delegate {
        rules.extend(DELEGATES.map(|name| rule(name, "*", "deny")));
    }
    // The last that fits counts.
    let only = wanted.order.tools.iter().any(|name| !name.starts_with(['+', '-']));
    rules.extend(only.then(|| rule("*", "*", "deny")));
    for name in &wanted.order.tools {
        let (name, action) = match name.strip_prefix('-') {
            Some(name) => (name, "deny"),
            None => (name.strip_prefix('+').unwrap_or(name), "allow"),
        };
        if name.is_empty() {
            return Err("tools: a name is missing: NAME alone, +NAME besides, -NAME not".to_owned());
        }
        rules.push(rule(name, "*", action));
    }
    for text in &wanted.order.permissions {
        let (what, action) = text.rsplit_once('=').unwrap_or((text, ""));
        let (permission, pattern) = what.split_once(':').unwrap_or((what, "*"));
        if permission.is_empty() || !["allow", "ask", "deny"].contains(&action) {
            return Err(format!(
                "permissions: {text:?} is none: NAME=allow, NAME=ask or NAME=deny, or NAME:PATTERN=…"
            ));
        }
        rules.push(rule(permission, pattern, action));
    }
    Ok(rules)
}

#[cfg(test)]
mod tests {
    use homing_core::spec::Order;

    use super::*;

    fn rules_of(
        tools: &[&str],
        permissions: &[&str],
        delegate: bool,
    ) -> Result<Vec<String>, String> {
        let words = |all: &[&str]| all.iter().map(|word| (*word).to_owned()).collect();
        let (tools, permissions) = (words(tools), words(permissions));
        let order = Order { tools, permissions, delegate, ..Order::default() };
        let rules = rules(&Wanted { order, ..Wanted::default() })?;
        let line = |rule: &Value| {
            let word = |name: &str| rule[name].as_str().unwrap().to_owned();
            format!("{} {} {}", word("permission"), word("pattern"), word("action"))
        };
        Ok(rules.iter().map(line).collect())
    }

    #[test]
    fn a_child_does_not_delegate_and_asks_nobody_unless_it_was_launched_so() {
        let plain = ["question * deny", "task * deny", "*background_task * deny"];
        assert_eq!(rules_of(&[], &[], false).unwrap(), plain);
        assert_eq!(rules_of(&[], &[], true).unwrap(), plain[..1]);
        let asks = rules_of(&["+question"], &[], true).unwrap();
        assert_eq!(asks, ["question * deny", "question * allow"]);
    }

    #[test]
    fn tools_and_permissions_are_rules_of_which_the_last_counts() {
        let only = rules_of(&["read", "-grep"], &["bash:git *=ask"], true).unwrap();
        let rules =
            ["question * deny", "* * deny", "read * allow", "grep * deny", "bash git * ask"];
        assert_eq!(only, rules);
        for (tools, permissions, field) in [
            (&["-"][..], &[][..], "tools"),
            (&[], &["bash"], "permissions"),
            (&[], &["bash=perhaps"], "permissions"),
            (&[], &["=ask"], "permissions"),
        ] {
            assert!(rules_of(tools, permissions, false).unwrap_err().starts_with(field));
        }
    }
}
