//! Counts what was committed. The committer's own book: how each task, debrief and post that is not over stood in the
//! store, so that the figures are of the committed state alone. Never read by a decision.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_core::outbox::{Debrief, Post};
use homing_core::record::{OutboxRecord, Record, TaskRecord};
use homing_core::task::Task;
use homing_core::words::{Code, DeliveryState, State};

use crate::engine::{Batch, Memory};
use crate::figures::{Cell, Figures, Per, Standing, Step, Word, micros};

/// See the module.
#[derive(Debug)]
pub(crate) struct Tally {
    figures: Arc<Figures>,
    tasks: BTreeMap<TaskId, Counted>,
    debriefs: BTreeMap<DebriefId, Standing>,
    posts: BTreeMap<PostId, Standing>,
}

/// What a task adds to the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counted {
    /// Living, in this state.
    state: Option<State>,
    asks: u8,
    notices: [u8; DeliveryState::ALL.len()],
}

impl Counted {
    fn of(task: &Task) -> Self {
        let mut notices = [0_u8; DeliveryState::ALL.len()];
        for notice in &task.notices {
            let count = &mut notices[notice.state.place()];
            *count = count.saturating_add(1);
        }
        let asks = u8::try_from(task.open_asks().count()).unwrap_or(u8::MAX);
        Self { state: task.is_living().then_some(task.state), asks, notices }
    }

    fn each(self, figures: &Figures, count: impl Fn(&Cell, u64)) {
        if let Some(state) = self.state {
            count(figures.tasks.of(state), 1);
        }
        for (state, notices) in DeliveryState::ALL.iter().zip(self.notices) {
            count(figures.notices.of(*state), u64::from(notices));
        }
        count(&figures.asks_open, u64::from(self.asks));
    }
}

fn of_debrief(debrief: &Debrief) -> Option<Standing> {
    if debrief.is_resting() {
        return (!debrief.state.is_over()).then_some(Standing::Resting);
    }
    standing(debrief.state)
}

fn of_post(post: &Post) -> Option<Standing> {
    standing(post.state)
}

fn standing(state: DeliveryState) -> Option<Standing> {
    match state {
        DeliveryState::Owed | DeliveryState::Sealed => Some(Standing::Sealed),
        DeliveryState::Sent => Some(Standing::Sent),
        DeliveryState::Accepted => Some(Standing::Accepted),
        DeliveryState::Undeliverable => Some(Standing::Resting),
        DeliveryState::Settled | DeliveryState::Withdrawn => None,
    }
}

impl Tally {
    pub(crate) fn new(figures: Arc<Figures>, memory: &Memory) -> Self {
        let (tasks, debriefs, posts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut tally = Self { figures, tasks, debriefs, posts };
        tally.fill(memory);
        tally
    }

    /// Memory was read anew: so is this. What was counted stays counted.
    pub(crate) fn refill(&mut self, memory: &Memory) {
        self.figures.rebuilds.add(1);
        for counted in std::mem::take(&mut self.tasks).into_values() {
            counted.each(&self.figures, Cell::take);
        }
        for standing in std::mem::take(&mut self.debriefs).into_values() {
            self.figures.debriefs.of(standing).take(1);
        }
        for standing in std::mem::take(&mut self.posts).into_values() {
            self.figures.posts.of(standing).take(1);
        }
        self.fill(memory);
    }

    fn fill(&mut self, memory: &Memory) {
        memory.tasks.iter().for_each(|task| self.task(task));
        memory.debriefs.iter().for_each(|debrief| self.debrief(debrief));
        memory.posts.iter().for_each(|post| self.post(post));
    }

    pub(crate) fn committed(&mut self, batch: &Batch, lasted: Duration) {
        self.figures.commits.add(1);
        self.figures.commit_micros.add(micros(lasted));
        self.figures.group_lines.add(batch.written.len() as u64);
        for written in &batch.written {
            match &written.record {
                Record::Task(_, record) => self.line(record),
                Record::Outbox(record) => self.outbox_line(record),
            }
        }
        batch.tasks.iter().for_each(|task| self.task(task));
        batch.debriefs.iter().for_each(|debrief| self.debrief(debrief));
        batch.posts.iter().for_each(|post| self.post(post));
    }

    pub(crate) fn failed(&self) {
        self.figures.commits_failed.add(1);
    }

    fn line(&self, record: &TaskRecord) {
        if let TaskRecord::AttemptOpened { .. } = record {
            self.figures.attempts.add(1);
        }
        if let TaskRecord::Moved { to, cause: Some(cause), .. } = record
            && let Some((_, ended)) = self.figures.ended.iter().find(|(state, _)| state == to)
        {
            ended.of(*cause).add(1);
        }
    }

    fn outbox_line(&self, record: &OutboxRecord) {
        let (steps, step) = match record {
            OutboxRecord::Sealed { .. } => (&self.figures.debrief_steps, Some(Step::Sealed)),
            OutboxRecord::DebriefMoved { to, code, .. } => {
                (&self.figures.debrief_steps, step(*to, *code))
            }
            // Counted when it is settled.
            OutboxRecord::DebriefAnswered { .. } => return,
            OutboxRecord::DebriefAgain { waits, .. } => {
                (&self.figures.debrief_steps, (!waits).then_some(Step::Again))
            }
            OutboxRecord::PostSealed { .. } => (&self.figures.post_steps, Some(Step::Sealed)),
            OutboxRecord::PostMoved { to, code, .. } => {
                (&self.figures.post_steps, step(*to, *code))
            }
            OutboxRecord::PostAgain { .. } => (&self.figures.post_steps, Some(Step::Again)),
        };
        if let Some(step) = step {
            steps.of(step).add(1);
        }
    }

    fn task(&mut self, task: &Task) {
        let now = Counted::of(task);
        let before = self.tasks.get(&task.id).copied().unwrap_or_default();
        if now == before {
            return;
        }
        now.each(&self.figures, Cell::add);
        before.each(&self.figures, Cell::take);
        if now == Counted::default() {
            self.tasks.remove(&task.id);
        } else {
            self.tasks.insert(task.id, now);
        }
    }

    fn debrief(&mut self, debrief: &Debrief) {
        let now = of_debrief(debrief);
        moved(&mut self.debriefs, debrief.id, now, &self.figures.debriefs);
    }

    fn post(&mut self, post: &Post) {
        moved(&mut self.posts, post.id, of_post(post), &self.figures.posts);
    }
}

fn moved<K: Ord>(
    book: &mut BTreeMap<K, Standing>,
    key: K,
    now: Option<Standing>,
    figures: &Per<Standing>,
) {
    let before = match now {
        Some(now) => {
            figures.of(now).add(1);
            book.insert(key, now)
        }
        None => book.remove(&key),
    };
    if let Some(before) = before {
        figures.of(before).take(1);
    }
}

/// A step that people count; a send and its time have figures of their own.
fn step(to: DeliveryState, code: Option<Code>) -> Option<Step> {
    if code == Some(Code::HandshakeFailed) {
        return Some(Step::Unanswered);
    }
    match to {
        DeliveryState::Settled => Some(Step::Settled),
        DeliveryState::Withdrawn => Some(Step::Withdrawn),
        DeliveryState::Undeliverable => Some(Step::Undeliverable),
        DeliveryState::Owed
        | DeliveryState::Sealed
        | DeliveryState::Sent
        | DeliveryState::Accepted => None,
    }
}
