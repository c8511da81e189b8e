//! Facts in short words, for writing sequences down. Nothing here is judged.

use homing_core::fact::{
    AskKind, AskSeen, Call, End, ErrorClass, Exit, Fact, Finish, HostError, Picture, Presence,
    TurnRecord,
};
use homing_core::payload::Payload;
use homing_core::words::Tri;

pub const SESSION: &str = "ses_1";

pub fn made() -> Fact {
    Fact::SessionMade { session: SESSION.into() }
}

pub fn taken() -> Fact {
    Fact::PromptTaken
}

pub fn unsure() -> Fact {
    Fact::PromptUnsure { why: "the reply was cut off".into() }
}

pub fn active() -> Fact {
    Fact::Active
}

pub fn busy() -> Fact {
    Fact::Busy
}

/// An idle or end word without a record.
pub fn idle() -> Fact {
    Fact::EndHint
}

pub fn tool(id: u64) -> Fact {
    Fact::ToolBegan { call: call(id) }
}

pub fn tool_end(id: u64) -> Fact {
    Fact::ToolEnded { id }
}

pub fn call(id: u64) -> Call {
    Call { id, tool: "bash".into(), input: Some(id) }
}

pub fn of(class: ErrorClass) -> HostError {
    HostError::new(class, class.word(), "as the host put it")
}

/// An error word without a record.
pub fn error_word(class: ErrorClass) -> Fact {
    Fact::ErrorHint { error: of(class) }
}

pub fn provider_waits(class: ErrorClass, retry_after_ms: u64) -> Fact {
    Fact::ProviderWait { error: HostError { retry_after_ms: Some(retry_after_ms), ..of(class) } }
}

pub fn quota_until(wall: i64) -> Fact {
    Fact::ProviderWait { error: HostError { until_wall: Some(wall), ..of(ErrorClass::Quota) } }
}

pub fn refused(class: ErrorClass) -> Fact {
    Fact::PromptRefused { error: of(class) }
}

pub fn interrupted() -> Fact {
    Fact::Interrupted { why: "the program that ran it is gone".into() }
}

pub fn look_failed() -> Fact {
    Fact::LookFailed { why: "no answer".into() }
}

pub fn odd(word: &str) -> Fact {
    Fact::OddWord { word: word.into() }
}

pub fn stop_refused() -> Fact {
    Fact::StopRefused { why: "something of it still runs".into() }
}

pub fn permission(key: &str) -> AskSeen {
    AskSeen {
        key: key.into(),
        kind: AskKind::Permission,
        text: "Run it?".into(),
        options: Vec::new(),
    }
}

pub fn question(key: &str) -> AskSeen {
    let options = vec!["A".into(), "B".into()];
    AskSeen { key: key.into(), kind: AskKind::Question, text: "Which?".into(), options }
}

pub fn asks(ask: AskSeen) -> Fact {
    Fact::AskOpened { ask }
}

pub fn ask_over(key: &str) -> Fact {
    Fact::AskClosed { key: key.into() }
}

pub fn exit(code: i32, text: &str) -> Fact {
    exited(Exit { code: Some(code), signal: None }, text)
}

pub fn signal(signal: i32, text: &str) -> Fact {
    exited(Exit { code: None, signal: Some(signal) }, text)
}

fn exited(exit: Exit, text: &str) -> Fact {
    Fact::Exited { exit, text: (!text.is_empty()).then(|| Payload::from(text)) }
}

/// The record of a turn that said this and ended.
pub fn said(text: &str) -> End {
    ends(Finish::Stop, text)
}

/// The record of a turn that ended in another way.
pub fn ends(finish: Finish, text: &str) -> End {
    let text = (!text.is_empty()).then(|| Payload::from(text));
    End { finish, error: None, text, tools_ran: false }
}

/// The record of a turn that used tools and ended without a word.
pub fn only_tools() -> End {
    End { tools_ran: true, ..ends(Finish::Stop, "") }
}

/// The record of a turn that ended in an error, with what it had said by then.
pub fn failed(class: ErrorClass, text: &str) -> End {
    End { error: Some(of(class)), ..ends(Finish::Unknown, text) }
}

/// The record, reported as it came.
pub fn ended(end: End) -> Fact {
    Fact::Ended { end }
}

/// A look in the making. Unless said otherwise: not busy, no asks, the session there, the same program.
#[derive(Debug, Clone)]
pub struct Look(Picture);

fn look(turn: TurnRecord) -> Look {
    Look(Picture {
        turn,
        busy: Tri::No,
        calls: Vec::new(),
        asks: Some(Vec::new()),
        todos: None,
        session: Presence::Present,
        same_host: Tri::Yes,
    })
}

/// Our turn is there and has not ended.
pub fn open() -> Look {
    look(TurnRecord::Open)
}

/// Our prompt is not there.
pub fn absent() -> Look {
    look(TurnRecord::Absent)
}

pub fn unreadable() -> Look {
    look(TurnRecord::Unreadable)
}

/// Our turn has ended, with this record.
pub fn shows(end: End) -> Look {
    look(TurnRecord::Ended(end))
}

impl Look {
    #[must_use]
    pub fn busy(mut self) -> Self {
        self.0.busy = Tri::Yes;
        self
    }

    /// The host cannot tell whether it is busy.
    #[must_use]
    pub fn busy_unknown(mut self) -> Self {
        self.0.busy = Tri::Unknown;
        self
    }

    #[must_use]
    pub fn call(mut self, id: u64) -> Self {
        self.0.calls.push(call(id));
        self
    }

    #[must_use]
    pub fn ask(mut self, ask: AskSeen) -> Self {
        self.0.asks.get_or_insert_default().push(ask);
        self
    }

    #[must_use]
    pub fn todos(mut self, open: u32) -> Self {
        self.0.todos = Some(open);
        self
    }

    /// The host does not show the session.
    #[must_use]
    pub fn missing(mut self) -> Self {
        self.0.session = Presence::Missing;
        self
    }

    /// The program that answers is not the one that took the turn.
    #[must_use]
    pub fn other_program(mut self) -> Self {
        self.0.same_host = Tri::No;
        self
    }

    /// Whether it is the same program is not known.
    #[must_use]
    pub fn program_unknown(mut self) -> Self {
        self.0.same_host = Tri::Unknown;
        self
    }

    pub fn seen(self) -> Fact {
        Fact::Looked { picture: self.0 }
    }
}
