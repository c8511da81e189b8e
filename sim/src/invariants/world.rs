//! The promises that what leaves the ledger must keep: at sends, posts, hosts, and when all is at rest.

use std::collections::BTreeMap;

use homing_core::effect::Effect;
use homing_core::ids::{DebriefId, PostId, TaskId};
use homing_core::input::Input;
use homing_core::payload::Payload;
use homing_core::reason::Reason;
use homing_core::record::{Record, TaskRecord};
use homing_core::refs::ParentRef;
use homing_core::task::Task;
use homing_core::words::{Code, DeliveryState, State};
use homing_runtime::engine::Engine;

use super::{Check, Checker};
use crate::host::Host;
use crate::parents::Parents;
use crate::store::Store;

impl Checker {
    /// 20: the fence holds: a child's text cannot choose silence or end its own quotation.
    pub fn composed(&self, text: &Payload, nonce: &str) -> Check {
        let shown = String::from_utf8_lossy(&text.bytes);
        let token = homing_core::silence::token(nonce);
        let forged =
            shown.lines().any(|line| line.contains("CHILD-BYTES") && line.contains(&token));
        self.hold(20, !forged, || "a child's text carries the token of silence".to_owned())?;
        let bare = shown.lines().any(|line| line.starts_with("CHILD-BYTES"));
        self.hold(20, !bare, || "a child's text stands outside its fence".to_owned())
    }

    /// 6, 7: what a parent receives was sealed and durable, and comes in order.
    pub fn receives(
        &mut self,
        who: &ParentRef,
        key: DebriefId,
        store: &Store,
        parents: &Parents,
    ) -> Check {
        if self.gone.debriefs.contains(&key) {
            return Ok(());
        }
        let Some(debrief) = store.debriefs.get(&key) else {
            return self.hold(6, false, || format!("{key} is received and was never sealed"));
        };
        for (task, generation) in &debrief.notices {
            let ended = self.past.get(task).is_some_and(|past| past.ends.contains_key(generation));
            self.hold(6, ended, || format!("{key} tells of {task}, which has not ended durably"))?;
            let twice = parents.all.get(who).is_some_and(|parent| {
                parent.received.keys().filter(|other| **other != key).any(|other| {
                    store.debriefs.get(other).is_some_and(|other| {
                        other.state != DeliveryState::Withdrawn
                            && other.notices.contains(&(*task, *generation))
                    })
                })
            });
            self.hold(5, !twice, || format!("{who} is told of {task} under two keys"))?;
        }
        if let Some((task, generation)) = debrief.notices.first()
            && debrief.notices.len() == 1
            && let Some(past) = self.past.get(task)
            && let Some(notice) = past.row.as_ref().and_then(|row| row.notice(*generation))
            && notice.each
            // What was refused comes later, when somebody wants it sent again.
            && notice.code != Some(Code::ReceiverRefused)
            && !past.routed.contains(generation)
        {
            let last = self.each_order.entry(who.clone()).or_default();
            let seq = notice.seq;
            let first =
                !parents.all.get(who).is_some_and(|parent| parent.received.contains_key(&key));
            let (before, ordered) = (*last, !first || seq > *last);
            *last = seq.max(before);
            self.hold(7, ordered, || format!("{who} hears of line {seq} after line {before}"))?;
        }
        Ok(())
    }

    /// 7: what a command is told comes in the order it was sent.
    pub fn words(&self, task: TaskId, told: &[u32], n: u32) -> Check {
        let ordered = told.last().is_none_or(|last| *last < n);
        self.hold(7, ordered, || format!("{task} is told {n} after {told:?}"))
    }

    /// 7: no send into a turn that the engine was told of. What is ordered to stop is remembered.
    pub fn orders(&mut self, effect: &Effect, parents: &Parents) -> Check {
        self.orders.ordered(effect);
        let Effect::Deliver { parent: who, .. } = effect else {
            return Ok(());
        };
        let told = parents
            .all
            .get(who)
            .is_some_and(|parent| parent.told.is_some() && parent.told == parent.turn);
        self.hold(7, !told, || format!("a debrief is sent into a turn of {who} that was reported"))
    }

    /// 6, 20: what a room receives was sealed and durable, and holds nothing of a child's.
    pub fn posts(&self, post: PostId, text: &str, store: &Store) -> Check {
        self.hold(6, store.posts.contains_key(&post) || self.gone.posts.contains(&post), || {
            format!("{post} is posted and was never sealed")
        })?;
        self.hold(20, !text.contains("CHILD-BYTES"), || {
            format!("a child's bytes reach a room: {text}")
        })?;
        self.hold(20, !text.contains("silent:"), || {
            format!("a token of silence reaches a room: {text}")
        })
    }

    /// 9, 10, 11, 19: after every input.
    pub fn after_input(
        &mut self,
        engine: Option<&Engine>,
        by: Option<&Input>,
        since: u64,
    ) -> Check {
        let Some(engine) = engine else {
            return Ok(());
        };
        let world = engine.world();
        let mut held: BTreeMap<&str, (u32, u32, u32)> = BTreeMap::new();
        for id in &self.ids {
            if let Some(task) = world.task(*id) {
                let entry = held.entry(&task.key).or_default();
                entry.0 += u32::from(task.state.holds_slot() && !task.live.lent);
                entry.1 += u32::from(task.state == State::Queued && task.after.is_empty());
                entry.2 += u32::from(task.wants_turn() || task.live.retaking);
            }
        }
        self.unmoved(by, world)?;
        for written in engine.open_written().iter().filter(|written| written.line.seq > since) {
            self.isolated(by, written, world)?;
            self.within_limit(written, engine)?;
        }
        for (name, key) in world.keys() {
            let counted = held.get(&**name).copied().unwrap_or_default();
            let kept = (key.held, key.queue.len() as u32, key.retake.len() as u32);
            self.hold(11, counted == kept, || {
                format!("{name}: held, queued, to be retaken: {kept:?}, counted {counted:?}")
            })?;
        }
        Ok(())
    }

    /// 10: nothing starts on a key that is at its limit.
    fn within_limit(&self, written: &homing_core::step::Written, engine: &Engine) -> Check {
        let Record::Task(id, TaskRecord::Moved { to, reason, .. }) = &written.record else {
            return Ok(());
        };
        let begins = *to == State::Starting || matches!(reason, Reason::SlotRetaken { .. });
        let stops = engine.open_written().iter().any(|other| {
            matches!(
                &other.record,
                Record::Task(
                    _,
                    TaskRecord::Moved { to: State::Stopping, .. }
                        | TaskRecord::Accepted { adopted: Some(_), .. }
                )
            )
        });
        let Some(task) = engine.world().task(*id).filter(|_| begins && !stops) else {
            return Ok(());
        };
        let limit = engine.world().limit_of(task);
        let held = engine.world().key(&task.key).map_or(0, |key| key.held);
        self.hold(10, limit == 0 || held <= limit, || {
            format!("{id} begins, and {held} of {limit} slots of {} are held", task.key)
        })
    }

    /// 9 and 10, at the host itself: what runs there is what the ledger says runs.
    pub fn at_host(&mut self, store: &Store, host: &Host) -> Check {
        for ((task, attempt), made) in &host.made {
            self.hold(9, *made <= 1, || {
                format!("{task}: attempt {attempt} was started {made} times")
            })?;
        }
        let mut live: BTreeMap<TaskId, Vec<u32>> = BTreeMap::new();
        for ((task, attempt), session) in &host.sessions {
            if session.is_running() {
                live.entry(*task).or_default().push(*attempt);
            }
        }
        for (task, attempts) in live {
            let given_up = store
                .tasks
                .get(&task)
                .is_some_and(|row| row.unconfirmed || !row.orphans.is_empty());
            // Given up on or not: while one may run, no other is begun.
            self.hold(9, attempts.len() <= 1, || {
                format!("{task}: attempts {attempts:?} live at once")
            })?;
            if attempts.len() > 1 {
                self.doubled.insert(task);
            }
            let row = store.tasks.get(&task);
            // What runs twice has no one account: that is for 9 to find.
            let accounted = self.doubled.contains(&task)
                || row.is_none_or(|row| row.state.holds_slot() || given_up || row.adopted);
            self.hold(10, accounted, || {
                format!(
                    "{task} is {:?} and runs at the host",
                    row.map(|row| (row.state, row.cause))
                )
            })?;
        }
        Ok(())
    }

    /// 18: whoever asked has heard.
    pub fn all_heard(&self, waiting: usize) -> Check {
        self.hold(18, waiting == 0, || format!("{waiting} requests were never answered"))
    }

    /// 18: each end is in telemetry; of a conversation, nobody waits.
    fn told(&self, id: TaskId, row: &Task, parents: &Parents) -> Check {
        if let Some(talk) = &row.talk {
            let waiting = talk.waiting.len();
            return self.hold(18, waiting == 0, || {
                format!("{id}: {waiting} turns of a conversation never began")
            });
        }
        for generation in self.past.get(&id).into_iter().flat_map(|past| past.ends.keys()) {
            let seen = parents.telemetry.contains(&(id, *generation));
            self.hold(18, seen, || format!("{id}: generation {generation} is not in telemetry"))?;
        }
        Ok(())
    }

    /// 1, 5, 11, 18: when nothing happens any more.
    pub fn at_rest(
        &mut self,
        engine: Option<&Engine>,
        store: &Store,
        host: &Host,
        parents: &Parents,
    ) -> Check {
        self.at_host(store, host)?;
        self.none_forgotten(host)?;
        for task in &self.promised {
            self.hold(1, store.tasks.contains_key(task), || {
                format!("{task} was promised and is gone")
            })?;
        }
        for (id, row) in &store.tasks {
            self.hold(18, !row.is_living(), || {
                format!("{id} never ended: {} {:?} {:?}", row.state, row.reason, row.evidence)
            })?;
            for notice in &row.notices {
                let rests = notice.inbox
                    || notice.state == DeliveryState::Undeliverable
                    || notice
                        .debrief
                        .and_then(|key| store.debriefs.get(&key))
                        .is_some_and(|debrief| debrief.parked);
                let behind = store
                    .debriefs
                    .values()
                    .any(|debrief| debrief.parent == notice.to && debrief.parked);
                self.hold(18, rests || behind, || format!("{id}: {notice:?} has no receipt"))?;
            }
            self.told(*id, row, parents)?;
        }
        for debrief in store.debriefs.values() {
            self.hold(18, debrief.again.is_none(), || {
                format!("{} is to be sent again and never was", debrief.id)
            })?;
        }
        for debrief in store
            .debriefs
            .values()
            .filter(|debrief| debrief.state == DeliveryState::Settled && debrief.code.is_none())
        {
            let pushed =
                matches!(debrief.parent, ParentRef::Session { .. } | ParentRef::Webhook(_));
            let there = parents
                .all
                .get(&debrief.parent)
                .is_some_and(|parent| parent.received.contains_key(&debrief.id));
            self.hold(5, !pushed || there, || {
                format!("{} is settled, and its parent never had it", debrief.id)
            })?;
        }
        if let Some(engine) = engine {
            for (name, key) in engine.world().keys() {
                self.hold(11, key.held == 0, || {
                    format!("{name}: {} slots held at rest", key.held)
                })?;
            }
        }
        Ok(())
    }
}
