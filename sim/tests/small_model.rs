//! Every interleaving of a small world, up to a depth: two tasks, one slot, one crash. The engine is the
//! runtime's own; time stands still. Built with optimisation alone: `./check` runs it so.

#![cfg(not(debug_assertions))]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test says what it expects"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use homing_core::effect::Effect;
use homing_core::fact::{End, Fact, Fence, Finish};
use homing_core::ids::TaskId;
use homing_core::input::{Input, Receipt};
use homing_core::limits::Limits;
use homing_core::payload::{Digest, Payload};
use homing_core::reply::Told;
use homing_core::spec::{Brief, Budget, Caps, Order, Overrides, Spec};
use homing_core::time::Moment;
use homing_core::words::{Notify, Phase, State};
use homing_runtime::engine::{Batch, Engine};
use homing_sim::store::Store;
use stateright::{Checker, Model, Property};

const TASKS: [TaskId; 2] = [TaskId::from_bits(1), TaskId::from_bits(2)];
const NOW: Moment = Moment { tick: 100, wall: 1_700_000_000_000, dice: 7 };

/// What can happen next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Action {
    Launch(usize),
    Cancel,
    Commit,
    Perform(usize),
    Deliver(usize),
    /// The turn of a task ends at the host.
    Finish(TaskId),
    Ack(usize),
    Crash {
        applied: bool,
    },
    Restart,
}

/// A session at the host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Session {
    opened: u32,
    /// Turns begun, and whether the last one ended.
    turns: BTreeSet<u32>,
    ended: bool,
    aborted: bool,
}

/// All there is.
#[derive(Debug, Clone, Default)]
struct World {
    engine: Option<Engine>,
    store: Store,
    flying: Option<Batch>,
    effects: Vec<Effect>,
    /// What is on its way to the engine, in order of sending; delivered in any order.
    mail: Vec<(Input, Option<homing_core::effect::EffectKey>)>,
    host: BTreeMap<(TaskId, u32), Session>,
    launched: [bool; 2],
    promised: BTreeSet<TaskId>,
    cancelled: bool,
    cancel_said: bool,
    acked: [u32; 2],
    crashes: u32,
}

impl World {
    fn print(&self) -> String {
        let live = self.engine.as_ref().map(|engine| {
            let tasks: Vec<_> =
                TASKS.iter().filter_map(|id| engine.world().task(*id)).map(row).collect();
            (tasks, engine.has_open(), engine.open_lines())
        });
        let stored: Vec<_> = self.store.tasks.values().map(row).collect();
        let flying = self.flying.as_ref().map(|batch| batch.written.len());
        let debriefs: Vec<_> =
            self.store.debriefs.values().map(|debrief| (debrief.id, debrief.state)).collect();
        format!(
            "{live:?}|{stored:?}|{flying:?}|{debriefs:?}|{:?}|{:?}|{:?}|{:?}|{:?}|{}|{}|{:?}|{}",
            self.effects,
            self.mail,
            self.host,
            self.launched,
            self.promised,
            self.cancelled,
            self.cancel_said,
            self.acked,
            self.crashes
        )
    }

    fn settle(&mut self) {
        loop {
            let Some(engine) = &mut self.engine else {
                return;
            };
            if self.flying.is_none() && engine.has_open() {
                self.flying = engine.close();
            }
            let Some(engine) = &mut self.engine else {
                return;
            };
            let Some(release) = engine.release() else {
                return;
            };
            self.effects.extend(release.effects);
            for reply in release.replies {
                match reply.answer {
                    Told::Accepted { task, .. } => drop(self.promised.insert(task)),
                    Told::Cancelling { .. } => self.cancel_said = true,
                    _ => {}
                }
            }
        }
    }

    fn running(&self) -> usize {
        self.host
            .values()
            .filter(|session| !session.turns.is_empty() && !session.ended && !session.aborted)
            .count()
    }
}

type Row = (TaskId, State, u32, Option<bool>, u32, Phase, usize, usize, bool);

fn row(task: &homing_core::task::Task) -> Row {
    let turn = (task.turn.n, task.turn.phase);
    (
        task.id,
        task.state,
        task.attempt,
        task.session.as_ref().map(|_| true),
        turn.0,
        turn.1,
        task.notices.len(),
        task.telemetry.len(),
        task.live.probe.is_some(),
    )
}

impl Hash for World {
    fn hash<H: Hasher>(&self, to: &mut H) {
        self.print().hash(to);
    }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.print() == other.print()
    }
}

impl Eq for World {}

fn spec(n: usize) -> Box<Spec> {
    Box::new(Spec {
        brief: Brief {
            host: "agent".into(),
            agent: None,
            name: None,
            models: [].into(),
            origin: None,
            notify: Notify::Inbox,
            key: None,
            request: Digest::of(&[n as u8]),
            priority: 0,
            budget: Budget::default().into(),
            over: Overrides::default().into(),
            caps: Caps { prompts: true, goes_on: true },
            parent_turn: None,
            batch: None,
        },
        order: Order { prompt: "do it".to_owned(), ..Order::default() },
        parent: "inbox:bot".parse().unwrap(),
        launched_by: None,
        after: Vec::new(),
    })
}

struct Small;

impl Small {
    fn perform(world: &mut World, effect: Effect) {
        let key = effect.key();
        let mut tell = |task, fence, fact| {
            world.mail.push((Input::Observed { task, fence, fact }, Some(key.clone())))
        };
        match effect {
            Effect::Open { task, attempt, .. } => {
                let session = world.host.entry((task, attempt)).or_default();
                session.opened = session.opened.max(1);
                tell(
                    task,
                    Fence { attempt, turn: 0 },
                    Fact::SessionMade { session: format!("s-{attempt}").into() },
                );
            }
            Effect::Prompt { task, attempt, turn, .. } => {
                let session = world.host.entry((task, attempt)).or_default();
                session.turns.insert(turn);
                tell(task, Fence { attempt, turn }, Fact::PromptTaken);
            }
            Effect::Look { task, attempt, turn, .. } => {
                let session = world.host.entry((task, attempt)).or_default();
                let picture = homing_sim::host::plain_picture(
                    session.turns.contains(&turn),
                    session.ended.then(good_end),
                );
                tell(task, Fence { attempt, turn }, Fact::Looked { picture });
            }
            Effect::Abort { task, attempt, .. } => {
                if let Some(session) = world.host.get_mut(&(task, attempt)) {
                    session.aborted = true;
                }
                tell(task, Fence { attempt, turn: 0 }, Fact::Stopped);
            }
            Effect::Emit { task, generation } => {
                world.mail.push((Input::TelemetryTaken { task, generation }, Some(key)));
            }
            Effect::Watch { .. } | Effect::Unwatch { .. } => {}
            Effect::Load { task } => {
                let (found, head) = (world.store.tasks.get(&task).cloned(), world.store.head());
                if let Some(engine) = &mut world.engine {
                    engine.loaded(task, found.map(Box::new), head, NOW);
                }
            }
            other => panic!("not in this small world: {other:?}"),
        }
    }
}

fn good_end() -> End {
    End { finish: Finish::Stop, error: None, text: Some(Payload::from("done")), tools_ran: false }
}

impl Model for Small {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        let limits = Limits { default: 1, ..Limits::default() };
        vec![World {
            engine: Some(Engine::start(Store::default().memory(), limits, NOW)),
            ..World::default()
        }]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let up = world.engine.is_some();
        actions.extend((0..2).filter(|n| up && !world.launched[*n]).map(Action::Launch));
        if up && world.promised.contains(&TASKS[0]) && !world.cancelled {
            actions.push(Action::Cancel);
        }
        if world.flying.is_some() {
            actions.push(Action::Commit);
        }
        // Effects are performed, and heard of, in the order of their release.
        actions.extend((0..world.effects.len().min(1)).map(Action::Perform));
        actions.extend((0..world.mail.len().min(1)).filter(|_| up).map(Action::Deliver));
        for ((task, _), session) in &world.host {
            if !session.turns.is_empty() && !session.ended && !session.aborted {
                actions.push(Action::Finish(*task));
            }
        }
        actions.extend((0..2).filter(|n| up && owes(world, *n)).map(Action::Ack));
        if up && world.crashes == 0 && !world.promised.is_empty() {
            actions.push(Action::Crash { applied: false });
            if world.flying.is_some() {
                actions.push(Action::Crash { applied: true });
            }
        }
        if !up {
            actions.push(Action::Restart);
        }
    }

    fn next_state(&self, before: &World, action: Action) -> Option<World> {
        let mut world = before.clone();
        match action {
            Action::Launch(n) => {
                world.launched[n] = true;
                let input = Input::Launch {
                    request: n as u64 + 1,
                    id: TASKS[n],
                    spec: spec(n),
                    reservation: None,
                };
                world.engine.as_mut()?.take(input, NOW);
            }
            Action::Cancel => {
                world.cancelled = true;
                let by = homing_core::reason::Caller::Person;
                let input =
                    Input::Cancel { request: 9, task: TASKS[0], by, text: None, quiet: false };
                world.engine.as_mut()?.take(input, NOW);
            }
            Action::Commit => {
                let batch = world.flying.take()?;
                world.store.apply(&batch);
                world.engine.as_mut()?.committed(batch.no);
            }
            Action::Perform(n) => {
                let effect = world.effects.remove(n);
                Self::perform(&mut world, effect);
            }
            Action::Deliver(n) => {
                let (input, key) = world.mail.remove(n);
                let engine = world.engine.as_mut()?;
                engine.take(input, NOW);
                if let Some(key) = key {
                    engine.flew(&key, true, NOW);
                }
            }
            Action::Finish(task) => {
                let ((_, attempt), session) =
                    world.host.iter_mut().find(|((id, _), session)| {
                        *id == task
                            && !session.turns.is_empty()
                            && !session.ended
                            && !session.aborted
                    })?;
                session.ended = true;
                let fence = Fence { attempt: *attempt, turn: *session.turns.last()? };
                if world.engine.is_some() {
                    world.mail.push((
                        Input::Observed { task, fence, fact: Fact::Ended { end: good_end() } },
                        None,
                    ));
                }
            }
            Action::Ack(n) => {
                world.acked[n] += 1;
                let receipt = Receipt::Notice { task: TASKS[n], generation: 1 };
                world.engine.as_mut()?.take(Input::Ack { request: 20 + n as u64, receipt }, NOW);
            }
            Action::Crash { applied } => {
                world.crashes += 1;
                if let Some(batch) = world.flying.take().filter(|_| applied) {
                    world.store.apply(&batch);
                }
                world.engine = None;
                world.effects.clear();
                world.mail.clear();
                for (n, id) in TASKS.iter().enumerate() {
                    world.launched[n] &= world.store.tasks.contains_key(id);
                    let told = world.acked[n] > 0 && !owes(&world, n) && ended(&world, n);
                    world.acked[n] = u32::from(told);
                }
            }
            Action::Restart => {
                let limits = Limits { default: 1, ..Limits::default() };
                world.engine = Some(Engine::start(world.store.memory(), limits, NOW));
            }
        }
        world.settle();
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a promised task is durable", |_, world: &World| {
                world.promised.iter().all(|id| world.store.tasks.contains_key(id))
            }),
            Property::always("one slot: one turn at the host", |_, world: &World| {
                world.running() <= 1
            }),
            Property::always("completed only when the host shows it", |_, world: &World| {
                world.store.tasks.values().filter(|task| task.state == State::Completed).all(
                    |task| {
                        world
                            .host
                            .get(&(task.id, task.attempt))
                            .is_some_and(|session| session.ended)
                    },
                )
            }),
            Property::always("nothing runs that has ended", |_, world: &World| {
                world.store.tasks.values().filter(|task| !task.is_living()).all(|task| {
                    world.host.iter().all(|((id, _), session)| {
                        *id != task.id
                            || session.turns.is_empty()
                            || session.ended
                            || session.aborted
                    })
                })
            }),
            Property::always("an acknowledged cancel is not lost", |_, world: &World| {
                !world.cancel_said
                    || world
                        .store
                        .tasks
                        .get(&TASKS[0])
                        .is_none_or(|task| task.state != State::Completed)
            }),
        ]
    }
}

fn ended(world: &World, n: usize) -> bool {
    world.store.tasks.get(&TASKS[n]).is_some_and(|task| !task.is_living())
}

fn owes(world: &World, n: usize) -> bool {
    world.store.tasks.get(&TASKS[n]).is_some_and(|task| !task.notices.is_empty())
}

/// Steps from the start that every path is followed: both tasks end, a crash and its recovery included.
const DEPTH: usize = 36;

#[test]
fn every_interleaving_of_two_tasks_one_slot_and_one_crash_keeps_the_promises() {
    let checker = Small.checker().threads(2).target_max_depth(DEPTH).spawn_bfs().join();
    println!(
        "{} states, {} of them unique, depth {}",
        checker.state_count(),
        checker.unique_state_count(),
        checker.max_depth()
    );
    checker.assert_no_discovery("a promised task is durable");
    checker.assert_no_discovery("one slot: one turn at the host");
    checker.assert_no_discovery("completed only when the host shows it");
    checker.assert_no_discovery("nothing runs that has ended");
    checker.assert_no_discovery("an acknowledged cancel is not lost");
}
