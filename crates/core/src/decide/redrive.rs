//! What its receiver will never take rests with a code and the reason, so that what comes behind it goes on; and what
//! rests is sent again when somebody asks for it, under the same key.

use std::sync::Arc;

use super::Case;
use crate::bugs::{Bug, active};
use crate::ids::{DebriefId, PostId};
use crate::input::{Outgoing, Request, Then};
use crate::outbox::Debrief;
use crate::record::OutboxRecord;
use crate::refs::ParentRef;
use crate::reply::Told;
use crate::words::{Code, DeliveryState};

impl Case<'_> {
    /// Said in the room, if there is one; the result stays owed.
    pub(super) fn refused(&mut self, debrief: &Debrief, why: &Arc<str>) {
        if debrief.is_resting() {
            return;
        }
        let code = Code::ReceiverRefused;
        let owed = self.world.owed_in(debrief);
        self.group_marker(&owed, code);
        self.out.outbox(OutboxRecord::DebriefMoved {
            debrief: debrief.id,
            to: DeliveryState::Undeliverable,
            next: 0,
            lease: None,
            code: Some(code),
            parked: false,
            why: Some(Arc::clone(why)),
        });
        for (task, generation) in owed {
            let to = DeliveryState::Undeliverable;
            self.move_notice(task, generation, to, Some(debrief.id), Some(code));
        }
        self.out.then(Then::Withdraw(debrief.id));
        self.makes_way(&debrief.parent);
    }

    pub(super) fn redrive(&mut self, request: Request, what: Outgoing) {
        match what {
            Outgoing::Debrief(id) => self.redrive_debrief(request, id),
            Outgoing::Post(id) => self.redrive_post(request, id),
        }
    }

    fn redrive_debrief(&mut self, request: Request, id: DebriefId) {
        let Some(debrief) = self.world.debrief(id) else {
            return self.out.refuse(request, Code::NotFound, nothing_of(id));
        };
        let parent = self.world.parent(&debrief.parent);
        let takes = match &debrief.parent {
            ParentRef::Conversation(told) => self.known_conversation(*told).is_ok(),
            other @ (ParentRef::None
            | ParentRef::Inbox { .. }
            | ParentRef::Task(_)
            | ParentRef::Webhook(_)
            | ParentRef::Session { .. }) => other.is_pushed_to(),
        };
        if parent.is_some_and(|parent| parent.gone) || !takes {
            let why = format!("{id}: nothing can be brought to {}", debrief.parent);
            return self.out.refuse(request, Code::SessionNotFound, why);
        }
        if !debrief.is_resting() {
            return self.out.refuse(request, Code::OnItsWay, on_its_way(id, debrief.tries));
        }
        let waits = parent.is_some_and(|parent| parent.flight.is_some());
        if !waits {
            self.bring_again(debrief);
        } else if debrief.again.is_none() {
            self.out.outbox(OutboxRecord::DebriefAgain { debrief: id, waits });
        }
        self.out.reply(request, Told::Redriven { waits });
    }

    fn redrive_post(&mut self, request: Request, id: PostId) {
        let Some(post) = self.world.post(id) else {
            return self.out.refuse(request, Code::NotFound, nothing_of(id));
        };
        if post.code == Some(Code::OriginUnhandled) {
            let why = format!("{id}: the kind of {} is not one that is posted to", post.origin);
            return self.out.refuse(request, Code::OriginUnhandled, why);
        }
        if post.state != DeliveryState::Undeliverable {
            return self.out.refuse(request, Code::OnItsWay, on_its_way(id, post.tries));
        }
        self.out.outbox(OutboxRecord::PostAgain { post: id, origin: None });
        self.out.reply(request, Told::Redriven { waits: false });
    }

    /// One that was on its way to this parent is not any more.
    pub(super) fn makes_way(&mut self, who: &ParentRef) {
        if self.world.parent(who).is_some_and(|parent| !parent.again.is_empty()) {
            self.out.then(Then::Again(who.clone()));
        }
    }

    /// The first of those that wait goes, if nothing else is on its way.
    pub(super) fn send_waiting(&mut self, who: &ParentRef) {
        let Some(parent) = self.world.parent(who) else {
            return;
        };
        if parent.flight.is_some() || parent.gone || active(Bug::AgainForgotten) {
            return;
        }
        let first = parent.again.first().and_then(|(_, id)| self.world.debrief(*id));
        if let Some(debrief) = first {
            self.bring_again(debrief);
        }
    }

    fn bring_again(&mut self, debrief: &Debrief) {
        let id = debrief.id;
        self.out.outbox(OutboxRecord::DebriefAgain { debrief: id, waits: false });
        for (task, generation) in self.world.owed_in(debrief) {
            self.move_notice(task, generation, DeliveryState::Sealed, Some(id), None);
        }
        if let ParentRef::Conversation(told) = &debrief.parent {
            self.out.then(Then::NextTurn(told.task()));
        }
    }
}

fn nothing_of(key: impl std::fmt::Display) -> String {
    format!("nothing is owed under {key}: it has its receipt, or never was here")
}

fn on_its_way(key: impl std::fmt::Display, tries: u32) -> String {
    format!("{key} does not rest: it is on its way, sent {tries} times so far")
}
