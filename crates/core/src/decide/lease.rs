//! Leases: one consumer at a time has a debrief of an inbox, for a while or until its receipt.

use std::sync::Arc;

use super::Case;
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::ids::DebriefId;
use crate::input::Request;
use crate::outbox::Debrief;
use crate::record::OutboxRecord;
use crate::refs::ParentRef;
use crate::reply::{Lease, Told};
use crate::words::{Code, DeliveryState};
use crate::world::Taker;

impl Case<'_> {
    pub(super) fn lease(
        &mut self,
        request: Request,
        consumer: &Arc<str>,
        parent: &ParentRef,
        stays: bool,
    ) {
        let ParentRef::Inbox { name, key } = parent else {
            let why = format!("{parent} is no inbox: nobody fetches what is sent to it");
            return self.out.refuse(request, Code::Invalid, why);
        };
        if let Some(debrief) = self.world.unleased(name, key.as_ref()) {
            self.give(debrief, consumer, request);
        } else if stays {
            let (consumer, name) = (Arc::clone(consumer), Arc::clone(name));
            self.out.note(Note::TakerCame(request, Taker { consumer, name, key: key.clone() }));
        } else {
            self.out.reply(request, Told::Leased { lease: None });
        }
    }

    /// A debrief that no consumer has goes to the one that has waited longest for it.
    pub(super) fn offer(&mut self, id: DebriefId) {
        let free = |debrief: &&Debrief| debrief.lease.is_none() && !debrief.is_resting();
        let Some(debrief) = self.world.debrief(id).filter(free) else {
            return;
        };
        if let Some((request, taker)) = self.world.first_taker(&debrief.parent)
            && !active(Bug::TakersForgotten)
        {
            self.out.note(Note::TakerWent(request));
            self.give(debrief, &taker.consumer, request);
        }
    }

    fn give(&mut self, debrief: &Debrief, consumer: &Arc<str>, request: Request) {
        let until = self.now.tick + self.world.limits.lease_ms;
        self.out.outbox(OutboxRecord::DebriefMoved {
            debrief: debrief.id,
            to: DeliveryState::Sent,
            next: 0,
            lease: Some((Arc::clone(consumer), until)),
            code: None,
            parked: false,
            why: None,
        });
        let lease = Lease { debrief: debrief.id, until, digest: debrief.text.digest };
        self.out.reply(request, Told::Leased { lease: Some(lease) });
    }

    /// As if it had run out; what was given anew meanwhile is not touched.
    pub(super) fn let_go(&mut self, lease: Lease) {
        let held = |debrief: &Debrief| {
            debrief.lease.as_ref().is_some_and(|(_, until)| *until == lease.until)
        };
        if self.world.debrief(lease.debrief).is_some_and(held) {
            self.lease_over(lease.debrief);
        }
    }

    pub(super) fn lease_over(&mut self, id: DebriefId) {
        if let Some(debrief) = self.world.debrief(id) {
            self.move_debrief(debrief, DeliveryState::Sealed, 0, None);
        }
    }
}
