//! Owns what a decision is made of: changes, replies, texts for the store, and what follows.

use std::sync::Arc;

use crate::change::{Change, Note};
use crate::ids::TaskId;
use crate::input::{Request, Then};
use crate::payload::Payload;
use crate::record::{OutboxRecord, Record, TaskRecord};
use crate::reply::{Reply, Told};
use crate::rules::Event;
use crate::words::{Code, State};

/// Bytes that go to the store under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    pub name: String,
    pub task: Option<TaskId>,
    pub bytes: Arc<[u8]>,
}

/// What an input means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    pub changes: Vec<Change>,
    pub replies: Vec<Reply>,
    pub texts: Vec<Text>,
    /// Decided next, in this order, within the same commit.
    pub then: Vec<Then>,
    /// The task must be read from the store before this can be decided.
    pub load: Option<TaskId>,
    /// The pairs of the table that were asked.
    pub asked: Vec<(State, Event)>,
}

impl Decision {
    /// The number of the next line, when the journal ends at `head`.
    pub(crate) fn next_line(&self, head: u64) -> u64 {
        let lines =
            self.changes.iter().filter(|change| matches!(change, Change::Record(_))).count();
        head + lines as u64 + 1
    }

    pub(crate) fn task(&mut self, id: TaskId, record: TaskRecord) {
        self.change(Change::Record(Record::Task(id, record)));
    }

    pub(crate) fn outbox(&mut self, record: OutboxRecord) {
        self.change(Change::Record(Record::Outbox(record)));
    }

    pub(crate) fn note(&mut self, note: Note) {
        self.change(Change::Note(note));
    }

    fn change(&mut self, change: Change) {
        // Most decisions are one change, and a change is large: no room for three more.
        if self.changes.is_empty() {
            self.changes.reserve_exact(1);
        }
        self.changes.push(change);
    }

    pub(crate) fn then(&mut self, then: Then) {
        self.then.push(then);
    }

    pub(crate) fn reply(&mut self, request: Request, answer: Told) {
        self.replies.push(Reply { request, answer });
    }

    pub(crate) fn refuse(&mut self, request: Request, code: Code, why: impl Into<Arc<str>>) {
        self.reply(request, Told::Refused { code, why: why.into() });
    }

    pub(crate) fn text(&mut self, name: String, task: Option<TaskId>, payload: &Payload) {
        self.texts.push(Text { name, task, bytes: Arc::clone(&payload.bytes) });
    }
}

/// Names of texts in the store.
pub mod names {
    use crate::ids::{DebriefId, PostId, TaskId};

    pub fn order(task: TaskId) -> String {
        format!("{task}/order")
    }

    pub fn prompt(task: TaskId, generation: u32) -> String {
        format!("{task}/prompt/{generation}")
    }

    pub fn send(task: TaskId, n: u32) -> String {
        format!("{task}/send/{n}")
    }

    /// The text that a turn ended with, by digest: the result of a generation is one of these.
    pub fn text(task: TaskId, digest: crate::payload::Digest) -> String {
        format!("{task}/text/{digest:?}")
    }

    pub fn debrief(id: DebriefId) -> String {
        id.to_string()
    }

    pub fn post(id: PostId) -> String {
        id.to_string()
    }
}
