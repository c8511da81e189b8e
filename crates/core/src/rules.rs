//! The transition table: for every state and every event one verdict. Printed to `docs/transitions.md`.
//!
//! Events are judged before they come here: fences are checked, evidence is weighed. The table only says
//! where a judged event leads. Nested matches without a catch-all, so a new word must be answered
//! everywhere before the crate builds.

use crate::words::{State, words};

words! {
    /// What may happen to a task, judged.
    Event {
        /// A fact of the current attempt and turn arrived.
        Seen = "seen",
        SlotGranted = "slot granted",
        StartFailed = "start failed",
        TurnTaken = "turn taken",
        AskOpened = "ask opened",
        AsksClosed = "asks closed",
        /// Terminal evidence of the latest turn, nothing contradicts.
        EndedWell = "ended well",
        /// As above, but descendants live or results are not taken.
        EndedOpen = "ended, subtree open",
        EndedBadly = "ended badly",
        /// Another attempt, and nothing of the old one is left to stop.
        TryNext = "try next",
        /// Another attempt, once the old one is stopped.
        StopForNext = "stop for next",
        Pause = "pause",
        StopForPause = "stop for pause",
        PauseOver = "pause over",
        SlotRetaken = "slot retaken",
        Cancel = "cancel",
        /// A limit of ours was reached: time, breaker, budget.
        Stop = "stop",
        StoppedCancelled = "stopped: cancelled",
        StoppedTimedOut = "stopped: timed out",
        StoppedFailed = "stopped: failed",
        StoppedNext = "stopped: next attempt",
        StoppedPaused = "stopped: paused",
        StopGivenUp = "stop given up",
        Gone = "session gone",
        DependencyMet = "dependency met",
        DependencyFailed = "dependency failed",
        Send = "send",
        Resume = "resume",
        Retry = "retry",
    }
}

/// What the table says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Go(State),
    Stay,
    /// Kept in the journal; changes nothing.
    Stale,
    /// Answered with a refusal; changes nothing.
    Refuse,
}

use Event as E;
use State as S;
use Verdict::{Go, Refuse, Stale, Stay};

/// The table.
pub fn rule(state: State, event: Event) -> Verdict {
    match state {
        S::Queued => queued(event),
        S::Starting => starting(event),
        S::Running => running(event),
        S::WaitingAsk => waiting_ask(event),
        S::WaitingChildren => waiting_children(event),
        S::Paused => paused(event),
        S::Stopping => stopping(event),
        S::Completed | S::Failed | S::Cancelled | S::TimedOut | S::Lost => ended(event),
    }
}

fn queued(event: Event) -> Verdict {
    match event {
        E::SlotGranted => Go(S::Starting),
        E::Cancel => Go(S::Cancelled),
        E::DependencyFailed => Go(S::Cancelled),
        E::DependencyMet => Stay,
        E::Seen
        | E::StartFailed
        | E::TurnTaken
        | E::AskOpened
        | E::AsksClosed
        | E::EndedWell
        | E::EndedOpen
        | E::EndedBadly
        | E::TryNext
        | E::StopForNext
        | E::Pause
        | E::StopForPause
        | E::PauseOver
        | E::SlotRetaken
        | E::StoppedCancelled
        | E::StoppedTimedOut
        | E::StoppedFailed
        | E::StoppedNext
        | E::StoppedPaused
        | E::StopGivenUp
        | E::Gone => Stale,
        E::Stop | E::Send | E::Resume | E::Retry => Refuse,
    }
}

fn starting(event: Event) -> Verdict {
    match event {
        E::Seen => Stay,
        E::TurnTaken => Go(S::Running),
        E::StartFailed => Go(S::Failed),
        E::AskOpened => Go(S::WaitingAsk),
        E::EndedWell => Go(S::Completed),
        E::EndedOpen => Go(S::WaitingChildren),
        E::EndedBadly => Go(S::Failed),
        E::TryNext => Go(S::Queued),
        E::Pause => Go(S::Paused),
        E::StopForNext | E::StopForPause | E::Cancel | E::Stop => Go(S::Stopping),
        E::Gone => Go(S::Lost),
        E::Send => Stay,
        E::SlotGranted
        | E::AsksClosed
        | E::PauseOver
        | E::SlotRetaken
        | E::StoppedCancelled
        | E::StoppedTimedOut
        | E::StoppedFailed
        | E::StoppedNext
        | E::StoppedPaused
        | E::StopGivenUp
        | E::DependencyMet
        | E::DependencyFailed => Stale,
        E::Resume | E::Retry => Refuse,
    }
}

fn running(event: Event) -> Verdict {
    match event {
        E::Seen | E::TurnTaken | E::Send => Stay,
        E::AskOpened => Go(S::WaitingAsk),
        E::EndedWell => Go(S::Completed),
        E::EndedOpen => Go(S::WaitingChildren),
        E::EndedBadly => Go(S::Failed),
        E::TryNext => Go(S::Queued),
        E::Pause => Go(S::Paused),
        E::StopForNext | E::StopForPause | E::Cancel | E::Stop => Go(S::Stopping),
        E::Gone => Go(S::Lost),
        E::SlotGranted
        | E::StartFailed
        | E::AsksClosed
        | E::PauseOver
        | E::SlotRetaken
        | E::StoppedCancelled
        | E::StoppedTimedOut
        | E::StoppedFailed
        | E::StoppedNext
        | E::StoppedPaused
        | E::StopGivenUp
        | E::DependencyMet
        | E::DependencyFailed => Stale,
        E::Resume | E::Retry => Refuse,
    }
}

fn waiting_ask(event: Event) -> Verdict {
    match event {
        E::Seen | E::AskOpened | E::Send => Stay,
        E::AsksClosed => Go(S::Running),
        E::EndedWell => Go(S::Completed),
        E::EndedOpen => Go(S::WaitingChildren),
        E::EndedBadly => Go(S::Failed),
        E::TryNext => Go(S::Queued),
        E::Pause => Go(S::Paused),
        E::StopForNext | E::StopForPause | E::Cancel | E::Stop => Go(S::Stopping),
        E::Gone => Go(S::Lost),
        E::SlotGranted
        | E::StartFailed
        | E::TurnTaken
        | E::PauseOver
        | E::SlotRetaken
        | E::StoppedCancelled
        | E::StoppedTimedOut
        | E::StoppedFailed
        | E::StoppedNext
        | E::StoppedPaused
        | E::StopGivenUp
        | E::DependencyMet
        | E::DependencyFailed => Stale,
        E::Resume | E::Retry => Refuse,
    }
}

fn waiting_children(event: Event) -> Verdict {
    match event {
        E::Seen | E::EndedOpen | E::Send => Stay,
        E::SlotRetaken => Go(S::Running),
        E::EndedWell => Go(S::Completed),
        E::EndedBadly => Go(S::Failed),
        E::TryNext => Go(S::Queued),
        E::Pause => Go(S::Paused),
        E::StopForNext | E::StopForPause | E::Cancel | E::Stop => Go(S::Stopping),
        E::Gone => Go(S::Lost),
        E::SlotGranted
        | E::StartFailed
        | E::TurnTaken
        | E::AskOpened
        | E::AsksClosed
        | E::PauseOver
        | E::StoppedCancelled
        | E::StoppedTimedOut
        | E::StoppedFailed
        | E::StoppedNext
        | E::StoppedPaused
        | E::StopGivenUp
        | E::DependencyMet
        | E::DependencyFailed => Stale,
        E::Resume | E::Retry => Refuse,
    }
}

fn paused(event: Event) -> Verdict {
    match event {
        E::PauseOver => Go(S::Queued),
        E::Cancel => Go(S::Cancelled),
        E::Gone => Go(S::Lost),
        E::Seen
        | E::SlotGranted
        | E::StartFailed
        | E::TurnTaken
        | E::AskOpened
        | E::AsksClosed
        | E::EndedWell
        | E::EndedOpen
        | E::EndedBadly
        | E::TryNext
        | E::StopForNext
        | E::Pause
        | E::StopForPause
        | E::SlotRetaken
        | E::StoppedCancelled
        | E::StoppedTimedOut
        | E::StoppedFailed
        | E::StoppedNext
        | E::StoppedPaused
        | E::StopGivenUp
        | E::DependencyMet
        | E::DependencyFailed => Stale,
        E::Stop | E::Send | E::Resume | E::Retry => Refuse,
    }
}

fn stopping(event: Event) -> Verdict {
    match event {
        E::StoppedCancelled => Go(S::Cancelled),
        E::StoppedTimedOut => Go(S::TimedOut),
        E::StoppedFailed => Go(S::Failed),
        E::StoppedNext => Go(S::Queued),
        E::StoppedPaused => Go(S::Paused),
        E::StopGivenUp => Go(S::Lost),
        E::Seen | E::Cancel => Stay,
        E::SlotGranted
        | E::StartFailed
        | E::TurnTaken
        | E::AskOpened
        | E::AsksClosed
        | E::EndedWell
        | E::EndedOpen
        | E::EndedBadly
        | E::TryNext
        | E::StopForNext
        | E::Pause
        | E::StopForPause
        | E::PauseOver
        | E::SlotRetaken
        | E::Gone
        | E::DependencyMet
        | E::DependencyFailed => Stale,
        E::Stop | E::Send | E::Resume | E::Retry => Refuse,
    }
}

fn ended(event: Event) -> Verdict {
    match event {
        E::Resume | E::Retry => Go(S::Queued),
        E::Seen
        | E::SlotGranted
        | E::StartFailed
        | E::TurnTaken
        | E::AskOpened
        | E::AsksClosed
        | E::EndedWell
        | E::EndedOpen
        | E::EndedBadly
        | E::TryNext
        | E::StopForNext
        | E::Pause
        | E::StopForPause
        | E::PauseOver
        | E::SlotRetaken
        | E::StoppedCancelled
        | E::StoppedTimedOut
        | E::StoppedFailed
        | E::StoppedNext
        | E::StoppedPaused
        | E::StopGivenUp
        | E::Gone
        | E::DependencyMet
        | E::DependencyFailed => Stale,
        E::Cancel | E::Stop | E::Send => Refuse,
    }
}
