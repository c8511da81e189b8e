//! Owns bytes by name: small ones in their row, large ones in a synced file named by its digest.
//! Never changes a blob once it is written.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use homing_core::ids::TaskId;
use homing_ports::store::{Blob, StoreError};
use rusqlite::{Connection, OptionalExtension as _};

use crate::fault::{Fault, Outcome, damaged, refused};
use crate::files::{self, Files};
use crate::meta::{Tallies, Tally};
use crate::rows::{self, stored};
use crate::sum;

/// More than this goes to a file.
pub(crate) const INLINE_BYTES_MAX: usize = 64 * 1024;

pub(crate) type Digest = [u8; 32];

/// A row of the table; without `bytes` they lie in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BlobRow {
    pub(crate) name: String,
    pub(crate) task: Option<TaskId>,
    pub(crate) digest: Digest,
    pub(crate) length: u64,
    pub(crate) bytes: Option<Vec<u8>>,
}

impl BlobRow {
    fn of(blob: &Blob) -> Self {
        Self {
            name: blob.name.clone(),
            task: blob.task,
            digest: blake3::hash(&blob.bytes).into(),
            length: blob.bytes.len() as u64,
            bytes: (blob.bytes.len() <= INLINE_BYTES_MAX).then(|| blob.bytes.to_vec()),
        }
    }
}

/// Makes the rows, and puts what is large on disk for good before any row says so.
pub(crate) fn prepare(files: &Files, blobs: &[Blob]) -> Outcome<Vec<BlobRow>> {
    let mut filed = false;
    let mut rows = Vec::with_capacity(blobs.len());
    for blob in blobs {
        let row = BlobRow::of(blob);
        if row.bytes.is_none() {
            if !filed {
                make_dir(files)?;
                filed = true;
            }
            put_file(&files.blob(&row.digest), &row.digest, &blob.bytes)?;
        }
        rows.push(row);
    }
    if filed {
        files::sync_dir(&files.blobs).map_err(|why| unsynced(&files.blobs, why))?;
    }
    Ok(rows)
}

fn make_dir(files: &Files) -> Outcome<()> {
    if files.blobs.is_dir() {
        return Ok(());
    }
    files::make_dir(&files.blobs).map_err(|why| failed(&files.blobs, why))?;
    files::sync_dir(&files.dir).map_err(|why| unsynced(&files.dir, why))
}

fn put_file(path: &Path, digest: &Digest, bytes: &[u8]) -> Outcome<()> {
    if fs::read(path).is_ok_and(|found| blake3::hash(&found) == blake3::Hash::from_bytes(*digest)) {
        return File::open(path)
            .and_then(|file| file.sync_all())
            .map_err(|why| unsynced(path, why));
    }
    let unfinished = path.with_extension("tmp");
    let written = files::remove(&unfinished)
        .and_then(|()| files::private(&unfinished))
        .and_then(|mut file| file.write_all(bytes).map(|()| file))
        .map_err(|why| failed(&unfinished, why))
        .and_then(|file| file.sync_all().map_err(|why| unsynced(&unfinished, why)))
        .and_then(|()| fs::rename(&unfinished, path).map_err(|why| failed(path, why)));
    if written.is_err() {
        drop(files::remove(&unfinished));
    }
    written
}

fn failed(path: &Path, why: io::Error) -> Fault {
    Fault::File { what: format!("{} cannot be written", path.display()), why }
}

fn unsynced(path: &Path, why: io::Error) -> Fault {
    Fault::Unsynced { what: format!("{} cannot be synced", path.display()), why }
}

/// Adds the row; the same again is harmless, other bytes under the name are refused.
pub(crate) fn insert(
    conn: &Connection,
    row: &BlobRow,
    tallies: &mut Tallies,
    buffer: &mut Vec<u8>,
) -> Outcome<()> {
    if let Some(found) = find(conn, &row.name, buffer)? {
        if found != *row {
            return refused(format!("blob {}: other bytes under a name that is taken", row.name));
        }
        return Ok(());
    }
    let sum = sum::of_blob(row, buffer);
    conn.prepare_cached(
        "INSERT INTO blob (id, name, task, digest, length, bytes, sum)
         VALUES (iif(EXISTS (SELECT 1 FROM blob WHERE id = ?7), NULL, ?7), ?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((
        &row.name,
        row.task.map(|task| stored(task.bits())).transpose()?,
        row.digest,
        stored(row.length)?,
        &row.bytes,
        sum.cast_signed(),
        sum::place(&row.name),
    ))?;
    tallies.blobs.add(sum);
    if row.bytes.is_none() {
        tallies.filed.add(sum::of_file(&row.digest, buffer));
    }
    Ok(())
}

pub(crate) fn find(
    conn: &Connection,
    name: &str,
    buffer: &mut Vec<u8>,
) -> Outcome<Option<BlobRow>> {
    let sql = format!("SELECT {} FROM blob WHERE name = ?1", rows::BLOB);
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([name])?;
    let Some(row) = found.next()? else {
        rows::nowhere(conn, rows::BLOB_AT, name)?;
        return Ok(None);
    };
    let blob = rows::blob(row, buffer)?.row;
    if blob.name != name {
        return damaged(format!("blob {name}: another row stands under its name"));
    }
    Ok(Some(blob))
}

/// The bytes of what `find` finds. Retention takes the row first, then the file: a file that is gone
/// is damage only if a second look still finds a row without one.
pub(crate) fn read(
    files: &Files,
    mut find: impl FnMut() -> Result<Option<BlobRow>, StoreError>,
) -> Result<Option<Vec<u8>>, StoreError> {
    for _ in 0..2 {
        let Some(row) = find()? else { return Ok(None) };
        match bytes(files, row).map_err(|fault| fault.on_read(files))? {
            Bytes::Right(bytes) => return Ok(Some(bytes)),
            Bytes::Gone => {}
        }
    }
    Err(StoreError::Damaged {
        path: files.path(),
        what: "the file of a blob is missing".to_owned(),
    })
}

/// What a blob's bytes turned out to be.
pub(crate) enum Bytes {
    Right(Vec<u8>),
    /// The file is not there; if the row still is, that is damage.
    Gone,
}

/// The bytes of a row, verified.
pub(crate) fn bytes(files: &Files, row: BlobRow) -> Outcome<Bytes> {
    let name = row.name;
    let bytes = match row.bytes {
        Some(bytes) => bytes,
        None => match fs::read(files.blob(&row.digest)) {
            Ok(bytes) => bytes,
            Err(why) if why.kind() == ErrorKind::NotFound => return Ok(Bytes::Gone),
            Err(why) => {
                return Err(Fault::File {
                    what: format!("the file of blob {name} cannot be read"),
                    why,
                });
            }
        },
    };
    if bytes.len() as u64 != row.length {
        return damaged(format!(
            "blob {name}: {} bytes where {} were written",
            bytes.len(),
            row.length
        ));
    }
    if blake3::hash(&bytes) != blake3::Hash::from_bytes(row.digest) {
        return damaged(format!("blob {name}: the bytes do not match their digest"));
    }
    Ok(Bytes::Right(bytes))
}

pub(crate) fn is_filed(conn: &Connection, digest: &Digest) -> Outcome<bool> {
    let found = conn
        .prepare_cached(
            "SELECT 1 FROM blob INDEXED BY blob_filed WHERE digest = ?1 AND bytes IS NULL",
        )?
        .query_row([digest], |_| Ok(()))
        .optional()?;
    Ok(found.is_some())
}

/// Removes the files that no row names: what a crash or a failed commit left. When the names
/// themselves are in doubt nothing is removed.
pub(crate) fn sweep(conn: &Connection, files: &Files, committed: Tally) -> Outcome<()> {
    let Ok(entries) = fs::read_dir(&files.blobs) else {
        return Ok(());
    };
    let mut named: BTreeSet<std::path::PathBuf> = BTreeSet::new();
    let (mut found, mut buffer) = (Tally::default(), Vec::new());
    let mut statement =
        conn.prepare("SELECT digest FROM blob INDEXED BY blob_filed WHERE bytes IS NULL")?;
    let mut digests = statement.query([])?;
    while let Some(row) = digests.next()? {
        let digest: Digest = rows::Cells::of("blob", row).array()?;
        found.add(sum::of_file(&digest, &mut buffer));
        named.insert(files.blob(&digest));
    }
    if found != committed {
        return Ok(());
    }
    for entry in entries.flatten() {
        if !named.contains(&entry.path()) {
            drop(files::remove(&entry.path()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_is_damage_only_while_its_row_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::at(&dir.path().join("ledger.db"));
        let blob = Blob { name: "b".to_owned(), task: None, bytes: vec![1; 70_000].into() };
        let row = prepare(&files, std::slice::from_ref(&blob)).unwrap().remove(0);
        assert_eq!(read(&files, || Ok(Some(row.clone()))), Ok(Some(blob.bytes.to_vec())));
        files::remove(&files.blob(&row.digest)).unwrap();

        let mut looks = vec![None, Some(row.clone())];
        assert_eq!(read(&files, || Ok(looks.pop().unwrap())), Ok(None), "taken in between");
        assert!(matches!(read(&files, || Ok(Some(row.clone()))), Err(StoreError::Damaged { .. })));
    }
}
