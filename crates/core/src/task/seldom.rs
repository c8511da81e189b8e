//! What few tasks have: it stands apart, so that the many are small.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Ask, Notice, Orphan, Past, Stop, Until, is_default};
use crate::fact::HostError;
use crate::few::Few;
use crate::ids::TaskId;
use crate::payload::TextRef;
use crate::rare::{Plain, Rare};
use crate::spec::Spend;
use crate::talk::Talk;
use crate::time::Stamp;

/// What a task that runs mostly has nothing of: one word in it until something is there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Seldom {
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub orphans: Few<Orphan>,
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub asks: Few<Ask>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Box<Stop>>,
    /// When an order from before the stop had an effect after all: only then it can be told to stop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landed: Option<u64>,
    /// What it still waits for before it may run.
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub after: Few<TaskId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// What earlier attempts used, and what this one did so far.
    #[serde(skip_serializing_if = "is_default")]
    pub spent_before: Rare<Spend>,
    /// What tasks below it used on its account, and what is set aside for them.
    #[serde(skip_serializing_if = "is_default")]
    pub spent_below: Rare<Spend>,
    #[serde(skip_serializing_if = "is_default")]
    pub reserved: Rare<Spend>,
    /// What was set aside for its generation on the account above, and what it had used before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aside: Option<Box<Spend>>,
    #[serde(skip_serializing_if = "is_default")]
    pub used_before: Rare<Spend>,
    /// Keys of the attempt's last asks that are over: a word that comes twice opens no second one.
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub asks_done: Few<Arc<str>>,
    /// Sends that wait for their turn, by number.
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub sends: Few<u32>,
    /// The send that closed its standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_send: Option<u32>,
    /// Notices without their receipt.
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub notices: Few<Notice>,
    /// Generations whose telemetry record is not taken yet, with how they ended.
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub telemetry: Few<u32>,
    #[serde(skip_serializing_if = "Few::is_empty")]
    pub past: Few<Past>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<TextRef>,
    /// An answer that came after the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<TextRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<HostError>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Stamp>,
    /// Of a conversation alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talk: Option<Box<Talk>>,
}

impl Plain for Seldom {
    const PLAIN: &'static Self = &Self {
        orphans: Few::NONE,
        asks: Few::NONE,
        stop: None,
        landed: None,
        after: Few::NONE,
        until: None,
        spent_before: Rare::PLAIN,
        spent_below: Rare::PLAIN,
        reserved: Rare::PLAIN,
        aside: None,
        used_before: Rare::PLAIN,
        asks_done: Few::NONE,
        sends: Few::NONE,
        last_send: None,
        notices: Few::NONE,
        telemetry: Few::NONE,
        past: Few::NONE,
        result: None,
        late: None,
        error: None,
        ended: None,
        talk: None,
    };
}
