//! The committer thread: group by group, in order. Nothing else writes.

use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;

use homing_ports::parent::Onlooker;
use homing_ports::store::{CommitError, Store};
use tokio::sync::mpsc::Sender;

use crate::codec;
use crate::engine::{Batch, Memory};
use crate::logged;
use crate::signs;
use crate::tally::Tally;
use crate::time::Timekeeper;

/// What the decider asks of the committer; one at a time.
pub(crate) enum Job {
    Commit(Box<Batch>),
    /// Read everything again: a commit failed.
    Recover,
}

/// What became of it.
pub(crate) enum Done {
    Committed(u64),
    Failed(CommitError),
    Recovered(Box<Memory>),
    RecoverFailed(String),
}

/// Runs until the decider goes away.
pub(crate) fn run(
    mut store: Box<dyn Store>,
    time: &Timekeeper,
    jobs: &Receiver<Job>,
    done: &Sender<Done>,
    mut tally: Tally,
    onlookers: &[Arc<dyn Onlooker>],
) {
    while let Ok(job) = jobs.recv() {
        let mut durable = None;
        let result = match job {
            Job::Commit(batch) => {
                let group = codec::encode(&batch, time.mark());
                let begun = Instant::now();
                match store.commit(&group) {
                    Ok(()) => {
                        tally.committed(&batch, begun.elapsed());
                        Done::Committed(durable.insert(batch).no)
                    }
                    Err(error) => {
                        tally.failed();
                        logged::commit_failed(&error);
                        Done::Failed(error)
                    }
                }
            }
            Job::Recover => match store.recover().and_then(codec::decode) {
                Ok(memory) => {
                    tally.refill(&memory);
                    logged::read_anew();
                    Done::Recovered(Box::new(memory))
                }
                Err(error) => {
                    logged::unreadable(&error);
                    Done::RecoverFailed(error.to_string())
                }
            },
        };
        if done.blocking_send(result).is_err() {
            return;
        }
        // Nobody waits for the log, or for those who look on.
        if let Some(batch) = durable {
            logged::committed(&batch, &*store);
            signs::show(&batch, onlookers);
        }
    }
}
