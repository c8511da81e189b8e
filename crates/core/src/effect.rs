//! Owns what is done in the world, and the rule by which it follows from what is stored: an effect is
//! wanted as long as the stored state wants it. So a restart is "derive effects again".

use std::sync::Arc;

use crate::bugs::{Bug, active};
use crate::ids::{AskId, DebriefId, PostId, TaskId};
use crate::outbox::{Debrief, Post};
use crate::refs::{Origin, ParentRef};
use crate::task::{Answer, AskState, BatchId, Task};
use crate::words::{DeliveryState, Phase, State};
use crate::world::{Ready, World};

/// The stable name of an effect: one in flight per name, across rebuilds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectKey {
    Open(TaskId, u32),
    Prompt(TaskId, u32, u32),
    Watch(TaskId, u32),
    Look(TaskId, u32),
    Abort(TaskId, u32),
    Answer(TaskId, AskId),
    Say(TaskId, u32, u32),
    Compose(Box<ParentRef>),
    LookParent(Box<ParentRef>),
    Deliver(DebriefId),
    Post(PostId),
    Emit(TaskId, u32),
    Load(TaskId),
}

/// One thing to do, with what it takes to do it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Make a session that carries the task's marker; look for the marker first.
    Open {
        task: TaskId,
        attempt: u32,
        turn: u32,
        host: Arc<str>,
        model: u8,
    },
    /// Send the prompt of a turn, under a host id that derives from task, attempt and turn.
    Prompt {
        task: TaskId,
        attempt: u32,
        turn: u32,
        host: Arc<str>,
        session: Arc<str>,
    },
    /// Report what happens in the session until it is no longer wanted.
    Watch {
        task: TaskId,
        attempt: u32,
        host: Arc<str>,
        session: Arc<str>,
    },
    Unwatch {
        task: TaskId,
        attempt: u32,
        host: Arc<str>,
    },
    /// Read the host's records of the session now.
    Look {
        task: TaskId,
        attempt: u32,
        turn: u32,
        host: Arc<str>,
        session: Option<Arc<str>>,
    },
    /// End everything of an attempt. Without a session: find it by its marker first.
    Abort {
        task: TaskId,
        attempt: u32,
        host: Arc<str>,
        session: Option<Arc<str>>,
    },
    Answer {
        ask: AskId,
        task: TaskId,
        attempt: u32,
        host: Arc<str>,
        session: Option<Arc<str>>,
        key: Arc<str>,
        answer: Answer,
    },
    /// Give the words of a send to a child whose turn goes on; the same number twice is once.
    Say {
        task: TaskId,
        attempt: u32,
        n: u32,
        /// Nothing comes after it.
        last: bool,
        host: Arc<str>,
        session: Arc<str>,
    },
    /// Put the text of the next debrief together from the store.
    Compose {
        parent: ParentRef,
        id: DebriefId,
        batch: Box<(BatchId, Option<Origin>)>,
        notices: Vec<(TaskId, u32)>,
        running: Vec<TaskId>,
    },
    LookParent {
        parent: ParentRef,
    },
    /// Bring a sealed debrief to its parent; after the first try, ask first whether it has the key.
    Deliver {
        debrief: DebriefId,
        parent: ParentRef,
        tries: u32,
    },
    Post {
        post: PostId,
        origin: Origin,
        tries: u32,
    },
    /// Give a generation's completion record to telemetry.
    Emit {
        task: TaskId,
        generation: u32,
    },
    /// Read a task that is not in memory.
    Load {
        task: TaskId,
    },
}

impl Effect {
    pub fn key(&self) -> EffectKey {
        match self {
            Self::Open { task, attempt, .. } => EffectKey::Open(*task, *attempt),
            Self::Prompt { task, attempt, turn, .. } => EffectKey::Prompt(*task, *attempt, *turn),
            Self::Watch { task, attempt, .. } | Self::Unwatch { task, attempt, .. } => {
                EffectKey::Watch(*task, *attempt)
            }
            Self::Look { task, attempt, .. } => EffectKey::Look(*task, *attempt),
            Self::Abort { task, attempt, .. } => EffectKey::Abort(*task, *attempt),
            Self::Answer { ask, task, .. } => EffectKey::Answer(*task, *ask),
            Self::Say { task, attempt, n, .. } => EffectKey::Say(*task, *attempt, *n),
            Self::Compose { parent, .. } => EffectKey::Compose(Box::new(parent.clone())),
            Self::LookParent { parent } => EffectKey::LookParent(Box::new(parent.clone())),
            Self::Deliver { debrief, .. } => EffectKey::Deliver(*debrief),
            Self::Post { post, .. } => EffectKey::Post(*post),
            Self::Emit { task, generation } => EffectKey::Emit(*task, *generation),
            Self::Load { task } => EffectKey::Load(*task),
        }
    }
}

/// What a task wants done now.
pub fn task_wants(task: &Task, out: &mut Vec<Effect>) {
    let host = || Arc::clone(&task.brief.host);
    let (id, attempt) = (task.id, task.attempt);
    match (&task.session, task.state) {
        (None, State::Starting) if task.orphans.is_empty() => {
            out.push(Effect::Open {
                task: id,
                attempt,
                turn: task.turn.n,
                host: host(),
                model: task.model,
            });
        }
        (Some(session), State::Starting | State::Running) if task.turn.phase == Phase::Unsent => {
            let session = Arc::clone(session);
            out.push(Effect::Prompt {
                task: id,
                attempt,
                turn: task.turn.n,
                host: host(),
                session,
            });
        }
        (None | Some(_), _) => {}
    }
    if let Some(session) = &task.session
        && (task.state.holds_slot() || task.state == State::WaitingChildren)
        && task.evidence.exit.is_none()
    {
        out.push(Effect::Watch { task: id, attempt, host: host(), session: Arc::clone(session) });
    }
    let backwards = active(Bug::WordsBackwards);
    let next = if backwards { task.sends.last() } else { task.sends.first() };
    if let (Some(session), Some(n)) = (&task.session, next)
        && task.brief.caps.words
        && task.turn.phase == Phase::Taken
        && matches!(task.state, State::Running | State::WaitingAsk | State::WaitingChildren)
        && !task.evidence.is_over()
    {
        let (session, last) = (Arc::clone(session), task.last_send == Some(*n));
        out.push(Effect::Say { task: id, attempt, n: *n, last, host: host(), session });
    }
    if task.live.probe.is_some() && !active(Bug::NeverLooks) {
        let session = task.session.clone();
        out.push(Effect::Look { task: id, attempt, turn: task.turn.n, host: host(), session });
    }
    if task.state == State::Stopping {
        out.push(Effect::Abort { task: id, attempt, host: host(), session: task.session.clone() });
    }
    for orphan in &task.orphans {
        let session = orphan.session.clone();
        out.push(Effect::Abort { task: id, attempt: orphan.attempt, host: host(), session });
    }
    for ask in &task.asks {
        if let (AskState::Answered | AskState::Expired, Some(answer)) = (ask.state, &ask.answer) {
            out.push(Effect::Answer {
                ask: ask.id,
                task: id,
                attempt,
                host: host(),
                session: task.session.clone(),
                key: Arc::clone(&ask.seen.key),
                answer: answer.clone(),
            });
        }
    }
    for generation in &task.telemetry {
        out.push(Effect::Emit { task: id, generation: *generation });
    }
}

/// What a sealed debrief wants done now. A task and a conversation take theirs as turns of their own.
pub fn debrief_wants(debrief: &Debrief, world: &World, out: &mut Vec<Effect>) {
    let pushed = debrief.parent.is_pushed_to();
    let goes = pushed && debrief.is_to_be_sent() && world.ready(&debrief.parent) == Ready::Yes;
    // What a conversation answered is read, and brought to its room.
    if goes || debrief.answer.is_some() {
        let parent = debrief.parent.clone();
        out.push(Effect::Deliver { debrief: debrief.id, parent, tries: debrief.tries });
    }
}

/// What a post wants done now: the first of its room alone.
pub fn post_wants(post: &Post, world: &World, out: &mut Vec<Effect>) {
    let wanted =
        matches!(post.state, DeliveryState::Sealed | DeliveryState::Sent) && post.next == 0;
    if wanted && world.first_in_room(post) == Some(post.id) {
        out.push(Effect::Post { post: post.id, origin: post.origin.clone(), tries: post.tries });
    }
}

/// What a parent wants done now: its next debrief composed, or to be asked whether it is between turns.
pub fn parent_wants(who: &ParentRef, world: &World, now: u64, out: &mut Vec<Effect>) {
    let Some(parent) = world.parent(who) else {
        return;
    };
    if parent.gone {
        return;
    }
    let due = match parent.flight.and_then(|id| world.debrief(id)) {
        // One that was seen and not answered waits for the parent's turn to end: that is to be known.
        Some(debrief) if !debrief.is_to_be_sent() && debrief.state != DeliveryState::Accepted => {
            return;
        }
        Some(_) => None,
        None => match parent.due(now, world.limits.batch_ms) {
            Some(due) => Some(due),
            None => return,
        },
    };
    match (world.ready(who), due) {
        (Ready::Ask, _) if parent.look_next == 0 => {
            out.push(Effect::LookParent { parent: who.clone() })
        }
        (Ready::No | Ready::Ask, _) | (Ready::Yes, None) => {}
        (Ready::Yes, Some((batch, notices))) => {
            let running = parent.living.iter().copied().take(RUNNING_NAMED).collect();
            let id = debrief_id(who, &notices, world);
            let (parent, batch) = (who.clone(), Box::new(batch));
            out.push(Effect::Compose { parent, id, batch, notices, running });
        }
    }
}

/// A debrief names at most this many tasks that still run.
const RUNNING_NAMED: usize = 20;

/// The same notices sealed for the same parent for the same time have the same id.
fn debrief_id(who: &ParentRef, notices: &[(TaskId, u32)], world: &World) -> DebriefId {
    let mut text = who.to_string();
    for (task, generation) in notices {
        let seals =
            world.task(*task).and_then(|t| t.notice(*generation)).map_or(0, |notice| notice.seals);
        text.push_str(&format!("|{task}.{generation}.{seals}"));
    }
    let digest = crate::payload::Digest::of(text.as_bytes()).0;
    DebriefId::from_bits(u64::from_be_bytes([
        digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7],
    ]))
}
