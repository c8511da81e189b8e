//! Owns the look at a store before it is opened: every refusal happens here, and nothing is written,
//! neither to the database nor beside it.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::time::Duration;

use homing_ports::store::{Recovered, StoreError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::fault::{Outcome, unavailable};
use crate::files::{self, Files};
use crate::mark::Mark;
use crate::meta::Meta;
use crate::recover::recover;
use crate::schema;

/// What lies at the path.
pub(crate) enum Found {
    Nothing,
    /// Sound as far as can be seen before its migration.
    Older,
    /// Sound, and what a start needs of it.
    Current(Box<(Recovered, Meta)>),
}

const HEADER: usize = 100;

pub(crate) fn examine(files: &Files) -> Result<Found, StoreError> {
    let damaged = |what: String| Err(StoreError::Damaged { path: files.path(), what });
    let Some(header) = header(files)? else {
        for beside in [&files.wal, &files.journal] {
            if files::length(beside).is_ok_and(|length| length > 0) {
                return damaged(format!("it is gone, but {} is still there", beside.display()));
            }
        }
        no_lost_tail(files, &Meta::default())?;
        return Ok(Found::Nothing);
    };
    known(files, &header)?;
    if files::length(&files.journal).is_ok_and(|length| length > 0) {
        return damaged(format!(
            "a rollback journal that is not ours lies at {}",
            files.journal.display()
        ));
    }
    let has_log = files::length(&files.wal).is_ok_and(|length| length > 0);
    if !matches!(header.get(18..20), Some([1, 1] | [2, 2])) {
        return damaged("its header names a format that is not SQLite's".to_owned());
    }
    if has_log && header.get(18) == Some(&1) {
        let log = files.wal.display();
        return damaged(format!(
            "it is a copy, and {log} is of another one; remove that to use it"
        ));
    }
    if !has_log && !is_whole(files, &header) {
        return damaged("it is not as long as it says".to_owned());
    }
    let conn = untouching(files, has_log).map_err(|fault| fault.on_read(files))?;
    let version = schema::version(&conn).map_err(|fault| fault.on_read(files))?;
    not_newer(files, version)?;
    schema::verify(&conn, version).map_err(|fault| fault.on_read(files))?;
    if version < schema::KNOWN {
        return Ok(Found::Older);
    }
    let found = conn
        .unchecked_transaction()
        .map_err(Into::into)
        .and_then(|snapshot| recover(&snapshot))
        .map_err(|fault| fault.on_read(files))?;
    no_lost_tail(files, &found.1)?;
    Ok(Found::Current(Box::new(found)))
}

/// The first bytes; none when there is no file, or one that never got its first byte.
fn header(files: &Files) -> Result<Option<[u8; HEADER]>, StoreError> {
    let cannot = |why: io::Error| unavailable(format!("{} cannot be opened: {why}", files.path()));
    let mut file = match OpenOptions::new().read(true).write(true).open(&files.db) {
        Ok(file) => file,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(None),
        Err(why) => return Err(cannot(why)),
    };
    if file.metadata().map_err(cannot)?.len() == 0 {
        return Ok(None);
    }
    let mut header = [0; HEADER];
    match read_whole(&mut file, &mut header) {
        Ok(()) => Ok(Some(header)),
        Err(why) if why.kind() == ErrorKind::UnexpectedEof => {
            Err(foreign(files, "it is too short"))
        }
        Err(why) => Err(cannot(why)),
    }
}

fn read_whole(file: &mut File, header: &mut [u8; HEADER]) -> io::Result<()> {
    file.read_exact(header)
}

fn foreign(files: &Files, what: &str) -> StoreError {
    StoreError::Foreign { path: files.path(), what: what.to_owned() }
}

fn not_newer(files: &Files, found: u32) -> Result<(), StoreError> {
    if found > schema::KNOWN {
        return Err(StoreError::Newer { path: files.path(), found, known: schema::KNOWN });
    }
    Ok(())
}

/// The marks in the raw header: an SQLite file, of ours, not newer.
fn known(files: &Files, header: &[u8; HEADER]) -> Result<(), StoreError> {
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(foreign(files, "it is not an SQLite file"));
    }
    if word(header, 68) != schema::APPLICATION {
        return Err(foreign(files, "it is an SQLite file of another program"));
    }
    not_newer(files, word(header, 60))
}

fn word(header: &[u8; HEADER], at: usize) -> u32 {
    let bytes = header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, u32::from_be_bytes)
}

/// Whether the file is as long as its header says: pages are missing at its end, or would be taken
/// for free. Says nothing while a log may still hold the last ones.
fn is_whole(files: &Files, header: &[u8; HEADER]) -> bool {
    let page_bytes = match word(header, 16) >> 16 {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    let said = u64::from(word(header, 28)) * page_bytes;
    files::length(&files.db).is_ok_and(|length| length == said)
}

/// A connection that leaves every file as it is. With a log to read it locks the database for itself
/// and keeps the log's index in memory, and its end is no checkpoint; without one it takes the
/// file for unchangeable, since any other way creates an empty log.
fn untouching(files: &Files, has_log: bool) -> Outcome<Connection> {
    if !has_log {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let uri = immutable_uri(files);
        let conn = Connection::open_with_flags(uri, flags)?;
        settle(&conn)?;
        return Ok(conn);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(&files.db, flags)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    settle(&conn)?;
    Ok(conn)
}

fn settle(conn: &Connection) -> Outcome<()> {
    conn.busy_timeout(Duration::ZERO)?;
    conn.pragma_update(None, "query_only", true)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    conn.pragma_update(None, "cell_size_check", true)?;
    conn.pragma_update(None, "trusted_schema", false)?;
    Ok(())
}

fn immutable_uri(files: &Files) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = if files.db.is_absolute() { "file://" } else { "file:" }.to_owned();
    for byte in files.db.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}

/// The mark is written after the commit: it can be behind, never ahead.
pub(crate) fn no_lost_tail(files: &Files, meta: &Meta) -> Result<(), StoreError> {
    match Mark::read(&files.mark) {
        Some(mark) if mark.commits > meta.commits => Err(StoreError::Damaged {
            path: files.path(),
            what: format!(
                "its end is lost: it was once written up to journal row {}, and now ends at {}; \
                 restore a copy, or remove {} to go on without the rest",
                mark.head,
                meta.head,
                files.mark.display()
            ),
        }),
        Some(_) | None => Ok(()),
    }
}
