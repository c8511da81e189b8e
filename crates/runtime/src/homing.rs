//! The library's door: a handle that launches, reads, waits and acknowledges. Cheap to clone; the runtime
//! goes on without it, until it is stopped.

use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::{AskId, DebriefId, TaskId};
use homing_core::input::{DeliveryFact, Input, ParentFact, Receipt, Request};
use homing_core::payload::Payload;
use homing_core::reason::Caller;
use homing_core::refs::{Origin, OriginKind, ParentRef};
use homing_core::reply::Told;
use homing_core::spec::Spec;
use homing_core::task::{Answer, Task};
use homing_core::words::{Code, State};
use homing_ports::store::{JournalRow, Reader, StoreError, TaskQuery};
use tokio::sync::{mpsc, oneshot, watch};

use crate::answers::{Debrief, Refused, Seen, Waited};
use crate::codec;
use crate::decider::Msg;
use crate::find;
use crate::launch::Launch;
use crate::perform::Ports;
use crate::readers::Readers;
use crate::replies::Replies;
use crate::texts;
use crate::time::Timekeeper;

/// The one answer that a question has; any other is a defect, and said to be one.
macro_rules! the_answer {
    ($told:expr, $($answer:pat => $value:expr),+) => {{
        let told = $told;
        $(if let $answer = told { Ok($value) } else)+ {
            let why = format!("a defect: an answer to another question: {told:?}");
            Err(Refused::because(Code::Invalid, why))
        }
    }};
}

/// See the module.
#[derive(Clone)]
pub struct Homing {
    pub(crate) inbox: mpsc::Sender<Msg>,
    pub(crate) replies: Arc<Replies>,
    pub(crate) readers: Readers,
    pub(crate) time: Timekeeper,
    pub(crate) head: watch::Receiver<u64>,
    pub(crate) ports: Arc<Ports>,
    /// On whose behalf it asks.
    pub(crate) by: Caller,
}

impl Homing {
    /// The same door for another caller. A task that waits for its own descendant lends its slot meanwhile.
    #[must_use]
    pub fn on_behalf_of(&self, by: Caller) -> Self {
        Self { by, ..self.clone() }
    }

    /// Accepts a task. When this returns an id, the task is durable.
    pub async fn launch(&self, launch: Launch) -> Result<TaskId, Refused> {
        let admitted = self.admitted(launch).await?;
        let told = self.ask(|request| self.launching(request, admitted)).await?;
        the_answer!(told, Told::Accepted { task, .. } => task)
    }

    /// Accepts several tasks in one decision: none of them begins before all are there, so that a batch
    /// is never told of in parts because its first task was quick. Each is accepted or refused by itself.
    pub async fn launch_all(
        &self,
        launches: impl IntoIterator<Item = Launch>,
    ) -> Vec<Result<TaskId, Refused>> {
        let mut inputs = Vec::new();
        let mut asked = Vec::new();
        for launch in launches {
            asked.push(match self.admitted(launch).await {
                Ok(spec) => {
                    let (request, told) = self.replies.expect();
                    inputs.push(self.launching(request, spec));
                    Ok((Waiting { request, homing: self }, told))
                }
                Err(refused) => Err(refused),
            });
        }
        // A runtime that has stopped lets go of everyone who waits.
        let sent = self.inbox.send(Msg::Inputs(inputs)).await;
        let mut answers = Vec::new();
        for each in asked {
            answers.push(match (each, &sent) {
                (Err(refused), _) => Err(refused),
                (Ok(_), Err(_)) => Err(Refused::Stopped),
                (Ok((_waiting, told)), Ok(())) => match answered(told).await {
                    Ok(told) => the_answer!(told, Told::Accepted { task, .. } => task),
                    Err(refused) => Err(refused),
                },
            });
        }
        answers
    }

    /// Takes in a session that was started elsewhere: it is one task, however often it is adopted.
    pub async fn adopt(&self, launch: Launch, session: &str) -> Result<TaskId, Refused> {
        let spec = self.admitted(launch).await?;
        let known = TaskQuery {
            session: Some(format!("{}:{session}", spec.brief.host)),
            limit: 1,
            ..TaskQuery::default()
        };
        let known = self.read(move |reader| reader.tasks(&known)).await?;
        let known = known.first().map(|row| row.id);
        let (id, session) = (TaskId::from_bits(self.time.bits()), Arc::from(session));
        let adopt = |request| Input::Adopt { request, id, spec, session, known };
        the_answer!(self.ask(adopt).await?, Told::Accepted { task, .. } => task)
    }

    /// Names another place for what could not be told where it was to be.
    pub async fn reroute(&self, task: TaskId, origin: Origin) -> Result<(), Refused> {
        let told = self.ask(|request| Input::Reroute { request, task, origin }).await?;
        the_answer!(told, Told::Rerouted { .. } => ())
    }

    /// What can be refused without a decision is refused here.
    async fn admitted(&self, launch: Launch) -> Result<Box<Spec>, Refused> {
        let Some(host) = self.ports.hosts.get(launch.host()).cloned() else {
            let known = self.ports.hosts.keys().map(String::as_str);
            let why = find::unknown("host", launch.host(), known);
            return Err(Refused::because(Code::Invalid, why));
        };
        for (agent, model) in launch.names() {
            let known = host.check(agent, model).await;
            known.map_err(|why| Refused::because(Code::Invalid, why))?;
        }
        let spec = launch.spec(host.caps());
        if let Some(origin) = &spec.brief.origin
            && !matches!(origin.kind, OriginKind::Other(_))
            && !self.ports.rooms.contains_key(&*origin.room)
        {
            let known = self.ports.rooms.keys().map(String::as_str);
            return Err(Refused::because(
                Code::Invalid,
                find::unknown("room", &origin.room, known),
            ));
        }
        Ok(Box::new(spec))
    }

    fn launching(&self, request: Request, spec: Box<Spec>) -> Input {
        let id = TaskId::from_bits(self.time.bits());
        Input::Launch { request, id, spec, reservation: None }
    }

    /// The task that a person means: an id, a unique beginning of one, or a name. Whatever it is not,
    /// the refusal says what it is and what to use.
    pub async fn find(&self, text: &str) -> Result<TaskId, Refused> {
        let text = text.to_owned();
        let hosts: Vec<String> = self.ports.hosts.keys().cloned().collect();
        self.read(move |reader| Ok(find::task(reader, &text, &hosts))).await?
    }

    /// Waits for the end, at most this long. A time that is up says nothing of the task but that.
    pub async fn wait(&self, task: TaskId, at_most: Duration) -> Result<Waited, Refused> {
        let ms = u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX);
        let by = self.by.clone();
        let told = self.ask(|request| Input::Wait { request, task, ms, by }).await?;
        the_answer!(
            told,
            Told::WaitOver { ended: true, .. } => Waited::Ended,
            Told::WaitOver { ended: false, .. } => Waited::TimeUp { after: at_most }
        )
    }

    /// Reads a task truthfully: the host is asked first when what is known is old.
    pub async fn show(&self, id: TaskId) -> Result<Seen, Refused> {
        let told = self.ask(|request| Input::Read { request, task: id }).await?;
        let now = the_answer!(told, Told::ReadNow { as_of, fresh, .. } => (as_of, fresh));
        let (as_of, fresh) = now?;
        match self.read(move |reader| texts::task_now(reader, id)).await? {
            (Some(task), _) => Ok(Seen { task: *task, as_of: self.time.stamp_of(as_of), fresh }),
            (None, _) => Err(Refused::because(Code::NotFound, format!("no task {id}"))),
        }
    }

    /// The stored result of the latest generation; none while there is none. Never consumes.
    pub async fn output(&self, id: TaskId) -> Result<Option<Vec<u8>>, Refused> {
        self.read(move |reader| texts::result(reader, id)).await
    }

    /// Tasks as last committed, newest first. Never asks a host.
    pub async fn list(&self, query: TaskQuery) -> Result<Vec<Task>, Refused> {
        self.read(move |reader| reader.tasks(&query)?.iter().map(codec::task).collect()).await
    }

    /// What a parent has out, and had: newest first, from the ledger.
    pub async fn owned(&self, parent: &ParentRef, limit: usize) -> Result<Vec<Task>, Refused> {
        let parent = Some(parent.to_string());
        self.list(TaskQuery { parent, limit, ..TaskQuery::default() }).await
    }

    /// Ends a task with all that lives below it; where it stands now. What had ended stays as it was.
    pub async fn cancel(&self, task: TaskId, text: Option<&str>) -> Result<State, Refused> {
        let (text, by) = (text.map(Arc::from), self.by.clone());
        let cancel = |request| Input::Cancel { request, task, by, text, quiet: false };
        the_answer!(
            self.ask(cancel).await?,
            Told::Cancelling { state, .. } | Told::AlreadyEnded { state, .. } => state
        )
    }

    /// A new generation of an ended task, with words of its own.
    pub async fn resume(&self, task: TaskId, prompt: &str) -> Result<u32, Refused> {
        let (prompt, by) = (Payload::from(prompt), self.by.clone());
        let resume = |request| Input::Resume { request, task, prompt, parent: None, by };
        the_answer!(self.ask(resume).await?, Told::Resumed { generation, .. } => generation)
    }

    /// A new generation of an ended task, with the same words.
    pub async fn retry(&self, task: TaskId) -> Result<u32, Refused> {
        let by = self.by.clone();
        let told = self.ask(|request| Input::Retry { request, task, by }).await?;
        the_answer!(told, Told::Resumed { generation, .. } => generation)
    }

    /// Words for a living task, as a turn of their own.
    pub async fn send(&self, task: TaskId, text: &str) -> Result<(), Refused> {
        let text = Payload::from(text);
        let told = self.ask(|request| Input::Send { request, task, text }).await?;
        the_answer!(told, Told::SendTaken { .. } => ())
    }

    pub async fn answer(&self, ask: AskId, answer: Answer) -> Result<(), Refused> {
        let by = self.by.clone();
        let told = self.ask(|request| Input::Answer { request, ask, answer, by }).await?;
        the_answer!(told, Told::Answered { .. } => ())
    }

    /// The next debrief of an inbox, if one waits. It is kept for this consumer until it is
    /// acknowledged or its lease is over.
    pub async fn take(
        &self,
        consumer: &str,
        inbox: &ParentRef,
    ) -> Result<Option<Debrief>, Refused> {
        let (consumer, parent) = (Arc::from(consumer), inbox.clone());
        let told = self.ask(|request| Input::Lease { request, consumer, parent }).await?;
        let Some(key) = the_answer!(told, Told::Leased { debrief } => debrief)? else {
            return Ok(None);
        };
        let text = self.read(move |reader| reader.blob(&key.to_string())).await?;
        Ok(Some(Debrief { key, text: text.unwrap_or_default() }))
    }

    /// As `take`, but waits for one to come, at most this long.
    pub async fn next(
        &self,
        consumer: &str,
        inbox: &ParentRef,
        at_most: Duration,
    ) -> Result<Option<Debrief>, Refused> {
        let mut head = self.head.clone();
        let coming = async {
            loop {
                head.mark_unchanged();
                if let Some(debrief) = self.take(consumer, inbox).await? {
                    return Ok(Some(debrief));
                }
                head.changed().await.map_err(|_| Refused::Stopped)?;
            }
        };
        tokio::time::timeout(at_most, coming).await.unwrap_or(Ok(None))
    }

    /// A receipt: what it names is settled. Unknown or repeated receipts are harmless.
    pub async fn ack(&self, receipt: Receipt) -> Result<bool, Refused> {
        let told = self.ask(|request| Input::Ack { request, receipt }).await?;
        the_answer!(told, Told::Acked { known } => known)
    }

    /// What a parent's own program shows of its turns.
    pub async fn parent(&self, parent: ParentRef, fact: ParentFact) -> Result<(), Refused> {
        self.tell(Input::Parent { parent, fact }).await
    }

    /// What became of a delivery after it was handed over.
    pub async fn delivered(&self, debrief: DebriefId, fact: DeliveryFact) -> Result<(), Refused> {
        self.tell(Input::Delivery { debrief, fact }).await
    }

    /// Journal lines after a cursor.
    pub async fn events(&self, after: u64, limit: usize) -> Result<Vec<JournalRow>, Refused> {
        self.read(move |reader| reader.journal(after, limit)).await
    }

    /// The head of the durable journal, as it moves.
    pub fn head(&self) -> watch::Receiver<u64> {
        self.head.clone()
    }

    /// Stops deciding once everything taken so far is durable, and lets go of the store. Children run on.
    pub async fn stop(&self) {
        // Gone already: stopped.
        let _ = self.inbox.send(Msg::Stop).await;
        // The head falls with the decider, the last of it.
        let _ = self.head.clone().wait_for(|_| false).await;
    }

    async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Refused> {
        Ok(self.readers.read(ask).await?)
    }

    async fn tell(&self, input: Input) -> Result<(), Refused> {
        self.inbox.send(Msg::Input(Box::new(input))).await.map_err(|_| Refused::Stopped)
    }

    async fn ask(&self, input: impl FnOnce(Request) -> Input) -> Result<Told, Refused> {
        let (request, told) = self.replies.expect();
        let waiting = Waiting { request, homing: self };
        self.tell(input(request)).await?;
        let answer = answered(told).await;
        drop(waiting);
        answer
    }
}

async fn answered(told: oneshot::Receiver<Told>) -> Result<Told, Refused> {
    let told = told.await.map_err(|_| Refused::Stopped)?;
    if let Told::Refused { code, why } = told {
        return Err(Refused::Because { code, why });
    }
    Ok(told)
}

/// A caller that goes away is forgotten, and a slot lent for it is taken back.
struct Waiting<'a> {
    request: Request,
    homing: &'a Homing,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.homing.replies.forget(self.request) {
            let forget = Msg::Input(Box::new(Input::Forget { request: self.request }));
            // A full inbox: the wait then ends by its own time.
            let _ = self.homing.inbox.try_send(forget);
        }
    }
}
