//! Runs one input with all that follows from it, and tells what the World wants done afterwards.

use std::collections::BTreeSet;

use crate::bugs::{Bug, active};
use crate::change::{Change, Note};
use crate::decide::{decide, decide_absent};
use crate::decision::Text;
use crate::effect::{self, Effect};
use crate::fold::Line;
use crate::ids::{DebriefId, PostId, TaskId};
use crate::input::{Input, Purge, Then};
use crate::record::{OutboxRecord, Record};
use crate::refs::ParentRef;
use crate::reply::Reply;
use crate::rules::Event;
use crate::time::{Moment, Stamp};
use crate::words::State;
use crate::world::{Left, Who, World};

/// A journal line as it was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub line: Line,
    /// Its number within its task; 0 for lines that are of none.
    pub task_seq: u64,
    pub record: Record,
}

/// What was touched, and so may want something else now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    pub tasks: BTreeSet<TaskId>,
    pub parents: BTreeSet<ParentRef>,
    pub debriefs: BTreeSet<DebriefId>,
    pub posts: BTreeSet<PostId>,
}

impl Touched {
    pub fn join(&mut self, other: Self) {
        self.tasks.extend(other.tasks);
        self.parents.extend(other.parents);
        self.debriefs.extend(other.debriefs);
        self.posts.extend(other.posts);
    }
}

/// What one input came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    pub written: Vec<Written>,
    pub texts: Vec<Text>,
    pub replies: Vec<Reply>,
    pub touched: Touched,
    /// The input must be given again once this task is loaded.
    pub load: Option<TaskId>,
    pub asked: Vec<(State, Event)>,
    /// What left memory, as it was last.
    pub left: Left,
    /// What leaves the store.
    pub purge: Purge,
}

/// A chain of consequences is finite; one longer than this is a defect.
const CHAIN_MAX: usize = 1_000_000;

/// Decides an input and all that follows, applying each decision at once.
pub fn step(world: &mut World, input: Input, now: Moment) -> Outcome {
    let decision = decide(world, &input, now);
    if let Some(id) = decision.load {
        return Outcome { load: Some(id), ..Outcome::default() };
    }
    let timer = if let Input::Timer { who, .. } = input { Some(who) } else { None };
    let mut outcome = Outcome::default();
    let mut open: Vec<Then> = Vec::new();
    take(world, decision, now, &mut outcome, &mut open);
    let mut steps = 0;
    while let Some(next) = open.pop() {
        steps += 1;
        assert!(steps < CHAIN_MAX, "a decision's consequences do not end: {next:?}");
        let decision = decide(world, &Input::Then(next), now);
        take(world, decision, now, &mut outcome, &mut open);
    }
    outcome.left = std::mem::take(&mut world.left);
    if let Some(who) = timer {
        world.arm(&who);
        touch_who(&who, &mut outcome.touched);
    }
    outcome
}

/// As `step`, for an input whose task the store does not have.
pub fn step_absent(world: &mut World, input: &Input, absent: TaskId, now: Moment) -> Outcome {
    let decision = decide_absent(world, input, absent, now);
    let mut outcome = Outcome::default();
    take(world, decision, now, &mut outcome, &mut Vec::new());
    outcome
}

fn take(
    world: &mut World,
    decision: crate::decision::Decision,
    now: Moment,
    outcome: &mut Outcome,
    open: &mut Vec<Then>,
) {
    for change in decision.changes {
        apply(world, change, now.stamp(), outcome);
    }
    append(&mut outcome.texts, decision.texts);
    append(&mut outcome.replies, decision.replies);
    append(&mut outcome.asked, decision.asked);
    let mut then = decision.then;
    then.reverse();
    append(open, then);
}

/// Most steps are one decision: then its own list is kept, and none is made.
fn append<T>(all: &mut Vec<T>, more: Vec<T>) {
    if all.is_empty() {
        *all = more;
    } else {
        all.extend(more);
    }
}

fn apply(world: &mut World, change: Change, stamp: Stamp, outcome: &mut Outcome) {
    let seq = match &change {
        Change::Record(_) => world.head + 1 + u64::from(active(Bug::NumberSkipped)),
        Change::Note(_) => world.head,
    };
    let line = Line { seq, stamp };
    touch(world, &change, &mut outcome.touched);
    touch_told(world, &change, &mut outcome.touched);
    world.apply(&change, line);
    touch_told(world, &change, &mut outcome.touched);
    match change {
        Change::Record(record) => {
            let task_seq = match &record {
                Record::Task(id, _) => world.task(*id).map_or(0, |task| task.seq),
                Record::Outbox(_) => 0,
            };
            if outcome.written.is_empty() {
                outcome.written.reserve_exact(1);
            }
            outcome.written.push(Written { line, task_seq, record });
        }
        Change::Note(Note::Purged(taken)) => outcome.purge = *taken,
        Change::Note(_) => {}
    }
}

fn touch_who(who: &Who, touched: &mut Touched) {
    match who {
        Who::Task(id) => drop(touched.tasks.insert(*id)),
        Who::Parent(parent) => drop(touched.parents.insert((**parent).clone())),
        Who::Debrief(id) => drop(touched.debriefs.insert(*id)),
        Who::Post(id) => drop(touched.posts.insert(*id)),
        Who::Wait(_) | Who::Reservation(_) => {}
    }
}

fn touch(world: &World, change: &Change, touched: &mut Touched) {
    match change {
        Change::Record(Record::Task(id, _)) => {
            touched.tasks.insert(*id);
        }
        Change::Record(Record::Outbox(
            OutboxRecord::DebriefMoved { debrief, .. }
            | OutboxRecord::DebriefAnswered { debrief, .. }
            | OutboxRecord::DebriefAgain { debrief, .. },
        )) => {
            touched.debriefs.insert(*debrief);
            if let Some(known) = world.debrief(*debrief) {
                touched.parents.insert(known.parent.clone());
            }
        }
        Change::Record(Record::Outbox(OutboxRecord::Sealed { debrief })) => {
            touched.debriefs.insert(debrief.id);
            touched.parents.insert(debrief.parent.clone());
        }
        Change::Record(Record::Outbox(OutboxRecord::PostSealed { post })) => {
            touched.posts.insert(post.id);
        }
        Change::Record(Record::Outbox(
            OutboxRecord::PostMoved { post, .. } | OutboxRecord::PostAgain { post, .. },
        )) => {
            touched.posts.insert(*post);
            touched.posts.extend(world.post_after(*post));
        }
        Change::Note(note) => touch_note(note, touched),
    }
}

fn touch_note(note: &Note, touched: &mut Touched) {
    match note {
        Note::Loaded(task) => drop(touched.tasks.insert(task.id)),
        Note::ProbeAsked(id) | Note::ProbeDone(id, _) => drop(touched.tasks.insert(*id)),
        Note::ParentTurn(parent, _)
        | Note::ParentLook(parent, _)
        | Note::PersonWaits(parent, _)
        | Note::ParentSilent(parent)
        | Note::BatchesAged(parent) => {
            touched.parents.insert(parent.clone());
        }
        Note::Evicted(_)
        | Note::Purged(_)
        | Note::Active(..)
        | Note::Observed(_)
        | Note::ReaderCame(..)
        | Note::ReadersWent(_)
        | Note::WaitCame(..)
        | Note::WaitWent(_)
        | Note::TakerCame(..)
        | Note::TakerWent(_)
        | Note::Lent { .. }
        | Note::ParentGone(_)
        | Note::Reserved(..)
        | Note::Released(_) => {}
    }
}

/// Whoever is told about a task, before a line or after it, may have a debrief to compose now.
fn touch_told(world: &World, change: &Change, touched: &mut Touched) {
    use crate::record::TaskRecord as R;
    let Change::Record(Record::Task(id, record)) = change else {
        return;
    };
    if matches!(record, R::Seen { .. } | R::Stale { .. }) {
        return;
    }
    if let Some(task) = world.task(*id) {
        for notice in &task.notices {
            touched.parents.insert(notice.to.clone());
        }
        touched.parents.insert((*task.parent).clone());
        touched.parents.insert(ParentRef::Task(*id));
        touched.parents.extend(task.conversation().map(ParentRef::Conversation));
    }
}

/// What everything that was touched wants done now.
pub fn wants(world: &World, touched: &Touched, now: Moment) -> Vec<Effect> {
    let mut out = Vec::new();
    for id in &touched.tasks {
        if let Some(task) = world.task(*id) {
            effect::task_wants(task, &mut out);
        }
    }
    for who in &touched.parents {
        effect::parent_wants(who, world, now.tick, &mut out);
        if let Some(debrief) =
            world.parent(who).and_then(|parent| parent.flight).and_then(|id| world.debrief(id))
        {
            effect::debrief_wants(debrief, world, &mut out);
        }
    }
    for id in &touched.debriefs {
        if let Some(debrief) = world.debrief(*id) {
            effect::debrief_wants(debrief, world, &mut out);
        }
    }
    for id in &touched.posts {
        if let Some(post) = world.post(*id) {
            effect::post_wants(post, world, &mut out);
        }
    }
    out
}
