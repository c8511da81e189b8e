//! Many seeded walks: whatever hosts, people and clocks do, rows stay folds, counts count, limits hold,
//! and in the end everything ends. What each step must keep true is checked by the stage itself.

mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use homing_core::fact::{
    AskKind, End, ErrorClass, Fact, Finish, HostError, Picture, Presence, TurnRecord,
};
use homing_core::ids::TaskId;
use homing_core::limits::Limits;
use homing_core::reason::Caller;
use homing_core::rules::Event;
use homing_core::spec::{Budget, Overrides};
use homing_core::task::Answer;
use homing_core::time::mix;
use homing_core::words::{Notify, State, Tri};
use stage::host::{ask, bad, call, error, good, open_picture, spent};
use stage::launch::{Launch, by_model};
use stage::{HOUR, MINUTE, SECOND, Stage};

const WALKS: u64 = 60;
const STEPS: u64 = 120;
const LIMIT: u32 = 3;
const PARENTS: [&str; 3] = ["inbox:cli", "opencode:ses_p", "none"];

/// A seeded die.
struct Die(u64);

impl Die {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = mix(self.0);
        self.0 % n
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize].clone()
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

struct Walk {
    stage: Stage,
    die: Die,
    tasks: Vec<TaskId>,
    calls: u64,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let limits = Limits { default: LIMIT, living_max: 6, ..Limits::default() };
        Self { stage: Stage::with(limits), die: Die(seed), tasks: Vec::new(), calls: 0 }
    }

    fn step(&mut self) {
        let before = self.turns();
        let choice = self.die.below(20);
        match choice {
            0..=2 => self.launch(),
            3..=10 => self.host(),
            11 => self.door(),
            12 => drop(self.stage.compose()),
            13 => self.parent(),
            14 => self.time(),
            _ => self.obey(),
        }
        if choice != 14 {
            self.limits_hold(&before);
        }
    }

    fn any(&mut self) -> Option<TaskId> {
        (!self.tasks.is_empty()).then(|| self.die.of(&self.tasks))
    }

    fn launch(&mut self) {
        let models: &[&str] =
            self.die.of(&[&["p/a"][..], &["p/a", "p/b"], &["p/a", "p/a", "q/c"], &[]]);
        let mut launch: Launch = by_model(&format!("t{}", self.tasks.len()), models);
        if self.die.chance(20) {
            launch = launch.process();
        }
        if self.die.chance(20) {
            launch =
                launch.budget(Budget { tokens: Some(50), calls: Some(20), ..Budget::default() });
        }
        if self.die.chance(10) {
            launch = launch.over(Overrides { retry_interrupted: Some(1), ..Overrides::default() });
        }
        if self.die.chance(20) {
            launch = launch.notify(self.die.of(Notify::ALL));
        }
        launch = match self.any() {
            Some(above) if self.die.chance(50) => launch.by(above),
            Some(on) if self.die.chance(15) => launch.after(&[on]).parent(self.die.of(&PARENTS)),
            Some(_) | None => launch.parent(self.die.of(&PARENTS)),
        };
        let before = self.stage.journal.len();
        let told = self.stage.try_launch(launch);
        if let homing_core::reply::Told::Accepted { task, .. } = told {
            self.tasks.push(task);
        } else {
            assert_eq!(self.stage.journal.len(), before, "a refusal stores nothing: {told:?}");
        }
    }

    /// A host does something to any task, sensible or not.
    fn host(&mut self) {
        let Some(id) = self.any() else {
            return;
        };
        let fact = self.fact();
        let mut fence = self.stage.task(id).fence();
        if self.die.chance(10) {
            fence.attempt = fence.attempt.saturating_sub(1).max(1);
        }
        if self.die.chance(5) {
            fence.turn = 0;
        }
        self.stage.observe_at(id, fence, fact);
    }

    fn fact(&mut self) -> Fact {
        self.calls += 1;
        let failure = HostError {
            retry_after_ms: self.die.of(&[None, Some(SECOND)]),
            until_wall: self.die.of(&[None, Some(self.stage.now.wall + MINUTE as i64)]),
            ..error(self.die.of(ErrorClass::ALL))
        };
        let end = if self.die.chance(70) {
            End { finish: self.die.of(Finish::ALL), ..good("text") }
        } else {
            bad(failure.clone())
        };
        let facts = [
            Fact::SessionMade { session: format!("ses_{}", self.calls).into() },
            Fact::StartFailed { error: failure.clone() },
            Fact::PromptTaken,
            Fact::PromptTaken,
            Fact::PromptRefused { error: failure.clone() },
            Fact::PromptUnsure { why: "cut".into() },
            Fact::Active,
            Fact::ToolBegan { call: call(self.calls % 7, "bash", Some(self.calls % 2)) },
            Fact::ToolEnded { id: self.calls % 7 },
            spent(self.calls % 60, self.calls),
            Fact::AskOpened { ask: ask("k", AskKind::Permission) },
            Fact::AskClosed { key: "k".into() },
            Fact::Todos { open: (self.calls % 2) as u32 },
            Fact::Ended { end: end.clone() },
            Fact::EndHint,
            Fact::ErrorHint { error: failure.clone() },
            Fact::ProviderWait { error: failure },
            Fact::OddWord { word: "odd".into() },
            Fact::Busy,
            Fact::Looked { picture: self.picture(end) },
            Fact::LookFailed { why: "?".into() },
            Fact::Interrupted { why: "?".into() },
            Fact::SessionDeleted,
            Fact::Stopped,
            Fact::StopRefused { why: "?".into() },
        ];
        self.die.of(&facts)
    }

    fn picture(&mut self, end: End) -> Picture {
        Picture {
            turn: self.die.of(&[
                TurnRecord::Absent,
                TurnRecord::Open,
                TurnRecord::Ended(end),
                TurnRecord::Unreadable,
            ]),
            busy: self.die.of(Tri::ALL),
            asks: self.die.of(&[None, Some(Vec::new())]),
            session: self.die.of(Presence::ALL),
            same_host: self.die.of(Tri::ALL),
            ..open_picture()
        }
    }

    fn door(&mut self) {
        let Some(id) = self.any() else {
            return;
        };
        match self.die.below(9) {
            0 | 1 => drop(self.stage.cancel(id)),
            2 => drop(self.stage.resume(id, "more")),
            3 => drop(self.stage.retry(id)),
            4 => drop(self.stage.send(id, "words")),
            5 => drop(self.stage.read(id)),
            6 => {
                let by = self.any().map_or(Caller::Person, Caller::Task);
                self.stage.wait(id, MINUTE, by);
            }
            7 => {
                let open = self.stage.task(id).open_asks().next().map(|ask| ask.id);
                if let Some(ask) = open {
                    self.stage.answer_ask(ask, Answer::Deny, Caller::Person);
                }
            }
            _ => {
                let generation = self.stage.task(id).generation;
                self.stage.telemetry_taken(id, generation);
                self.stage.ack_notice(id, generation);
            }
        }
    }

    fn parent(&mut self) {
        match self.die.below(4) {
            0 => self.stage.turn_began("opencode:ses_p", "t1"),
            1 => self.stage.turn_ended("opencode:ses_p", "t1"),
            2 => self.stage.between_turns("opencode:ses_p"),
            _ => {
                if let Some(id) = self.stage.lease("inbox:cli") {
                    self.stage.ack_debrief(id);
                }
            }
        }
    }

    /// Time passes, and some hosts answer in time when they are asked or told to stop.
    fn time(&mut self) {
        let mut left = self.die.of(&[1, SECOND, 10 * SECOND, MINUTE, 10 * MINUTE, HOUR]);
        while left > 0 {
            let ms = left.min(5 * MINUTE);
            left -= ms;
            self.stage.advance(ms);
            for id in self.tasks.clone() {
                if self.stage.wants_look(id) && self.die.chance(50) {
                    self.stage.shows_nothing_new(id);
                }
                if self.stage.wants_abort(id) && self.die.chance(50) {
                    self.stage.stopped(id);
                }
            }
        }
    }

    /// A host that does what is wanted of it.
    fn obey(&mut self) {
        let Some(id) = self.any() else {
            return;
        };
        let known = self.stage.task(id);
        if self.stage.wants_open(id) {
            self.stage.session_made(id);
        } else if self.stage.wants_prompt(id) {
            self.stage.prompt_taken(id);
        } else if self.stage.wants_abort(id) {
            self.stage.stopped(id);
        } else if known.state == State::Running {
            self.stage.answer(id, "done");
        }
    }

    /// Turns that can call the model, per key; those that are being stopped apart.
    fn turns(&self) -> BTreeMap<Arc<str>, u32> {
        let mut turns = BTreeMap::new();
        for task in self.tasks.iter().filter_map(|id| self.stage.world.task(*id)) {
            let counts =
                task.state.holds_slot() && task.state != State::Stopping && !task.live.lent;
            *turns.entry(Arc::clone(&task.key)).or_default() += u32::from(counts);
        }
        turns
    }

    /// Nothing starts over the limit. Only a reader whose time is up goes on over it.
    fn limits_hold(&self, before: &BTreeMap<Arc<str>, u32>) {
        for (key, turns) in self.turns() {
            let most = before.get(&key).copied().unwrap_or_default().max(LIMIT);
            assert!(turns <= most, "{turns} turns on {key}, where {most} may run");
        }
    }

    /// Faults stop: aborts are confirmed, parents listen. Everything must end.
    fn settle(&mut self) {
        for id in self.tasks.clone() {
            self.stage.cancel(id);
        }
        self.stage.advance(MINUTE);
        for _ in 0..50 {
            self.stage.turn_ended("opencode:ses_p", "t1");
            for debrief in self.stage.compose() {
                self.stage.ack_debrief(debrief.id);
            }
            self.stage.advance(11 * MINUTE);
        }
        for id in &self.tasks {
            assert!(
                self.stage.state(*id).is_terminal(),
                "{id} never ended: {:?}",
                self.stage.task(*id)
            );
        }
        self.stage.assert_at_rest();
    }
}

#[test]
fn whatever_happens_rows_are_folds_counts_count_and_everything_ends() {
    let mut asked = BTreeSet::new();
    for seed in 0..WALKS {
        let mut walk = Walk::new(mix(seed));
        for _ in 0..STEPS {
            walk.step();
        }
        walk.settle();
        asked.extend(walk.stage.asked);
    }
    for state in State::ALL {
        assert!(asked.iter().any(|(at, _)| at == state), "no walk came to {state}");
    }
    for event in Event::ALL {
        assert!(asked.iter().any(|(_, known)| known == event), "no walk asked for {event}");
    }
}
