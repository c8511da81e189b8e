//! Which pairs of the table and which crash points the histories visited, and which pairs cannot be.

use std::collections::{BTreeMap, BTreeSet};

use homing_core::rules::Event;
use homing_core::words::State;

/// Where a crash hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CrashPoint {
    AtRest,
    BeforeCommit,
    CommittedUnreleased,
    ReleasedUnperformed,
    PerformedUnreported,
    InRecovery,
    RecoveryCommitted,
    RebuiltInPlace,
}

impl CrashPoint {
    pub const ALL: [Self; 8] = [
        Self::AtRest,
        Self::BeforeCommit,
        Self::CommittedUnreleased,
        Self::ReleasedUnperformed,
        Self::PerformedUnreported,
        Self::InRecovery,
        Self::RecoveryCommitted,
        Self::RebuiltInPlace,
    ];
}

/// What was visited.
#[derive(Debug, Clone, Default)]
pub struct Coverage {
    /// With the number of histories that asked it.
    pub pairs: BTreeMap<(State, Event), u64>,
    pub points: BTreeSet<CrashPoint>,
}

impl Coverage {
    pub fn join(&mut self, other: Self) {
        for (pair, histories) in other.pairs {
            *self.pairs.entry(pair).or_default() += histories;
        }
        self.points.extend(other.points);
    }

    /// One history asked these.
    pub fn asked(&mut self, pairs: BTreeSet<(State, Event)>) {
        for pair in pairs {
            *self.pairs.entry(pair).or_default() += 1;
        }
    }

    /// Pairs that the core can ask and no history did, and crash points that none hit.
    pub fn missing(&self) -> (Vec<(State, Event)>, Vec<CrashPoint>) {
        let pairs = State::ALL
            .iter()
            .flat_map(|state| Event::ALL.iter().map(|event| (*state, *event)))
            .filter(|(state, event)| reachable(*state, *event))
            .filter(|pair| !self.pairs.contains_key(pair))
            .collect();
        let points =
            CrashPoint::ALL.into_iter().filter(|point| !self.points.contains(point)).collect();
        (pairs, points)
    }

    /// Pairs that were asked though the list says that they cannot be: the list is wrong then.
    pub fn unexpected(&self) -> Vec<(State, Event)> {
        self.pairs.keys().filter(|(state, event)| !reachable(*state, *event)).copied().collect()
    }
}

/// Whether the core asks the table a pair. What is reachable must be reached; what is not follows from where
/// an event is judged.
pub fn reachable(state: State, event: Event) -> bool {
    use State as S;
    match event {
        // Doors and hosts come at any time. A budget is spent by those below, wherever its owner stands.
        Event::Seen | Event::Cancel | Event::Send | Event::Resume | Event::Retry | Event::Stop => {
            true
        }
        // Slots are given only to those that wait for one; only the queued wait for others.
        Event::SlotGranted | Event::DependencyMet | Event::DependencyFailed => state == S::Queued,
        Event::SlotRetaken => state == S::WaitingChildren,
        Event::TurnTaken => state == S::Starting,
        Event::AskOpened => matches!(state, S::Starting | S::Running),
        Event::AsksClosed => state == S::WaitingAsk,
        Event::PauseOver => state == S::Paused,
        // Stops are confirmed only while stopping.
        Event::StoppedCancelled
        | Event::StoppedTimedOut
        | Event::StoppedFailed
        | Event::StoppedNext
        | Event::StoppedPaused
        | Event::StopGivenUp => state == S::Stopping,
        // That a start failed is believed only while no session is known: before the task runs.
        Event::StartFailed => state == S::Starting,
        // Only a turn that was sent and has no end waits for its provider or has its prompt refused. A
        // task that waits for its children has no such turn, and an open ask holds such a wait back.
        Event::StopForPause => matches!(state, S::Starting | S::Running),
        // An open ask stands against success. Once it is closed the task runs, and then it is judged.
        Event::EndedWell | Event::EndedOpen => {
            matches!(state, S::Starting | S::Running | S::WaitingChildren)
        }
        // Evidence is weighed only in the four states of a turn.
        Event::EndedBadly | Event::TryNext | Event::StopForNext | Event::Pause | Event::Gone => {
            matches!(state, S::Starting | S::Running | S::WaitingAsk | S::WaitingChildren)
        }
    }
}
