//! Owns what the observations of the latest turn add up to, and the verdict they allow.
//! Never looks at a clock, at words in a text, or at silence.

use serde::{Deserialize, Serialize};

use crate::bugs::{Bug, active};
use crate::calls::Calls;
use crate::fact::{End, ErrorClass, Exit, Fact, Finish, HostError, Picture, Presence, TurnRecord};
use crate::payload::TextRef;
use crate::words::{Cause, Tri, words};

words! {
    /// What is known of the latest turn's end.
    Doubt {
        None = "none",
        /// The host's messages could not be read.
        Unreadable = "unreadable",
        /// The host said a status word that means nothing to us.
        OddWord = "odd_word",
        /// The host could not be asked.
        LookFailed = "look_failed",
    }
}

/// The end of the latest turn, as kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndSeen {
    pub finish: Finish,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<HostError>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextRef>,
    /// The text is more than white space.
    pub said: bool,
    pub tools_ran: bool,
    pub tick: u64,
}

impl EndSeen {
    /// An end that nobody saw: what a seeded bug believes in.
    fn guessed(tick: u64) -> Self {
        Self { finish: Finish::Stop, error: None, text: None, said: true, tools_ran: false, tick }
    }
}

/// What the observations of the latest turn add up to. Laid out as written, like the task it stands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[repr(C)]
pub struct Evidence {
    /// The first and the last look that did not show the session, with none in between that did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Box<(u64, u64)>>,
    /// The host waits for the provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_wait: Option<Box<HostError>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Box<EndSeen>>,
    /// Calls that were seen to begin and not to end, by id.
    #[serde(skip_serializing_if = "Calls::is_empty")]
    pub calls: Calls,
    #[serde(skip_serializing_if = "is_zero")]
    pub todos: u32,
    pub busy: Tri,
    pub doubt: Doubt,
    /// The session is gone for good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<Cause>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tools_ran: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            end: None,
            exit: None,
            calls: Calls::NONE,
            busy: Tri::Unknown,
            todos: 0,
            missing: None,
            gone: None,
            interrupted: false,
            provider_wait: None,
            doubt: Doubt::None,
            tools_ran: false,
        }
    }
}

/// A turn calls at most this many tools at once that we follow by name.
const CALLS_MAX: usize = 256;

impl Evidence {
    /// Takes one fact of the latest turn in.
    pub fn see(&mut self, fact: &Fact, tick: u64) {
        // A process that has ended does nothing any more: what says otherwise is older.
        if self.exit.is_some() && !matches!(fact, Fact::Exited { .. }) {
            return;
        }
        match fact {
            Fact::ToolBegan { call } => {
                self.tools_ran = true;
                self.moves();
                if !self.calls.contains(call.id) && self.calls.len() < CALLS_MAX {
                    self.calls.push(call.id);
                }
            }
            Fact::ToolEnded { id } => {
                self.missing = None;
                self.calls.remove(*id);
            }
            Fact::Todos { open } => self.todos = *open,
            Fact::Ended { end } => self.ended(end, tick),
            Fact::Exited { exit, text } => {
                self.exited(*exit, text.as_ref().map(|text| text.text), tick)
            }
            Fact::Looked { picture } => self.looked(picture, tick),
            Fact::LookFailed { .. } if active(Bug::FailedLookIsEnd) => {
                self.end = Some(Box::new(EndSeen::guessed(tick)))
            }
            Fact::EndHint if active(Bug::HintIsEnd) => {
                self.end = Some(Box::new(EndSeen::guessed(tick)))
            }
            Fact::ErrorHint { error } if active(Bug::HintIsFailure) => {
                self.end = Some(Box::new(EndSeen {
                    error: Some(Box::new(error.clone())),
                    ..EndSeen::guessed(tick)
                }));
            }
            Fact::LookFailed { .. } => self.doubt = Doubt::LookFailed,
            Fact::OddWord { .. } => self.doubt = Doubt::OddWord,
            Fact::Busy => self.busy = Tri::Yes,
            Fact::Active | Fact::Compacted => self.moves(),
            Fact::ProviderWait { error } => self.provider_wait = Some(Box::new(error.clone())),
            Fact::Interrupted { .. } => {
                self.interrupted |= !self.ended_clean() || active(Bug::DeathUndoesEnd);
            }
            Fact::SessionDeleted => self.gone = Some(Cause::SessionDeleted),
            Fact::HostGone { .. } => self.gone = Some(Cause::HostGone),
            // Looks of before, which did not show it, were right then.
            Fact::SessionMade { .. } | Fact::PromptTaken => self.missing = None,
            Fact::StartFailed { .. }
            | Fact::StartUnsure { .. }
            | Fact::WordsTaken { .. }
            | Fact::PromptRefused { .. }
            | Fact::PromptUnsure { .. }
            | Fact::Spent { .. }
            | Fact::AskOpened { .. }
            | Fact::AskClosed { .. }
            | Fact::EndHint
            | Fact::ErrorHint { .. }
            | Fact::Stopped
            | Fact::StopRefused { .. } => {}
        }
    }

    /// Something moves in the session: it is there, and the provider is not waited for.
    fn moves(&mut self) {
        self.missing = None;
        self.provider_wait = None;
    }

    /// Whether the end was seen and nothing goes on beyond it: a program that dies later cuts nothing off.
    fn ended_clean(&self) -> bool {
        self.end.is_some() && self.calls.is_empty() && self.busy != Tri::Yes
    }

    fn ended(&mut self, end: &End, tick: u64) {
        match end.finish {
            // With an error the turn is over, whatever the word.
            Finish::ToolCalls if end.error.is_none() => self.tools_ran = true,
            Finish::Unknown if end.error.is_none() => self.doubt = Doubt::OddWord,
            Finish::ToolCalls
            | Finish::Unknown
            | Finish::Stop
            | Finish::Length
            | Finish::Refusal
            | Finish::Cancelled => {
                self.tools_ran |= end.tools_ran;
                self.doubt = Doubt::None;
                self.busy = Tri::Unknown;
                self.end = Some(Box::new(EndSeen {
                    finish: end.finish,
                    error: end.error.clone().map(Box::new),
                    text: end.text.as_ref().map(|text| text.text),
                    said: end.text.as_ref().is_some_and(|text| !text.text.blank),
                    tools_ran: end.tools_ran,
                    tick,
                }));
            }
        }
    }

    fn exited(&mut self, exit: Exit, text: Option<TextRef>, tick: u64) {
        self.exit = Some(exit);
        self.calls.clear();
        self.busy = Tri::No;
        self.doubt = Doubt::None;
        let error = match exit {
            Exit { code: Some(0), signal: None } => None,
            Exit { code: Some(75), .. } => Some(HostError::new(
                ErrorClass::TryNext,
                "exit_75",
                "the process asked to be tried again",
            )),
            Exit { code: Some(code), .. } => Some(HostError::new(
                ErrorClass::Other,
                "exit",
                &format!("the process ended with exit code {code}"),
            )),
            Exit { code: None, signal } => {
                let which = signal.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
                Some(HostError::new(
                    ErrorClass::Other,
                    "signal",
                    &format!("the process was ended by signal {which}"),
                ))
            }
        };
        self.end = Some(Box::new(EndSeen {
            finish: Finish::Stop,
            error: error.map(Box::new),
            text,
            said: text.is_some_and(|text| !text.blank),
            tools_ran: true,
            tick,
        }));
    }

    fn looked(&mut self, picture: &Picture, tick: u64) {
        self.doubt = Doubt::None;
        self.busy = picture.busy;
        match picture.session {
            Presence::Present => self.missing = None,
            Presence::Missing => {
                let first = self.missing.as_ref().map_or(tick, |missing| missing.0);
                self.missing = Some(Box::new((first, tick)));
            }
            Presence::Unsure => {}
        }
        if let Some(todos) = picture.todos {
            self.todos = todos;
        }
        match &picture.turn {
            TurnRecord::Absent => {}
            TurnRecord::Unreadable => self.doubt = Doubt::Unreadable,
            TurnRecord::Open => {
                self.calls = picture.calls.iter().map(|call| call.id).take(CALLS_MAX).collect();
                self.interrupted |= picture.busy == Tri::No && picture.same_host == Tri::No;
            }
            TurnRecord::Ended(end) => {
                self.calls = picture.calls.iter().map(|call| call.id).take(CALLS_MAX).collect();
                self.ended(end, self.end.as_ref().map_or(tick, |seen| seen.tick));
                self.busy = picture.busy;
            }
        }
    }

    /// How long every look that was answered has not shown the session.
    pub fn missing_ms(&self) -> u64 {
        self.missing.as_ref().map_or(0, |missing| missing.1 - missing.0)
    }

    /// Whether nothing of the attempt can run any more.
    pub fn is_over(&self) -> bool {
        self.exit.is_some() || self.gone.is_some() || self.interrupted
    }

    /// What the facts allow to be said of the latest turn, its own subtree apart.
    pub fn verdict(&self) -> Verdict {
        if let Some(cause) = self.gone {
            return Verdict::Gone(cause);
        }
        let Some(end) = &self.end else {
            return self.without_end();
        };
        if !self.calls.is_empty() {
            return self.contradicted(Missing::ToolRuns);
        }
        if self.busy == Tri::Yes {
            return self.contradicted(Missing::StillBusy);
        }
        if self.doubt == Doubt::Unreadable {
            return Verdict::NotYet(Missing::Unreadable);
        }
        if active(Bug::ErrorIgnored) && end.error.is_some() {
            return Verdict::Good(Cause::Answered);
        }
        if let Some(error) = &end.error {
            return Verdict::Errored((**error).clone());
        }
        match end.finish {
            Finish::Length if active(Bug::LengthIsGood) => Verdict::Good(Cause::Answered),
            Finish::Refusal if active(Bug::FilteredIsGood) => Verdict::Good(Cause::Answered),
            Finish::Length => Verdict::Bad(Cause::Truncated),
            Finish::Refusal => Verdict::Bad(Cause::Refused),
            Finish::Cancelled => Verdict::Bad(Cause::Interrupted),
            Finish::ToolCalls | Finish::Unknown => Verdict::NotYet(Missing::End),
            Finish::Stop if self.exit.is_some() => Verdict::Good(Cause::Exited),
            Finish::Stop if end.said && self.todos > 0 => Verdict::OpenTodos,
            Finish::Stop if end.said => Verdict::Good(Cause::Answered),
            Finish::Stop if end.tools_ran || self.tools_ran => Verdict::Good(Cause::NoText),
            Finish::Stop => Verdict::Bad(Cause::Empty),
        }
    }

    /// The end is there, and so is work beyond it: cut off with the program, or still to be waited for.
    fn contradicted(&self, by: Missing) -> Verdict {
        if self.interrupted { Verdict::Bad(Cause::Interrupted) } else { Verdict::NotYet(by) }
    }

    fn without_end(&self) -> Verdict {
        if self.interrupted {
            return Verdict::Bad(Cause::Interrupted);
        }
        if let Some(error) = &self.provider_wait {
            return Verdict::ProviderWaits((**error).clone());
        }
        Verdict::NotYet(match self.doubt {
            Doubt::None if self.missing.is_some() => Missing::Session,
            Doubt::None => Missing::End,
            Doubt::Unreadable => Missing::Unreadable,
            Doubt::OddWord => Missing::KnownWord,
            Doubt::LookFailed => Missing::Answer,
        })
    }
}

words! {
    /// The fact that is missing before more can be said.
    Missing {
        End = "the host's record of the turn's end",
        ToolRuns = "the end of a tool that still runs",
        StillBusy = "the host's word that the session is not busy",
        Unreadable = "a readable record: the host's messages could not be read",
        KnownWord = "a status word that is known here",
        Answer = "an answer of the host: it could not be asked",
        Session = "the session: the host does not show it now",
    }
}

/// What the evidence allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Good(Cause),
    /// A final answer with to-dos left open: completed after a bounded time, flagged.
    OpenTodos,
    Bad(Cause),
    Errored(HostError),
    ProviderWaits(HostError),
    Gone(Cause),
    NotYet(Missing),
}
