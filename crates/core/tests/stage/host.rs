//! What hosts do, in a word each: the facts a driver would report.

use homing_core::fact::{
    AskKind, AskSeen, Call, End, ErrorClass, Exit, Fact, Fence, Finish, HostError, Picture,
    Presence, TurnRecord,
};
use homing_core::ids::TaskId;
use homing_core::payload::Payload;
use homing_core::spec::Spend;
use homing_core::words::{Phase, State, Tri};

use super::Stage;

/// A clean end with a text.
pub fn good(text: &str) -> End {
    End { finish: Finish::Stop, error: None, text: Some(Payload::from(text)), tools_ran: false }
}

/// An end with an error.
pub fn bad(error: HostError) -> End {
    End { finish: Finish::Unknown, error: Some(error), text: None, tools_ran: false }
}

pub fn error(class: ErrorClass) -> HostError {
    HostError::new(class, class.word(), "as the provider said it")
}

pub fn call(id: u64, tool: &str, input: Option<u64>) -> Call {
    Call { id, tool: tool.into(), input }
}

pub fn spent(tokens: u64, cost: u64) -> Fact {
    Fact::Spent { total: Spend { calls: 0, tokens, cost } }
}

/// The session is there, our turn is open, it is busy.
pub fn open_picture() -> Picture {
    Picture {
        turn: TurnRecord::Open,
        busy: Tri::Yes,
        calls: Vec::new(),
        asks: Some(Vec::new()),
        todos: None,
        session: Presence::Present,
        same_host: Tri::Yes,
    }
}

impl Stage {
    pub fn session_of(&self, id: TaskId) -> String {
        format!("ses_{}_{}", id.bits(), self.task(id).attempt)
    }

    pub fn session_made(&mut self, id: TaskId) {
        let session = self.session_of(id).into();
        self.observe(id, Fact::SessionMade { session });
    }

    pub fn prompt_taken(&mut self, id: TaskId) {
        assert!(self.wants_prompt(id), "{id} has no prompt to be taken: {:?}", self.task(id).turn);
        self.observe(id, Fact::PromptTaken);
    }

    /// The host makes a session where it must, and takes the prompt.
    pub fn start(&mut self, id: TaskId) {
        assert_eq!(self.state(id), State::Starting, "{id} has no slot");
        if self.task(id).session.is_none() {
            assert!(self.wants_open(id));
            self.session_made(id);
        }
        self.prompt_taken(id);
        assert_eq!(self.state(id), State::Running);
        assert_eq!(self.task(id).turn.phase, Phase::Taken);
    }

    /// The host's record shows a clean end with this text.
    pub fn answer(&mut self, id: TaskId, text: &str) {
        self.ended(id, good(text));
    }

    pub fn ended(&mut self, id: TaskId, end: End) {
        self.observe(id, Fact::Ended { end });
    }

    pub fn tool_began(&mut self, id: TaskId, call_id: u64, tool: &str, input: Option<u64>) {
        self.observe(id, Fact::ToolBegan { call: call(call_id, tool, input) });
    }

    pub fn tool_ended(&mut self, id: TaskId, call_id: u64) {
        self.observe(id, Fact::ToolEnded { id: call_id });
    }

    pub fn looked(&mut self, id: TaskId, picture: Picture) {
        self.observe(id, Fact::Looked { picture });
    }

    /// The host is asked, answers, and shows the turn as it was: a deadline that has passed counts now.
    pub fn shows_nothing_new(&mut self, id: TaskId) {
        assert!(self.wants_look(id), "{id} is not asked about");
        self.looked(id, open_picture());
        self.fire();
    }

    pub fn look_failed(&mut self, id: TaskId) {
        self.observe(id, Fact::LookFailed { why: "no answer".into() });
    }

    pub fn exited(&mut self, id: TaskId, code: i32, text: &str) {
        let exit = Exit { code: Some(code), signal: None };
        self.observe(id, Fact::Exited { exit, text: Some(Payload::from(text)) });
    }

    /// The host confirms the abort that is wanted.
    pub fn stopped(&mut self, id: TaskId) {
        assert!(self.wants_abort(id), "no abort of {id} is wanted");
        self.observe(id, Fact::Stopped);
    }

    /// As above, of the session as a whole and of an attempt that is named.
    pub fn stopped_attempt(&mut self, id: TaskId, attempt: u32) {
        self.observe_at(id, Fence { attempt, turn: 0 }, Fact::Stopped);
    }

    pub fn asks_permission(&mut self, id: TaskId, key: &str) {
        self.observe(id, Fact::AskOpened { ask: ask(key, AskKind::Permission) });
    }

    pub fn asks_question(&mut self, id: TaskId, key: &str) {
        self.observe(id, Fact::AskOpened { ask: ask(key, AskKind::Question) });
    }
}

pub fn ask(key: &str, kind: AskKind) -> AskSeen {
    AskSeen {
        key: key.into(),
        kind,
        text: "may I?".into(),
        options: vec!["once".into(), "never".into()],
    }
}
