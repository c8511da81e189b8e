//! Owns the typed reasons that decisions carry, and their words. `why` renders these and nothing else.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::compose::{iso, lasting};
use crate::fact::{Finish, HostError};
use crate::ids::{AskId, DebriefId, TaskId};
use crate::refs::ParentRef;
use crate::words::{Cause, TurnKind};

/// Who asked for something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// Someone at a door: the command line, HTTP, a plugin.
    Person,
    /// A child, found by its process tree or mark.
    Task(TaskId),
    /// An agent at a door, for the parent that it is or works for.
    Agent(Arc<ParentRef>),
    /// A rule of ours.
    Policy,
}

impl fmt::Display for Caller {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person => out.write_str("someone at the command line or API"),
            Self::Task(id) => write!(out, "task {id}"),
            Self::Agent(parent) => write!(out, "the agent of {parent}"),
            Self::Policy => out.write_str("policy"),
        }
    }
}

/// Why a decision was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    SlotFree { key: Arc<str> },
    SlotRetaken { key: Arc<str> },
    HostTook { turn: u32 },
    HostEnded { turn: u32, finish: Finish },
    TodosLeft { open: u32 },
    EndedWith { cause: Cause },
    Failed { error: Box<HostError> },
    SubtreeOpen { living: u32, untaken: u32 },
    SubtreeSettled,
    AskOpened { ask: AskId },
    AsksClosed,
    NextModel { error: Box<HostError>, model: Arc<str> },
    SameAgain { error: Box<HostError>, wait_ms: u64 },
    InterruptedAgain,
    ChainUsedUp { error: Box<HostError>, attempts: u32 },
    PauseOver,
    Asked { by: Caller, text: Option<Arc<str>> },
    AncestorEnded { ancestor: TaskId },
    ParentDeleted,
    StopConfirmed,
    StopUnconfirmed { after_ms: u64 },
    StartedTooLate { after_ms: u64 },
    Quiet { for_ms: u64 },
    NeverActive { for_ms: u64 },
    TimeUp { after_ms: u64 },
    SameCalls { tool: Arc<str>, times: u32 },
    AllCalls { times: u32 },
    BudgetReached { owner: TaskId },
    SessionGone { cause: Cause, for_ms: u64 },
    DependencyEnded { on: TaskId },
    TurnFor { kind: TurnKind, debrief: Option<DebriefId> },
}

/// What followed an error, or what it said.
fn after(out: &mut fmt::Formatter<'_>, error: &HostError, what: &str) -> fmt::Result {
    write!(out, "{} ({}): {what}", error.name, error.class)
}

fn asked_first(out: &mut fmt::Formatter<'_>, what: &str, ms: u64) -> fmt::Result {
    write!(out, "{what} {}; the host was asked first", lasting(ms))
}

fn same_again(out: &mut fmt::Formatter<'_>, error: &HostError, wait_ms: u64) -> fmt::Result {
    match (wait_ms, error.until_wall) {
        (0, Some(at)) => after(out, error, &format!("the same again at {}", iso(at))),
        (wait_ms, _) => after(out, error, &format!("the same again after {}", lasting(wait_ms))),
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SlotFree { key } => write!(out, "a slot of {key} was free"),
            Self::SlotRetaken { key } => write!(out, "it took its lent slot of {key} back"),
            Self::HostTook { turn } => write!(out, "the host has the prompt of turn {turn}"),
            Self::HostEnded { turn, finish } => {
                write!(out, "the host's own record shows turn {turn} ended with finish {finish}")
            }
            Self::TodosLeft { open } => {
                write!(out, "a final answer was given; {open} to-dos were left open")
            }
            Self::EndedWith { cause } => write!(out, "the turn ended as {cause}"),
            Self::Failed { error } => after(out, error, &error.message),
            Self::SubtreeOpen { living, untaken } => {
                write!(
                    out,
                    "the turn ended; living below it: {living}, results not taken: {untaken}"
                )
            }
            Self::SubtreeSettled => {
                out.write_str("all descendants ended, their results were taken")
            }
            Self::AskOpened { ask } => write!(out, "the child waits for an answer to {ask}"),
            Self::AsksClosed => out.write_str("nothing is asked any more"),
            Self::NextModel { error, model } => after(out, error, &format!("goes on with {model}")),
            Self::SameAgain { error, wait_ms } => same_again(out, error, *wait_ms),
            Self::InterruptedAgain => out.write_str("interrupted; policy allows another attempt"),
            Self::ChainUsedUp { error, attempts } => {
                write!(out, "nothing is left to try after {attempts} attempts; last: ")?;
                after(out, error, &error.message)
            }
            Self::PauseOver => out.write_str("the pause is over"),
            Self::Asked { by, text: None } => write!(out, "asked by {by}"),
            Self::Asked { by, text: Some(text) } => write!(out, "asked by {by}: {text}"),
            Self::AncestorEnded { ancestor } => {
                write!(out, "{ancestor}, above it, ended otherwise than completed")
            }
            Self::ParentDeleted => out.write_str("its parent was deleted"),
            Self::StopConfirmed => out.write_str("the host confirmed that nothing of it runs"),
            Self::StopUnconfirmed { after_ms } => {
                write!(out, "the host did not confirm the stop within {}", lasting(*after_ms))
            }
            Self::StartedTooLate { after_ms } => {
                write!(out, "it did not start within {}", lasting(*after_ms))
            }
            Self::Quiet { for_ms } => asked_first(out, "no activity for", *for_ms),
            Self::NeverActive { for_ms } => asked_first(out, "never active in", *for_ms),
            Self::TimeUp { after_ms } => asked_first(out, "its time is up after", *after_ms),
            Self::SameCalls { tool, times } => {
                write!(out, "{tool} was called {times} times in a row with the same input")
            }
            Self::AllCalls { times } => write!(out, "{times} calls were made"),
            Self::BudgetReached { owner } => write!(out, "the budget of {owner} is used up"),
            Self::SessionGone { cause, for_ms: 0 } => write!(out, "the host says {cause}"),
            Self::SessionGone { cause, for_ms } => {
                write!(out, "{cause}: not seen for {}", lasting(*for_ms))
            }
            Self::DependencyEnded { on } => {
                write!(out, "{on}, which it was to run after, did not complete")
            }
            Self::TurnFor { kind, debrief: Some(debrief) } => {
                write!(out, "a {kind} turn for {debrief}")
            }
            Self::TurnFor { kind, debrief: None } => write!(out, "a {kind} turn"),
        }
    }
}
