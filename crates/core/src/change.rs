//! Owns what a decision writes: records, which are durable, and notes, which memory alone keeps.

use crate::ids::TaskId;
use crate::input::Purge;
use crate::record::Record;
use crate::refs::ParentRef;
use crate::task::Task;
use crate::world::{ParentTurn, Reservation, Taker, Wait};

/// One change of the World.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Record(Record),
    Note(Note),
}

/// What is not written down: gone after a restart, and asked for again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    Loaded(Box<Task>),
    Evicted(TaskId),
    /// The store lets go of these with the group.
    Purged(Box<Purge>),
    /// It moves; whether its deadlines must be looked at because of that.
    Active(TaskId, bool),
    Observed(TaskId),
    ProbeAsked(TaskId),
    /// Asking the host came to an end; whether it said something.
    ProbeDone(TaskId, bool),
    ReaderCame(TaskId, u64),
    ReadersWent(TaskId),
    WaitCame(u64, Wait),
    WaitWent(u64),
    /// A consumer waits for a debrief.
    TakerCame(u64, Taker),
    TakerWent(u64),
    Lent {
        task: TaskId,
        lent: bool,
        retaking: bool,
    },
    ParentTurn(ParentRef, ParentTurn),
    /// The parent could not be asked; not before this tick again.
    ParentLook(ParentRef, u64),
    /// It could not be asked for too long, which was said.
    ParentSilent(ParentRef),
    /// Its batches that fell due by their age were looked at.
    BatchesAged(ParentRef),
    PersonWaits(ParentRef, u32),
    ParentGone(ParentRef),
    Reserved(u64, Reservation),
    Released(u64),
}
