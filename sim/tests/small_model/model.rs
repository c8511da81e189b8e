//! What can happen next, and what must hold.

use homing_core::ids::TaskId;
use stateright::{Model, Property};

use crate::graph::Graph;
use crate::promises;
use crate::world::{Cancel, Job, Kind, Scene, Turn, Word};

/// What can happen next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    Launch(usize),
    Cancel(TaskId),
    Commit,
    Perform(Job),
    Arrives(Word),
    /// A turn ends at the host, and the word of it comes or does not.
    Finish(TaskId, u32, bool),
    /// Nothing else is to come: the next deadline passes.
    Time,
    /// The next deadline passes while something is still on its way.
    Hurry,
    Crash {
        applied: bool,
    },
    /// A commit fails, or its result is not known; there or not.
    CommitFails {
        applied: bool,
    },
    Restart,
}

pub struct Small {
    /// How many different disturbances may meet; a deadline that passes early and a failed commit never do.
    pub disturbances: u8,
    pub graph: Graph,
    #[cfg(feature = "seeded-bugs")]
    pub bug: Option<homing_core::bugs::Bug>,
}

impl Small {
    /// Switches are of one thread, and the checker has several.
    fn switch(&self) {
        #[cfg(feature = "seeded-bugs")]
        homing_core::bugs::set(self.bug);
    }

    /// What happens by itself, sooner or later.
    pub fn must(&self, scene: &Scene, actions: &mut Vec<Action>) {
        if scene.engine.is_none() {
            actions.push(Action::Restart);
        } else {
            // The two tasks are alike: which one is launched first makes no difference.
            let next = scene.launches.iter().position(|launch| !launch.asked);
            actions.extend(next.map(Action::Launch));
        }
        if scene.flying.is_some() {
            actions.push(Action::Commit);
        }
        actions.extend(scene.jobs.iter().cloned().map(Action::Perform));
        actions.extend(scene.mail.iter().map(|mail| Action::Arrives(mail.word.clone())));
        for ((task, attempt), session) in &scene.host {
            if session.turn == Turn::Running {
                actions.push(Action::Finish(*task, *attempt, false));
                if session.watched {
                    actions.push(Action::Finish(*task, *attempt, true));
                }
            }
        }
        if actions.is_empty() && scene.deadline().is_some() {
            actions.push(Action::Time);
        }
    }

    /// What may happen, and need not.
    fn may(&self, scene: &Scene, waits: bool, actions: &mut Vec<Action>) {
        if scene.engine.is_none() {
            return;
        }
        if scene.cancel == Cancel::Not && scene.left > 0 {
            let known = scene.launches.iter().filter_map(|launch| launch.promised);
            actions.extend(known.map(Action::Cancel));
        }
        let hurries = waits && !scene.hurried && scene.left > 0 && !scene.rebuilt;
        if hurries && scene.deadline().is_some() {
            actions.push(Action::Hurry);
        }
        if scene.may_fail() {
            actions.push(Action::Crash { applied: false });
            if scene.flying.is_some() {
                actions.push(Action::Crash { applied: true });
            }
        }
        let fails = scene.faults == 0 && scene.may_fail() && !scene.hurried;
        if fails && scene.flying.is_some() {
            actions.push(Action::CommitFails { applied: false });
            actions.push(Action::CommitFails { applied: true });
        }
    }

    fn step(scene: &mut Scene, action: Action) {
        match action {
            Action::Launch(n) => scene.launch(n),
            Action::Cancel(task) => scene.cancel(task),
            Action::Commit => {
                let batch = scene.flying.take().unwrap();
                scene.durable(&batch);
                scene.recovering = false;
                scene.with(|engine, _| engine.committed(batch.no));
            }
            Action::Perform(job) => scene.perform(&job),
            Action::Arrives(word) => scene.arrives(&word),
            Action::Finish(task, attempt, heard) => scene.finish(task, attempt, heard),
            Action::Time | Action::Hurry => {
                if action == Action::Hurry {
                    scene.hurried = true;
                    scene.left -= 1;
                }
                scene.tick = scene.deadline().unwrap();
                scene.with(|engine, now| engine.fire(now));
            }
            Action::Crash { applied } => scene.crash(applied),
            Action::CommitFails { applied } => scene.rebuild(applied),
            Action::Restart => scene.start(),
        }
        scene.settle();
    }
}

impl Model for Small {
    type State = Scene;
    type Action = Action;

    fn init_states(&self) -> Vec<Scene> {
        self.switch();
        let kinds = [Kind::Plain, Kind::SlowTelemetry, Kind::LateLanding, Kind::Batched];
        let first = |kind: Kind| {
            let left = self.disturbances - u8::from(kind != Kind::Plain);
            let mut scene = Scene::first(kind, left);
            scene.print = scene.fingerprint();
            scene
        };
        kinds.into_iter().map(first).collect()
    }

    fn actions(&self, scene: &Scene, actions: &mut Vec<Action>) {
        self.switch();
        self.must(scene, actions);
        let waits = !actions.is_empty() && actions != &[Action::Time];
        self.may(scene, waits, actions);
        self.graph.node(scene.print);
    }

    fn next_state(&self, before: &Scene, action: Action) -> Option<Scene> {
        self.switch();
        let mut scene = before.clone();
        Self::step(&mut scene, action);
        scene.print = scene.fingerprint();
        self.graph.edge(before.print, scene.print);
        Some(scene)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut all = promises::safety();
        all.extend(promises::rest());
        all.extend(promises::reached());
        all
    }
}

impl std::hash::Hash for Scene {
    fn hash<H: std::hash::Hasher>(&self, to: &mut H) {
        self.print.hash(to);
    }
}
