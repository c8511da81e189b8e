//! Parents: where they stand between their turns, and what is sealed for them.

use std::sync::Arc;

use super::Case;
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::ids::{DebriefId, TaskId};
use crate::input::{CancelWhy, ParentFact, Then};
use crate::outbox::Debrief;
use crate::payload::Payload;
use crate::record::{OutboxRecord, TaskRecord};
use crate::refs::{Origin, OriginKind, ParentRef};
use crate::task::BatchId;
use crate::time::backoff_ms;
use crate::words::{Code, DeliveryState, TurnKind};
use crate::world::{ParentTurn, Ready};

impl Case<'_> {
    pub(super) fn parent_shows(&mut self, who: &ParentRef, fact: &ParentFact) {
        let Some(parent) = self.world.parent(who) else {
            return;
        };
        match fact {
            ParentFact::TurnBegan { turn } => {
                let turn = ParentTurn::In { turn: Arc::clone(turn) };
                self.out.note(Note::ParentTurn(who.clone(), turn));
            }
            ParentFact::TurnEnded { turn } => {
                let other = matches!(&parent.turn, ParentTurn::In { turn: now } if now != turn);
                if !other {
                    self.out.note(Note::ParentTurn(who.clone(), ParentTurn::Between));
                }
            }
            ParentFact::Between => {
                let asked = match parent.turn {
                    ParentTurn::Unknown => true,
                    ParentTurn::In { .. } | ParentTurn::Busy => parent.look_next == 0,
                    ParentTurn::Between => false,
                };
                if asked {
                    self.out.note(Note::ParentTurn(who.clone(), ParentTurn::Between));
                }
            }
            ParentFact::PersonWaits { count } => {
                self.out.note(Note::PersonWaits(who.clone(), *count));
            }
            ParentFact::Unreachable => {
                let limits = &self.world.limits;
                let wait =
                    backoff_ms(parent.looks, limits.backoff_first_ms, limits.backoff_most_ms);
                self.out.note(Note::ParentLook(who.clone(), self.now.tick + self.now.jitter(wait)));
            }
            ParentFact::Deleted => self.parent_deleted(who),
        }
    }

    /// Living descendants are cancelled; what is owed, theirs included, goes elsewhere.
    pub(super) fn parent_deleted(&mut self, who: &ParentRef) {
        let Some(parent) = self.world.parent(who) else {
            return;
        };
        self.out.note(Note::ParentGone(who.clone()));
        for id in &parent.living {
            let why = CancelWhy::ParentDeleted;
            self.out.then(Then::Cancel { task: *id, why: why.clone(), quiet: false });
            for below in self.world.living_below(*id) {
                self.out.then(Then::Cancel { task: below, why: why.clone(), quiet: false });
            }
        }
        self.out.then(Then::Heirs(who.clone()));
    }

    /// Seals a debrief, if everything it was composed for still holds.
    pub(super) fn composed(
        &mut self,
        who: &ParentRef,
        batch: &(BatchId, Option<Origin>),
        notices: &[(TaskId, u32)],
        id: DebriefId,
        nonce: &Arc<str>,
        text: &Payload,
    ) {
        let free =
            self.world.parent(who).is_some_and(|parent| parent.flight.is_none() && !parent.gone);
        let owed = |(task, generation): &(TaskId, u32)| {
            self.world.task(*task).and_then(|task| task.notice(*generation)).is_some_and(|notice| {
                notice.state == DeliveryState::Owed && notice.to == *who && !notice.inbox
            })
        };
        let holds = free
            && self.world.ready(who) == Ready::Yes
            && self.world.debrief(id).is_none()
            && !notices.is_empty()
            && notices.iter().all(owed);
        if !holds {
            return;
        }
        let unhandled =
            batch.1.as_ref().is_some_and(|origin| matches!(origin.kind, OriginKind::Other(_)));
        let debrief = Debrief {
            id,
            parent: who.clone(),
            origin: batch.1.clone(),
            batch: batch.0.clone(),
            notices: if active(Bug::Reversed) {
                notices.iter().rev().copied().collect()
            } else {
                notices.to_vec()
            },
            text: text.text,
            nonce: Arc::clone(nonce),
            sealed: None,
            state: DeliveryState::Sealed,
            tries: 0,
            next: 0,
            first_sent: None,
            accepted: None,
            lease: None,
            code: unhandled.then_some(Code::OriginUnhandled),
            closed: None,
            parked: false,
            why: None,
            again: None,
            answer: None,
        };
        self.out.text(crate::decision::names::debrief(id), None, text);
        self.out.outbox(OutboxRecord::Sealed { debrief: Box::new(debrief) });
        for (task, generation) in notices {
            self.move_notice(*task, *generation, DeliveryState::Sealed, Some(id), None);
        }
        if let ParentRef::Task(task) = who {
            self.debrief_turn(*task, id);
        }
        if let ParentRef::Conversation(told) = who {
            self.out.then(Then::NextTurn(told.task()));
        }
        if who.is_drained() {
            self.out.then(Then::Offer(id));
        }
    }

    /// A task takes a debrief as a turn of its own, once it has its slot back.
    fn debrief_turn(&mut self, id: TaskId, debrief: DebriefId) {
        let Some(task) = self.world.task(id) else {
            return;
        };
        self.out.task(
            id,
            TaskRecord::TurnOpened {
                turn: task.turn.n + 1,
                kind: TurnKind::Debrief,
                debrief: Some(debrief),
                send: None,
            },
        );
        self.out.then(Then::Pump { key: Arc::clone(&task.key), lender: Some(id) });
    }

    pub(super) fn move_notice(
        &mut self,
        task: TaskId,
        generation: u32,
        to: DeliveryState,
        debrief: Option<DebriefId>,
        code: Option<Code>,
    ) {
        if active(Bug::SettledTwice) && to == DeliveryState::Settled {
            self.out.task(task, TaskRecord::NoticeMoved { generation, to, debrief, code });
        }
        self.out.task(task, TaskRecord::NoticeMoved { generation, to, debrief, code });
        if to.is_over() {
            self.out.then(Then::Evict(task));
        }
    }
}
