//! Reads the home's store while no run holds it. Decides nothing, asks no host, writes nothing.

use homing_core::ids::TaskId;
use homing_core::outbox::Debrief;
use homing_core::record::TaskRecord;
use homing_core::task::Task;
use homing_core::view::{Beside, TaskView};
use homing_ports::store::{JournalRow, Reader, Store, StoreError, TaskQuery};
use homing_runtime::{codec, find, texts};
use homing_store::SqliteStore;

use crate::expected::Expected;
use crate::home::Home;

/// The hosts whose sessions may be given where a task belongs.
const HOSTS: [&str; 1] = ["process"];
const PAGE: usize = 500;

/// A store that is read.
pub struct Ledger {
    reader: Box<dyn Reader>,
    /// Held, so that nobody begins to run tasks meanwhile.
    _store: SqliteStore,
}

impl Ledger {
    /// None when nothing was ever kept here.
    pub fn open(home: &Home) -> Result<Option<Self>, Expected> {
        if !home.ledger().exists() {
            return Ok(None);
        }
        let store = home.hold()?;
        Ok(Some(Self { reader: store.reader()?, _store: store }))
    }

    pub fn reader(&self) -> &dyn Reader {
        &*self.reader
    }

    /// Newest first.
    pub fn tasks(&self, living: Option<bool>, limit: usize) -> Result<Vec<Task>, Expected> {
        let mut query = TaskQuery { living, ..TaskQuery::default() };
        let mut tasks = Vec::new();
        while tasks.len() < limit {
            query.limit = PAGE.min(limit - tasks.len());
            let rows = self.reader.tasks(&query)?;
            query.before = rows.last().map(|row| (row.created_wall, row.id));
            for row in &rows {
                tasks.push(codec::task(row)?);
            }
            if rows.len() < query.limit {
                break;
            }
        }
        Ok(tasks)
    }

    pub fn journal(&self, id: TaskId) -> Result<Vec<(JournalRow, TaskRecord)>, Expected> {
        let mut lines = Vec::new();
        loop {
            let rows = self.reader.task_journal(id, lines.len() as u64, PAGE)?;
            let last = rows.len() < PAGE;
            for row in rows {
                if let homing_core::record::Record::Task(_, record) = codec::record(&row)? {
                    lines.push((row, record));
                }
            }
            if last {
                return Ok(lines);
            }
        }
    }

    pub fn result(&self, id: TaskId) -> Result<Option<Vec<u8>>, Expected> {
        Ok(texts::result(self.reader(), id)?)
    }

    /// As last committed, in the shape of every door.
    pub fn view(&self, task: &Task, result: Option<&[u8]>) -> Result<TaskView, Expected> {
        let debrief = task.notices.last().and_then(|notice| notice.debrief);
        let debrief: Option<Debrief> = match debrief {
            Some(key) => {
                self.reader.outbox(&key.to_string())?.as_ref().map(codec::debrief).transpose()?
            }
            None => None,
        };
        let children = self.children(task)?;
        let last = self.reader.task_journal(task.id, task.seq.saturating_sub(1), 1)?;
        let as_of = last.first().map_or(task.created.wall, |row| row.wall);
        let beside = Beside { result, debrief: debrief.as_ref(), children: &children, as_of };
        Ok(TaskView::of(task, &beside))
    }

    fn children(&self, task: &Task) -> Result<Vec<TaskId>, Expected> {
        let query = TaskQuery { root: Some(task.root), limit: PAGE, ..TaskQuery::default() };
        let rows = self.reader.tasks(&query)?;
        let kin = rows.iter().map(codec::task).collect::<Result<Vec<_>, StoreError>>()?;
        Ok(kin
            .iter()
            .filter(|other| other.launched_by == Some(task.id))
            .map(|other| other.id)
            .collect())
    }
}

/// The task that somebody means, in the home's store.
pub fn find(home: &Home, text: &str) -> Result<(Ledger, Task), Expected> {
    let Some(ledger) = Ledger::open(home)? else {
        let why = format!("no task {text:?}: nothing was ever kept in {}", home.dir().display());
        let code = homing_core::words::Code::NotFound;
        return Err(homing_runtime::Refused::Because { code, why: why.into() }.into());
    };
    let id = find::task(ledger.reader(), text, &HOSTS.map(str::to_owned))?;
    match ledger.reader.task(id)? {
        (Some(row), _) => {
            let task = codec::task(&row)?;
            Ok((ledger, task))
        }
        (None, _) => Err(homing_runtime::Refused::Stopped.into()),
    }
}
