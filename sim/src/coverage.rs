//! Which pairs of the table and which crash points the histories visited, and which pairs cannot be.

use std::collections::BTreeSet;

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
    pub pairs: BTreeSet<(State, Event)>,
    pub points: BTreeSet<CrashPoint>,
}

impl Coverage {
    pub fn join(&mut self, other: Self) {
        self.pairs.extend(other.pairs);
        self.points.extend(other.points);
    }

    /// Pairs that the core can ask and no history did, and crash points that none hit.
    pub fn missing(&self) -> (Vec<(State, Event)>, Vec<CrashPoint>) {
        let pairs = State::ALL
            .iter()
            .flat_map(|state| Event::ALL.iter().map(|event| (*state, *event)))
            .filter(|(state, event)| is_askable(*state, *event))
            .filter(|pair| !self.pairs.contains(pair))
            .collect();
        let points =
            CrashPoint::ALL.into_iter().filter(|point| !self.points.contains(point)).collect();
        (pairs, points)
    }

    /// Pairs that were asked though the list says that they cannot be: the list is wrong then.
    pub fn unexpected(&self) -> Vec<(State, Event)> {
        self.pairs.iter().filter(|(state, event)| !is_askable(*state, *event)).copied().collect()
    }
}

/// Whether the core can ask the table this pair. Everything else follows from where an event is judged:
/// evidence is weighed only in the four states of a turn, stops are confirmed only while stopping, slots
/// are given only to those that wait for one, and consequences reach a dependant only while it is queued.
pub fn is_askable(state: State, event: Event) -> bool {
    use State as S;
    let in_turn = matches!(state, S::Starting | S::Running | S::WaitingAsk | S::WaitingChildren);
    match event {
        // Doors and hosts come at any time.
        Event::Seen | Event::Cancel | Event::Send | Event::Resume | Event::Retry => true,
        Event::SlotGranted | Event::DependencyMet | Event::DependencyFailed => state == S::Queued,
        Event::StartFailed => state == S::Starting,
        Event::TurnTaken => state == S::Starting,
        Event::AskOpened => matches!(state, S::Starting | S::Running),
        Event::AsksClosed => state == S::WaitingAsk,
        Event::EndedWell => in_turn && state != S::WaitingAsk,
        Event::EndedOpen => in_turn && state != S::WaitingAsk,
        Event::EndedBadly | Event::TryNext | Event::Pause | Event::StopForNext => {
            in_turn && state != S::WaitingAsk
        }
        Event::StopForPause => matches!(state, S::Starting | S::Running),
        Event::PauseOver => state == S::Paused,
        Event::SlotRetaken => state == S::WaitingChildren,
        Event::Stop => true,
        Event::StoppedCancelled
        | Event::StoppedTimedOut
        | Event::StoppedFailed
        | Event::StoppedNext
        | Event::StoppedPaused
        | Event::StopGivenUp => state == S::Stopping,
        Event::Gone => in_turn,
    }
}
