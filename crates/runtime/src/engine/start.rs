//! Start and rebuild: the World from what the store holds, and effects derived again from it.

use homing_core::bugs::{Bug, active};
use homing_core::fact::Fact;
use homing_core::ids::TaskId;
use homing_core::input::{Input, Then};
use homing_core::limits::Limits;
use homing_core::outbox::{Debrief, Post};
use homing_core::payload::Digest;
use homing_core::reply::{Reply, Told};
use homing_core::step::Touched;
use homing_core::task::Task;
use homing_core::time::Moment;
use homing_core::words::{Phase, State};
use homing_core::world::World;

use super::{Engine, Held, Release};

const DERIVED_AT_ONCE: usize = 500;

/// What a start reads from the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    pub tasks: Vec<Box<Task>>,
    pub debriefs: Vec<Debrief>,
    pub posts: Vec<Post>,
    pub keys: Vec<(Digest, TaskId)>,
    pub head: u64,
    /// The machine was started anew since: what ran on it does so no more.
    pub rebooted: bool,
}

impl Engine {
    /// An engine on what the store holds. Whatever was under way before is found out again.
    pub fn start(memory: Memory, limits: Limits, now: Moment) -> Self {
        let mut engine = Self::default();
        engine.fill(memory, limits, now);
        engine
    }

    /// A restart in place, after a commit that failed or whose result is not known: memory is what the
    /// store holds; whoever waits for a reply hears what `told` says, at once.
    pub fn rebuild(&mut self, memory: Memory, told: &Told, now: Moment) {
        let limits = (*self.world.limits).clone();
        self.open = super::Open::default();
        self.held.clear();
        self.parked.clear();
        self.flights.forget_pending();
        // What is being read may be older than what memory is made of now.
        self.evicted.clear();
        self.outdated = self.flights.loads().collect();
        let replies = self.let_go(told);
        self.next_no += 1;
        let release = Release { replies, head: memory.head, anew: true, ..Release::default() };
        self.held.push_back(Held { no: self.next_no, durable: true, release });
        self.fill(memory, limits, now);
    }

    /// Whoever waits for a reply hears this instead: what was decided for them is worth nothing.
    pub fn let_go(&mut self, told: &Told) -> Vec<Reply> {
        let waiting = std::mem::take(&mut self.asked);
        let reply = |request| Reply { request, answer: told.clone() };
        waiting.into_iter().map(reply).collect()
    }

    fn fill(&mut self, mut memory: Memory, limits: Limits, now: Moment) {
        let rebooted = memory.rebooted;
        let ids: Vec<TaskId> = memory.tasks.iter().map(|task| task.id).collect();
        for task in memory.tasks.iter_mut().filter(|task| is_to_be_asked(task)) {
            task.live.probe = Some(now.tick);
        }
        let mut touched = Touched::default();
        touched.debriefs.extend(memory.debriefs.iter().map(|debrief| debrief.id));
        touched.posts.extend(memory.posts.iter().map(|post| post.id));
        // A parent wants something only if a notice or a debrief is on its way to it.
        touched.parents.extend(memory.debriefs.iter().map(|debrief| debrief.parent.clone()));
        for notice in memory.tasks.iter().flat_map(|task| &task.notices) {
            touched.parents.insert(notice.to.clone());
        }
        self.world = World::restore(
            limits,
            memory.tasks,
            memory.debriefs,
            memory.posts,
            memory.keys,
            memory.head,
        );
        for id in &ids {
            self.recover(*id, rebooted, now);
        }
        let keys: Vec<_> = self.world.keys().map(|(name, _)| name.clone()).collect();
        for key in keys {
            self.run(Input::Then(Then::Pump { key, lender: None }), now);
        }
        // A watch and a look each, at most times; a list that grows leaves holes as large as itself.
        self.open.release.effects.reserve(2 * ids.len());
        // Not all at once: what is wanted of so many is large.
        for some in ids.chunks(DERIVED_AT_ONCE) {
            let tasks = some.iter().copied().collect();
            self.derive(&Touched { tasks, ..Touched::default() }, now);
        }
        self.derive(&touched, now);
    }

    /// What a restart changes about one task.
    fn recover(&mut self, id: TaskId, rebooted: bool, now: Moment) {
        let Some(task) = self.world.task(id) else {
            return;
        };
        let unseen = task.state == State::Starting && task.session.is_none();
        if unseen && rebooted && task.brief.caps.plain {
            // The claim that it may have left did not survive, either: it is not started a second time.
            let why = "the machine was started anew while it was being started".into();
            let fence = task.fence();
            self.run(Input::Observed { task: id, fence, fact: Fact::Interrupted { why } }, now);
        } else if is_perhaps_sent(task) {
            let why = "a restart came between".into();
            let fence = task.fence();
            self.run(Input::Observed { task: id, fence, fact: Fact::PromptUnsure { why } }, now);
        } else if !task.is_living() {
            self.run(Input::Then(Then::Evict(id)), now);
        }
    }
}

/// The prompt may be with the host already: nobody wrote down that it was sent.
fn is_perhaps_sent(task: &Task) -> bool {
    matches!(task.state, State::Starting | State::Running)
        && task.session.is_some()
        && match task.turn.phase {
            Phase::Unsent => true,
            Phase::Unsure => active(Bug::RecoversAgain),
            Phase::Taken | Phase::Ended => false,
        }
}

/// What happened in its session meanwhile is not known: the host is asked.
fn is_to_be_asked(task: &Task) -> bool {
    let live = task.state.holds_slot() || task.state == State::WaitingChildren;
    live && task.session.is_some()
        && task.evidence.exit.is_none()
        && task.state != State::Stopping
        && !is_perhaps_sent(task)
}
