//! The simulated host: what truly happens to sessions, apart from what is reported of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use homing_core::fact::{
    AskKind, AskSeen, Call, End as EndRecord, ErrorClass, Exit, Fact, Finish, HostError, Picture,
    Presence, TurnRecord,
};
use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::payload::Payload;
use homing_core::words::Tri;

use crate::plan::{End, child_text};
use crate::rng::Rng;

/// One turn as the host knows it.
#[derive(Debug, Clone)]
pub struct Turn {
    pub n: u32,
    pub beat: usize,
    pub script: usize,
    pub end: Option<EndRecord>,
    pub ended_at: u64,
    pub calls: Vec<u64>,
    pub ask: Option<Arc<str>>,
    /// Blocked in a read of a task of its own.
    pub blocked: bool,
    /// The program that ran it died.
    pub ghost: bool,
    /// Its record showed a final, non-error end, now or before it was changed.
    pub well: bool,
}

impl Turn {
    pub fn ends(&mut self, end: EndRecord, tick: u64) {
        self.well |= end.error.is_none() && end.finish == Finish::Stop;
        self.end = Some(end);
        self.ended_at = tick;
        self.calls.clear();
    }
}

/// One session.
#[derive(Debug, Clone)]
pub struct Session {
    pub name: Arc<str>,
    pub turns: Vec<Turn>,
    pub deleted: bool,
    pub exit: Option<Exit>,
    pub aborts: u32,
    /// The numbers of what it was told in its turn.
    pub words: Vec<u32>,
    /// Which run of the runtime watches it.
    pub watched: Option<u32>,
    pub todos: u32,
}

impl Session {
    /// Whether a turn of it can call the model now.
    pub fn is_running(&self) -> bool {
        !self.deleted
            && self.exit.is_none()
            && self.turns.last().is_some_and(|turn| turn.end.is_none() && !turn.ghost)
    }

    /// Whether the host's own record shows a final, non-error end of this turn.
    pub fn ended_well(&self, n: u32) -> bool {
        self.turns.iter().any(|turn| turn.n == n && turn.well)
    }

    pub fn picture(&self, n: u32, rng: &mut Rng) -> Fact {
        if self.deleted {
            return if rng.chance(50) { Fact::SessionDeleted } else { missing() };
        }
        if let Some(exit) = self.exit {
            let text = self
                .turns
                .last()
                .and_then(|turn| turn.end.as_ref())
                .and_then(|end| end.text.clone());
            return Fact::Exited { exit, text };
        }
        let Some(turn) = self.turns.iter().find(|turn| turn.n == n) else {
            return Fact::Looked { picture: self.empty_picture() };
        };
        let mut picture = self.empty_picture();
        picture.turn = match &turn.end {
            Some(end) => TurnRecord::Ended(end.clone()),
            None => TurnRecord::Open,
        };
        picture.calls = turn
            .calls
            .iter()
            .map(|id| Call { id: *id, tool: "tool".into(), input: None })
            .collect();
        if let Some(key) = &turn.ask {
            picture.asks = Some(vec![ask(key)]);
        }
        picture.todos = turn.end.is_some().then_some(self.todos);
        if turn.ghost {
            picture.busy = Tri::No;
            picture.same_host = Tri::No;
        } else if turn.end.is_none() {
            // A status that leaves out a busy session is a lie that hosts tell.
            picture.busy = *rng.pick(&[Tri::Yes, Tri::Yes, Tri::No, Tri::Unknown]);
        }
        if rng.chance(3) && turn.end.is_none() {
            picture.turn = TurnRecord::Unreadable;
        }
        Fact::Looked { picture }
    }

    fn empty_picture(&self) -> Picture {
        Picture {
            turn: TurnRecord::Absent,
            busy: Tri::No,
            calls: Vec::new(),
            asks: Some(Vec::new()),
            todos: None,
            session: Presence::Present,
            same_host: Tri::Yes,
        }
    }
}

pub fn missing() -> Fact {
    Fact::Looked {
        picture: Picture {
            turn: TurnRecord::Absent,
            busy: Tri::Unknown,
            calls: Vec::new(),
            asks: None,
            todos: None,
            session: Presence::Missing,
            same_host: Tri::Unknown,
        },
    }
}

pub fn ask(key: &Arc<str>) -> AskSeen {
    AskSeen {
        key: key.clone(),
        kind: AskKind::Permission,
        text: "may I?".into(),
        options: Vec::new(),
    }
}

pub fn error(class: ErrorClass, wall: i64, rng: &mut Rng) -> HostError {
    let mut error = HostError::new(class, class.word(), "scripted");
    match class {
        ErrorClass::RateLimited if rng.chance(60) => {
            error.retry_after_ms = Some(1_000 + rng.below(60_000))
        }
        ErrorClass::Quota if rng.chance(70) => {
            error.until_wall = Some(wall + 60_000 + rng.below(600_000) as i64)
        }
        _ => {}
    }
    error
}

/// The record of how a turn ends; none if it never does.
pub fn end_record(end: End, place: (TaskId, u32, u32), wall: i64) -> Option<EndRecord> {
    // What the provider says is part of the record, not of the noise.
    let rng = &mut Rng::new(place.0.bits() ^ u64::from(place.1) << 8 ^ u64::from(place.2));
    let text = || Some(Payload::new(child_text(place.0, place.1, place.2)));
    let plain = |finish, text, tools_ran| Some(EndRecord { finish, error: None, text, tools_ran });
    match end {
        End::Answer => plain(Finish::Stop, text(), false),
        End::NoText => plain(Finish::Stop, None, true),
        End::Empty => plain(Finish::Stop, None, false),
        End::Length => plain(Finish::Length, text(), false),
        End::Refusal => plain(Finish::Refusal, text(), false),
        End::Error(class) => {
            let error = Some(error(class, wall, rng));
            Some(EndRecord { finish: Finish::Unknown, error, text: text(), tools_ran: false })
        }
        End::Exit(code) => {
            let error = (code != 0).then(|| HostError::new(ErrorClass::Other, "exit", "code"));
            Some(EndRecord { finish: Finish::Stop, error, text: text(), tools_ran: true })
        }
        End::Aborted => plain(Finish::Cancelled, None, false),
        End::Hang | End::Ghost | End::Deleted => None,
    }
}

/// All sessions, by task and attempt.
#[derive(Debug, Default)]
pub struct Host {
    pub sessions: BTreeMap<(TaskId, u32), Session>,
    /// Sessions truly made per attempt: never more than one.
    pub made: BTreeMap<(TaskId, u32), u32>,
    /// Turns truly begun per task, over all attempts: which line of the script is next.
    pub begun: BTreeMap<TaskId, usize>,
    pub open_failures: BTreeMap<TaskId, u32>,
    /// Sessions that the last answer about them left out.
    pub hidden: BTreeSet<(TaskId, u32)>,
    /// Replies to openings that were cut off.
    pub cuts: BTreeMap<(TaskId, u32), u32>,
}

impl Host {
    /// An answer that shows a session has arrived: the next one may leave it out again.
    pub fn heard(&mut self, input: &Input) {
        if let Input::Observed { task, fence, fact: Fact::Looked { picture } } = input
            && picture.session == Presence::Present
        {
            self.hidden.remove(&(*task, fence.attempt));
        }
    }

    /// Makes the session of an attempt, or finds it by its marker. A session that an earlier attempt
    /// left is gone on with by name.
    pub fn open(&mut self, task: TaskId, attempt: u32) -> Arc<str> {
        if let Some(session) = self.sessions.get(&(task, attempt)) {
            return session.name.clone();
        }
        *self.made.entry((task, attempt)).or_default() += 1;
        let name: Arc<str> = format!("ses-{task}-{attempt}").into();
        self.insert(task, attempt, name.clone());
        name
    }

    pub fn insert(&mut self, task: TaskId, attempt: u32, name: Arc<str>) {
        let session = Session {
            name,
            turns: Vec::new(),
            deleted: false,
            exit: None,
            aborts: 0,
            words: Vec::new(),
            watched: None,
            todos: 0,
        };
        self.sessions.insert((task, attempt), session);
    }

    /// The session of an attempt that goes on with an earlier one's.
    pub fn ensure(&mut self, task: TaskId, attempt: u32, name: &Arc<str>) {
        if self.sessions.contains_key(&(task, attempt)) {
            return;
        }
        let before =
            self.sessions.iter().find(|((id, _), session)| *id == task && session.name == *name);
        let gone = before.is_some_and(|(_, session)| session.deleted);
        self.insert(task, attempt, name.clone());
        if let Some(session) = self.sessions.get_mut(&(task, attempt)) {
            session.deleted = gone;
        }
    }
}

/// A good end, for facts that come from nowhere.
pub fn good_end(task: TaskId, attempt: u32, turn: u32) -> EndRecord {
    let text = Some(Payload::new(child_text(task, attempt, turn)));
    EndRecord { finish: Finish::Stop, error: None, text, tools_ran: false }
}

/// How an aborted turn is recorded.
pub fn aborted_end() -> EndRecord {
    EndRecord { finish: Finish::Cancelled, error: None, text: None, tools_ran: false }
}

/// A look at a session that hides nothing.
pub fn plain_picture(taken: bool, end: Option<EndRecord>) -> Picture {
    let turn = match (taken, end) {
        (_, Some(end)) => TurnRecord::Ended(end),
        (true, None) => TurnRecord::Open,
        (false, None) => TurnRecord::Absent,
    };
    let busy = if matches!(turn, TurnRecord::Open) { Tri::Yes } else { Tri::No };
    let (asks, todos) = (Some(Vec::new()), None);
    Picture {
        turn,
        busy,
        calls: Vec::new(),
        asks,
        todos,
        session: Presence::Present,
        same_host: Tri::Yes,
    }
}
