//! The library's door: a handle that launches, reads, waits and acknowledges. Cheap to clone; the runtime
//! goes on without it, until it is stopped.

use std::sync::Arc;
use std::time::Duration;

use homing_core::fact::{Fact, Fence, Presence};
use homing_core::ids::{AskId, DebriefId, TaskId};
use homing_core::input::{DeliveryFact, Input, Outgoing, ParentFact, Receipt, Request};
use homing_core::limits::Limits;
use homing_core::nearest;
use homing_core::outbox::Post;
use homing_core::payload::Payload;
use homing_core::reason::Caller;
use homing_core::refs::{Origin, OriginKind, ParentRef};
use homing_core::reply::Told;
use homing_core::spec::Spec;
use homing_core::task::Answer;
use homing_core::words::{Code, DeliveryState, State};
use homing_ports::host::Place;
use homing_ports::store::{Reader, StoreError, TaskQuery};
use tokio::sync::{mpsc, oneshot, watch};

use crate::answers::{Cancelled, Launched, Refused, Waited};
use crate::decider::Msg;
use crate::figures::Figures;
use crate::fresh::Fresh;
use crate::launch::Launch;
use crate::logged;
use crate::perform::Ports;
use crate::readers::Readers;
use crate::replies::Replies;
use crate::shown;
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

pub(crate) use the_answer;

/// See the module.
#[derive(Clone)]
pub struct Homing {
    pub(crate) inbox: mpsc::Sender<Msg>,
    pub(crate) replies: Arc<Replies>,
    pub(crate) readers: Readers,
    pub(crate) time: Timekeeper,
    pub(crate) head: watch::Receiver<u64>,
    pub(crate) anew: watch::Receiver<()>,
    pub(crate) fresh: Fresh,
    pub(crate) ports: Arc<Ports>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) figures: Arc<Figures>,
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
        Ok(self.launch_as(self.mint(), launch).await?.task)
    }

    /// An id for a task that is launched next.
    pub fn mint(&self) -> TaskId {
        TaskId::from_bits(self.time.bits())
    }

    /// Accepts a task under an id that was minted for it. With a key that came before, the task of then is
    /// the answer, and the id is not used.
    pub async fn launch_as(&self, id: TaskId, launch: Launch) -> Result<Launched, Refused> {
        let asked = async {
            let spec = self.admitted(launch).await?;
            let launch = |request| Input::Launch { request, id, spec, reservation: None };
            the_answer!(
                self.ask(launch).await?,
                Told::Accepted { task, existing } => Launched { task, existing }
            )
        };
        self.counted(asked.await)
    }

    /// Counts what became of a launch.
    fn counted(&self, launched: Result<Launched, Refused>) -> Result<Launched, Refused> {
        match &launched {
            Ok(Launched { existing: false, .. }) => self.figures.accepted.add(1),
            Ok(Launched { existing: true, .. }) => self.figures.existing.add(1),
            Err(refused) => self.figures.refused.of(refused.code()).add(1),
        }
        launched
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
                    let waiting = self.expect();
                    inputs.push(self.launching(waiting.request, spec));
                    Ok(waiting)
                }
                Err(refused) => Err(refused),
            });
        }
        // A runtime that has stopped lets go of everyone who waits.
        let sent = self.inbox.send(Msg::Inputs(inputs)).await;
        let mut answers = Vec::new();
        for each in asked {
            let launched = match (each, &sent) {
                (Err(refused), _) => Err(refused),
                (Ok(_), Err(_)) => Err(Refused::Stopped),
                (Ok(waiting), Ok(())) => match waiting.answered().await {
                    Ok(told) => the_answer!(
                        told,
                        Told::Accepted { task, existing } => Launched { task, existing }
                    ),
                    Err(refused) => Err(refused),
                },
            };
            answers.push(self.counted(launched).map(|launched| launched.task));
        }
        answers
    }

    /// Takes in a session that was started elsewhere: it is one task, however often it is adopted.
    pub async fn adopt(&self, launch: Launch, session: &str) -> Result<Launched, Refused> {
        let spec = self.admitted(launch).await?;
        self.is_there(&spec.brief.host, session).await?;
        let known = TaskQuery {
            session: Some(format!("{}:{session}", spec.brief.host)),
            limit: 1,
            ..TaskQuery::default()
        };
        let known = self.read(move |reader| reader.tasks(&known)).await?;
        let known = known.first().map(|row| row.id);
        let (id, session) = (self.mint(), Arc::from(session));
        let adopt = |request| Input::Adopt { request, id, spec, session, known };
        the_answer!(
            self.ask(adopt).await?,
            Told::Accepted { task, existing } => Launched { task, existing }
        )
    }

    /// A session that its host does not have is not waited for.
    async fn is_there(&self, host: &str, session: &str) -> Result<(), Refused> {
        let Some(driver) = self.ports.hosts.get(host) else {
            return Ok(());
        };
        let fence = Fence { attempt: 1, turn: 1 };
        let place = Place { task: self.mint(), fence, session: Some(session.into()) };
        let seen = driver.look(place).await;
        if let Fact::LookFailed { why } = seen {
            let why = format!("session: {host} could not be asked for it: {why}");
            return Err(Refused::because(Code::Invalid, why));
        }
        if let Fact::Looked { picture } = seen
            && picture.session == Presence::Missing
        {
            let why = format!("session: {host} has none that is called {session:?}");
            return Err(Refused::because(Code::NotFound, why));
        }
        Ok(())
    }

    /// Names another place for what could not be told where it was to be.
    pub async fn reroute(&self, task: TaskId, origin: Origin) -> Result<(), Refused> {
        self.can_be_posted_to(&origin)?;
        let post = self.read(move |reader| shown::last_post(reader, task)).await?;
        let goes_there =
            |post: &Post| post.origin == origin && post.state != DeliveryState::Undeliverable;
        // Asked for again: it is told there, or about to be.
        if post.as_ref().is_some_and(goes_there) {
            return Ok(());
        }
        let post = post.map(|post| post.id);
        let told = self.ask(|request| Input::Reroute { request, task, origin, post }).await?;
        the_answer!(told, Told::Rerouted { .. } => ())
    }

    /// What can be refused without a decision is refused here.
    pub(crate) async fn admitted(&self, launch: Launch) -> Result<Box<Spec>, Refused> {
        let Some(host) = self.ports.hosts.get(launch.host()).cloned() else {
            let known = self.ports.hosts.keys().map(String::as_str);
            let why = nearest::unknown("host", launch.host(), known);
            return Err(Refused::because(Code::Invalid, why));
        };
        for wanted in launch.wanted() {
            let known = host.check(wanted).await;
            known.map_err(|why| Refused::because(Code::Invalid, why))?;
        }
        if launch.keeps_stdin() && !host.caps().words {
            let why = format!("stdin: {} has none to keep open", launch.host());
            return Err(Refused::because(Code::Invalid, why));
        }
        let spec = launch.spec(host.caps());
        self.can_be_told(&spec.parent)?;
        if let Some(origin) = &spec.brief.origin {
            self.can_be_posted_to(origin)?;
        }
        Ok(Box::new(spec))
    }

    /// A kind that is not known is kept, and never posted to.
    fn can_be_posted_to(&self, origin: &Origin) -> Result<(), Refused> {
        if matches!(origin.kind, OriginKind::Other(_)) {
            return Ok(());
        }
        let known = match self.ports.rooms.get(&*origin.room) {
            Some(room) => room.check(origin),
            None => {
                let known = self.ports.rooms.keys().map(String::as_str);
                Err(nearest::unknown("room", &origin.room, known))
            }
        };
        known.map_err(|why| Refused::because(Code::Invalid, why))
    }

    /// A parent that nobody can bring anything to is none.
    fn can_be_told(&self, parent: &ParentRef) -> Result<(), Refused> {
        let known = match (self.ports.parent(parent), parent) {
            (Some(driver), _) => driver.check(parent),
            (None, ParentRef::Webhook(name)) => Err(nearest::unknown("webhook", name, [])),
            (None, _) => Ok(()),
        };
        known.map_err(|why| Refused::because(Code::Invalid, why))
    }

    /// Sends again what rests: one that its receiver refused, or for which a line in a room stands.
    pub async fn redrive(&self, what: Outgoing) -> Result<bool, Refused> {
        let told = self.ask(|request| Input::Redrive { request, what }).await?;
        the_answer!(told, Told::Redriven { waits } => waits)
    }

    fn launching(&self, request: Request, spec: Box<Spec>) -> Input {
        Input::Launch { request, id: self.mint(), spec, reservation: None }
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

    /// Ends a task with all that lives below it; where it stands now. What had ended stays as it was.
    pub async fn cancel(&self, task: TaskId, text: Option<&str>) -> Result<State, Refused> {
        Ok(self.cancel_tree(task, text, false).await?.state)
    }

    /// As `cancel`, and names what is cancelled with it; `quiet`: nothing is owed about these ends.
    pub async fn cancel_tree(
        &self,
        task: TaskId,
        text: Option<&str>,
        quiet: bool,
    ) -> Result<Cancelled, Refused> {
        let (text, by) = (text.map(Arc::from), self.by.clone());
        let cancel = |request| Input::Cancel { request, task, by, text, quiet };
        the_answer!(
            self.ask(cancel).await?,
            Told::Cancelling { state, below, .. } => Cancelled { state, already_ended: false, below },
            Told::AlreadyEnded { state, .. } => {
                Cancelled { state, already_ended: true, below: Vec::new() }
            }
        )
    }

    /// A new generation of an ended task, with words of its own.
    pub async fn resume(&self, task: TaskId, prompt: &str) -> Result<u32, Refused> {
        self.resume_for(task, prompt, None).await
    }

    /// As `resume`; from now on this parent is told, if one is given.
    pub async fn resume_for(
        &self,
        task: TaskId,
        prompt: &str,
        parent: Option<ParentRef>,
    ) -> Result<u32, Refused> {
        let (prompt, by) = (Payload::from(prompt), self.by.clone());
        let resume = |request| Input::Resume { request, task, prompt, parent, by };
        the_answer!(self.ask(resume).await?, Told::Resumed { generation, .. } => generation)
    }

    /// A new generation of an ended task, with the same words.
    pub async fn retry(&self, task: TaskId) -> Result<u32, Refused> {
        let by = self.by.clone();
        let told = self.ask(|request| Input::Retry { request, task, by }).await?;
        the_answer!(told, Told::Resumed { generation, .. } => generation)
    }

    /// Words for a living task: as a turn of their own, or into the standard input that was kept open for them.
    pub async fn send(&self, task: TaskId, text: &str) -> Result<(), Refused> {
        self.say(task, text, false).await
    }

    /// The last words for a command, perhaps none: its standard input is closed after them.
    pub async fn send_last(&self, task: TaskId, text: &str) -> Result<(), Refused> {
        self.say(task, text, true).await
    }

    async fn say(&self, task: TaskId, text: &str, last: bool) -> Result<(), Refused> {
        let text = Payload::from(text);
        let told = self.ask(|request| Input::Send { request, task, text, last }).await?;
        the_answer!(told, Told::SendTaken { .. } => ())
    }

    pub async fn answer(&self, ask: AskId, answer: Answer) -> Result<(), Refused> {
        let by = self.by.clone();
        let told = self.ask(|request| Input::Answer { request, ask, answer, by }).await?;
        the_answer!(told, Told::Answered { .. } => ())
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
        logged::synthesis(debrief, &fact);
        self.tell(Input::Delivery { debrief, fact }).await
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

    pub(crate) async fn read<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Refused> {
        Ok(self.readers.read(ask).await?)
    }

    pub(crate) async fn tell(&self, input: Input) -> Result<(), Refused> {
        self.inbox.send(Msg::Input(Box::new(input))).await.map_err(|_| Refused::Stopped)
    }

    /// From where nobody can wait: lost when the decider's inbox is full.
    pub(crate) fn try_tell(&self, input: Input) {
        drop(self.inbox.try_send(Msg::Input(Box::new(input))));
    }

    pub(crate) async fn ask(&self, input: impl FnOnce(Request) -> Input) -> Result<Told, Refused> {
        let waiting = self.expect();
        self.tell(input(waiting.request)).await?;
        waiting.answered().await
    }

    fn expect(&self) -> Waiting<'_> {
        let (request, told) = self.replies.expect();
        Waiting { request, told, homing: self }
    }
}

/// A caller that goes away is forgotten, and what was lent or given to it is taken back.
struct Waiting<'a> {
    request: Request,
    told: oneshot::Receiver<Told>,
    homing: &'a Homing,
}

impl Waiting<'_> {
    async fn answered(mut self) -> Result<Told, Refused> {
        let told = (&mut self.told).await.map_err(|_| Refused::Stopped)?;
        if let Told::Refused { code, why } = told {
            return Err(Refused::Because { code, why });
        }
        Ok(told)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.homing.replies.forget(self.request) {
            // A full inbox: a wait then ends by its own time, and what is leased is heard by nobody.
            self.homing.try_tell(Input::Forget { request: self.request });
        } else if let Ok(Told::Leased { lease: Some(lease) }) = self.told.try_recv() {
            self.homing.try_tell(Input::LetGo(lease));
        }
    }
}
