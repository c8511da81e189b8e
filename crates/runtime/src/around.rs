//! What memory alone knows around a task: what is due, the slots of its key, its place in line, how its parent
//! stands. A picture for `why`; decides nothing.

use homing_core::ids::TaskId;
use homing_core::task::{Notice, Task};
use homing_core::words::State;
use homing_core::world::{At, ParentTurn, Timer, Who, World};

/// See the module. As memory has it, perhaps a commit ahead of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    pub state: State,
    /// Every timer that runs for it, or for what is owed about it.
    pub due: Vec<(Timer, At)>,
    pub slots: Slots,
    /// Living tasks below it, nearest first.
    pub below: Vec<TaskId>,
    /// Results of tasks below that it has not taken.
    pub untaken: u32,
    /// When memory last heard of its host, on the ledger's clock; 0: not since it is in memory.
    pub heard: u64,
    /// How the one who is owed something about it stands.
    pub told: Option<Told>,
}

/// The slots that its turns count against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Slots {
    /// 0: no limit.
    pub limit: u32,
    pub held: u32,
    pub lent: u32,
    /// More runs than the limit allows.
    pub debt: u32,
    /// Tasks that get a slot before it.
    pub ahead: usize,
    /// Its own slot is lent.
    pub lends: bool,
}

/// A parent that is owed something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub turn: ParentTurn,
    pub gone: bool,
    /// Tasks of the same batch that live.
    pub batch_living: u32,
    /// Another debrief is on its way to it.
    pub flight: bool,
    pub person_waits: u32,
}

impl Around {
    /// None when the task is not in memory: it has ended, and nothing is owed about it.
    pub fn of(world: &World, id: TaskId) -> Option<Self> {
        let task = world.task(id)?;
        let mut due = world.deadlines(&Who::Task(id));
        let notice = task.notices.last().filter(|_| !task.is_living());
        if let Some(notice) = notice {
            due.extend(world.deadlines(&Who::Parent(Box::new(notice.to.clone()))));
            due.extend(notice.debrief.iter().flat_map(|id| world.deadlines(&Who::Debrief(*id))));
        }
        Some(Self {
            state: task.state,
            due,
            slots: slots(world, task),
            below: world.living_below(id),
            untaken: world.untaken(id),
            heard: task.live.answered.max(task.live.active),
            told: notice.and_then(|notice| told(world, task, notice)),
        })
    }
}

fn slots(world: &World, task: &Task) -> Slots {
    let limit = world.limit_of(task);
    let Some(key) = world.key(&task.key) else {
        return Slots { limit, ..Slots::default() };
    };
    let before = key.queue.values().position(|id| *id == task.id).unwrap_or(0);
    Slots {
        limit,
        held: key.held,
        lent: key.lent,
        debt: key.debt(limit),
        ahead: before + key.retake.len(),
        lends: task.live.lent,
    }
}

fn told(world: &World, task: &Task, notice: &Notice) -> Option<Told> {
    let parent = world.parent(&notice.to)?;
    let batch = (notice.batch.clone(), task.brief.origin.clone());
    Some(Told {
        turn: parent.turn.clone(),
        gone: parent.gone,
        batch_living: parent.batches.get(&batch).map_or(0, |batch| batch.living),
        flight: parent.flight.is_some() && parent.flight != notice.debrief,
        person_waits: parent.person_waits,
    })
}
