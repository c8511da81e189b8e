//! Asks: answered once, by somebody outside the asking child's own tree; permissions by people, or by the parent that
//! policy names.

use super::Case;
use crate::fact::AskKind;
use crate::ids::{AskId, TaskId};
use crate::input::{Request, Then};
use crate::reason::Caller;
use crate::record::TaskRecord;
use crate::refs::ParentRef;
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
        if let Some((code, why)) = self.may_not(owner, ask, answer, by) {
            return self.out.refuse(request, code, why);
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

    /// Why this caller is not the one to give this answer, if so. The asking child's own tree comes first: no policy
    /// lets it answer.
    fn may_not(
        &self,
        owner: TaskId,
        ask: &Ask,
        answer: &Answer,
        by: &Caller,
    ) -> Option<(Code, String)> {
        let who = match by {
            Caller::Person | Caller::Policy => return None,
            Caller::Task(caller) => {
                if *caller == owner || self.world.is_above(owner, *caller) {
                    return Some((Code::OwnAsk, "a child cannot answer its own ask".to_owned()));
                }
                ParentRef::Task(*caller)
            }
            // To say words or no is no permission.
            Caller::Agent(_) if ask.seen.kind == AskKind::Question => return None,
            Caller::Agent(_) if *answer == Answer::Deny => return None,
            Caller::Agent(parent) => (**parent).clone(),
        };
        let claimed = matches!((by, &who), (Caller::Agent(_), ParentRef::Task(_)));
        let its = self.world.task(owner).is_some_and(|task| *task.parent == who);
        let named = self.world.limits.permissions.iter().any(|named| named.names(&who));
        let but = match (claimed, its, named) {
            (false, true, true) => return None,
            (true, _, _) => format!("this caller is not inside of {who}"),
            (false, false, _) => format!("{who} is not the parent of {owner}"),
            (false, true, false) => format!("policy does not name {who}"),
        };
        let rule = "permissions are given by people, or by the parent if policy names it";
        Some((Code::PeopleOnly, format!("{rule}; {but}")))
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
