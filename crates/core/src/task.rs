//! Owns the record of one task: what a row holds (`Task`) and what memory alone holds (`Live`).

mod seldom;

use std::ops::Deref;
use std::sync::Arc;

pub use seldom::Seldom;
use serde::{Deserialize, Serialize};

use crate::bugs::{Bug, active};
use crate::evidence::Evidence;
use crate::fact::{AskSeen, Fence, HostError};
use crate::few::Few;
use crate::ids::{AskId, ConversationId, DebriefId, TaskId};
use crate::rare::Rare;
use crate::reason::{Caller, Reason};
use crate::refs::ParentRef;
use crate::spec::{Brief, Model, Spend};
use crate::talk::Talk;
use crate::time::Stamp;
use crate::words::{Cause, Code, DeliveryState, Phase, State, Target, TurnKind, words};

/// The tasks that one parent launched in one turn, with one origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum BatchId {
    #[serde(rename = "name")]
    Named(Arc<str>),
    #[serde(rename = "turn")]
    Turn(Arc<str>),
    /// Turn unknown: all its living ones, counted.
    #[serde(rename = "open")]
    Open(u32),
}

/// The latest turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Counted over the attempt, from 1; 0 before the first.
    pub n: u32,
    pub kind: TurnKind,
    pub phase: Phase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debrief: Option<DebriefId>,
    /// Number of the `send` it carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send: Option<u32>,
    pub at: u64,
}

impl Default for Turn {
    fn default() -> Self {
        Self { n: 0, kind: TurnKind::First, phase: Phase::Unsent, debrief: None, send: None, at: 0 }
    }
}

/// A stop under way, and where it leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    pub target: Target,
    pub cause: Cause,
    pub reason: Reason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Next>,
    /// Nothing is owed for this end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
}

/// What follows a failed attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    pub model: u8,
    pub keep_session: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
}

/// When a pause ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Until {
    /// On the ledger's clock.
    #[serde(rename = "tick")]
    Tick(u64),
    /// At a time that the provider named.
    #[serde(rename = "wall")]
    Wall(i64),
}

words! {
    /// What an ask has come to.
    AskState { Open = "open", Answered = "answered", Expired = "expired", Withdrawn = "withdrawn" }
}

/// What somebody answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Allow,
    Deny,
    Text(Arc<str>),
}

/// An ask that the child waits on, or whose answer is on its way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    pub id: AskId,
    pub attempt: u32,
    pub seen: AskSeen,
    pub state: AskState,
    pub at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Answer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Caller>,
}

/// What a parent is owed about one generation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub generation: u32,
    /// Who is told: the parent when the generation ended, or its heir.
    pub to: ParentRef,
    pub batch: BatchId,
    /// Number of the journal row that ended the generation: the order of delivery.
    pub seq: u64,
    pub state: DeliveryState,
    pub outcome: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debrief: Option<DebriefId>,
    /// How often it was sealed into a debrief.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seals: u32,
    /// Told by itself, at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each: bool,
    /// Wakes nobody.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inbox: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    pub at: u64,
}

/// Tool calls, as the breaker counts them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Breaker {
    /// Tool and input of the last call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    /// How many in a row were the same.
    #[serde(skip_serializing_if = "is_zero")]
    pub same: u32,
    #[serde(skip_serializing_if = "is_zero")]
    pub all: u32,
    /// The last calls that were counted, so that none is counted twice.
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub seen: Few<u64>,
}

/// How one attempt ended, for the timeline of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    pub attempt: u32,
    pub model: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<HostError>>,
}

/// A session that arrived after its attempt was over: it must be aborted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orphan {
    pub attempt: u32,
    /// None when what it was called was never heard: then the host finds it by its attempt.
    pub session: Option<Arc<str>>,
    pub since: u64,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// One piece of delegated work, as its row holds it.
///
/// Laid out as it is written here: what an observation reads stands together, and is in few cache lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Task {
    pub id: TaskId,
    /// What memory alone holds.
    #[serde(skip)]
    pub live: Live,
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn: Turn,
    pub attempt: u32,
    pub state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    pub model: u8,
    /// Last activity that was written down.
    pub active: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pub evidence: Evidence,
    /// An attempt was given up on and may still run: no new one is begun.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unconfirmed: bool,
    /// Completed with something to look at: no text, to-dos left open.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flagged: bool,
    /// Came in by adopt: counted, but never the reason to hold others back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopted: bool,
    pub generation: u32,
    /// Attempts made in this generation.
    pub tries: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub interruptions: u32,
    pub depth: u32,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sends_made: u32,
    /// When it entered its state.
    pub entered: u64,
    /// Number of its last journal row.
    pub seq: u64,
    pub brief: Arc<Brief>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub breaker: Breaker,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Stamp>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub spent: Spend,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The key whose slots its turns count against.
    pub key: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Arc<str>>,
    pub parent: Arc<ParentRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launched_by: Option<TaskId>,
    pub root: TaskId,
    pub batch: BatchId,
    /// Place in the queue within a priority.
    pub arrival: u64,
    pub created: Stamp,
    /// Read as if it stood here; only the fold changes it.
    #[serde(flatten)]
    pub seldom: Rare<Seldom>,
}

impl Deref for Task {
    type Target = Seldom;

    fn deref(&self) -> &Seldom {
        &self.seldom
    }
}

/// What memory alone holds of a task; empty after a restart. Laid out as written, like `Task`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[repr(C)]
pub struct Live {
    /// Its slot is lent while it waits in a blocking read.
    pub lent: bool,
    /// It wants its lent slot back.
    pub retaking: bool,
    /// Requests that wait for a look at the host.
    pub readers: Few<u64>,
    /// Requests that wait for its end.
    pub waiters: Few<u64>,
    /// Waiting requests of its own, for which it lent its slot.
    pub lends_for: Few<u64>,
    /// The host is being asked since.
    pub probe: Option<u64>,
    /// When it is looked at next, by the timers.
    pub look: Option<u64>,
    /// When the host last answered.
    pub answered: u64,
    /// When asking last came to an end, with an answer or without.
    pub probed: u64,
    /// Last activity; at least `Task::active`.
    pub active: u64,
    /// When a fact last came from the host itself.
    pub observed: u64,
}

impl Task {
    /// Accepted, and nothing more.
    pub(crate) fn new(
        id: TaskId,
        brief: &Arc<Brief>,
        parent: &ParentRef,
        key: &Arc<str>,
        root: TaskId,
        batch: &BatchId,
        created: Stamp,
    ) -> Self {
        Self {
            id,
            brief: Arc::clone(brief),
            seq: 1,
            state: State::Queued,
            cause: None,
            reason: None,
            generation: 1,
            attempt: 1,
            tries: 1,
            interruptions: 0,
            model: 0,
            key: Arc::clone(key),
            session: None,
            turn: Turn::default(),
            evidence: Evidence::default(),
            parent: Arc::new(parent.clone()),
            launched_by: None,
            root,
            depth: 0,
            batch: batch.clone(),
            arrival: 0,
            spent: Spend::default(),
            breaker: Breaker::default(),
            sends_made: 0,
            unconfirmed: false,
            flagged: false,
            adopted: false,
            tool: None,
            created,
            started: None,
            entered: created.tick,
            active: created.tick,
            seldom: Rare::default(),
            live: Live::default(),
        }
    }

    pub fn model(&self) -> Option<&Model> {
        self.brief.models.get(usize::from(self.model))
    }

    pub fn fence(&self) -> Fence {
        Fence { attempt: self.attempt, turn: self.turn.n }
    }

    pub fn is_living(&self) -> bool {
        !self.state.is_terminal()
    }

    /// The conversation that it carries.
    pub fn conversation(&self) -> Option<ConversationId> {
        self.talk.is_some().then(|| self.id.conversation())
    }

    /// Whether a conversation is between two turns, and no person waits.
    pub fn awaits_turn(&self) -> bool {
        let waits = |talk: &Talk| !talk.waiting.is_empty() && !active(Bug::PersonLast);
        let free = self.talk.as_ref().is_some_and(|talk| !talk.closed && !waits(talk));
        free && !self.is_living() && !self.unconfirmed && self.orphans.is_empty()
    }

    /// Whether something about it is still owed to anyone. A conversation that is open owes its next turn.
    pub fn is_owed(&self) -> bool {
        let talks = self.talk.as_ref().is_some_and(|talk| !talk.closed);
        let owed = !self.notices.is_empty() || !self.telemetry.is_empty();
        owed || !self.orphans.is_empty() || talks
    }

    /// Waits for a slot to run a turn that is ready.
    pub fn wants_turn(&self) -> bool {
        self.state == State::WaitingChildren
            && !self.evidence.is_over()
            && (matches!(self.turn.phase, Phase::Unsent | Phase::Unsure) || !self.sends.is_empty())
    }

    pub fn open_asks(&self) -> impl Iterator<Item = &Ask> {
        self.asks.iter().filter(|ask| ask.state == AskState::Open)
    }

    /// All it used, what ran below on its account included.
    pub fn used(&self) -> Spend {
        self.spent_before.plus(self.spent).plus(*self.spent_below)
    }

    /// When its time is up: its own limit or its budget of wall time, whichever is less.
    pub fn time_up(&self) -> Option<u64> {
        let limits = [self.brief.over.timeout_ms, self.brief.budget.wall_ms];
        let least = limits.into_iter().flatten().min()?;
        Some(self.started?.tick.saturating_add(least))
    }

    pub fn last_active(&self) -> u64 {
        self.active.max(self.live.active)
    }

    /// Whether the next activity may bring a deadline closer: the first of a turn, and the first after a
    /// look. Any other moves deadlines back, and a look that comes too early is put back when it comes.
    pub fn activity_wakes(&self) -> bool {
        self.last_active() <= self.turn.at.max(self.live.probed)
    }

    pub fn notice(&self, generation: u32) -> Option<&Notice> {
        self.notices.iter().find(|notice| notice.generation == generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_stays_small() {
        // A hundred thousand of them are in memory: what few have goes into `Seldom`.
        assert!(size_of::<Task>() <= 544, "{}", size_of::<Task>());
        assert!(size_of::<Brief>() <= 168, "{}", size_of::<Brief>());
    }
}
