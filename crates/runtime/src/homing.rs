//! The library's door: a handle that launches, reads, waits and acknowledges. Cheap to clone.

use std::sync::Arc;
use std::time::Duration;

use homing_core::ids::{AskId, DebriefId, TaskId};
use homing_core::input::{DeliveryFact, Input, ParentFact, Receipt, Request};
use homing_core::payload::Payload;
use homing_core::reason::Caller;
use homing_core::refs::ParentRef;
use homing_core::reply::Told;
use homing_core::task::{Answer, Task};
use homing_core::words::{Code, State};
use homing_ports::store::{JournalRow, StoreError, TaskQuery};
use tokio::sync::{mpsc, watch};

use crate::codec;
use crate::decider::Msg;
use crate::launch::Launch;
use crate::perform::Ports;
use crate::readers::Readers;
use crate::replies::Replies;
use crate::texts;
use crate::time::Timekeeper;

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("{why} [{code}]")]
    Because { code: Code, why: Arc<str> },
    #[error("the runtime has stopped")]
    Stopped,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Refused {
    pub fn code(&self) -> Code {
        match self {
            Self::Because { code, .. } => *code,
            Self::Stopped | Self::Store(_) => Code::Unavailable,
        }
    }
}

/// A task as it was read, and how much that is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub task: Task,
    /// On the ledger's clock.
    pub as_of: u64,
    /// Whether the host could be asked, where it had to be.
    pub fresh: bool,
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
}

impl Homing {
    /// Accepts a task. When this returns an id, the task is durable.
    pub async fn launch(&self, launch: Launch) -> Result<TaskId, Refused> {
        let Some(host) = self.ports.hosts.get(launch.host()).cloned() else {
            let known: Vec<&str> = self.ports.hosts.keys().map(String::as_str).collect();
            let why = format!("host: {:?} is not set up; known: {}", launch.host(), known.join(", "));
            return Err(Refused::Because { code: Code::Invalid, why: why.into() });
        };
        let (agent, model) = launch.names();
        if let Err(why) = host.check(agent, model).await {
            return Err(Refused::Because { code: Code::Invalid, why: why.into() });
        }
        let spec = Box::new(launch.spec(host.caps()));
        let id = TaskId::from_bits(self.time.bits());
        let told = self.ask(|request| Input::Launch { request, id, spec, reservation: None }).await?;
        match told {
            Told::Accepted { task, .. } => Ok(task),
            other => Err(odd(&other)),
        }
    }

    /// Waits for the end, at most this long; tells whether it came.
    pub async fn wait(&self, task: TaskId, at_most: Duration) -> Result<bool, Refused> {
        let ms = u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX);
        match self.ask(|request| Input::Wait { request, task, ms, by: Caller::Person }).await? {
            Told::WaitOver { ended, .. } => Ok(ended),
            other => Err(odd(&other)),
        }
    }

    /// Reads a task truthfully: the host is asked first when what is known is old.
    pub async fn show(&self, id: TaskId) -> Result<Seen, Refused> {
        match self.ask(|request| Input::Read { request, task: id }).await? {
            Told::ReadNow { as_of, fresh, .. } => {
                let (task, _) = self.readers.read(move |reader| texts::task_now(reader, id)).await?;
                match task {
                    Some(task) => Ok(Seen { task: *task, as_of, fresh }),
                    None => Err(not_found(id)),
                }
            }
            other => Err(odd(&other)),
        }
    }

    /// The stored result of the latest generation; none while there is none. Never consumes.
    pub async fn output(&self, id: TaskId) -> Result<Option<Vec<u8>>, Refused> {
        Ok(self.readers.read(move |reader| texts::result(reader, id)).await?)
    }

    /// Tasks as last committed, newest first. Never asks a host.
    pub async fn list(&self, query: TaskQuery) -> Result<Vec<Task>, Refused> {
        let rows = self.readers.read(move |reader| reader.tasks(&query)).await?;
        rows.iter().map(|row| codec::task(row).map_err(Refused::from)).collect()
    }

    pub async fn cancel(&self, task: TaskId, text: Option<&str>) -> Result<State, Refused> {
        let text = text.map(Arc::from);
        let told = self
            .ask(|request| Input::Cancel { request, task, by: Caller::Person, text, quiet: false })
            .await?;
        match told {
            Told::Cancelling { state, .. } | Told::AlreadyEnded { state, .. } => Ok(state),
            other => Err(odd(&other)),
        }
    }

    pub async fn resume(&self, task: TaskId, prompt: &str) -> Result<u32, Refused> {
        let prompt = Payload::from(prompt);
        let told = self
            .ask(|request| Input::Resume { request, task, prompt, parent: None, by: Caller::Person })
            .await?;
        match told {
            Told::Resumed { generation, .. } => Ok(generation),
            other => Err(odd(&other)),
        }
    }

    pub async fn retry(&self, task: TaskId) -> Result<u32, Refused> {
        match self.ask(|request| Input::Retry { request, task, by: Caller::Person }).await? {
            Told::Resumed { generation, .. } => Ok(generation),
            other => Err(odd(&other)),
        }
    }

    /// Words for a living task, as a turn of their own.
    pub async fn send(&self, task: TaskId, text: &str) -> Result<(), Refused> {
        let text = Payload::from(text);
        match self.ask(|request| Input::Send { request, task, text }).await? {
            Told::SendTaken { .. } => Ok(()),
            other => Err(odd(&other)),
        }
    }

    pub async fn answer(&self, ask: AskId, answer: Answer) -> Result<(), Refused> {
        match self.ask(|request| Input::Answer { request, ask, answer, by: Caller::Person }).await? {
            Told::Answered { .. } => Ok(()),
            other => Err(odd(&other)),
        }
    }

    /// The next debrief of an inbox, if one waits: its key and its text.
    pub async fn take(&self, consumer: &str, parent: &ParentRef) -> Result<Option<(DebriefId, Vec<u8>)>, Refused> {
        let (consumer, parent) = (Arc::from(consumer), parent.clone());
        match self.ask(|request| Input::Lease { request, consumer, parent }).await? {
            Told::Leased { debrief: None } => Ok(None),
            Told::Leased { debrief: Some(key) } => {
                let text = self.readers.read(move |reader| reader.blob(&key.to_string())).await?;
                Ok(Some((key, text.unwrap_or_default())))
            }
            other => Err(odd(&other)),
        }
    }

    /// A receipt: what it names is settled. Unknown or repeated receipts are harmless.
    pub async fn ack(&self, receipt: Receipt) -> Result<bool, Refused> {
        match self.ask(|request| Input::Ack { request, receipt }).await? {
            Told::Acked { known } => Ok(known),
            other => Err(odd(&other)),
        }
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
        Ok(self.readers.read(move |reader| reader.journal(after, limit)).await?)
    }

    /// The head of the durable journal, as it moves.
    pub fn head(&self) -> watch::Receiver<u64> {
        self.head.clone()
    }

    /// Stops deciding once everything taken so far is durable. Children run on.
    pub async fn stop(&self) {
        // Gone already: stopped.
        let _ = self.inbox.send(Msg::Stop).await;
        self.inbox.closed().await;
    }

    async fn tell(&self, input: Input) -> Result<(), Refused> {
        self.inbox.send(Msg::Input(Box::new(input))).await.map_err(|_| Refused::Stopped)
    }

    async fn ask(&self, input: impl FnOnce(Request) -> Input) -> Result<Told, Refused> {
        let (request, told) = self.replies.expect();
        let waiting = Waiting { request, homing: self };
        self.tell(input(request)).await?;
        let told = told.await.map_err(|_| Refused::Stopped)?;
        drop(waiting);
        match told {
            Told::Refused { code, why } => Err(Refused::Because { code, why }),
            other => Ok(other),
        }
    }
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

fn odd(told: &Told) -> Refused {
    Refused::Because { code: Code::Invalid, why: format!("an answer to another question: {told:?}").into() }
}

fn not_found(id: TaskId) -> Refused {
    Refused::Because { code: Code::NotFound, why: format!("no task {id}").into() }
}
