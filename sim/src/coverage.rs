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
            .filter(|(state, event)| reach(*state, *event) == Reach::Must)
            .filter(|pair| !self.pairs.contains(pair))
            .collect();
        let points =
            CrashPoint::ALL.into_iter().filter(|point| !self.points.contains(point)).collect();
        (pairs, points)
    }

    /// Pairs that were asked though the list says that they cannot be: the list is wrong then.
    pub fn unexpected(&self) -> Vec<(State, Event)> {
        self.pairs
            .iter()
            .filter(|(state, event)| reach(*state, *event) == Reach::Never)
            .copied()
            .collect()
    }
}

/// Whether the core asks the table a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// A run that does not get there has looked at too little.
    Must,
    /// Only through records that change their mind or facts that come twice: welcome, not needed.
    May,
    Never,
}

/// What follows from where an event is judged: evidence is weighed only in the four states of a turn,
/// stops are confirmed only while stopping, slots are given only to those that wait for one, and
/// consequences reach a dependant only while it is queued.
pub fn reach(state: State, event: Event) -> Reach {
    use State as S;
    let must = |holds: bool| if holds { Reach::Must } else { Reach::Never };
    match event {
        // Doors and hosts come at any time.
        Event::Seen | Event::Cancel | Event::Send | Event::Resume | Event::Retry => Reach::Must,
        Event::SlotGranted | Event::DependencyMet | Event::DependencyFailed => {
            must(state == S::Queued)
        }
        Event::TurnTaken => must(state == S::Starting),
        Event::AskOpened => must(matches!(state, S::Starting | S::Running)),
        Event::AsksClosed => must(state == S::WaitingAsk),
        Event::PauseOver => must(state == S::Paused),
        Event::SlotRetaken => must(state == S::WaitingChildren),
        Event::StoppedCancelled
        | Event::StoppedTimedOut
        | Event::StoppedFailed
        | Event::StoppedNext
        | Event::StoppedPaused
        | Event::StopGivenUp => must(state == S::Stopping),
        Event::StartFailed
        | Event::EndedWell
        | Event::EndedOpen
        | Event::EndedBadly
        | Event::TryNext
        | Event::StopForNext
        | Event::Pause
        | Event::StopForPause
        | Event::Gone
        | Event::Stop => in_a_turn(state, event),
    }
}

/// Of the events that end a turn or a try at one.
fn in_a_turn(state: State, event: Event) -> Reach {
    use State as S;
    match state {
        S::Starting => Reach::Must,
        S::Running if event == Event::StartFailed => Reach::May,
        S::Running => Reach::Must,
        S::WaitingAsk if matches!(event, Event::Stop | Event::Gone) => Reach::Must,
        S::WaitingChildren
            if matches!(
                event,
                Event::EndedWell | Event::EndedOpen | Event::EndedBadly | Event::Stop
            ) =>
        {
            Reach::Must
        }
        S::WaitingAsk | S::WaitingChildren => Reach::May,
        // A budget may run out for one that has just ended.
        _ if event == Event::Stop => Reach::May,
        S::Queued
        | S::Paused
        | S::Stopping
        | S::Completed
        | S::Failed
        | S::Cancelled
        | S::TimedOut
        | S::Lost => Reach::Never,
    }
}
