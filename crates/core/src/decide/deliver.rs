//! Delivery of sealed debriefs: sent until seen, seen until answered; then settled, once.

use std::sync::Arc;

use super::Case;
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::ids::{DebriefId, TaskId};
use crate::input::{DeliveryFact, Receipt, Request, Then};
use crate::outbox::Debrief;
use crate::payload::Payload;
use crate::record::OutboxRecord;
use crate::refs::ParentRef;
use crate::reply::Told;
use crate::silence;
use crate::task::Task;
use crate::time::backoff_ms;
use crate::words::{Code, DeliveryState};
use crate::world::ParentTurn;

impl Case<'_> {
    pub(super) fn delivered(&mut self, id: DebriefId, fact: &DeliveryFact) {
        let Some(debrief) = self.world.debrief(id) else {
            return;
        };
        match fact {
            DeliveryFact::Accepted => match debrief.state {
                DeliveryState::Sealed | DeliveryState::Sent => {
                    self.move_debrief(debrief, DeliveryState::Accepted, 0, None);
                }
                DeliveryState::Owed
                | DeliveryState::Accepted
                | DeliveryState::Settled
                | DeliveryState::Withdrawn
                | DeliveryState::Undeliverable => {}
            },
            DeliveryFact::Answered { text } => {
                self.settle(debrief);
                self.answer_to_room(debrief, text.as_ref());
            }
            DeliveryFact::Shared => self.settle(debrief),
            DeliveryFact::Busy if debrief.parent.has_turns() => self.busy(debrief),
            DeliveryFact::Busy => self.try_later(debrief, None, None),
            DeliveryFact::Failed { .. } if active(Bug::SentIsSettled) => self.settle(debrief),
            DeliveryFact::Failed { why, retry_after_ms } => {
                self.try_later(debrief, *retry_after_ms, Some(why));
            }
            DeliveryFact::Refused { why } => self.refused(debrief, why),
            DeliveryFact::Gone => self.parent_deleted(&debrief.parent),
        }
    }

    /// The parent is in a turn: a sign of life, and not a try. It is sent once that turn is over.
    fn busy(&mut self, debrief: &Debrief) {
        let named = self.world.parent(&debrief.parent).map(|parent| &parent.turn);
        if !matches!(named, Some(ParentTurn::In { .. })) {
            self.out.note(Note::ParentTurn(debrief.parent.clone(), ParentTurn::Busy));
        }
        let seen = debrief.accepted.is_some();
        let to = if seen { DeliveryState::Accepted } else { DeliveryState::Sealed };
        if debrief.state != to || debrief.next > 0 {
            self.move_debrief(debrief, to, 0, None);
        }
    }

    pub(super) fn try_later(
        &mut self,
        debrief: &Debrief,
        after: Option<u64>,
        why: Option<&Arc<str>>,
    ) {
        let limits = &self.world.limits;
        let wait = backoff_ms(debrief.tries, limits.backoff_first_ms, limits.backoff_most_ms);
        let wait = self.now.jitter(wait.max(after.unwrap_or(0).min(limits.pause_most_ms)));
        // A turn of a conversation that failed is over: nothing of it is waited for.
        let ours = matches!(debrief.parent, ParentRef::Conversation(_));
        let seen = debrief.state == DeliveryState::Accepted && !ours;
        let to = if seen { DeliveryState::Accepted } else { DeliveryState::Sent };
        self.out.outbox(OutboxRecord::DebriefMoved {
            debrief: debrief.id,
            to,
            next: self.now.tick + wait,
            lease: None,
            code: None,
            parked: false,
            why: why.cloned(),
        });
    }

    pub(super) fn move_debrief(
        &mut self,
        debrief: &Debrief,
        to: DeliveryState,
        next: u64,
        code: Option<Code>,
    ) {
        self.out.outbox(OutboxRecord::DebriefMoved {
            debrief: debrief.id,
            to,
            next,
            lease: None,
            code,
            parked: false,
            why: None,
        });
        if to.is_over() {
            self.makes_way(&debrief.parent);
        } else if debrief.parent.is_drained() {
            self.out.then(Then::Offer(debrief.id));
        } else if let ParentRef::Conversation(told) = &debrief.parent {
            self.out.then(Then::NextTurn(told.task()));
        }
    }

    /// The time to send again has come.
    pub(super) fn send_again(&mut self, id: DebriefId) {
        if let Some(debrief) = self.world.debrief(id) {
            self.move_debrief(debrief, DeliveryState::Sent, 0, None);
        }
    }

    /// Seen, and not answered for a while: the parent is woken under the same key.
    pub(super) fn wake(&mut self, id: DebriefId) {
        self.send_again(id);
    }

    /// No sign for too long: said with a code, and once in the room; the result stays owed.
    pub(super) fn handshake_failed(&mut self, id: DebriefId) {
        let Some(debrief) = self.world.debrief(id) else {
            return;
        };
        let code = Code::HandshakeFailed;
        let parked = self.group_marker(&debrief.notices, code);
        self.out.outbox(OutboxRecord::DebriefMoved {
            debrief: id,
            to: debrief.state,
            next: debrief.next,
            lease: debrief.lease.clone(),
            code: Some(code),
            parked,
            why: debrief.why.clone(),
        });
        self.makes_way(&debrief.parent);
    }

    /// As above, when there was never anybody to send to.
    pub(super) fn parent_silent(&mut self, who: &ParentRef) {
        let Some(parent) = self.world.parent(who) else {
            return;
        };
        self.out.note(Note::ParentSilent(who.clone()));
        let code = Code::HandshakeFailed;
        for (_, notices) in parent.all_due(self.now.tick, self.world.limits.batch_ms) {
            let unsaid = |(task, generation): &(TaskId, u32)| {
                let notice = self.world.task(*task).and_then(|task| task.notice(*generation));
                notice.is_some_and(|notice| notice.code != Some(code))
            };
            let fresh: Vec<(TaskId, u32)> = notices.into_iter().filter(unsaid).collect();
            let marked = self.group_marker(&fresh, code);
            let to = if marked { DeliveryState::Undeliverable } else { DeliveryState::Owed };
            for (task, generation) in fresh {
                self.move_notice(task, generation, to, None, Some(code));
            }
        }
    }

    /// Everything in it has its receipt.
    pub(super) fn settle(&mut self, debrief: &Debrief) {
        self.move_debrief(debrief, DeliveryState::Settled, 0, None);
        for (task, generation) in self.world.owed_in(debrief) {
            self.move_notice(task, generation, DeliveryState::Settled, None, None);
        }
        if let ParentRef::Task(id) = &debrief.parent {
            self.out.then(Then::Judge(*id));
        }
    }

    /// A task's own turn has the debrief.
    pub(super) fn debrief_accepted(&mut self, task: &Task) {
        let debrief = task.turn.debrief.and_then(|id| self.world.debrief(id));
        if let Some(debrief) = debrief
            && matches!(debrief.state, DeliveryState::Sealed | DeliveryState::Sent)
        {
            self.move_debrief(debrief, DeliveryState::Accepted, 0, None);
        }
    }

    /// A task's own turn answered the debrief.
    pub(super) fn debrief_answered(&mut self, task: &Task) {
        if let Some(debrief) = task.turn.debrief.and_then(|id| self.world.debrief(id)) {
            self.settle(debrief);
        }
    }

    pub(super) fn ack(&mut self, request: Request, receipt: &Receipt) {
        let known = match receipt {
            Receipt::Debrief(id) => match self.world.debrief(*id) {
                Some(debrief) => {
                    self.settle(debrief);
                    true
                }
                None => false,
            },
            Receipt::Notice { task, generation } => self.ack_notice(*task, *generation),
        };
        self.out.reply(request, Told::Acked { known });
    }

    /// One end has its receipt; a task that was owed it does not wait for it any more.
    pub(super) fn ack_notice(&mut self, task: TaskId, generation: u32) -> bool {
        let Some(notice) = self.world.task(task).and_then(|task| task.notice(generation)) else {
            return false;
        };
        let (debrief, to) = (notice.debrief, notice.to.clone());
        self.move_notice(task, generation, DeliveryState::Settled, None, None);
        if let Some(debrief) = debrief {
            self.out.then(Then::Withdraw(debrief));
        }
        if let ParentRef::Task(owner) = to {
            self.out.then(Then::Judge(owner));
        }
        true
    }

    /// Every notice settled by a read meanwhile: never sent, it is not sent at all; at rest, it is over.
    pub(super) fn withdraw(&mut self, id: DebriefId) {
        let Some(debrief) = self.world.debrief(id) else {
            return;
        };
        let unsent =
            debrief.state == DeliveryState::Sealed && debrief.tries == 0 && debrief.lease.is_none();
        let own_turn = matches!(debrief.parent, ParentRef::Task(_) | ParentRef::Conversation(_));
        let owed = !self.world.owed_in(debrief).is_empty();
        let waits = self.waits_for_turn(debrief);
        if (debrief.is_resting() || waits) && !owed {
            self.move_debrief(debrief, DeliveryState::Settled, 0, None);
        } else if unsent && !owed && !own_turn {
            self.move_debrief(debrief, DeliveryState::Withdrawn, 0, None);
        }
    }

    /// The parent's answer, if it has one to give, goes to the room that the request came from.
    fn answer_to_room(&mut self, debrief: &Debrief, text: Option<&Payload>) {
        let speaks =
            matches!(debrief.parent, ParentRef::Session { .. } | ParentRef::Conversation(_));
        let Some(origin) = debrief.origin.as_ref().filter(|_| speaks && !debrief.parked) else {
            return;
        };
        match text.filter(|text| !text.text.blank) {
            Some(text)
                if silence::is_chosen(&text.bytes, &debrief.nonce)
                    && !active(Bug::SilencePosted) => {}
            Some(text) => self.post_answer(debrief.id, origin, text),
            None => {
                self.group_marker(&debrief.notices, Code::TelemetryFallback);
            }
        }
    }
}
