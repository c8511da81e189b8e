//! Owns the writing half: opening it, its one connection, its place among the files.
//! Never opens for writing what was not examined first.

use std::fmt;
use std::fs;
use std::path::Path;
use std::time::Duration;

use homing_ports::store::{CommitError, Group, Reader, Recovered, Store, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags, ffi};

use crate::blobs;
use crate::commit::{self, Committed};
use crate::examine::{Found, examine, no_lost_tail};
use crate::fault::{Fault, Outcome, Stage, unavailable};
use crate::files::{self, Files};
use crate::lock::Lock;
use crate::mark::{Mark, MarkFile};
use crate::meta::Meta;
use crate::reader::SqliteReader;
use crate::recover::recover;
use crate::schema;

/// Pages in the log from which on a commit also writes them back.
const CHECKPOINT_PAGES: i32 = 4000;
/// What the log keeps of the disk once it was written back.
const LOG_BYTES_KEPT: i64 = 64 << 20;

/// The ledger, open for writing. One process at a time holds it.
pub struct SqliteStore {
    conn: Connection,
    files: Files,
    mark: MarkFile,
    /// As committed last; taken for each commit, and read again after a failed one.
    meta: Option<Meta>,
    /// What the examination read, until the first `recover` or commit.
    examined: Option<Recovered>,
    /// A commit failed so that its bytes may lie in the log all the same.
    unsettled: bool,
    lock: Lock,
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SqliteStore").field("path", &self.files.db).finish_non_exhaustive()
    }
}

impl SqliteStore {
    /// Opens the store at the path, or makes one where there is none (or an empty file). What is
    /// damaged, foreign, newer or held is refused, and its files are left as they are.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let files = Files::at(path.as_ref());
        files::make_dir(&files.dir)
            .map_err(|why| unavailable(format!("{} cannot be made: {why}", files.dir.display())))?;
        let lock = Lock::take(&files)?;
        let found = match examine(&files) {
            Ok(found) => found,
            Err(why) => {
                lock.withdraw();
                return Err(why);
            }
        };
        let (examined, meta) = match found {
            Found::Nothing => {
                create(&files).inspect_err(|_| drop(files.clear_fresh()))?;
                (None, None)
            }
            Found::Older => (None, None),
            Found::Current(found) => (Some(found.0), Some(found.1)),
        };
        let mut conn = connect(&files).map_err(|fault| fault.on_read(&files))?;
        if meta.is_none() {
            schema::migrate(&mut conn, &files)?;
        }
        let mark = MarkFile::open(&files.mark);
        let mut store = Self { conn, files, mark, meta, examined, unsettled: false, lock };
        store.settle_in()?;
        store.lock.sign();
        Ok(store)
    }

    fn settle_in(&mut self) -> Result<(), StoreError> {
        if self.examined.is_none() {
            let recovered = self.read_all()?;
            self.examined = Some(recovered);
        }
        if let Some(meta) = &self.meta {
            no_lost_tail(&self.files, meta)?;
            blobs::sweep(&self.conn, &self.files, meta.tallies.filed)
                .map_err(|fault| fault.on_read(&self.files))?;
        }
        Ok(())
    }

    /// Bounds the database to so many pages: a full disk, for tests.
    #[doc(hidden)]
    pub fn limit_pages(&mut self, pages: u32) -> Result<(), StoreError> {
        self.conn
            .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .map_err(|why| Fault::from(why).on_read(&self.files))
    }

    fn read_all(&mut self) -> Result<Recovered, StoreError> {
        let read = self
            .conn
            .unchecked_transaction()
            .map_err(Fault::from)
            .and_then(|snapshot| recover(&snapshot));
        match read {
            Ok((recovered, meta)) => {
                self.meta = Some(meta);
                Ok(recovered)
            }
            Err(fault) => {
                // Damaged: then this process writes nothing more, not even when it closes.
                drop(self.conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true));
                Err(fault.on_read(&self.files))
            }
        }
    }

    /// After a commit of unknown outcome its bytes may be whole in the log and come back at the next
    /// start. One more transaction takes their place, so that what is read now stays true.
    fn settle_log(&mut self) -> Outcome<()> {
        let mut meta = Meta::read(&self.conn)?;
        let transaction = self.conn.unchecked_transaction()?;
        meta.write(&transaction)?;
        transaction.commit()?;
        self.mark.write(Mark { commits: meta.commits, head: meta.head });
        self.meta = Some(meta);
        self.unsettled = false;
        Ok(())
    }

    fn undo(&mut self) {
        let undone = self.conn.is_autocommit() || self.conn.execute_batch("ROLLBACK").is_ok();
        if !undone && let Ok(conn) = connect(&self.files) {
            self.conn = conn;
        }
    }

    fn meta(&mut self) -> Outcome<Meta> {
        match self.meta.take() {
            Some(meta) => Ok(meta),
            None => Meta::read(&self.conn),
        }
    }

    fn try_commit(&mut self, group: &Group) -> Result<Committed, (Fault, Stage)> {
        let writing = |fault| (fault, Stage::Writing);
        if self.unsettled {
            self.settle_log().map_err(writing)?;
        }
        let blobs = blobs::prepare(&self.files, &group.blobs).map_err(writing)?;
        let meta = self.meta().map_err(writing)?;
        self.conn.execute_batch("BEGIN IMMEDIATE").map_err(|why| writing(why.into()))?;
        let committed = commit::write(&self.conn, meta, group, &blobs).map_err(writing)?;
        self.conn.execute_batch("COMMIT").map_err(|why| (Fault::from(why), Stage::Committing))?;
        Ok(committed)
    }
}

impl Store for SqliteStore {
    fn recover(&mut self) -> Result<Recovered, StoreError> {
        if self.unsettled {
            self.settle_log().map_err(|fault| fault.on_read(&self.files))?;
        }
        match self.examined.take() {
            Some(recovered) => Ok(recovered),
            None => self.read_all(),
        }
    }

    fn commit(&mut self, group: &Group) -> Result<(), CommitError> {
        self.examined = None;
        match self.try_commit(group) {
            Ok(Committed { meta, doomed }) => {
                self.mark.write(Mark { commits: meta.commits, head: meta.head });
                self.meta = Some(meta);
                for digest in doomed {
                    drop(files::remove(&self.files.blob(&digest)));
                }
                Ok(())
            }
            Err((fault, stage)) => {
                self.undo();
                let why = fault.on_commit(stage);
                self.unsettled |= matches!(why, CommitError::Unknown { .. });
                Err(why)
            }
        }
    }

    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        Ok(Box::new(SqliteReader::open(&self.files)?))
    }
}

/// Makes the database whole under another name first: at its own there is never half of one.
fn create(files: &Files) -> Result<(), StoreError> {
    let cannot =
        |why: std::io::Error| unavailable(format!("{} cannot be made: {why}", files.path()));
    files.clear_fresh().map_err(cannot)?;
    drop(files::private(&files.fresh).map_err(cannot)?);
    let mut conn = Connection::open(&files.fresh).map_err(|why| Fault::from(why).on_read(files))?;
    let marked = conn.pragma_update(None, "application_id", schema::APPLICATION);
    marked.map_err(|why| Fault::from(why).on_read(files))?;
    schema::migrate(&mut conn, files)?;
    Meta::default()
        .write(&conn)
        .and_then(|()| write_ahead(&conn))
        .map_err(|fault| fault.on_read(files))?;
    conn.close().map_err(|(_, why)| Fault::from(why).on_read(files))?;
    fs::File::open(&files.fresh).and_then(|file| file.sync_all()).map_err(cannot)?;
    fs::rename(&files.fresh, &files.db).map_err(cannot)?;
    files::sync_dir(&files.dir).map_err(cannot)
}

fn write_ahead(conn: &Connection) -> Outcome<()> {
    let mode: String =
        conn.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(Fault::Damaged(format!("it cannot be written ahead (journal mode {mode})")));
    }
    Ok(())
}

fn connect(files: &Files) -> Outcome<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = Connection::open_with_flags(&files.db, flags)?;
    conn.busy_timeout(Duration::from_secs(5))?;
    write_ahead(&conn)?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.pragma_update(None, "cache_size", -8192)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "cell_size_check", true)?;
    conn.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES_KEPT, |_| Ok(()))?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.wal_hook(Some(write_back))?;
    Ok(conn)
}

/// Runs after each commit. A failed sync must end the process; any other failure is met again by
/// the next commit, the log being whole.
fn write_back(log: &mut Wal, pages: i32) -> rusqlite::Result<()> {
    if pages < CHECKPOINT_PAGES {
        return Ok(());
    }
    match log.checkpoint() {
        Err(why) if is_sync(&why) => Err(why),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn is_sync(why: &rusqlite::Error) -> bool {
    why.sqlite_error().is_some_and(|why| {
        matches!(why.extended_code, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC)
    })
}
