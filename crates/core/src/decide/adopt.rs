//! Sessions that were started elsewhere and are taken in: observed and counted from now on.

use std::sync::Arc;

use super::Case;
use crate::change::Note;
use crate::ids::TaskId;
use crate::input::Request;
use crate::record::TaskRecord;
use crate::reply::Told;
use crate::spec::Spec;
use crate::task::Task;
use crate::words::Code;

impl Case<'_> {
    pub(super) fn adopt(
        &mut self,
        request: Request,
        id: TaskId,
        spec: &Spec,
        session: &Arc<str>,
        known: Option<TaskId>,
    ) {
        let own = self.of_conversation(spec);
        let spec = own.as_ref().unwrap_or(spec);
        let known = self.world.by_session(&spec.brief.host, session).or(known);
        if let Some(missing) = self.missing(id, &spec.parent, known.as_slice()) {
            self.out.load = Some(missing);
            return;
        }
        let known = known.and_then(|id| self.world.task(id));
        if let Some(task) = known {
            if self.is_no_task(request, task) {
                return;
            }
            return self.adopt_again(request, task, spec);
        }
        if session.is_empty() {
            return self.out.refuse(request, Code::Invalid, "session: it is empty");
        }
        match self.accept_adopted(id, spec, session) {
            Ok(()) => {
                self.out.note(Note::ProbeAsked(id));
                self.out.reply(request, Told::Accepted { task: id, existing: false });
            }
            Err((code, why)) => self.out.refuse(request, code, why),
        }
    }

    /// One session is one task; another parent takes over what is owed.
    fn adopt_again(&mut self, request: Request, task: &Task, spec: &Spec) {
        if *task.parent != spec.parent {
            if let Err((code, why)) = self.known_parent(task.id, &spec.parent) {
                return self.out.refuse(request, code, why);
            }
            let batch = self.batch_for(&spec.parent, &task.brief);
            self.out.task(
                task.id,
                TaskRecord::ParentMoved { to: spec.parent.clone(), batch: batch.clone() },
            );
            for notice in task.notices.iter().filter(|notice| notice.debrief.is_none()) {
                self.out.task(
                    task.id,
                    TaskRecord::NoticeRouted {
                        generation: notice.generation,
                        to: spec.parent.clone(),
                        batch: batch.clone(),
                        code: None,
                    },
                );
            }
        }
        self.out.reply(request, Told::Accepted { task: task.id, existing: true });
    }
}
