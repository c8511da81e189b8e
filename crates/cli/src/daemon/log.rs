//! The daemon's log: listens to what its parts say, writes a line each. To standard error until the daemon is ready; from
//! then on one that is detached writes to a file of the home, which never grows without bound.
//!
//! Spans are not kept: every event says by itself what it is of.

mod file;
mod line;

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::config::{Levels, Log};
use file::Rotating;

/// Whom the daemon's own events are of.
pub const DAEMON: &str = "homing::daemon";

/// Where lines go.
#[derive(Debug)]
enum Sink {
    Errors,
    File(Rotating),
}

/// Says where the lines go.
#[derive(Debug, Clone)]
pub struct Logging(Arc<Mutex<Sink>>);

impl Logging {
    /// Listens from now on. What cannot be understood of the settings was refused before.
    pub fn begin(log: &Log) -> Self {
        let sink = Arc::new(Mutex::new(Sink::Errors));
        if let Ok(levels) = Levels::parse(&log.level) {
            let listens = Listens { levels, json: log.is_json(), sink: Arc::clone(&sink) };
            // Somebody listens already: then that is who does.
            drop(tracing::subscriber::set_global_default(listens));
        }
        Self(sink)
    }

    /// From now on to this file, and with it whatever else this process writes.
    pub fn to_file(&self, path: &Path) -> std::io::Result<()> {
        let file = Rotating::open(path, file::MOST, true)?;
        *lock(&self.0) = Sink::File(file);
        Ok(())
    }
}

fn lock(sink: &Mutex<Sink>) -> MutexGuard<'_, Sink> {
    sink.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Listens {
    levels: Levels,
    json: bool,
    sink: Arc<Mutex<Sink>>,
}

impl Subscriber for Listens {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        !about.is_span() && *about.level() <= self.levels.of(about.target())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.levels.most())
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let line = line::of(event, self.json);
        // A log that cannot be written stops nothing.
        match &mut *lock(&self.sink) {
            Sink::Errors => drop(std::io::stderr().lock().write_all(line.as_bytes())),
            Sink::File(file) => file.write(line.as_bytes()),
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
