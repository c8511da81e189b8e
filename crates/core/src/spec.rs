//! Owns what a launch asks for: `Brief`, which decisions need and the World keeps, and `Order`, which
//! only the host needs and the store keeps.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::TaskId;
use crate::payload::Digest;
use crate::rare::{Plain, Rare};
use crate::refs::{Origin, ParentRef};
use crate::words::Notify;

/// `PROVIDER/MODEL`; a variant stands beside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Model {
    pub provider: Arc<str>,
    pub id: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Arc<str>>,
}

impl fmt::Display for Model {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.provider, self.id)
    }
}

/// A model's name that has no provider or no model in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a model: write PROVIDER/MODEL")]
pub struct BadModel(String);

impl FromStr for Model {
    type Err = BadModel;

    fn from_str(text: &str) -> Result<Self, BadModel> {
        let clean = |part: &str| {
            !part.is_empty()
                && part.len() <= 128
                && !part.chars().any(|c| c.is_control() || c == ' ')
        };
        match text.split_once('/') {
            Some((provider, id)) if clean(provider) && clean(id) => {
                Ok(Self { provider: provider.into(), id: id.into(), variant: None })
            }
            Some(_) | None => Err(BadModel(text.chars().take(160).collect())),
        }
    }
}

/// Amounts that a budget limits. Cost in millionths of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Spend {
    #[serde(skip_serializing_if = "is_zero")]
    pub calls: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub cost: u64,
}

impl Plain for Spend {
    const PLAIN: &'static Self = &Self { calls: 0, tokens: 0, cost: 0 };
}

fn is_zero(amount: &u64) -> bool {
    *amount == 0
}

impl Spend {
    pub fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            tokens: self.tokens.saturating_add(other.tokens),
            cost: self.cost.saturating_add(other.cost),
        }
    }

    pub fn minus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_sub(other.calls),
            tokens: self.tokens.saturating_sub(other.tokens),
            cost: self.cost.saturating_sub(other.cost),
        }
    }

    /// The larger of each: how totals that arrive out of order are folded.
    pub fn most(self, other: Self) -> Self {
        Self {
            calls: self.calls.max(other.calls),
            tokens: self.tokens.max(other.tokens),
            cost: self.cost.max(other.cost),
        }
    }
}

/// What a task and all below it may use; what is not named has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Budget {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

impl Plain for Budget {
    const PLAIN: &'static Self = &Self { calls: None, tokens: None, cost: None, wall_ms: None };
}

impl Budget {
    /// Whether it limits anything that is counted (the wall is a timer).
    pub fn counts(&self) -> bool {
        self.calls.is_some() || self.tokens.is_some() || self.cost.is_some()
    }

    /// What it sets aside from the budget above it.
    pub fn as_spend(&self) -> Spend {
        Spend {
            calls: self.calls.unwrap_or(0),
            tokens: self.tokens.unwrap_or(0),
            cost: self.cost.unwrap_or(0),
        }
    }

    /// Whether `used` has reached a limit.
    pub fn reached(&self, used: Spend) -> bool {
        let over = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        over(self.calls, used.calls) || over(self.tokens, used.tokens) || over(self.cost, used.cost)
    }

    /// Whether `more` still fits on top of `used`.
    pub fn fits(&self, used: Spend, more: Spend) -> bool {
        let fits = |limit: Option<u64>, sum: u64| limit.is_none_or(|limit| sum <= limit);
        let sum = used.plus(more);
        fits(self.calls, sum.calls) && fits(self.tokens, sum.tokens) && fits(self.cost, sum.cost)
    }
}

/// What the host can do, as the door found it when the task was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Caps {
    /// Takes further prompts in the same session.
    pub prompts: bool,
    /// The session can be gone on with after its turn failed.
    pub goes_on: bool,
    /// A plain process: it need not say anything while it works, and does not outlive a boot.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
    /// Takes words while its turn goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub words: bool,
}

/// A task's own values over the defaults of `Limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Overrides {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quiet_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub never_active_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_calls: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_interrupted: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl Plain for Overrides {
    const PLAIN: &'static Self = &Self {
        start_ms: None,
        quiet_ms: None,
        never_active_ms: None,
        stop_ms: None,
        ask_ms: None,
        same_calls: None,
        all_calls: None,
        attempts: None,
        retry_interrupted: None,
        timeout_ms: None,
    };
}

/// What decisions need of a launch; fixed for the task's life. Laid out as written: what every
/// observation may read comes first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[repr(C)]
pub struct Brief {
    #[serde(default, skip_serializing_if = "is_default")]
    pub budget: Rare<Budget>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub over: Rare<Overrides>,
    pub caps: Caps,
    /// It carries a conversation: its generations are turns, and nobody is owed anything about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub converses: bool,
    pub host: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// In the order they are tried; empty: the host's own default.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub models: Arc<[Model]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    pub notify: Notify,
    /// Of the idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Digest>,
    /// Of everything the launch asked for: the same key must come with the same request.
    pub request: Digest,
    #[serde(default, skip_serializing_if = "is_default")]
    pub priority: i32,
    /// The parent's turn that launched it, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_turn: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Arc<str>>,
}

fn is_empty(models: &[Model]) -> bool {
    models.is_empty()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// What only the host needs; stored once, read when the effect is performed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Order {
    pub prompt: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub permissions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Names only; values never reach the store.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    pub delegate: bool,
    /// Its standard input is kept for what it is told while it runs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stdin_open: bool,
}

/// A whole launch request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub brief: Brief,
    pub order: Order,
    pub parent: ParentRef,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launched_by: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<TaskId>,
}
