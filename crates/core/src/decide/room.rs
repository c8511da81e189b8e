//! What goes to rooms: the parent's answer, or one plain marker with its code. Child text never does.

use super::Case;
use crate::compose::line;
use crate::decision::names;
use crate::ids::{DebriefId, PostId, TaskId};
use crate::input::{PostFact, Request};
use crate::outbox::{Post, PostKind, answer_id, marker_id, reroute_id};
use crate::payload::Payload;
use crate::record::{OutboxRecord, TaskRecord};
use crate::refs::{Origin, OriginKind};
use crate::reply::Told;
use crate::task::Task;
use crate::time::backoff_ms;
use crate::words::{Code, DeliveryState, State};

impl Case<'_> {
    pub(super) fn post_answer(&mut self, debrief: DebriefId, origin: &Origin, text: &Payload) {
        self.post(answer_id(debrief), origin, PostKind::Answer { debrief }, text);
    }

    /// One marker for ends that nobody spoke of, all of one origin; tells whether there is a room for it.
    pub(super) fn group_marker(&mut self, notices: &[(TaskId, u32)], code: Code) -> bool {
        let Some((id, generation)) = notices.first() else {
            return false;
        };
        let Some(task) = self.world.task(*id) else {
            return false;
        };
        let outcome = task.notice(*generation).map_or(task.state, |notice| notice.outcome);
        self.marker(task, *generation, outcome, notices.len() - 1, code)
    }

    /// Nobody was to be told: the room is, in one line.
    pub(super) fn marker_without_parent(&mut self, id: TaskId) {
        if let Some(task) = self.world.task(id) {
            self.marker(task, task.generation, task.state, 0, Code::TelemetryFallback);
        }
    }

    fn marker(
        &mut self,
        task: &Task,
        generation: u32,
        outcome: State,
        more: usize,
        code: Code,
    ) -> bool {
        let Some(origin) = &task.brief.origin else {
            return false;
        };
        let kind = PostKind::Marker { task: task.id, generation, code };
        let text = Payload::from(marker_text(task, outcome, more, code).as_str());
        self.post(marker_id(task.id, generation), origin, kind, &text)
    }

    /// Seals a post, once per id; tells whether its room is one that is posted to.
    fn post(&mut self, id: PostId, origin: &Origin, kind: PostKind, text: &Payload) -> bool {
        let unhandled = matches!(origin.kind, OriginKind::Other(_));
        if self.world.post(id).is_some() {
            return !unhandled;
        }
        let post = Post {
            id,
            origin: origin.clone(),
            kind,
            text: text.text,
            seq: self.out.next_line(self.world.head),
            state: if unhandled { DeliveryState::Undeliverable } else { DeliveryState::Sealed },
            tries: 0,
            next: 0,
            code: unhandled.then_some(Code::OriginUnhandled),
            why: None,
            closed: None,
        };
        self.out.text(names::post(id), None, text);
        self.out.outbox(OutboxRecord::PostSealed { post: Box::new(post) });
        !unhandled
    }

    pub(super) fn posted(&mut self, id: PostId, fact: &PostFact) {
        let Some(post) = self.world.post(id) else {
            return;
        };
        let (to, next, code, why) = match fact {
            PostFact::Posted => (DeliveryState::Settled, 0, None, None),
            PostFact::Failed { why, retry_after_ms } => {
                let limits = &self.world.limits;
                let wait = backoff_ms(post.tries, limits.backoff_first_ms, limits.backoff_most_ms);
                let wait = wait.max(retry_after_ms.unwrap_or(0).min(limits.pause_most_ms));
                (DeliveryState::Sent, self.now.tick + self.now.jitter(wait), None, Some(why))
            }
            PostFact::Closed { why } => {
                (DeliveryState::Undeliverable, 0, Some(Code::RoomClosed), Some(why))
            }
        };
        let why = why.cloned();
        self.out.outbox(OutboxRecord::PostMoved { post: id, to, next, code, why });
    }

    pub(super) fn post_again(&mut self, id: PostId) {
        self.out.outbox(OutboxRecord::PostMoved {
            post: id,
            to: DeliveryState::Sent,
            next: 0,
            code: None,
            why: None,
        });
    }

    /// An operator names another place for what could not be told: the message itself, or one line where there is none.
    pub(super) fn reroute(
        &mut self,
        request: Request,
        id: TaskId,
        origin: &Origin,
        post: Option<PostId>,
    ) {
        let Some(task) = self.world.task(id) else {
            return self.not_there(request);
        };
        if matches!(origin.kind, OriginKind::Other(_)) {
            return self.out.refuse(
                request,
                Code::OriginUnhandled,
                "origin: its kind is not one that is posted to",
            );
        }
        let lost = task
            .notices
            .iter()
            .find(|notice| notice.code.is_some() || notice.state == DeliveryState::Undeliverable);
        let (generation, outcome) = match lost {
            Some(notice) => (notice.generation, notice.outcome),
            None if task.is_living() => {
                return self.out.refuse(
                    request,
                    Code::NotEnded,
                    "it has not ended: there is nothing to bring elsewhere",
                );
            }
            None => (task.generation, task.state),
        };
        let closed = |id: &PostId| {
            self.world.post(*id).is_some_and(|post| post.state == DeliveryState::Undeliverable)
        };
        let said = post.into_iter().chain([marker_id(id, generation)]).find(closed);
        let elsewhere = reroute_id(id, generation, origin);
        if said.is_some() || self.world.post(elsewhere).is_none() {
            let origin = Box::new(origin.clone());
            self.out.task(id, TaskRecord::Rerouted { generation, origin });
        }
        if let Some(post) = said {
            let origin = Some(Box::new(origin.clone()));
            self.out.outbox(OutboxRecord::PostAgain { post, origin });
        } else {
            let code = Code::TelemetryFallback;
            let kind = PostKind::Marker { task: id, generation, code };
            let text = Payload::from(marker_text(task, outcome, 0, code).as_str());
            self.post(elsewhere, origin, kind, &text);
        }
        if let Some(notice) = lost {
            self.ack_notice(id, notice.generation);
        }
        self.out.reply(request, Told::Rerouted { task: id });
    }
}

/// One plain line. The name is the launcher's; nothing of the child's is in it.
fn marker_text(task: &Task, outcome: State, more: usize, code: Code) -> String {
    let word = match outcome {
        State::Completed => "done",
        State::TimedOut => "timed out",
        State::Cancelled => "cancelled",
        State::Failed
        | State::Lost
        | State::Queued
        | State::Starting
        | State::Running
        | State::WaitingAsk
        | State::WaitingChildren
        | State::Paused
        | State::Stopping => "failed",
    };
    let name = line(task.brief.name.as_deref().unwrap_or("unnamed"), 80);
    let others = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("Background task {word}: {name} ({}){others} [{code}]", task.id)
}
