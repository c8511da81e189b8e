//! Debriefs and posts as the World holds them: each moves by one journal line at a time, and leaves when
//! nothing more is owed.

use std::sync::Arc;

use super::{Who, World};
use crate::fold::Line;
use crate::ids::PostId;
use crate::outbox::{Debrief, Post};
use crate::record::OutboxRecord;
use crate::words::DeliveryState;

impl World {
    pub(super) fn apply_outbox(&mut self, record: &OutboxRecord, line: Line) {
        match record {
            OutboxRecord::Sealed { debrief } => {
                let sealed = Some(line.stamp.wall);
                self.insert_debrief(Debrief { sealed, ..(**debrief).clone() });
            }
            OutboxRecord::DebriefMoved { debrief, .. } => {
                let Some(mut known) = self.debriefs.remove(debrief) else {
                    return;
                };
                self.unindex_debrief(&known);
                debrief_moved(&mut known, record, line.stamp.tick);
                if known.state.is_over() {
                    known.closed = Some(line.stamp.wall);
                    self.disarm(&Who::Debrief(*debrief));
                    self.tidy_parent(&known.parent);
                    self.left.debriefs.push(known);
                    return;
                }
                self.insert_debrief(known);
            }
            OutboxRecord::DebriefAnswered { debrief, task, text } => {
                if let Some(known) = self.debriefs.get_mut(debrief) {
                    known.answer = Some((*task, *text));
                }
            }
            OutboxRecord::DebriefAgain { debrief, waits } => {
                if let Some(mut known) = self.debriefs.remove(debrief) {
                    self.unindex_debrief(&known);
                    debrief_again(&mut known, *waits, line.seq);
                    self.insert_debrief(known);
                }
            }
            OutboxRecord::PostAgain { post, origin } => {
                if let Some(mut known) = self.posts.remove(post) {
                    self.unindex_post(&known);
                    (known.state, known.next, known.code) = (DeliveryState::Sent, 0, None);
                    if let Some(origin) = origin {
                        // There it comes after all that was said before.
                        (known.origin, known.seq) = ((**origin).clone(), line.seq);
                        (known.tries, known.why) = (0, None);
                    }
                    self.insert_post(known);
                }
            }
            OutboxRecord::PostSealed { post } => self.insert_post((**post).clone()),
            OutboxRecord::PostMoved { post, to, next, code, why } => {
                let Some(mut known) = self.posts.remove(post) else {
                    return;
                };
                self.unindex_post(&known);
                known.tries += u32::from(*to == DeliveryState::Sent && *next > 0);
                known.state = *to;
                known.next = *next;
                known.code = code.or(known.code);
                known.why = why.clone().or(known.why);
                if known.state.is_over() {
                    known.closed = Some(line.stamp.wall);
                    self.disarm(&Who::Post(*post));
                    self.left.posts.push(known);
                    return;
                }
                self.insert_post(known);
            }
        }
    }

    pub(crate) fn insert_debrief(&mut self, debrief: Debrief) {
        let id = debrief.id;
        self.index_debrief(&debrief);
        self.debriefs.insert(id, debrief);
        self.arm(&Who::Debrief(id));
    }

    pub(crate) fn insert_post(&mut self, post: Post) {
        let id = post.id;
        if post.state != DeliveryState::Undeliverable {
            self.rooms.entry(room_of(&post)).or_default().insert(post.seq, id);
        }
        self.posts.insert(id, post);
        self.arm(&Who::Post(id));
    }

    /// The one whose turn it is in the room of a post.
    pub(crate) fn first_in_room(&self, post: &Post) -> Option<PostId> {
        let queue = self.rooms.get(&room_of(post))?;
        queue.first_key_value().map(|(_, id)| *id)
    }

    /// The one whose turn it is in a room when this one has gone.
    pub(crate) fn post_after(&self, id: PostId) -> Option<PostId> {
        let post = self.posts.get(&id)?;
        let queue = self.rooms.get(&room_of(post))?;
        queue.range(post.seq + 1..).next().map(|(_, id)| *id)
    }

    fn unindex_post(&mut self, post: &Post) {
        let room = room_of(post);
        if let Some(queue) = self.rooms.get_mut(&room) {
            queue.remove(&post.seq);
            if queue.is_empty() {
                self.rooms.remove(&room);
            }
        }
    }
}

fn room_of(post: &Post) -> (Arc<str>, Arc<str>) {
    (Arc::clone(&post.origin.room), Arc::clone(&post.origin.address))
}

fn debrief_moved(known: &mut Debrief, record: &OutboxRecord, tick: u64) {
    let OutboxRecord::DebriefMoved { to, next, lease, code, parked, why, .. } = record else {
        return;
    };
    // A send that is waited for, or that came to be seen, was one.
    let sent = *next > 0 || known.state == DeliveryState::Accepted;
    known.tries += u32::from(*to == DeliveryState::Sent && sent);
    if matches!(to, DeliveryState::Sent | DeliveryState::Accepted) {
        known.first_sent = known.first_sent.or(Some(tick));
    }
    if *to == DeliveryState::Accepted {
        known.accepted = Some(tick);
    }
    known.state = *to;
    known.next = *next;
    known.lease = lease.clone();
    known.code = code.or(known.code);
    known.parked |= *parked;
    if why.is_some() || *to == DeliveryState::Accepted {
        known.why.clone_from(why);
    }
    known.again = None;
}

/// As it was sealed; perhaps its parent has it all the same, so it is asked first.
fn debrief_again(known: &mut Debrief, waits: bool, seq: u64) {
    if waits {
        known.again = Some(seq);
        return;
    }
    known.state = DeliveryState::Sealed;
    known.tries = known.tries.max(1);
    known.next = 0;
    known.parked = false;
    (known.again, known.code, known.first_sent, known.accepted) = (None, None, None, None);
}
