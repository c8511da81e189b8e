//! Effects on parents, rooms and telemetry, and what parents do by themselves.

use std::sync::Arc;

use homing_core::compose::{DebriefFacts, Entry, compose};
use homing_core::effect::Effect;
use homing_core::ids::DebriefId;
use homing_core::input::{DeliveryFact, Input, Outgoing, ParentFact, PostFact, Receipt};
use homing_core::payload::Payload;
use homing_core::refs::ParentRef;
use homing_core::reply::Lease;
use homing_core::words::{Code, DeliveryState};

use super::{Ev, History, Msg, Waits, limits};
use crate::invariants::Violation;

impl History<'_> {
    pub(super) fn bring(&mut self, effect: Effect, heard: bool) -> Result<(), Violation> {
        let key = effect.key();
        let (input, ok) = match effect {
            Effect::Compose { parent, id, batch, notices, .. } => {
                let nonce: Arc<str> = format!("{:x}", self.rng.bits()).into();
                let tasks: Vec<_> =
                    notices.iter().filter_map(|(task, _)| self.store.tasks.get(task)).collect();
                let results: Vec<Option<Arc<[u8]>>> = tasks
                    .iter()
                    .map(|task| {
                        let name = homing_core::decision::names::text(task.id, task.result?.digest);
                        self.store.texts.get(&name).cloned()
                    })
                    .collect();
                let entries = tasks
                    .iter()
                    .zip(&results)
                    .map(|(task, result)| Entry::of(task, result.as_deref()))
                    .collect();
                let facts = DebriefFacts {
                    id,
                    parent: &parent,
                    origin: batch.1.as_ref(),
                    nonce: &nonce,
                    at: self.now.wall,
                    entries,
                    running: Vec::new(),
                    asks: Vec::new(),
                };
                let text = compose(&facts, &limits(self.plan));
                self.checker.composed(&text, &nonce)?;
                (Some(Input::Composed { parent, batch, notices, id, nonce, text }), true)
            }
            Effect::LookParent { parent } => {
                let fact = self.parent_shows(&parent);
                (Some(Input::Parent { parent, fact }), true)
            }
            Effect::Deliver { debrief, parent, .. } => {
                let fact = self.deliver(&parent, debrief)?;
                (Some(Input::Delivery { debrief, fact }), true)
            }
            Effect::Post { post, .. } => {
                let fact = self.post(post)?;
                (Some(Input::Posted { post, fact }), true)
            }
            Effect::Emit { task, generation } => {
                self.parents.telemetry.insert((task, generation));
                let lost = self.noisy(5);
                ((!lost).then_some(Input::TelemetryTaken { task, generation }), !lost)
            }
            Effect::Open { .. }
            | Effect::Prompt { .. }
            | Effect::Watch { .. }
            | Effect::Unwatch { .. }
            | Effect::Look { .. }
            | Effect::Abort { .. }
            | Effect::Answer { .. }
            | Effect::Say { .. }
            | Effect::Load { .. } => (None, true),
        };
        if heard {
            let (wait, epoch) = (self.delay(), self.epoch);
            if let Some(input) = input {
                self.after(wait, Ev::Msg(epoch, Msg::Input(Box::new(input))));
            }
            self.after(wait, Ev::Msg(epoch, Msg::Flew(key, ok)));
        }
        Ok(())
    }

    fn parent_shows(&mut self, who: &ParentRef) -> ParentFact {
        if self.noisy(10) {
            return ParentFact::Unreachable;
        }
        let parent = self.parents.get(who);
        match (&parent.turn, parent.deleted) {
            (_, true) => ParentFact::Deleted,
            (Some(turn), false) => ParentFact::TurnBegan { turn: turn.clone() },
            (None, false) => ParentFact::Between,
        }
    }

    fn deliver(&mut self, who: &ParentRef, key: DebriefId) -> Result<DeliveryFact, Violation> {
        if let ParentRef::Conversation(_) = who {
            // It was told in a turn, and what it said then is in the store. The host's sessions all speak like children; this one
            // is a parent.
            let answer = self.store.debriefs.get(&key).and_then(|debrief| debrief.answer);
            let kept = answer.is_some_and(|(task, text)| {
                let name = homing_core::decision::names::text(task, text.digest);
                self.store.texts.contains_key(&name)
            });
            let text = kept.then(|| Payload::from("the parent's answer"));
            return Ok(DeliveryFact::Answered { text });
        }
        if self.noisy(12) {
            return Ok(DeliveryFact::Failed { why: "never arrived".into(), retry_after_ms: None });
        }
        let webhook = matches!(who, ParentRef::Webhook(_));
        let parent = self.parents.get(who);
        if parent.deleted {
            return Ok(DeliveryFact::Gone);
        }
        let known = parent.received.get(&key).cloned();
        if known.is_none() && webhook && self.noisy(20) {
            let most = *self.rng.pick(&[2_000, 60_000]);
            let wait = self.rng.below(most);
            self.after(wait, Ev::Redrive(Outgoing::Debrief(key)));
            return Ok(DeliveryFact::Refused { why: "not like this".into() });
        }
        if let Some(known) = known.filter(|known| known.answered || webhook) {
            let text = Some(Payload::from("the parent's answer"));
            let fact = if known.answered && !webhook {
                DeliveryFact::Answered { text }
            } else {
                DeliveryFact::Shared
            };
            return Ok(fact);
        }
        if !webhook && self.parents.get(who).turn.is_some() {
            return Ok(DeliveryFact::Busy);
        }
        self.checker.receives(who, key, &self.store, &self.parents)?;
        self.parents.receive(who, key);
        if !webhook {
            let turn: Arc<str> = format!("debrief-{key}").into();
            self.parents.get(who).turn = Some(turn.clone());
            let wait = self.rng.below(20_000);
            self.after(wait, Ev::ParentAnswers(who.clone(), key));
            self.after(wait, Ev::ParentTurnEnds(who.clone(), turn));
        }
        if self.noisy(10) {
            return Ok(DeliveryFact::Failed {
                why: "the reply was cut off".into(),
                retry_after_ms: None,
            });
        }
        Ok(if webhook { DeliveryFact::Shared } else { DeliveryFact::Accepted })
    }

    pub(super) fn parent_answers(&mut self, who: &ParentRef, key: DebriefId) {
        let silent = self.rng.chance(20);
        let empty = self.rng.chance(15);
        let nonce = self.store.debriefs.get(&key).map(|debrief| debrief.nonce.clone());
        let parent = self.parents.get(who);
        if parent.deleted {
            return;
        }
        if let Some(known) = parent.received.get_mut(&key) {
            known.answered = true;
        }
        let text = match (silent, empty, nonce) {
            (true, _, Some(nonce)) => {
                Some(Payload::from(homing_core::silence::token(&nonce).as_str()))
            }
            (_, true, _) => None,
            _ => Some(Payload::from("the parent's answer")),
        };
        if !self.noisy(15) {
            self.input(Input::Delivery { debrief: key, fact: DeliveryFact::Answered { text } });
        }
    }

    pub(super) fn parent_turn_begins(&mut self, who: &ParentRef, name: &str) {
        let parent = self.parents.get(who);
        if parent.turn.is_some() || parent.deleted {
            return;
        }
        let turn: Arc<str> = name.into();
        parent.turn = Some(turn.clone());
        parent.turns += 1;
        if !self.noisy(10) {
            self.parent_says(who, ParentFact::TurnBegan { turn: turn.clone() }, 5);
        }
        let wait = self.rng.below(30_000);
        self.after(wait, Ev::ParentTurnEnds(who.clone(), turn));
    }

    pub(super) fn parent_turn_ends(&mut self, who: &ParentRef, turn: &Arc<str>) {
        let parent = self.parents.get(who);
        if parent.turn.as_ref() == Some(turn) {
            parent.turn = None;
            self.parent_says(who, ParentFact::TurnEnded { turn: turn.clone() }, 5);
        }
    }

    /// A door reports its turns in order, on one connection.
    fn parent_says(&mut self, who: &ParentRef, fact: ParentFact, wait: u64) {
        let epoch = self.epoch;
        let input = Input::Parent { parent: who.clone(), fact };
        self.after(wait, Ev::Msg(epoch, Msg::Input(Box::new(input))));
    }

    pub(super) fn person_waits(&mut self, who: &ParentRef) {
        let count = u32::from(self.parents.get(who).person_waits == 0);
        self.parents.get(who).person_waits = count;
        self.parent_says(who, ParentFact::PersonWaits { count }, 5);
        if count > 0 {
            let name = format!("waited-{}", self.now.tick);
            let wait = 1_000 + self.rng.below(5_000);
            self.parent_says(who, ParentFact::PersonWaits { count: 0 }, wait);
            self.parents.get(who).person_waits = 0;
            self.parent_turn_begins(who, &name);
        }
    }

    fn post(&mut self, post: homing_core::ids::PostId) -> Result<PostFact, Violation> {
        if self.noisy(15) {
            return Ok(PostFact::Failed { why: "slow down".into(), retry_after_ms: Some(2_000) });
        }
        if self.noisy(2) {
            if self.rng.chance(50) {
                let wait = self.rng.below(60_000);
                self.after(wait, Ev::Redrive(Outgoing::Post(post)));
            }
            return Ok(PostFact::Closed { why: "not in the room".into() });
        }
        let text =
            self.store.texts.get(&post.to_string()).cloned().unwrap_or_else(|| Arc::from([]));
        let text = String::from_utf8_lossy(&text).into_owned();
        self.checker.posts(post, &text, &self.store)?;
        self.parents.order += 1;
        let order = self.parents.order;
        self.parents.posts.entry(post).or_insert((order, text));
        if self.noisy(10) {
            return Ok(PostFact::Failed {
                why: "the reply was cut off".into(),
                retry_after_ms: None,
            });
        }
        Ok(PostFact::Posted)
    }

    /// Asks until it is known to be wanted again, or is over.
    pub(super) fn redrive(&mut self, what: Outgoing) {
        let closed = DeliveryState::Undeliverable;
        let (refused, done) = match what {
            Outgoing::Debrief(id) => self.store.debriefs.get(&id).map_or((false, true), |known| {
                let refused = known.state == closed && known.code == Some(Code::ReceiverRefused);
                let rests = known.is_resting() && !refused;
                (refused, rests || known.again.is_some() || known.state.is_over())
            }),
            Outgoing::Post(id) => self
                .store
                .posts
                .get(&id)
                .map_or((false, true), |known| (known.state == closed, known.state.is_over())),
        };
        if done {
            return;
        }
        if refused {
            let request = self.request(Waits::Other);
            self.input(Input::Redrive { request, what });
        }
        let wait = 1_000 + self.rng.below(60_000);
        self.after(wait, Ev::Redrive(what));
    }

    pub(super) fn poll(&mut self, who: &ParentRef) {
        self.polls.remove(who);
        let waits = self
            .store
            .debriefs
            .values()
            .any(|debrief| debrief.parent == *who && !debrief.state.is_over());
        if !waits {
            return;
        }
        let stays = self.rng.chance(50);
        self.consume(who, stays);
        self.poll_later(who);
    }

    /// One consumer at a time for each inbox; it may be there before anything is.
    pub(super) fn consume(&mut self, who: &ParentRef, stays: bool) {
        let there = |waits: &Waits| matches!(waits, Waits::Lease(other) if other == who);
        if !self.requests.values().any(there) {
            let request = self.request(Waits::Lease(who.clone()));
            let (consumer, parent) = ("consumer".into(), who.clone());
            self.input(Input::Lease { request, consumer, parent, stays });
        }
    }

    pub(super) fn leased(&mut self, lease: Lease) {
        let key = lease.debrief;
        let Some(who) = self.store.debriefs.get(&key).map(|debrief| debrief.parent.clone()) else {
            return;
        };
        self.parents.receive(&who, key);
        self.parents.leased.push(key);
        if !self.noisy(40) {
            self.ack_leased();
        } else if self.rng.chance(30) {
            // It goes away, and its connection's end is heard once or twice, late or not.
            self.input(Input::LetGo(lease));
            self.input(Input::LetGo(lease));
        }
        if self.rng.chance(50) {
            self.consume(&who, true);
        }
    }

    pub(super) fn ack_leased(&mut self) {
        if let Some(key) = self.parents.leased.pop() {
            let request = self.request(Waits::Other);
            self.input(Input::Ack { request, receipt: Receipt::Debrief(key) });
        }
    }
}
