//! Admission: what may be accepted, and what is written when it is.

use std::sync::Arc;

use super::Case;
use crate::bugs::{Bug, active};
use crate::change::Note;
use crate::decision::names;
use crate::ids::TaskId;
use crate::input::{Request, Then};
use crate::payload::Payload;
use crate::record::TaskRecord;
use crate::refs::{Origin, ParentRef};
use crate::reply::Told;
use crate::rules::Event;
use crate::spec::{Brief, Spec};
use crate::task::BatchId;
use crate::words::{Code, State};
use crate::world::Reservation;

/// A prompt may not be longer than this.
pub const PROMPT_MAX: usize = 1 << 20;

/// Why a launch is refused.
pub(super) type Refusal = (Code, String);

/// Where a task stands in its tree.
struct Lineage {
    root: TaskId,
    depth: u32,
}

impl Case<'_> {
    pub(super) fn reserve(&mut self, request: Request, root: TaskId) {
        let limit = self.world.limits.living_max;
        let tree = self.world.tree(root).cloned().unwrap_or_default();
        if tree.living + tree.reserved >= limit {
            return self.out.refuse(request, Code::LivingLimit, living_text(limit));
        }
        let until = self.now.tick + self.world.limits.reservation_ms;
        self.out.note(Note::Reserved(request, Reservation { root, until }));
        self.out.reply(request, Told::Reserved);
    }

    pub(super) fn release(&mut self, reservation: Request) {
        if self.world.reservations.contains(&reservation) {
            self.out.note(Note::Released(reservation));
        }
    }

    pub(super) fn launch(
        &mut self,
        request: Request,
        id: TaskId,
        spec: &Spec,
        reservation: Option<Request>,
    ) {
        let own = self.of_conversation(spec);
        let spec = own.as_ref().unwrap_or(spec);
        if let Some(key) = spec.brief.key
            && !active(Bug::KeyIgnored)
            && let Some(known) = self.world.idempotency.get(&key).copied()
        {
            return self.same_key(request, known, spec);
        }
        if let Some(missing) = self.missing(id, &spec.parent, &spec.after) {
            self.out.load = Some(missing);
            return;
        }
        let lineage = match self.admit(id, spec, reservation) {
            Ok(lineage) => lineage,
            Err((code, why)) => return self.out.refuse(request, code, why),
        };
        if let Some(reservation) = reservation {
            self.release(reservation);
        }
        self.accept(id, spec, &lineage, None);
        self.out.reply(request, Told::Accepted { task: id, existing: false });
    }

    /// A task other than this one that is named, and not in memory.
    pub(super) fn missing(
        &self,
        id: TaskId,
        parent: &ParentRef,
        after: &[TaskId],
    ) -> Option<TaskId> {
        let told = match parent {
            ParentRef::Task(told) => Some(*told),
            ParentRef::Conversation(told) => Some(told.task()),
            ParentRef::None
            | ParentRef::Inbox { .. }
            | ParentRef::Webhook(_)
            | ParentRef::Session { .. } => None,
        };
        let mut named = told.into_iter().chain(after.iter().copied());
        named.find(|named| *named != id && self.world.task(*named).is_none())
    }

    pub(super) fn same_key(&mut self, request: Request, known: TaskId, spec: &Spec) {
        let Some(task) = self.world.task(known) else {
            self.out.load = Some(known);
            return;
        };
        if task.brief.request == spec.brief.request {
            self.out.reply(request, Told::Accepted { task: known, existing: true });
        } else {
            let why = format!("this idempotency key was used for {known}, with another request");
            self.out.refuse(request, Code::KeyReused, why);
        }
    }

    fn admit(
        &self,
        id: TaskId,
        spec: &Spec,
        reservation: Option<Request>,
    ) -> Result<Lineage, Refusal> {
        let invalid = |why: &str| Err((Code::Invalid, why.to_owned()));
        if self.world.task(id).is_some() {
            return invalid("id: it is taken");
        }
        if spec.order.prompt.trim().is_empty() && spec.order.command.is_empty() {
            return invalid("prompt: it is empty; say what the agent is to do");
        }
        if spec.order.prompt.len() > PROMPT_MAX {
            return invalid(
                "prompt: it is longer than 1 MiB; put it into a file and name the file",
            );
        }
        if spec.brief.host.is_empty() {
            return invalid("host: it is empty");
        }
        let lineage = self.lineage(id, spec, reservation)?;
        self.known_parent(id, &spec.parent)?;
        if spec.brief.budget.counts() {
            self.affordable(spec.launched_by, spec.brief.budget.as_spend())?;
        }
        Ok(lineage)
    }

    fn lineage(
        &self,
        id: TaskId,
        spec: &Spec,
        reservation: Option<Request>,
    ) -> Result<Lineage, Refusal> {
        let Some(above) = spec.launched_by else {
            return Ok(Lineage { root: id, depth: 0 });
        };
        if above == id {
            return Err((Code::LineageCycle, format!("{id} cannot be launched by itself")));
        }
        let Some(caller) = self.world.task(above) else {
            return Err((Code::LineageUnknown, format!("{above}, which launches, is not known")));
        };
        if !caller.is_living() {
            return Err((
                Code::Ended,
                format!("{above}, which launches, has ended ({})", caller.state),
            ));
        }
        let limits = &self.world.limits;
        if caller.depth + 1 > limits.depth_max {
            let why = format!(
                "{above} is at depth {}; at most {} is allowed",
                caller.depth, limits.depth_max
            );
            return Err((Code::DepthExceeded, why));
        }
        let tree = self.world.tree(caller.root).cloned().unwrap_or_default();
        let own = reservation.is_some_and(|held| self.world.reservations.contains(&held));
        if tree.living + tree.reserved - u32::from(own) >= limits.living_max {
            return Err((Code::LivingLimit, living_text(limits.living_max)));
        }
        Ok(Lineage { root: caller.root, depth: caller.depth + 1 })
    }

    /// A task that is to be told must be there, and not below the one it is told about.
    pub(super) fn known_parent(&self, id: TaskId, parent: &ParentRef) -> Result<(), Refusal> {
        if let ParentRef::Conversation(told) = parent {
            return self.known_conversation(*told);
        }
        let ParentRef::Task(told) = parent else {
            return Ok(());
        };
        let mut at = Some(*told);
        while let Some(up) = at {
            if up == id {
                return Err((
                    Code::LineageCycle,
                    format!("{told} is below {id} and cannot be its parent"),
                ));
            }
            at = match self.world.task(up).map(|task| &*task.parent) {
                Some(ParentRef::Task(next)) => Some(*next),
                Some(_) | None => None,
            };
        }
        match self.world.task(*told) {
            Some(task) if task.is_living() => Ok(()),
            Some(task) => {
                Err((Code::Ended, format!("{told} has ended ({}) and cannot be told", task.state)))
            }
            None => {
                Err((Code::LineageUnknown, format!("{told}, which is to be told, is not known")))
            }
        }
    }

    pub(super) fn accept_adopted(
        &mut self,
        id: TaskId,
        spec: &Spec,
        session: &Arc<str>,
    ) -> Result<(), Refusal> {
        let lineage = self.lineage(id, spec, None)?;
        self.known_parent(id, &spec.parent)?;
        self.accept(id, spec, &lineage, Some(session));
        Ok(())
    }

    fn accept(&mut self, id: TaskId, spec: &Spec, lineage: &Lineage, adopted: Option<&Arc<str>>) {
        let mut brief = spec.brief.clone();
        if let (None, ParentRef::Task(above)) = (&brief.origin, &spec.parent) {
            // What a task asks for was asked for where its own request came from.
            brief.origin = self.world.task(*above).and_then(|above| above.brief.origin.clone());
        }
        let brief = Arc::new(brief);
        let (key, _) = self.world.limits.key(&brief, brief.models.first());
        let batch = self.batch_for(&spec.parent, &brief);
        let living = |on: &&TaskId| self.world.task(**on).is_some_and(|task| task.is_living());
        let waits = if adopted.is_some() { &[][..] } else { &spec.after[..] };
        let after: Vec<TaskId> = waits.iter().filter(living).copied().collect();
        self.out.task(
            id,
            TaskRecord::Accepted {
                brief: Arc::clone(&brief),
                parent: spec.parent.clone(),
                launched_by: spec.launched_by,
                root: lineage.root,
                depth: lineage.depth,
                batch,
                after,
                key: Arc::clone(&key),
                adopted: adopted.cloned(),
            },
        );
        self.keep_order(id, spec);
        if brief.budget.counts()
            && let Some(owner) = spec.launched_by.and_then(|above| self.account(above))
        {
            self.out.task(
                owner.id,
                TaskRecord::Reserved { child: id, amount: brief.budget.as_spend() },
            );
        }
        let failed = waits.iter().find(|on| {
            self.world
                .task(**on)
                .is_some_and(|task| !task.is_living() && task.state != State::Completed)
        });
        if let Some(on) = failed {
            self.out.asked.push((State::Queued, Event::DependencyFailed));
            self.depends_in_vain(id, *on, &spec.parent, &brief);
        } else if adopted.is_none() {
            self.out.then(Then::Pump { key, lender: spec.launched_by });
        }
    }

    fn keep_order(&mut self, id: TaskId, spec: &Spec) {
        self.order(id, spec);
        self.out.text(names::prompt(id, 1), Some(id), &Payload::from(spec.order.prompt.as_str()));
    }

    pub(super) fn order(&mut self, id: TaskId, spec: &Spec) {
        // An order is plain data: it always has a form as JSON.
        let order = serde_json::to_vec(&spec.order).unwrap_or_default();
        self.out.text(names::order(id), Some(id), &Payload::new(order));
    }

    /// The batch that a task of this parent joins now.
    pub(super) fn batch_for(&self, parent: &ParentRef, brief: &Brief) -> BatchId {
        if let Some(name) = &brief.batch {
            return BatchId::Named(Arc::clone(name));
        }
        if let Some(turn) = &brief.parent_turn {
            return BatchId::Turn(Arc::clone(turn));
        }
        self.open_batch(parent, brief.origin.as_ref())
    }

    /// The batch of all living ones of a parent whose turns are not known.
    pub(super) fn open_batch(&self, parent: &ParentRef, origin: Option<&Origin>) -> BatchId {
        let known = self.world.parent(parent).and_then(|known| {
            known.batches.iter().find_map(|((id, from), batch)| match id {
                BatchId::Open(_) if batch.living > 0 && from.as_ref() == origin => Some(id.clone()),
                BatchId::Open(_) | BatchId::Named(_) | BatchId::Turn(_) => None,
            })
        });
        known.unwrap_or(BatchId::Open((self.world.head + 1) as u32))
    }
}

fn living_text(limit: u32) -> String {
    format!("{limit} tasks already live under this root; wait for some to end, or cancel them")
}
