//! A store with a past, everything that can be asked of it, and copies of its files to spoil.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use homing_core::ids::TaskId;
use homing_ports::contract::store::{Draft, blob, commit, ended, outbox, task};
use homing_ports::store::{ClockMark, OutboxRow, Store, StoreError, TaskQuery, TaskRow};
use homing_store::SqliteStore;
use tempfile::TempDir;

pub const DB: &str = "ledger.db";
pub const WAL: &str = "ledger.db-wal";
pub const MARK: &str = "ledger.db.mark";

/// Every file below a directory, by its name there.
pub type Image = BTreeMap<PathBuf, Vec<u8>>;

pub fn image(dir: &Path) -> Image {
    let mut files = Image::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
            } else {
                let name = path.strip_prefix(dir).unwrap().to_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Lays the files out anew. The log's index is left out, as it is after the machine went down.
pub fn lay(image: &Image) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in image {
        if name.to_string_lossy().ends_with("-shm") {
            continue;
        }
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    dir
}

pub fn open(dir: &Path) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(dir.join(DB))
}

/// Two moments of one store's life.
pub struct Scene {
    /// Closed in good order half-way: no log.
    pub early: Image,
    /// Pulled from under a running process at the end: part of it in the log only.
    pub crashed: Image,
    /// The same, then closed in good order.
    pub late: Image,
}

const TASKS: u64 = 60;
const SIZES: [usize; 3] = [20, 2_000, 70_000];

fn varied(number: u64, round: u64) -> TaskRow {
    let over = (number + round).is_multiple_of(4);
    let row = if over { ended(number, round.cast_signed()) } else { task(number) };
    TaskRow {
        owed: number.is_multiple_of(5),
        parent: format!("acp:parent{}", number % 7),
        root: if number.is_multiple_of(6) { row.id } else { task(number - number % 6).id },
        session: number.is_multiple_of(2).then(|| format!("acp:session{number}")),
        name: number.is_multiple_of(3).then(|| format!("name{}", number % 9)),
        key: (number % 2 == 1).then_some([number as u8; 16]),
        body: vec![(number * 7 + round) as u8; 150 + 7 * number as usize],
        ..row
    }
}

/// Over, settled, and without a living relative.
pub const COLD: std::ops::RangeInclusive<u64> = TASKS + 1..=TASKS + 12;

fn cold(number: u64) -> TaskRow {
    TaskRow {
        root: task(number - (number - COLD.start()) % 3).id,
        parent: "inbox:cold".to_owned(),
        key: (number % 2 == 1).then_some([number as u8; 16]),
        body: vec![number as u8; 300],
        ..ended(number, 1_000)
    }
}

/// A task that comes and goes: over in its round, taken two rounds later.
fn brief(round: u64) -> TaskRow {
    ended(COLD.max().unwrap() + 1 + round, round.cast_signed())
}

struct Life {
    store: SqliteStore,
    head: u64,
    numbers: BTreeMap<TaskId, u64>,
}

impl Life {
    fn on(&mut self, draft: &mut Draft, row: TaskRow) {
        let number = self.numbers.entry(row.id).or_default();
        draft.says(&mut TaskRow { task_seq: *number, ..row }, "decided");
        *number += 1;
    }

    fn round(&mut self, round: u64) {
        let mut draft = Draft::after(self.head);
        for number in (1..=TASKS).filter(|number| round == 0 || (number + round).is_multiple_of(3))
        {
            self.on(&mut draft, varied(number, round));
        }
        for number in COLD.filter(|number| round == 0 || (round == 7 && number % 4 == 0)) {
            self.on(&mut draft, cold(number));
        }
        self.on(&mut draft, brief(round));
        draft.journal(None, "said").tells(&format!("db_{round}"), "sealed");
        let group = &mut draft.group;
        group.outbox.push(outbox(&format!("db_{round}"), true));
        let closed_wall = Some(round.cast_signed());
        let closed = outbox(&format!("db_{}", round / 2), false);
        group.outbox.push(OutboxRow { closed_wall, ..closed });
        for owner in [task(round + 1).id, brief(round).id] {
            for size in SIZES {
                let bytes = vec![(round + 1) as u8; size];
                group.blobs.push(blob(&format!("{owner}/{size}"), Some(owner), &bytes));
            }
        }
        let reader = self.store.reader().unwrap();
        group.purge = reader.purgeable(round.cast_signed() - 1, 10).unwrap();
        group.clock = ClockMark { boot: "boot".into(), tick: round, mono: round };
        self.head = commit(&mut self.store, &draft);
    }

    fn again(dir: &Path, numbers: BTreeMap<TaskId, u64>) -> Self {
        let mut store = open(dir).unwrap();
        let head = store.recover().unwrap().head;
        Self { store, head, numbers }
    }
}

pub fn scene() -> Scene {
    let dir = tempfile::tempdir().unwrap();
    let mut life = Life::again(dir.path(), BTreeMap::new());
    (0..6).for_each(|round| life.round(round));
    drop(life.store);
    let early = image(dir.path());
    let mut life = Life::again(dir.path(), life.numbers);
    (6..10).for_each(|round| life.round(round));
    let crashed = image(dir.path());
    drop(life.store);
    Scene { early, crashed, late: image(dir.path()) }
}

/// One question and its answer, in words.
pub type Answers = Vec<(String, Result<String, StoreError>)>;

fn tell<T: Debug>(
    answers: &mut Answers,
    question: impl Into<String>,
    answer: Result<T, StoreError>,
) {
    answers.push((question.into(), answer.map(|answer| format!("{answer:?}"))));
}

/// Everything that can be asked, but for `check`.
pub fn ask_everything(store: &mut SqliteStore) -> Answers {
    let mut answers = Answers::new();
    tell(&mut answers, "recover", store.recover());
    tell(&mut answers, "recover in place", store.recover());
    let reader = match store.reader() {
        Ok(reader) => reader,
        Err(why) => {
            tell(&mut answers, "reader", Err::<(), _>(why));
            return answers;
        }
    };
    tell(&mut answers, "head", reader.head());
    tell(&mut answers, "journal", reader.journal(0, 1_000));
    for after in (0..200).step_by(20) {
        tell(&mut answers, format!("journal after {after}"), reader.journal(after, 30));
    }
    for number in 0..=COLD.max().unwrap() + 12 {
        let id = task(number).id;
        tell(&mut answers, format!("task {number}"), reader.task(id));
        tell(&mut answers, format!("journal of {number}"), reader.task_journal(id, 0, 100));
        for size in SIZES {
            let bytes = reader.blob(&format!("{id}/{size}"));
            let bytes = bytes.map(|found| found.map(|bytes| blake3::hash(&bytes)));
            tell(&mut answers, format!("blob {size} of {number}"), bytes);
        }
    }
    for round in 0..12 {
        let key = format!("db_{round}");
        tell(&mut answers, format!("outbox {key}"), reader.outbox(&key));
    }
    for query in queries() {
        tell(&mut answers, format!("{query:?}"), reader.tasks(&query));
    }
    tell(&mut answers, "purgeable", reader.purgeable(100, 100));
    answers
}

fn queries() -> Vec<TaskQuery> {
    let all = || TaskQuery { limit: 1_000, ..TaskQuery::default() };
    let mut queries = vec![all()];
    for number in 0..10 {
        queries.push(TaskQuery { parent: Some(format!("acp:parent{number}")), ..all() });
        queries.push(TaskQuery { name: Some(format!("name{number}")), ..all() });
        queries.push(TaskQuery { session: Some(format!("acp:session{number}")), ..all() });
        queries.push(TaskQuery { root: Some(task(number * 6).id), ..all() });
        queries.push(TaskQuery { prefix: Some(format!("bg_{number}")), ..all() });
    }
    for state in ["completed", "queued"] {
        queries.push(TaskQuery { state: Some(state.to_owned()), ..all() });
    }
    queries.push(TaskQuery { parent: Some("inbox:cold".to_owned()), ..all() });
    for living in [true, false] {
        queries.push(TaskQuery { living: Some(living), ..all() });
    }
    queries.push(TaskQuery { before: Some((1_030, TaskId::from_bits(0))), ..all() });
    queries
}

/// What a damaged copy did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Refused at open, its files as they were.
    Refused,
    /// An answer was an error.
    OnRead,
    /// Every answer was right, and `check` found it.
    ByCheck,
    /// A list left a row out, and `check` found it.
    HiddenFoundByCheck,
    /// Every answer was right and there is nothing to find.
    NoEffect,
}

/// Opens the copy and asks everything. Panics where a wrong value is served, where a refusal
/// changed a file, and where something is amiss that nothing notices.
pub fn fate_of(spoiled: &Image, right: &Answers, what: &str) -> Fate {
    let dir = lay(spoiled);
    let before = image(dir.path());
    let mut store = match open(dir.path()) {
        Ok(store) => store,
        Err(why) => {
            assert!(image(dir.path()) == before, "{what}: refused ({why}) but its files changed");
            let named = matches!(
                why,
                StoreError::Damaged { .. } | StoreError::Foreign { .. } | StoreError::Newer { .. }
            );
            assert!(named, "{what}: {why}");
            return Fate::Refused;
        }
    };
    let answers = ask_everything(&mut store);
    let found = store.reader().and_then(|reader| reader.check());
    let noticed = !matches!(&found, Ok(found) if found.is_empty());
    let mut fate = if noticed { Fate::ByCheck } else { Fate::NoEffect };
    let mut failed = false;
    for ((question, wanted), (_, answer)) in right.iter().zip(&answers) {
        match (answer, wanted) {
            (Err(StoreError::Damaged { .. }), _) => failed = true,
            (Err(why), wanted) => assert_eq!(Err(why), wanted.as_ref(), "{what}: {question}"),
            (Ok(answer), Ok(wanted)) if answer == wanted => {}
            (Ok(answer), wanted) => {
                let a_list = question.starts_with("TaskQuery") || question == "purgeable";
                let hidden = a_list && is_less(answer, wanted.as_ref().unwrap());
                assert!(hidden && noticed, "{what}: {question}\n got {answer}\n not {wanted:?}");
                fate = Fate::HiddenFoundByCheck;
            }
        }
    }
    if failed { Fate::OnRead } else { fate }
}

/// Whether a list is the right one but for rows that it lacks.
fn is_less(answer: &str, wanted: &str) -> bool {
    let rows = |text: &str| -> Vec<String> {
        let text = text.trim_matches(['[', ']']).replace("bg_", "TaskRow { bg_");
        text.split("TaskRow {").map(|row| row.trim_end_matches(", ").to_owned()).collect()
    };
    let wanted = rows(wanted);
    rows(answer).iter().all(|row| row.is_empty() || wanted.contains(row))
}
