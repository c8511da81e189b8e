//! Reads the home's store, whoever holds it. Decides nothing, asks no host, writes nothing.

use homing_ports::store::{Reader, Store};
use homing_runtime::{Code, Refused};
use homing_store::{SqliteReader, SqliteStore};

use crate::expected::Expected;
use crate::home::Home;

/// A store that is read.
pub struct Ledger {
    reader: Box<dyn Reader>,
    /// Held, so that nobody begins to run tasks meanwhile; none while somebody does.
    _store: Option<SqliteStore>,
}

impl Ledger {
    /// None when nothing was ever kept here.
    pub fn open(home: &Home) -> Result<Option<Self>, Expected> {
        if !home.ledger().exists() {
            return Ok(None);
        }
        Ok(Some(match home.hold() {
            Ok(store) => Self { reader: store.reader()?, _store: Some(store) },
            Err(Expected::Held { .. }) => {
                Self { reader: Box::new(SqliteReader::beside(home.ledger())?), _store: None }
            }
            // It cannot be written to: perhaps it can be read.
            Err(why @ Expected::Home { .. }) => {
                let reader = SqliteReader::beside(home.ledger()).map_err(|_| why)?;
                Self { reader: Box::new(reader), _store: None }
            }
            Err(other) => return Err(other),
        }))
    }

    pub fn reader(&self) -> &dyn Reader {
        &*self.reader
    }
}

/// Whether anything can be found here: where nothing was ever kept, no task is.
pub fn is_there(home: &Home, text: &str) -> Result<(), Expected> {
    if home.ledger().exists() {
        return Ok(());
    }
    let why = format!("no task {text:?}: nothing was ever kept in {}", home.dir().display());
    Err(Refused::because(Code::NotFound, why).into())
}
