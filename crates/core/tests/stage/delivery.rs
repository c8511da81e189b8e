//! How an outcome comes home on the stage: debriefs composed as the runtime does it, what parents and
//! rooms make of them, and a restart in the middle.

use homing_core::compose::{self, DebriefFacts, Entry, OpenAsk, Running};
use homing_core::decision::names;
use homing_core::effect::{Effect, EffectKey};
use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_core::input::{DeliveryFact, Input, ParentFact, PostFact};
use homing_core::outbox::{Debrief, Post};
use homing_core::payload::Payload;
use homing_core::record::{OutboxRecord, Record, TaskRecord};
use homing_core::refs::{Origin, ParentRef};
use homing_core::reply::Told;
use homing_core::silence;
use homing_core::task::Task;
use homing_core::words::DeliveryState;
use homing_core::world::World;

use super::launch::{Launch, task};
use super::{Stage, parent_ref};

/// An agent session that delegates.
pub const BOT: &str = "opencode:ses_bot";
/// A group that people read.
pub const GROUP: &str = "group:matrix/!team:example.org";

/// A task that the bot sends out in a turn of its own.
pub fn errand(name: &str, turn: &str) -> Launch {
    task(name).parent(BOT).parent_turn(turn)
}

/// As above, asked for in the group.
pub fn group_errand(name: &str, turn: &str) -> Launch {
    errand(name, turn).origin(GROUP)
}

impl Stage {
    /// A parent sends one task out in turn `t1`, ends that turn, and the task answers.
    pub fn errand_done(&mut self, launch: Launch, answer: &str) -> TaskId {
        let id = self.launch_running(launch.parent_turn("t1"));
        self.turn_ended(BOT, "t1");
        self.answer(id, answer);
        id
    }

    /// Composes and seals the one debrief that is wanted for this parent, in its real words.
    pub fn seal(&mut self, parent: &str) -> Debrief {
        let key = EffectKey::Compose(Box::new(parent_ref(parent)));
        let Some(Effect::Compose { parent, id, batch, notices, running }) =
            self.first_wanted(|k| *k == key)
        else {
            panic!("no debrief of {parent} is wanted");
        };
        let nonce = format!("{:x}", id.bits());
        let text = self.compose_text(&parent, id, batch.1.as_ref(), &notices, &running, &nonce);
        self.give(Input::Composed {
            parent,
            batch,
            notices,
            id,
            nonce: nonce.as_str().into(),
            text,
        });
        self.debrief(id)
    }

    fn compose_text(
        &self,
        parent: &ParentRef,
        id: DebriefId,
        origin: Option<&Origin>,
        notices: &[(TaskId, u32)],
        running: &[TaskId],
        nonce: &str,
    ) -> Payload {
        let told: Vec<Task> = notices.iter().map(|(task, _)| self.task(*task)).collect();
        let results: Vec<Option<Vec<u8>>> =
            told.iter().map(|task| self.result_bytes(task)).collect();
        let out: Vec<Task> = running.iter().map(|task| self.task(*task)).collect();
        let entries =
            told.iter().zip(&results).map(|(task, result)| Entry::of(task, result.as_deref()));
        let facts = DebriefFacts {
            id,
            parent,
            origin,
            nonce,
            at: self.now.wall,
            entries: entries.collect(),
            running: out.iter().map(Running::of).collect(),
            asks: out.iter().flat_map(OpenAsk::of).collect(),
        };
        compose::compose(&facts, &self.world.limits)
    }

    fn result_bytes(&self, task: &Task) -> Option<Vec<u8>> {
        let name = names::text(task.id, task.result?.digest);
        self.texts.iter().find(|text| text.name == name).map(|text| text.bytes.to_vec())
    }

    pub fn debrief(&self, id: DebriefId) -> Debrief {
        self.world.debrief(id).cloned().unwrap_or_else(|| panic!("{id} is over, or never was"))
    }

    /// Where a debrief stands; settled or withdrawn ones are read from the journal.
    pub fn debrief_state(&self, id: DebriefId) -> DeliveryState {
        let last = self.journal.iter().rev().find_map(|written| match &written.record {
            Record::Outbox(OutboxRecord::DebriefMoved { debrief, to, .. }) if *debrief == id => {
                Some(*to)
            }
            Record::Outbox(OutboxRecord::Sealed { debrief }) if debrief.id == id => {
                Some(debrief.state)
            }
            Record::Outbox(_) | Record::Task(..) => None,
        });
        last.unwrap_or_else(|| panic!("{id} was never sealed"))
    }

    /// The sealed bytes of a debrief.
    pub fn words_of(&self, debrief: &Debrief) -> String {
        let name = names::debrief(debrief.id);
        let mut all = self.texts.iter().filter(|text| text.name == name);
        let text = all.next().unwrap_or_else(|| panic!("{name} has no text"));
        assert!(all.next().is_none(), "the bytes of {name} were given twice");
        assert_eq!(Payload::new(text.bytes.to_vec()).text, debrief.text);
        String::from_utf8(text.bytes.to_vec()).unwrap_or_else(|why| panic!("{why}"))
    }

    /// How many debriefs were ever sealed for a parent.
    pub fn times_sealed(&self, parent: &str) -> usize {
        let who = parent_ref(parent);
        self.sealed().into_iter().filter(|debrief| debrief.parent == who).count()
    }

    /// Every debrief as it was sealed, in order.
    pub fn sealed(&self) -> Vec<Debrief> {
        let sealed = self.journal.iter().filter_map(|written| match &written.record {
            Record::Outbox(OutboxRecord::Sealed { debrief }) => Some((**debrief).clone()),
            Record::Outbox(_) | Record::Task(..) => None,
        });
        sealed.collect()
    }

    /// What became of the notice of a task's first generation, from the journal: its last state.
    pub fn notice_state(&self, id: TaskId) -> DeliveryState {
        let state = |record: &TaskRecord| {
            let owed = matches!(
                record,
                TaskRecord::NoticeRouted { .. } | TaskRecord::Moved { told: Some(_), .. }
            );
            if let TaskRecord::NoticeMoved { to, .. } = record {
                Some(*to)
            } else {
                owed.then_some(DeliveryState::Owed)
            }
        };
        let last = self.records(id).filter_map(state).last();
        last.unwrap_or_else(|| panic!("nothing was ever owed about {id}"))
    }

    /// How often a notice reached this state.
    pub fn times_notice(&self, id: TaskId, state: DeliveryState) -> usize {
        let moved = |record: &&TaskRecord| matches!(record, TaskRecord::NoticeMoved { to, .. } if *to == state);
        self.records(id).filter(moved).count()
    }

    pub fn accepted(&mut self, debrief: DebriefId) {
        self.delivery(debrief, DeliveryFact::Accepted);
    }

    pub fn answered(&mut self, debrief: DebriefId, text: &str) {
        self.delivery(debrief, DeliveryFact::Answered { text: Some(Payload::from(text)) });
    }

    pub fn stays_silent(&mut self, debrief: &Debrief) {
        self.answered(debrief.id, &silence::token(&debrief.nonce));
    }

    pub fn delivery_failed(&mut self, debrief: DebriefId) {
        let fact = DeliveryFact::Failed { why: "connection refused".into(), retry_after_ms: None };
        self.delivery(debrief, fact);
    }

    pub fn unreachable(&mut self, parent: &str) {
        self.parent(parent, ParentFact::Unreachable);
    }

    pub fn person_waits(&mut self, parent: &str, count: u32) {
        self.parent(parent, ParentFact::PersonWaits { count });
    }

    pub fn wants_look_at(&self, parent: &str) -> bool {
        self.wants(&EffectKey::LookParent(Box::new(parent_ref(parent))))
    }

    /// Sends before the one that is wanted now.
    pub fn tries_before(&self, debrief: DebriefId) -> u32 {
        match self.first_wanted(|key| *key == EffectKey::Deliver(debrief)) {
            Some(Effect::Deliver { tries, .. }) => tries,
            other => panic!("{debrief} is not to be sent: {other:?}"),
        }
    }

    // Rooms.

    /// Every post as it was sealed, in order.
    pub fn posts_sealed(&self) -> Vec<Post> {
        let sealed = self.journal.iter().filter_map(|written| match &written.record {
            Record::Outbox(OutboxRecord::PostSealed { post }) => {
                assert_eq!(post.seq, written.line.seq, "a post has another number than its line");
                Some((**post).clone())
            }
            Record::Outbox(_) | Record::Task(..) => None,
        });
        sealed.collect()
    }

    /// What people read: origin and words of every post that may go out, in order.
    pub fn room(&self) -> Vec<(String, String)> {
        let out =
            self.posts_sealed().into_iter().filter(|post| post.state == DeliveryState::Sealed);
        out.map(|post| (post.origin.to_string(), self.post_words(post.id))).collect()
    }

    pub fn post_words(&self, id: PostId) -> String {
        let name = names::post(id);
        let text = self.texts.iter().find(|text| text.name == name);
        let text = text.unwrap_or_else(|| panic!("{name} has no text"));
        String::from_utf8_lossy(&text.bytes).into_owned()
    }

    /// The posts that are to be sent now.
    pub fn posts_wanted(&self) -> Vec<PostId> {
        let post = |effect: Effect| {
            if let Effect::Post { post, .. } = effect { Some(post) } else { None }
        };
        self.wanted().into_iter().filter_map(post).collect()
    }

    pub fn posted(&mut self, post: PostId) {
        self.give(Input::Posted { post, fact: PostFact::Posted });
    }

    pub fn post_failed(&mut self, post: PostId, retry_after_ms: Option<u64>) {
        let fact = PostFact::Failed { why: "429".into(), retry_after_ms };
        self.give(Input::Posted { post, fact });
    }

    pub fn post_refused(&mut self, post: PostId) {
        let fact = PostFact::Closed { why: "not a member".into() };
        self.give(Input::Posted { post, fact });
    }

    pub fn reroute(&mut self, task: TaskId, origin: &str) -> Told {
        self.reroute_post(task, origin, None)
    }

    pub fn reroute_post(&mut self, task: TaskId, origin: &str, post: Option<PostId>) -> Told {
        let origin: Origin = origin.parse().unwrap_or_else(|why| panic!("{why}"));
        self.ask(|request| Input::Reroute { request, task, origin, post })
    }

    /// How often a completion record came to be wanted for the first generation.
    pub fn times_emitted(&self, id: TaskId) -> usize {
        self.times_wished(&EffectKey::Emit(id, 1))
    }

    // A restart.

    /// Everything that memory alone held is gone; the World is built from rows, as written and read.
    pub fn restart(&mut self) {
        let ids: Vec<TaskId> = (1..=self.ids).map(TaskId::from_bits).collect();
        let resident =
            ids.iter().filter_map(|id| self.world.task(*id)).map(reread).map(Box::new).collect();
        let sealed: Vec<DebriefId> = self.sealed().iter().map(|debrief| debrief.id).collect();
        let debriefs = sealed.iter().filter_map(|id| self.world.debrief(*id)).map(reread).collect();
        let posts = self.posts().iter().filter_map(|id| self.world.post(*id)).map(reread).collect();
        let limits = (*self.world.limits).clone();
        self.world = World::restore(limits, resident, debriefs, posts, Vec::new(), self.world.head);
        let all = self.ledger.wanted(&self.world, self.now);
        let new = all.iter().filter(|(key, effect)| self.wanted.get(*key) != Some(*effect));
        self.wished.extend(new.map(|(_, effect)| effect.clone()));
        self.wanted = all;
        self.ledger.check(&self.world);
    }
}

fn reread<T: serde::Serialize + serde::de::DeserializeOwned>(row: &T) -> T {
    let text = serde_json::to_string(row).unwrap_or_else(|why| panic!("{why}"));
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
}
