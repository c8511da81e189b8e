//! Watching a session: events are told as what they are, and whatever may be an end is looked up.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use homing_core::fact::{ErrorClass, Fact, Fence, HostError};
use homing_core::ids::TaskId;
use homing_core::spec::Spend;
use homing_core::words::Tri;
use homing_ports::host::Reports;
use serde_json::Value;
use tokio::time::Instant;
use tracing::debug;

use super::errors::{Failure, short};
use super::hub::{Listening, Word};
use super::look::{Sight, Which, open_todos, permission, question};
use super::turn::{self, Part};
use super::{LOG, OpenCode};
use crate::system::{mono_us, wall_ms};

/// Text that flows is told this often.
const MOVES: Duration = Duration::from_millis(500);
/// A session is idle that soon after its turn's end.
const SETTLES: Duration = Duration::from_secs(1);
/// A prompt that is stored begins to be answered within this.
const BEGINS: Duration = Duration::from_secs(5);
/// What a session uses is counted after a step, if that was not done for so long; and so many times as long as it takes.
const COUNTS: Duration = Duration::from_secs(1);
const SELDOM: u32 = 50;
/// What helpers used is read within this, or not this time.
const ACCOUNTS: Duration = Duration::from_secs(2);
/// A provider that is waited for longer has used up its quota.
const QUOTA_MS: i64 = 10 * 60 * 1_000;

/// One who watches.
pub(super) struct Watch {
    pub host: OpenCode,
    pub task: TaskId,
    pub attempt: u32,
    pub session: Arc<str>,
    pub reports: Arc<dyn Reports>,
}

/// What was told, so that it is told once.
#[derive(Default)]
struct Said {
    moved: Option<Instant>,
    /// Calls that were told to have begun, and not to have ended.
    calls: BTreeSet<u64>,
    busy: bool,
    spent: Spend,
    /// When it may be counted again.
    counts: Option<Instant>,
    /// The last prompt that the stream told of.
    prompt: Option<String>,
    /// The first error that it told of since.
    error: Option<HostError>,
    /// Beats of the stream since the session was heard.
    quiet: u32,
    /// When it is looked at again: a prompt that nobody seems to answer may have been sent just then, and a session that is busy
    /// after the end of the turn is about to be idle.
    doubt: Option<Instant>,
}

impl Watch {
    pub(super) async fn watch(self, mut hears: Listening) {
        let mut said = Said::default();
        // Nobody knows what was missed; the stream says so too when it comes, and then this is seen once more.
        self.look(&mut said).await;
        loop {
            let doubt = async {
                match said.doubt {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                word = hears.next() => match word {
                    Some(Word::Missed) => self.look(&mut said).await,
                    Some(Word::Beat) => self.beat(&mut said).await,
                    Some(Word::Asks) if said.busy => self.look(&mut said).await,
                    Some(Word::Asks) => {}
                    Some(Word::Event(event)) => {
                        said.quiet = 0;
                        self.hear(&event, &mut said).await;
                    }
                    None => return,
                },
                () = doubt => self.doubt(&mut said).await,
            }
        }
    }

    async fn report(&self, fact: Fact) {
        let fence = Fence { attempt: self.attempt, turn: 0 };
        self.reports.report(self.task, fence, fact).await;
    }

    /// A session that is busy and says nothing is looked at, less and less often: an end that the stream lost is found so.
    async fn beat(&self, said: &mut Said) {
        said.quiet += 1;
        if said.busy && said.quiet.is_power_of_two() {
            self.look(said).await;
        }
    }

    async fn look(&self, said: &mut Said) {
        debug!(target: LOG, task = %self.task, at = mono_us(), "looks");
        let began = Instant::now();
        let sight = self.sight(said).await;
        self.tell(sight, said).await;
        said.counts = Some(Instant::now() + COUNTS.max(began.elapsed() * SELDOM));
    }

    async fn sight(&self, said: &Said) -> Result<Sight, String> {
        let which = Which::Latest { attempt: self.attempt };
        self.host.look_at(self.task, &self.session, which, said.error.as_ref()).await
    }

    /// A prompt that is stored, and that nobody answers or goes on to answer, was dropped: somebody aborted it at once, or it broke
    /// inside OpenCode.
    async fn doubt(&self, said: &mut Said) {
        said.doubt = None;
        let mut sight = self.sight(said).await;
        if let Ok(sight) = &mut sight
            && sight.dropped
        {
            let Some(error) = &said.error else {
                let why = "OpenCode has the prompt and does not answer it";
                return self.report(Fact::Interrupted { why: why.into() }).await;
            };
            sight.break_off(error);
        }
        self.tell(sight, said).await;
    }

    async fn tell(&self, sight: Result<Sight, String>, said: &mut Said) {
        match sight {
            Ok(sight) => {
                let settles = sight.settles().then_some(SETTLES);
                let mut spent = sight.spent;
                if let Some(own) = spent.filter(|_| !sight.helpers.is_empty()) {
                    // An end does not wait for accounts that cannot be read.
                    let helpers = self.host.spent_by(sight.helpers);
                    let helpers = tokio::time::timeout(ACCOUNTS, helpers).await;
                    spent = helpers.ok().map(|helpers| own.plus(helpers));
                }
                if let Some(spent) = spent.filter(|spent| *spent != said.spent) {
                    said.spent = spent;
                    self.report(Fact::Spent { total: spent }).await;
                }
                if let Fact::Looked { picture } = &sight.fact {
                    said.busy = picture.busy == Tri::Yes;
                    said.calls = picture.calls.iter().map(|call| call.id).collect();
                }
                let again = sight.dropped.then_some(BEGINS).or(settles);
                said.doubt = again.map(|after| Instant::now() + after);
                self.reports.report(self.task, sight.fence, sight.fact).await;
            }
            Err(why) => self.report(Fact::LookFailed { why: why.into() }).await,
        }
    }

    async fn hear(&self, event: &Value, said: &mut Said) {
        let properties = &event["properties"];
        match event["type"].as_str().unwrap_or_default() {
            "session.status" => self.status(&properties["status"], said).await,
            "session.idle" if said.busy => {
                said.busy = false;
                self.look(said).await;
            }
            "session.error" => {
                if let Ok(error) = serde_json::from_value::<Failure>(properties["error"].clone())
                    && !error.is_abort()
                {
                    said.error.get_or_insert(error.told());
                    self.report(Fact::ErrorHint { error: error.told() }).await;
                }
                self.look(said).await;
            }
            "message.updated" => self.message(&properties["info"], said).await,
            "message.part.updated" => self.part(&properties["part"], said).await,
            "message.part.delta" => self.moves(said).await,
            "todo.updated" => {
                self.report(Fact::Todos { open: open_todos(&properties["todos"]) }).await;
            }
            "permission.asked" => self.asked(permission(properties)).await,
            "question.asked" => self.asked(question(properties)).await,
            "permission.replied" | "question.replied" | "question.rejected" => {
                if let Some(key) = properties["requestID"].as_str() {
                    self.report(Fact::AskClosed { key: key.into() }).await;
                }
            }
            "session.compacted" => self.report(Fact::Compacted).await,
            "session.deleted" => self.report(Fact::SessionDeleted).await,
            _ => {}
        }
    }

    async fn asked(&self, ask: Option<homing_core::fact::AskSeen>) {
        if let Some(ask) = ask {
            self.report(Fact::AskOpened { ask }).await;
        }
    }

    async fn status(&self, status: &Value, said: &mut Said) {
        match status["type"].as_str().unwrap_or_default() {
            "busy" => {
                if !std::mem::replace(&mut said.busy, true) {
                    self.report(Fact::Busy).await;
                }
            }
            "retry" => {
                said.busy = true;
                self.report(Fact::ProviderWait { error: waits(status) }).await;
            }
            "idle" => {
                if std::mem::replace(&mut said.busy, false) {
                    self.look(said).await;
                }
            }
            word => self.report(Fact::OddWord { word: short(word) }).await,
        }
    }

    /// An answer that is done while the session does nothing: what the end was waiting for.
    async fn message(&self, info: &Value, said: &mut Said) {
        if info["role"] == "user" {
            // A new turn: errors of before are not its own. The same prompt may be written more than once.
            let prompt = info["id"].as_str().map(str::to_owned);
            if said.prompt != prompt {
                (said.prompt, said.error) = (prompt, None);
            }
        } else if info["time"]["completed"].is_number() {
            // A step, and others follow: what was used by now.
            let due = || said.counts.is_none_or(|at| at <= Instant::now());
            if !said.busy || (info["finish"] == "tool-calls" && due()) {
                self.look(said).await;
            }
        }
    }

    async fn part(&self, part: &Value, said: &mut Said) {
        let Ok(part) = serde_json::from_value::<Part>(part.clone()) else {
            return;
        };
        match (part.kind.as_str(), part.state.status.as_str()) {
            ("tool", "running") => {
                if let Some(call) = turn::call(&part)
                    && said.calls.insert(call.id)
                {
                    self.report(Fact::ToolBegan { call }).await;
                }
            }
            ("tool", "completed" | "error") => {
                if let Some(call) = turn::call(&part) {
                    // One that was over at once was not seen to run.
                    let id = call.id;
                    if !said.calls.remove(&id) {
                        self.report(Fact::ToolBegan { call }).await;
                    }
                    self.report(Fact::ToolEnded { id }).await;
                }
            }
            _ => self.moves(said).await,
        }
    }

    async fn moves(&self, said: &mut Said) {
        let now = Instant::now();
        if said.moved.is_none_or(|moved| now - moved >= MOVES) {
            said.moved = Some(now);
            self.report(Fact::Active).await;
        }
    }
}

/// OpenCode waits for the provider. It says until when, and not why: a long time is a quota's.
fn waits(status: &Value) -> HostError {
    let message = status["message"].as_str().unwrap_or("the provider is waited for");
    let next = status["next"].as_i64();
    let wait = next.map(|next| next.saturating_sub(wall_ms()));
    let quota = wait.is_some_and(|wait| wait > QUOTA_MS);
    let class = if quota { ErrorClass::Quota } else { ErrorClass::RateLimited };
    HostError {
        retry_after_ms: wait.and_then(|wait| u64::try_from(wait).ok()).filter(|_| !quota),
        until_wall: next.filter(|_| quota),
        ..HostError::new(class, "retry", &short(message))
    }
}
