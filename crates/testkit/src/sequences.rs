//! What real hosts were seen to do, as data: each sequence is the facts that a driver reports, in order,
//! and what a task must have come to after each. Never runs anything; `tests/sequences.rs` plays them.
//!
//! A driver's rules, which the facts here follow: an event without a record is a hint (`EndHint`,
//! `ErrorHint`, `Busy`, `Active`); the host's own record of our turn is `Ended`, or a `Looked` that shows
//! it; what a host cannot tell is said so.

pub mod acp_v1;
pub mod acp_v2;
pub mod claude;
pub mod codex;
pub mod facts;
pub mod opencode;
pub mod process;

use homing_core::fact::{ErrorClass, Fact, Fence};
use homing_core::spec::Caps;
use homing_core::task::Answer;
use homing_core::words::{Cause, State};

/// One sequence.
#[derive(Debug, Clone)]
pub struct Sequence {
    pub name: &'static str,
    /// The statement about the host that it renders.
    pub renders: &'static str,
    pub setup: Setup,
    pub steps: Vec<Step>,
    pub end: End,
}

/// The task it happens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    pub caps: Caps,
    pub models: u8,
    pub retry_interrupted: u32,
}

/// One thing that happens, and the state afterwards.
#[derive(Debug, Clone)]
pub struct Step {
    pub given: Given,
    pub state: State,
}

/// What happens.
#[derive(Debug, Clone)]
pub enum Given {
    /// The driver reports this of the current turn.
    Fact(Fact),
    /// The driver reports this of another turn or attempt.
    Of(Fence, Fact),
    /// Somebody answers the oldest open ask.
    Answer(Answer),
    /// Somebody cancels the task.
    Cancel,
    /// Nothing happens for so many milliseconds.
    Later(u64),
}

/// What it has come to after the last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct End {
    pub cause: Option<Cause>,
    pub result: Option<&'static str>,
    pub error: Option<ErrorClass>,
    pub flagged: bool,
    pub asks: usize,
}

/// Everything that was seen.
pub fn all() -> Vec<Sequence> {
    let hosts = [
        opencode::sequences(),
        claude::sequences(),
        codex::sequences(),
        acp_v1::sequences(),
        acp_v2::sequences(),
        process::sequences(),
    ];
    hosts.into_iter().flatten().collect()
}

/// Begins a sequence for a host that takes further prompts.
pub fn sequence(name: &'static str, renders: &'static str) -> Sequence {
    let setup = Setup {
        caps: Caps { prompts: true, goes_on: true, ..Caps::default() },
        models: 1,
        retry_interrupted: 0,
    };
    Sequence { name, renders, setup, steps: Vec::new(), end: End::default() }
}

impl Sequence {
    #[must_use]
    pub fn caps(mut self, prompts: bool, goes_on: bool) -> Self {
        self.setup.caps = Caps { prompts, goes_on, ..Caps::default() };
        self
    }

    #[must_use]
    pub fn models(mut self, models: u8) -> Self {
        self.setup.models = models;
        self
    }

    #[must_use]
    pub fn retry_interrupted(mut self, times: u32) -> Self {
        self.setup.retry_interrupted = times;
        self
    }

    fn step(mut self, given: Given, state: State) -> Self {
        self.steps.push(Step { given, state });
        self
    }

    #[must_use]
    pub fn see(self, fact: Fact, state: State) -> Self {
        self.step(Given::Fact(fact), state)
    }

    #[must_use]
    pub fn see_of(self, attempt: u32, turn: u32, fact: Fact, state: State) -> Self {
        self.step(Given::Of(Fence { attempt, turn }, fact), state)
    }

    /// The session is made and has our prompt.
    #[must_use]
    pub fn begun(self) -> Self {
        self.see(facts::made(), State::Starting).see(Fact::PromptTaken, State::Running)
    }

    #[must_use]
    pub fn answer(self, answer: Answer, state: State) -> Self {
        self.step(Given::Answer(answer), state)
    }

    #[must_use]
    pub fn cancel(self, state: State) -> Self {
        self.step(Given::Cancel, state)
    }

    #[must_use]
    pub fn later(self, ms: u64, state: State) -> Self {
        self.step(Given::Later(ms), state)
    }

    #[must_use]
    pub fn cause(mut self, cause: Cause) -> Self {
        self.end.cause = Some(cause);
        self
    }

    #[must_use]
    pub fn result(mut self, text: &'static str) -> Self {
        self.end.result = Some(text);
        self
    }

    #[must_use]
    pub fn error(mut self, class: ErrorClass) -> Self {
        self.end.error = Some(class);
        self
    }

    #[must_use]
    pub fn flagged(mut self) -> Self {
        self.end.flagged = true;
        self
    }

    /// So many asks are open at the end.
    #[must_use]
    pub fn asks(mut self, open: usize) -> Self {
        self.end.asks = open;
        self
    }
}

/// Whether a fact is only a reason to look: without it, the records must lead to the same end.
pub fn is_hint(fact: &Fact) -> bool {
    match fact {
        Fact::EndHint
        | Fact::ErrorHint { .. }
        | Fact::Active
        | Fact::Busy
        | Fact::OddWord { .. } => true,
        Fact::SessionMade { .. }
        | Fact::StartFailed { .. }
        | Fact::StartUnsure { .. }
        | Fact::PromptTaken
        | Fact::WordsTaken { .. }
        | Fact::PromptRefused { .. }
        | Fact::PromptUnsure { .. }
        | Fact::ToolBegan { .. }
        | Fact::ToolEnded { .. }
        | Fact::Spent { .. }
        | Fact::AskOpened { .. }
        | Fact::AskClosed { .. }
        | Fact::Todos { .. }
        | Fact::Ended { .. }
        | Fact::ProviderWait { .. }
        | Fact::Compacted
        | Fact::Exited { .. }
        | Fact::Looked { .. }
        | Fact::LookFailed { .. }
        | Fact::Interrupted { .. }
        | Fact::SessionDeleted
        | Fact::HostGone { .. }
        | Fact::Stopped
        | Fact::StopRefused { .. } => false,
    }
}
