//! All that a scripted host knows, and what each call to it does. Moves only by such calls.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use homing_core::fact::{ErrorClass, Fact, HostError, TurnRecord};
use homing_core::ids::TaskId;
use homing_core::task::Answer;
use homing_core::words::TurnKind;
use homing_ports::host::{Opening, Place, Prompting};
use tokio::task::AbortHandle;

use super::script::{Fault, Script};
use super::session::Session;

/// A session, by the attempt that made it.
pub(super) type Key = (TaskId, u32);

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) sessions: BTreeMap<Key, Session>,
    /// Aborted before they were opened.
    pub(super) void: BTreeSet<Key>,
    pub(super) scripts: BTreeMap<TaskId, VecDeque<Script>>,
    pub(super) releases: BTreeMap<(TaskId, Arc<str>), u32>,
    pub(super) faults: BTreeMap<(TaskId, Fault), u32>,
    pub(super) faults_read: BTreeSet<(TaskId, u32, u32)>,
    pub(super) prompts: Vec<Prompted>,
    pub(super) watches: BTreeMap<Key, Watch>,
    pub(super) calls: Calls,
}

#[derive(Debug)]
pub(super) struct Watch {
    /// The session that is watched, by the attempt that made it.
    pub(super) session: Key,
    pub(super) telling: AbortHandle,
}

/// A prompt that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompted {
    pub task: TaskId,
    pub attempt: u32,
    pub turn: u32,
    pub kind: TurnKind,
    pub text: String,
}

/// How often the host was called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    pub opens: u32,
    pub prompts: u32,
    pub looks: u32,
    pub aborts: u32,
    pub answers: u32,
}

impl State {
    pub(super) fn sessions_of(&self, task: TaskId) -> impl Iterator<Item = (&Key, &Session)> {
        self.sessions.range((task, 0)..=(task, u32::MAX))
    }

    pub(super) fn go_on(&mut self, task: TaskId) {
        for (_, session) in self.sessions.range_mut((task, 0)..=(task, u32::MAX)) {
            let releases = &mut self.releases;
            session.go_on(|step| match releases.get_mut(&(task, Arc::from(step))) {
                Some(left) if *left > 0 => {
                    *left -= 1;
                    true
                }
                Some(_) | None => false,
            });
        }
    }

    pub(super) fn watched(&self, session: Key) -> Vec<Key> {
        let of_it = self.watches.iter().filter(|(_, watch)| watch.session == session);
        of_it.map(|(key, _)| *key).collect()
    }

    pub(super) fn unwatch(&mut self, key: Key) {
        let Some(watch) = self.watches.remove(&key) else {
            return;
        };
        watch.telling.abort();
        if let Some(session) = self.sessions.get_mut(&watch.session) {
            session.unhear();
        }
    }

    /// Whether this call goes wrong.
    pub(super) fn goes_wrong(&mut self, task: TaskId, fault: Fault) -> bool {
        match self.faults.get_mut(&(task, fault)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Faults that a prompt asks for count once, however often it is sent.
    pub(super) fn read_faults(
        &mut self,
        task: TaskId,
        attempt: u32,
        turn: u32,
        faults: &[(Fault, u32)],
    ) {
        if self.faults_read.insert((task, attempt, turn)) {
            for (fault, times) in faults {
                *self.faults.entry((task, *fault)).or_default() += times;
            }
        }
    }

    pub(super) fn open(&mut self, opening: &Opening) -> Vec<Fact> {
        self.calls.opens += 1;
        let key = (opening.task, opening.attempt);
        if let Ok(script) = Script::read(&String::from_utf8_lossy(&opening.prompt)) {
            self.read_faults(key.0, key.1, 1, &script.faults);
        }
        let failed = |name: &str, why: &str| {
            vec![Fact::StartFailed { error: HostError::new(ErrorClass::Other, name, why) }]
        };
        if self.void.contains(&key) {
            return failed("aborted", "it was aborted before it was opened");
        }
        if self.goes_wrong(key.0, Fault::OpenFails) {
            return failed("scripted", "no session can be made");
        }
        let session = self.sessions.entry(key).or_insert_with(|| Session::new(key.0, key.1));
        let session = Arc::clone(&session.id);
        if self.goes_wrong(key.0, Fault::OpenLost) {
            return vec![Fact::StartUnsure { why: "the reply was lost".into() }];
        }
        vec![Fact::SessionMade { session }]
    }

    pub(super) fn prompt(&mut self, prompting: Prompting) -> Fact {
        self.calls.prompts += 1;
        let refused = |name: &str, why: &str| Fact::PromptRefused {
            error: HostError::new(ErrorClass::BadRequest, name, why),
        };
        let (task, turn) = (prompting.task, prompting.fence.turn);
        let text = String::from_utf8_lossy(&prompting.text).into_owned();
        let Some(key) = self.key_of(&prompting.session) else {
            return refused("session", "there is no such session");
        };
        let read = match prompting.kind {
            TurnKind::Debrief => Ok(Script::answer("noted")),
            TurnKind::First
            | TurnKind::GoOn
            | TurnKind::Resume
            | TurnKind::Send
            | TurnKind::Foreign => Script::read(&text),
        };
        let script = match read {
            Ok(script) => script,
            Err(why) => return refused("script", &why),
        };
        self.read_faults(task, prompting.fence.attempt, turn, &script.faults);
        if self.goes_wrong(task, Fault::PromptRefused) {
            return refused("scripted", "the prompt is refused");
        }
        if self.goes_wrong(task, Fault::PromptDropped) {
            return Fact::PromptUnsure { why: "the connection broke".into() };
        }
        self.run(key, &prompting, text, script);
        if self.goes_wrong(task, Fault::PromptLost) {
            return Fact::PromptUnsure { why: "the reply was lost".into() };
        }
        Fact::PromptTaken
    }

    /// Sent twice, it runs once.
    pub(super) fn run(&mut self, key: Key, prompting: &Prompting, text: String, script: Script) {
        let fence = prompting.fence;
        if self.sessions.get(&key).is_none_or(|session| session.has_turn(fence)) {
            return;
        }
        let queued = self.scripts.get_mut(&prompting.task).and_then(VecDeque::pop_front);
        let acts = queued.unwrap_or(script).acts;
        if let Some(session) = self.sessions.get_mut(&key) {
            session.take(fence, acts);
        }
        let Prompting { task, kind, .. } = *prompting;
        self.prompts.push(Prompted { task, attempt: fence.attempt, turn: fence.turn, kind, text });
        self.go_on(task);
    }

    /// A session goes by its name: an attempt that goes on in it has another number.
    pub(super) fn key_of(&self, session: &str) -> Option<Key> {
        self.sessions.iter().find(|(_, known)| &*known.id == session).map(|(key, _)| *key)
    }

    /// By its name, or by the mark that its launch left.
    pub(super) fn find(&self, place: &Place) -> Option<Key> {
        match &place.session {
            Some(session) => self.key_of(session),
            None => Some((place.task, place.fence.attempt))
                .filter(|key| self.sessions.contains_key(key)),
        }
    }

    pub(super) fn look(&mut self, place: &Place) -> Fact {
        self.calls.looks += 1;
        if self.goes_wrong(place.task, Fault::LookFails) {
            return Fact::LookFailed { why: "the host does not answer".into() };
        }
        let unreadable = self.goes_wrong(place.task, Fault::Unreadable);
        let Some(session) = self.find(place).and_then(|key| self.sessions.get(&key)) else {
            return Fact::LookFailed { why: "there is no such session".into() };
        };
        let mut fact = session.look(place.fence);
        if let Fact::Looked { picture } = &mut fact
            && unreadable
        {
            picture.turn = TurnRecord::Unreadable;
        }
        fact
    }

    pub(super) fn abort(&mut self, place: &Place) -> Fact {
        self.calls.aborts += 1;
        if self.goes_wrong(place.task, Fault::AbortRefused) {
            return Fact::StopRefused { why: "scripted".into() };
        }
        let known = self.find(place).and_then(|key| self.sessions.get_mut(&key));
        if let Some(session) = known {
            session.stop();
        } else if place.session.is_none() {
            self.void.insert((place.task, place.fence.attempt));
        }
        Fact::Stopped
    }

    pub(super) fn answer(
        &mut self,
        place: &Place,
        key: &str,
        answer: &Answer,
    ) -> Result<(), String> {
        self.calls.answers += 1;
        let lost = self.goes_wrong(place.task, Fault::AnswerLost);
        let found = self.find(place).and_then(|key| self.sessions.get_mut(&key));
        let session = found.ok_or_else(|| "there is no such session".to_owned())?;
        let known =
            session.answer(key, answer) || session.answers.iter().any(|(had, _)| &**had == key);
        self.go_on(place.task);
        match (known, lost) {
            (_, true) => Err("the reply was lost".to_owned()),
            (true, false) => Ok(()),
            (false, false) => Err(format!("nothing is asked under {key:?}")),
        }
    }
}
