//! What is done outside, and what comes back of it.

use std::sync::Arc;

use homing_core::effect::{Effect, EffectKey};
use homing_core::fact::{End, Fact, Fence, Finish};
use homing_core::ids::{DebriefId, TaskId};
use homing_core::input::{DeliveryFact, Input};
use homing_core::payload::Payload;
use homing_sim::host::{aborted_end, missing, plain_picture};

use crate::world::{Job, Kind, Mail, Scene, Session, Shown, Turn, Word, parent};

fn good_end() -> End {
    End { finish: Finish::Stop, error: None, text: Some(Payload::from("done")), tools_ran: false }
}

fn looked(shown: Shown) -> Fact {
    let picture = match shown {
        Shown::Missing => return missing(),
        Shown::Absent => plain_picture(false, None),
        Shown::Open => plain_picture(true, None),
        Shown::Ended => plain_picture(true, Some(good_end())),
        Shown::Aborted => plain_picture(true, Some(aborted_end())),
    };
    Fact::Looked { picture }
}

fn session_of(task: TaskId, attempt: u32) -> Arc<str> {
    format!("{}-{attempt}", task.bits()).into()
}

impl Scene {
    /// An effect was released: it can be performed from now on. What nobody can tell apart from having been
    /// performed later is performed at once; a crash before it is one that came before the release.
    pub fn released(&mut self, effect: Effect) {
        self.jobs.push(match effect {
            Effect::Open { task, attempt, .. } => return self.open(task, attempt),
            Effect::Watch { task, attempt, .. } => return self.watch(task, attempt, true),
            Effect::Unwatch { task, attempt, .. } => return self.watch(task, attempt, false),
            Effect::Deliver { debrief, .. } => return self.receive(debrief),
            Effect::Prompt { task, attempt, turn, .. } => Job::Prompt(task, attempt, turn),
            Effect::Look { task, attempt, turn, .. } => Job::Look(task, attempt, turn),
            Effect::Abort { task, attempt, .. } => Job::Abort(task, attempt),
            Effect::Emit { task, generation } if self.kind != Kind::SlowTelemetry => {
                return self.emit(task, generation);
            }
            Effect::Emit { task, generation } => Job::Emit(task, generation),
            Effect::Load { task } => Job::Load(task),
            Effect::Compose { id, batch, notices, .. } => Job::Compose(id, batch.0, notices),
            other => panic!("not in this small world: {other:?}"),
        });
    }

    fn open(&mut self, task: TaskId, attempt: u32) {
        let unmade = Session { turn: Turn::None, watched: false };
        self.host.entry((task, attempt)).or_insert(unmade);
        self.send(Word::Made(task, attempt));
    }

    fn emit(&mut self, task: TaskId, generation: u32) {
        self.emitted.insert(task);
        self.take(Input::TelemetryTaken { task, generation });
        self.landed(EffectKey::Emit(task, generation));
    }

    fn watch(&mut self, task: TaskId, attempt: u32, watched: bool) {
        if let Some(session) = self.host.get_mut(&(task, attempt)) {
            session.watched = watched;
        }
    }

    fn send(&mut self, word: Word) {
        self.mail.push(Mail { word, row: None, as_of: 0 });
    }

    fn shown(&self, task: TaskId, attempt: u32) -> Shown {
        let made = Word::Made(task, attempt);
        if self.mail.iter().any(|mail| mail.word == made) {
            return Shown::Missing;
        }
        match self.host.get(&(task, attempt)).map(|session| session.turn) {
            None => Shown::Missing,
            Some(Turn::None) => Shown::Absent,
            Some(Turn::Running) => Shown::Open,
            Some(Turn::Ended) => Shown::Ended,
            Some(Turn::Aborted) => Shown::Aborted,
        }
    }

    /// Performs it. What is only told back, and done nowhere, is told at once.
    pub fn perform(&mut self, job: &Job) {
        self.jobs.retain(|other| other != job);
        match job.clone() {
            Job::Prompt(task, attempt, turn) => {
                assert_eq!(turn, 1, "not in this small world: a second turn");
                let session = self.host.get_mut(&(task, attempt)).unwrap();
                if session.turn == Turn::None {
                    session.turn = Turn::Running;
                }
                self.send(Word::Taken(task, attempt, turn));
            }
            Job::Look(task, attempt, turn) => {
                self.send(Word::Looked(task, attempt, turn, self.shown(task, attempt)));
            }
            Job::Abort(task, attempt) => self.abort(task, attempt),
            Job::Load(task) => {
                let row = self.store.tasks.get(&task).cloned().map(Arc::new);
                self.mail.push(Mail { word: Word::Loaded(task), row, as_of: self.store.head() });
            }
            Job::Emit(task, generation) => self.emit(task, generation),
            Job::Compose(id, batch, notices) => {
                let (nonce, text) = ("n".into(), Payload::from("debrief"));
                let batch = Box::new((batch, None));
                self.take(Input::Composed { parent: parent(), batch, notices, id, nonce, text });
                self.landed(EffectKey::Compose(Box::new(parent())));
            }
        }
    }

    /// Ends what runs. What had ended before is read first, as the performer does.
    fn abort(&mut self, task: TaskId, attempt: u32) {
        if let Some(session) = self.host.get_mut(&(task, attempt))
            && session.turn == Turn::Running
        {
            session.turn = Turn::Aborted;
        }
        let row = self.store.tasks.get(&task).filter(|row| row.session.is_some());
        let shown = self.shown(task, attempt);
        let over = matches!(shown, Shown::Ended | Shown::Aborted);
        let words = row.filter(|_| over).map(|row| (row.turn.n, shown));
        self.send(Word::Stopped(task, attempt, words));
    }

    /// The parent has it now, if it did not have it before.
    fn receive(&mut self, id: DebriefId) {
        let row = self.store.debriefs.get(&id);
        let ended = |task: &TaskId| self.store.tasks.get(task).is_some_and(|row| !row.is_living());
        let Some(row) = row.filter(|row| row.notices.iter().all(|(task, _)| ended(task))) else {
            self.broken = Some("no notice before its commit");
            return;
        };
        self.received.entry(id).or_insert_with(|| row.notices.clone());
        self.send(Word::Delivered(id));
    }

    /// A word arrives.
    pub fn arrives(&mut self, word: &Word) {
        let Some(at) = self.mail.iter().position(|mail| mail.word == *word) else {
            return;
        };
        let Mail { word, row, as_of } = self.mail.remove(at);
        let turn = |attempt, turn| Fence { attempt, turn };
        match word {
            Word::Made(task, attempt) => {
                let session = session_of(task, attempt);
                self.observed(task, turn(attempt, 0), Fact::SessionMade { session });
                self.lands(EffectKey::Open(task, attempt));
            }
            Word::Taken(task, attempt, n) => {
                self.observed(task, turn(attempt, n), Fact::PromptTaken);
                self.lands(EffectKey::Prompt(task, attempt, n));
            }
            Word::Looked(task, attempt, n, shown) => {
                self.observed(task, turn(attempt, n), looked(shown));
                self.landed(EffectKey::Look(task, attempt));
            }
            Word::Stopped(task, attempt, words) => {
                if let Some((n, shown)) = words {
                    self.observed(task, turn(attempt, n), looked(shown));
                }
                self.observed(task, turn(attempt, 0), Fact::Stopped);
                self.landed(EffectKey::Abort(task, attempt));
            }
            Word::Ended(task, attempt, n) => {
                self.observed(task, turn(attempt, n), Fact::Ended { end: good_end() });
            }
            Word::Delivered(debrief) => {
                self.take(Input::Delivery { debrief, fact: DeliveryFact::Shared });
                self.landed(EffectKey::Deliver(debrief));
            }
            Word::Loaded(id) => {
                let task = row.map(|row| Box::new((*row).clone()));
                self.with(|engine, now| engine.loaded(id, task, as_of, now));
            }
            Word::Landed(key) => self.landed(key),
        }
    }

    fn observed(&mut self, task: TaskId, fence: Fence, fact: Fact) {
        self.take(Input::Observed { task, fence, fact });
    }

    /// The performer's last word follows its report.
    fn lands(&mut self, key: EffectKey) {
        match self.kind {
            Kind::LateLanding => self.send(Word::Landed(key)),
            Kind::Plain | Kind::SlowTelemetry | Kind::Batched => self.landed(key),
        }
    }

    fn landed(&mut self, key: EffectKey) {
        self.with(|engine, now| engine.flew(&key, true, now));
    }

    /// The turn ends at the host, well; whoever watches is told, unless the watch began too late or the word
    /// was lost.
    pub fn finish(&mut self, task: TaskId, attempt: u32, heard: bool) {
        self.host.get_mut(&(task, attempt)).unwrap().turn = Turn::Ended;
        if heard {
            self.send(Word::Ended(task, attempt, 1));
        }
    }
}
