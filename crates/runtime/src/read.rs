//! What the library's door reads: tasks, results, lists, transcripts, the journal. Never changes anything.

use std::sync::Arc;

use homing_core::ids::TaskId;
use homing_core::input::Input;
use homing_core::limits::Limits;
use homing_core::refs::ParentRef;
use homing_core::reply::Told;
use homing_core::task::Task;
use homing_core::telemetry::Completion;
use homing_core::time::Stamp;
use homing_core::view::TaskView;
use homing_core::wire::{AskView, NoticeView, Why};
use homing_core::words::Code;
use homing_ports::host::{Host, Messages, Piece, Place, Reading};
use homing_ports::store::{JournalRow, TaskQuery};
use tokio::sync::oneshot;

use crate::answers::{Refused, Seen};
use crate::around::Around;
use crate::codec;
use crate::decider::Msg;
use crate::figures::Figures;
use crate::find;
use crate::homing::{Homing, the_answer};
use crate::shown;
use crate::slots::KeySlots;
use crate::texts;
use crate::why;

/// Tasks that are read at once.
const PAGE: usize = 500;
/// How often `why` looks until memory and store speak of the same state.
const PEEKS_MAX: u32 = 5;

/// Ends that one page of lines told of, each with the number of its line.
pub type Ends = Vec<(u64, Completion)>;

/// Where the next page goes on: `TaskQuery::before`.
pub type Cursor = Option<(i64, TaskId)>;

impl Homing {
    /// The task that a person means: an id, a unique beginning of one, or a name. Whatever it is not,
    /// the refusal says what it is and what to use.
    pub async fn find(&self, text: &str) -> Result<TaskId, Refused> {
        let text = text.to_owned();
        let hosts: Vec<String> = self.ports.hosts.keys().cloned().collect();
        self.read(move |reader| Ok(find::task(reader, &text, &hosts))).await?
    }

    /// Reads a task truthfully: the host is asked first when what is known is old.
    pub async fn show(&self, id: TaskId) -> Result<Seen, Refused> {
        let (as_of, fresh) = match self.ask(|request| Input::Read { request, task: id }).await {
            // What the host says cannot be kept now: what was kept before is told, and that it is no more.
            Err(Refused::Because { code: Code::Unavailable | Code::Unsure, .. }) => (None, false),
            told => the_answer!(told?, Told::ReadNow { as_of, fresh, .. } => (Some(as_of), fresh))?,
        };
        let as_of = as_of.map(|tick| self.time.stamp_of(tick));
        let seen = self.read(move |reader| {
            let (Some(task), _) = texts::task_now(reader, id)? else {
                return Ok(None);
            };
            let as_of = match as_of {
                Some(as_of) => as_of,
                None => shown::last_line(reader, &task)?,
            };
            Ok(Some(Seen { task: *task, as_of, fresh }))
        });
        seen.await?.ok_or_else(|| Refused::because(Code::NotFound, format!("no task {id}")))
    }

    /// The stored result of the latest generation; none while there is none. Never consumes.
    pub async fn output(&self, id: TaskId) -> Result<Option<Vec<u8>>, Refused> {
        self.read(move |reader| texts::result(reader, id)).await
    }

    /// Tasks as last committed, newest first. Never asks a host.
    pub async fn list(&self, query: TaskQuery) -> Result<Vec<Task>, Refused> {
        self.read(move |reader| reader.tasks(&query)?.iter().map(codec::task).collect()).await
    }

    /// What `of` makes of every living task, as last committed; read page by page.
    pub async fn living<T>(&self, of: impl Fn(&Task) -> Option<T>) -> Result<Vec<T>, Refused> {
        let mut query = TaskQuery { living: Some(true), limit: PAGE, ..TaskQuery::default() };
        let mut all = Vec::new();
        loop {
            let page = self.list(query.clone()).await?;
            all.extend(page.iter().filter_map(&of));
            query.before = page.last().map(|task| (task.created.wall, task.id));
            if page.len() < PAGE {
                return Ok(all);
            }
        }
    }

    /// What a parent has out, and had: newest first, from the ledger.
    pub async fn owned(&self, parent: &ParentRef, limit: usize) -> Result<Vec<Task>, Refused> {
        let parent = Some(parent.to_string());
        self.list(TaskQuery { parent, limit, ..TaskQuery::default() }).await
    }

    /// A task in the shape of every door, read truthfully, and whether its host could be asked. With its
    /// result, where that is wanted.
    pub async fn view(&self, id: TaskId, result: bool) -> Result<(TaskView, bool), Refused> {
        let Seen { task, as_of, fresh } = self.show(id).await?;
        let view = self.read(move |reader| {
            let text = if result { texts::result(reader, task.id)? } else { None };
            shown::view(reader, &task, text.as_deref(), Some(as_of))
        });
        Ok((view.await?, fresh))
    }

    /// Tasks as `list` gives them, in the shape of every door; and where the next page goes on, if this one
    /// is full.
    pub async fn views(&self, query: TaskQuery) -> Result<(Vec<TaskView>, Cursor), Refused> {
        self.read(move |reader| {
            let rows = reader.tasks(&query)?;
            let view = |row| shown::view(reader, &codec::task(row)?, None, None);
            let views = rows.iter().map(view).collect::<Result<_, _>>()?;
            let last = rows.last().filter(|_| rows.len() == query.limit);
            Ok((views, last.map(|row| (row.created_wall, row.id))))
        })
        .await
    }

    /// Why a task stands where it does.
    pub async fn why(&self, id: TaskId) -> Result<Why, Refused> {
        let mut seen = self.show(id).await?;
        let mut around = self.peek(id).await?;
        // Memory may be a commit ahead of what was read.
        for _ in 0..PEEKS_MAX {
            if around.as_ref().is_none_or(|around| around.state == seen.task.state) {
                break;
            }
            seen = self.show(id).await?;
            around = self.peek(id).await?;
        }
        let now = self.stamp();
        self.read(move |reader| why::why(reader, &seen.task, around.as_ref(), now)).await
    }

    /// What this runtime counts about itself.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The slots of every key, as memory has them; none while memory is read anew.
    pub async fn slots(&self) -> Result<Option<Vec<KeySlots>>, Refused> {
        let (tell, told) = oneshot::channel();
        self.inbox.send(Msg::Slots { tell }).await.map_err(|_| Refused::Stopped)?;
        told.await.map_err(|_| Refused::Stopped)
    }

    async fn peek(&self, id: TaskId) -> Result<Option<Around>, Refused> {
        let (tell, told) = oneshot::channel();
        self.inbox.send(Msg::Peek { id, tell }).await.map_err(|_| Refused::Stopped)?;
        told.await.map_err(|_| Refused::Stopped)
    }

    /// What was said in the latest attempt, as its host has it.
    pub async fn transcript(&self, id: TaskId) -> Result<Vec<u8>, Refused> {
        let Some((host, place)) = self.latest(id).await? else {
            return Ok(Vec::new());
        };
        let told = host.transcript(place).await;
        told.map_err(|why| Refused::because(Code::Unavailable, format!("its transcript: {why}")))
    }

    /// What was said in the latest attempt, message by message; none where its host keeps none apart.
    pub async fn messages(&self, id: TaskId, reading: Reading) -> Result<Option<String>, Refused> {
        let Some((host, place)) = self.latest(id).await? else {
            return Ok(Some(String::new()));
        };
        let since = reading.since.clone().unwrap_or_default();
        match host.messages(place, reading).await {
            Ok(Messages::Apart(text)) => Ok(Some(text)),
            Ok(Messages::Together) => Ok(None),
            Ok(Messages::NoSuch) => {
                let what = format!("its session has no message {since}");
                Err(Refused::because(Code::NotFound, what))
            }
            Err(why) => Err(Refused::because(Code::Unavailable, format!("its messages: {why}"))),
        }
    }

    /// What the latest attempt wrote and its host still has, from a byte on, at most so much.
    pub async fn piece(&self, id: TaskId, from: u64, most: usize) -> Result<Piece, Refused> {
        let Some((host, place)) = self.latest(id).await? else {
            return Ok(Piece { first: from, ..Piece::default() });
        };
        let told = host.piece(place, from, most).await;
        told.map_err(|why| Refused::because(Code::Unavailable, format!("its output: {why}")))
    }

    /// Where the latest attempt runs, or ran; none while it has no session.
    async fn latest(&self, id: TaskId) -> Result<Option<(Arc<dyn Host>, Place)>, Refused> {
        let (task, _) = self.read(move |reader| texts::task_now(reader, id)).await?;
        let Some(task) = task else {
            return Err(Refused::because(Code::NotFound, format!("no task {id}")));
        };
        let Some(host) = self.ports.hosts.get(&*task.brief.host).cloned() else {
            let why = format!("{}: the host of {id} is not set up here", task.brief.host);
            return Err(Refused::because(Code::Unavailable, why));
        };
        let place = Place { task: id, fence: task.fence(), session: task.session.clone() };
        Ok(task.session.is_some().then_some((host, place)))
    }

    /// Every ask that waits for somebody.
    pub async fn asks(&self) -> Result<Vec<AskView>, Refused> {
        let (limits, now) = (Arc::clone(&self.limits), self.stamp());
        self.read(move |reader| shown::asks(reader, &limits, now)).await
    }

    /// What a parent is owed.
    pub async fn owed(&self, parent: &ParentRef) -> Result<Vec<NoticeView>, Refused> {
        let parent = parent.clone();
        self.read(move |reader| shown::owed(reader, &parent)).await
    }

    /// Journal lines after a cursor.
    pub async fn events(&self, after: u64, limit: usize) -> Result<Vec<JournalRow>, Refused> {
        self.read(move |reader| reader.journal(after, limit)).await
    }

    /// Lines of one task after its number `after`.
    pub async fn events_of(
        &self,
        id: TaskId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<JournalRow>, Refused> {
        self.read(move |reader| reader.task_journal(id, after, limit)).await
    }

    /// The ends that lines tell of, each derived from the ledger.
    pub async fn ends(&self, rows: Vec<JournalRow>) -> Result<Ends, Refused> {
        self.read(move |reader| {
            let mut ends = Vec::new();
            for row in &rows {
                ends.extend(shown::completion(reader, row)?.map(|end| (row.seq, end)));
            }
            Ok(ends)
        })
        .await
    }

    /// The hosts that are set up.
    pub fn hosts(&self) -> Vec<String> {
        self.ports.hosts.keys().cloned().collect()
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    fn stamp(&self) -> Stamp {
        self.time.now().stamp()
    }
}
