//! Owns the shape of the database: its marks in the file's header, its versions, how it gets there.
//! Never touches a store that it does not know.

use homing_ports::store::StoreError;
use refinery::Runner;
use rusqlite::Connection;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use xxhash_rust::xxh3::xxh3_64;

use crate::fault::{Fault, Outcome, damaged, unavailable};
use crate::files::Files;
use crate::rows::Cells;

/// "homi", in the header of every store of ours.
pub(crate) const APPLICATION: u32 = 0x686f_6d69;

/// A digest of the schema that each version has, the first one first.
const SCHEMAS: [u64; 1] = [12_083_447_236_147_751_641];

/// The newest version that this release knows.
pub(crate) const KNOWN: u32 = SCHEMAS.len() as u32;

mod embedded {
    refinery::embed_migrations!("migrations");
}

fn runner() -> Runner {
    embedded::migrations::runner().set_grouped(true)
}

/// Brings an empty database, or one of an older release, to the version that this one knows.
pub(crate) fn migrate(conn: &mut Connection, files: &Files) -> Result<(), StoreError> {
    readable_history(conn).map_err(|fault| fault.on_read(files))?;
    runner().run(conn).map_err(|why| {
        unavailable(format!("{}: its schema cannot be migrated: {why}", files.path()))
    })?;
    Ok(())
}

/// The migration runner panics on a history that it cannot parse; so that is found here.
fn readable_history(conn: &Connection) -> Outcome<()> {
    if !conn.table_exists(None, "refinery_schema_history")? {
        return Ok(());
    }
    let mut statement = conn.prepare("SELECT applied_on, checksum FROM refinery_schema_history")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of("refinery_schema_history", row);
        let (applied, checksum) = (cells.text()?, cells.text()?);
        if OffsetDateTime::parse(applied, &Rfc3339).is_err() || checksum.parse::<u64>().is_err() {
            return damaged("the history of its migrations cannot be read");
        }
    }
    Ok(())
}

/// Whether the schema is, letter by letter, the one of its version.
pub(crate) fn verify(conn: &Connection, version: u32) -> Outcome<()> {
    let known = version.checked_sub(1).and_then(|place| SCHEMAS.get(place as usize));
    if known != Some(&digest(conn)?) {
        return damaged(format!("its schema is not the one of version {version}"));
    }
    Ok(())
}

fn digest(conn: &Connection) -> Outcome<u64> {
    let mut statement = conn.prepare(
        "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema ORDER BY name",
    )?;
    let mut rows = statement.query([])?;
    let mut text = String::new();
    while let Some(row) = rows.next()? {
        let mut cells = Cells::of("sqlite_schema", row);
        for _ in 0..4 {
            text.push_str(cells.text()?);
            text.push('\n');
        }
    }
    Ok(xxh3_64(text.as_bytes()))
}

/// Whether the history says what this release did, for a store of its own version.
pub(crate) fn verify_history(conn: &Connection) -> Outcome<()> {
    readable_history(conn)?;
    let mut statement = conn
        .prepare("SELECT version, name, checksum FROM refinery_schema_history ORDER BY version")?;
    let mut rows = statement.query([])?;
    for migration in runner().get_migrations() {
        let Some(row) = rows.next()? else {
            return damaged(format!("the history of its migrations lacks {}", migration.name()));
        };
        let mut cells = Cells::of("refinery_schema_history", row);
        let same = cells.signed()? == i64::from(migration.version())
            && cells.text()? == migration.name()
            && cells.text()? == migration.checksum().to_string();
        if !same {
            return damaged("the history of its migrations is not this release's");
        }
    }
    if rows.next()?.is_some() {
        return damaged("the history of its migrations has one too many");
    }
    Ok(())
}

pub(crate) fn version(conn: &Connection) -> Outcome<u32> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(Fault::from)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn migrated() -> Connection {
        let mut conn = Connection::open_in_memory().unwrap();
        migrate(&mut conn, &Files::at(Path::new("memory"))).unwrap();
        conn
    }

    #[test]
    fn every_version_has_the_digest_that_is_written_down() {
        let conn = migrated();
        assert_eq!(version(&conn).unwrap(), KNOWN);
        assert_eq!(Some(&digest(&conn).unwrap()), SCHEMAS.last(), "a new migration, a new digest");
        assert!(verify(&conn, KNOWN).is_ok());
        assert!(verify(&conn, KNOWN + 1).is_err());
        assert!(verify(&conn, 0).is_err());
        assert!(verify_history(&conn).is_ok());
        conn.execute_batch("CREATE INDEX one_more ON task (state)").unwrap();
        assert!(verify(&conn, KNOWN).is_err());
    }

    /// Stores of released versions hold what these files made: a change comes as the next file.
    #[test]
    fn a_released_migration_never_changes() {
        let released = [(include_str!("../migrations/V1__ledger.sql"), 16_322_971_150_804_029_019)];
        for (version, (text, digest)) in (1..).zip(released) {
            assert_eq!(
                xxh3_64(text.as_bytes()),
                digest,
                "V{version}: write V{} instead",
                KNOWN + 1
            );
        }
        assert_eq!(SCHEMAS[0], 12_083_447_236_147_751_641, "what V1 made stays what it is");
        assert!(runner().get_migrations().len() >= released.len());
    }

    #[test]
    fn a_history_that_cannot_be_parsed_is_damage_and_no_panic() {
        for change in ["applied_on = 'yesterday'", "checksum = 'x'", "applied_on = x'ff'"] {
            let mut conn = migrated();
            conn.execute_batch(&format!("UPDATE refinery_schema_history SET {change}")).unwrap();
            let why = migrate(&mut conn, &Files::at(Path::new("memory"))).unwrap_err();
            assert!(matches!(why, StoreError::Damaged { .. }), "{change}: {why}");
            assert!(verify_history(&conn).is_err());
        }
    }
}
