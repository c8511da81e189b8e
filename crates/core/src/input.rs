//! Everything the decider takes in, in one file: what doors ask, what the world reports, what follows.

use std::sync::Arc;

use crate::fact::{Fact, Fence};
use crate::ids::{AskId, DebriefId, PostId, TaskId};
use crate::payload::{Digest, Payload};
use crate::reason::Caller;
use crate::refs::{Origin, ParentRef};
use crate::reply::Lease;
use crate::spec::Spec;
use crate::task::{Answer, BatchId, Task};
use crate::world::{Timer, Who};

/// Names a request so that its reply finds the way back.
pub type Request = u64;

/// What retention takes from the store.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Purge {
    pub tasks: Vec<TaskId>,
    pub debriefs: Vec<DebriefId>,
    pub posts: Vec<PostId>,
}

impl Purge {
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty() && self.debriefs.is_empty() && self.posts.is_empty()
    }

    pub fn add(&mut self, more: Self) {
        self.tasks.extend(more.tasks);
        self.debriefs.extend(more.debriefs);
        self.posts.extend(more.posts);
    }
}

/// What is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Receipt {
    Debrief(DebriefId),
    /// The reply to the owner's own read is known to have arrived.
    Notice {
        task: TaskId,
        generation: u32,
    },
}

/// What a parent shows of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParentFact {
    TurnBegan {
        turn: Arc<str>,
    },
    TurnEnded {
        turn: Arc<str>,
    },
    /// A look found it between turns.
    Between,
    /// Prompts of a person that wait to be taken.
    PersonWaits {
        count: u32,
    },
    Unreachable,
    Deleted,
}

/// What became of a send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryFact {
    /// Seen at the parent.
    Accepted,
    /// A turn of the parent answered it. What it said goes to the origin's room.
    Answered {
        text: Option<Payload>,
    },
    /// Settled without an answer to look at: the person stopped the turn, or another turn had it in view.
    Shared,
    /// The parent is in a turn.
    Busy,
    Failed {
        why: Arc<str>,
        retry_after_ms: Option<u64>,
    },
    /// The parent is there and will never take it.
    Refused {
        why: Arc<str>,
    },
    /// It will never be taken: the parent is not there.
    Gone,
}

/// Something on its way out, by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outgoing {
    Debrief(DebriefId),
    Post(PostId),
}

/// What became of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostFact {
    Posted,
    Failed {
        why: Arc<str>,
        retry_after_ms: Option<u64>,
    },
    /// The room will never take it.
    Closed {
        why: Arc<str>,
    },
}

/// One input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    // Doors.
    Reserve {
        request: Request,
        root: TaskId,
    },
    Release {
        reservation: Request,
    },
    Launch {
        request: Request,
        id: TaskId,
        spec: Box<Spec>,
        reservation: Option<Request>,
    },
    Adopt {
        request: Request,
        id: TaskId,
        spec: Box<Spec>,
        session: Arc<str>,
        /// The task that the store knows for this session, if any.
        known: Option<TaskId>,
    },
    Cancel {
        request: Request,
        task: TaskId,
        by: Caller,
        text: Option<Arc<str>>,
        quiet: bool,
    },
    Resume {
        request: Request,
        task: TaskId,
        prompt: Payload,
        parent: Option<ParentRef>,
        by: Caller,
    },
    Retry {
        request: Request,
        task: TaskId,
        by: Caller,
    },
    Send {
        request: Request,
        task: TaskId,
        text: Payload,
        /// Nothing comes after it.
        last: bool,
    },
    Answer {
        request: Request,
        ask: AskId,
        answer: Answer,
        by: Caller,
    },
    Read {
        request: Request,
        task: TaskId,
    },
    Wait {
        request: Request,
        task: TaskId,
        ms: u64,
        by: Caller,
    },
    /// A conversation is opened; its task is accepted with it.
    Converse {
        request: Request,
        id: TaskId,
        spec: Box<Spec>,
    },
    /// A person's turn of the conversation that this task carries.
    Turn {
        request: Request,
        task: TaskId,
        text: Payload,
        key: Option<Digest>,
    },
    /// A conversation takes no further turn.
    Close {
        request: Request,
        task: TaskId,
    },
    /// The one who waits went away.
    Forget {
        request: Request,
    },
    Reroute {
        request: Request,
        task: TaskId,
        origin: Origin,
        /// The last message about it that the ledger has.
        post: Option<PostId>,
    },
    /// What rests is to be sent again, under its key.
    Redrive {
        request: Request,
        what: Outgoing,
    },
    /// A consumer asks for the next debrief of an inbox; one that `stays` waits for it to come.
    Lease {
        request: Request,
        consumer: Arc<str>,
        parent: ParentRef,
        stays: bool,
    },
    /// The consumer that was given this went away before its receipt.
    LetGo(Lease),
    Ack {
        request: Request,
        receipt: Receipt,
    },

    // The world.
    Observed {
        task: TaskId,
        fence: Fence,
        fact: Fact,
    },
    Parent {
        parent: ParentRef,
        fact: ParentFact,
    },
    Composed {
        parent: ParentRef,
        batch: Box<(BatchId, Option<Origin>)>,
        notices: Vec<(TaskId, u32)>,
        id: DebriefId,
        nonce: Arc<str>,
        text: Payload,
    },
    Delivery {
        debrief: DebriefId,
        fact: DeliveryFact,
    },
    Posted {
        post: PostId,
        fact: PostFact,
    },
    /// The host has the answer to an ask.
    AnswerTaken {
        ask: AskId,
    },
    TelemetryTaken {
        task: TaskId,
        generation: u32,
    },
    /// A task that was not in memory, as the store has it.
    Loaded {
        id: TaskId,
        task: Option<Box<Task>>,
    },
    /// What has been over for longer than its retention, as the store sees it.
    Expired {
        request: Request,
        purge: Purge,
    },
    Timer {
        who: Who,
        timer: Timer,
    },

    // What follows from a decision, within the same commit.
    Then(Then),
}

/// Consequences: decided one by one, on the World as it is by then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    /// Weigh the evidence of a task.
    Judge(TaskId),
    /// A call was counted: perhaps it was one too many.
    Breaker(TaskId),
    /// Give free slots of a key away; a lender's descendants go first.
    Pump { key: Arc<str>, lender: Option<TaskId> },
    /// A generation ended: descendants, dependants, ancestors, waiting requests.
    Ended(TaskId),
    /// End a task with what lives below it.
    Cancel { task: TaskId, why: CancelWhy, quiet: bool },
    /// Nobody is to be told of an end: one line in the origin's room.
    Marker(TaskId),
    /// What this parent, which cannot be told any more, is owed goes elsewhere.
    Heirs(ParentRef),
    /// Give a debrief that no consumer has to one that waits for it.
    Offer(DebriefId),
    /// Nothing is on its way to this parent any more: what rests and is to be sent again goes.
    Again(ParentRef),
    /// The next turn of a conversation that is between two.
    NextTurn(TaskId),
    /// A turn of a conversation ended.
    TurnOver(TaskId),
    /// Look whether a sealed debrief is wholly settled.
    Withdraw(DebriefId),
    /// Answer those who wait for a task's end.
    Waiters(TaskId),
    /// Let go of an ended task if nobody needs it.
    Evict(TaskId),
    /// Under this root, perhaps, nobody lives any more.
    EvictTree(TaskId),
    /// A budget may be used up; `spender` used of it last.
    Budget { owner: TaskId, spender: TaskId },
}

/// Why a cascade ends a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CancelWhy {
    Asked { by: Caller, text: Option<Arc<str>> },
    Ancestor(TaskId),
    ParentDeleted,
}

impl Input {
    /// The task it cannot be decided without.
    pub fn needs(&self) -> Option<TaskId> {
        match self {
            Self::Cancel { task, .. }
            | Self::Resume { task, .. }
            | Self::Retry { task, .. }
            | Self::Send { task, .. }
            | Self::Read { task, .. }
            | Self::Wait { task, .. }
            | Self::Turn { task, .. }
            | Self::Close { task, .. }
            | Self::Reroute { task, .. }
            | Self::Observed { task, .. }
            | Self::TelemetryTaken { task, .. } => Some(*task),
            Self::Ack { receipt: Receipt::Notice { task, .. }, .. } => Some(*task),
            Self::Launch { spec, .. } | Self::Adopt { spec, .. } => spec.launched_by,
            Self::Reserve { root, .. } => Some(*root),
            Self::Release { .. }
            | Self::Converse { .. }
            | Self::Answer { .. }
            | Self::Forget { .. }
            | Self::Redrive { .. }
            | Self::Lease { .. }
            | Self::LetGo(_)
            | Self::Ack { receipt: Receipt::Debrief(_), .. }
            | Self::Parent { .. }
            | Self::Composed { .. }
            | Self::Delivery { .. }
            | Self::Posted { .. }
            | Self::AnswerTaken { .. }
            | Self::Loaded { .. }
            | Self::Expired { .. }
            | Self::Timer { .. }
            | Self::Then(_) => None,
        }
    }

    /// The request that waits for a reply to it.
    pub fn request(&self) -> Option<Request> {
        match self {
            Self::Reserve { request, .. }
            | Self::Launch { request, .. }
            | Self::Adopt { request, .. }
            | Self::Cancel { request, .. }
            | Self::Resume { request, .. }
            | Self::Retry { request, .. }
            | Self::Send { request, .. }
            | Self::Answer { request, .. }
            | Self::Read { request, .. }
            | Self::Wait { request, .. }
            | Self::Converse { request, .. }
            | Self::Turn { request, .. }
            | Self::Close { request, .. }
            | Self::Reroute { request, .. }
            | Self::Redrive { request, .. }
            | Self::Lease { request, .. }
            | Self::Expired { request, .. }
            | Self::Ack { request, .. } => Some(*request),
            Self::Release { .. }
            | Self::Forget { .. }
            | Self::LetGo(_)
            | Self::Observed { .. }
            | Self::Parent { .. }
            | Self::Composed { .. }
            | Self::Delivery { .. }
            | Self::Posted { .. }
            | Self::AnswerTaken { .. }
            | Self::TelemetryTaken { .. }
            | Self::Loaded { .. }
            | Self::Timer { .. }
            | Self::Then(_) => None,
        }
    }
}
