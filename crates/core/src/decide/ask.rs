//! Asks: answered once, by somebody outside the asking child's own tree.

use super::Case;
use crate::fact::AskKind;
use crate::ids::{AskId, TaskId};
use crate::input::{Request, Then};
use crate::reason::Caller;
use crate::record::TaskRecord;
use crate::reply::Told;
use crate::task::{Answer, Ask, AskState};
use crate::words::Code;

impl<'w> Case<'w> {
    pub(super) fn answer(&mut self, request: Request, id: AskId, answer: &Answer, by: &Caller) {
        let Some((owner, ask)) = self.find_ask(id) else {
            let why = format!(
                "{id} is not open: it was answered, withdrawn, or belongs to an earlier attempt"
            );
            return self.out.refuse(request, Code::AskClosed, why);
        };
        if ask.state != AskState::Open {
            return self.out.refuse(
                request,
                Code::AskClosed,
                format!("{id} was {} before", ask.state),
            );
        }
        if let Caller::Task(caller) = by {
            let own = *caller == owner || self.world.is_above(owner, *caller);
            let why = if own {
                "a child cannot answer its own ask"
            } else {
                "asks are answered by people"
            };
            return self.out.refuse(request, Code::OwnAsk, why);
        }
        if ask.seen.kind == AskKind::Question && *answer == Answer::Allow {
            return self.out.refuse(request, Code::Invalid, "answer: a question needs a text");
        }
        self.out.task(
            owner,
            TaskRecord::AskMoved {
                ask: id,
                to: AskState::Answered,
                answer: Some(answer.clone()),
                by: Some(by.clone()),
            },
        );
        self.out.then(Then::Judge(owner));
        self.out.reply(request, Told::Answered { ask: id });
    }

    pub(super) fn ask_expired(&mut self, owner: TaskId, ask: &Ask) {
        self.out.task(
            owner,
            TaskRecord::AskMoved {
                ask: ask.id,
                to: AskState::Expired,
                answer: Some(Answer::Deny),
                by: Some(Caller::Policy),
            },
        );
        self.out.then(Then::Judge(owner));
    }

    pub(super) fn answer_taken(&mut self, id: AskId) {
        if let Some((owner, ask)) = self.find_ask(id)
            && ask.answer.is_some()
        {
            self.out.task(owner, TaskRecord::AskDone { ask: id });
        }
    }

    fn find_ask(&self, id: AskId) -> Option<(TaskId, &'w Ask)> {
        let owner = self.world.ask_owner(id)?;
        let ask = self.world.task(owner)?.asks.iter().find(|ask| ask.id == id)?;
        Some((owner, ask))
    }
}
