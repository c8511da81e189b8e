//! Seeded bugs: one-line mutations that the simulation must find. Without the feature `seeded-bugs` every
//! switch is off and costs nothing; no build that people use has it.

use crate::words::words;

words! {
    /// One wrong line each.
    Bug {
        KeyIgnored = "the idempotency key is not looked up",
        KeyForgotten = "an idempotency key is forgotten when its task leaves memory",
        AnsweredEarly = "replies are released before the commit",
        SameGeneration = "a resume opens no new generation",
        LateCancelCounts = "a cancel that comes too late is shown as the end",
        HintIsEnd = "an idle word counts as the end",
        ErrorIgnored = "an end with an error counts as good",
        LengthIsGood = "a truncated answer counts as good",
        FilteredIsGood = "a refusal counts as good",
        SilenceIsGood = "no activity for long counts as done",
        FailedLookIsEnd = "a look that failed counts as the end",
        NoNotice = "a completion owes nobody a word",
        SettledTwice = "a receipt is written twice",
        SentIsSettled = "a failed send counts as delivered",
        ActsEarly = "effects are released before the commit",
        SentEarly = "a debrief is sent before it is written down",
        RowForgotten = "a task's row is left out of its group",
        OutboxForgotten = "a debrief's row is left out of its group",
        Reversed = "a debrief tells in the wrong order",
        LastFirst = "the youngest of several outcomes is told first",
        IntoTurn = "a debrief is sent into a turn",
        TurnUnfenced = "a fact of another turn counts",
        AttemptUnfenced = "a fact of another attempt counts",
        StaleCounts = "a stale fact changes the task",
        StaleIsActive = "a stale fact counts as activity",
        RetryUnconfirmed = "a retry is allowed while an unconfirmed attempt may still run",
        OrphanIgnored = "a session that came to be after its attempt was given up is left running",
        OldSessionRuns = "the next model starts before the old session is stopped",
        AbortOvertakes = "an abort overtakes a prompt",
        CancelAtOnce = "a running task is called cancelled before it stopped",
        OneTooMany = "one more than the limit starts",
        PauseHolds = "a paused task counts as holding its slot",
        CancelLoses = "a cancelled task completes after all",
        CancelLies = "a cancel says that a running task had ended",
        EndlessAttempts = "attempts are not counted",
        HintIsFailure = "an error that is not the end counts as the end",
        FailedLookStops = "a look that failed stops the task",
        NeverLooks = "the host is never asked",
        NoteIsWritten = "activity that is not journaled changes the row",
        NumberSkipped = "a line's number is skipped",
        RecoversAgain = "each recovery writes the same doubt again",
        QuietEarly = "quiet counts ten times as fast",
        StopEarly = "a stop is given up on ten times too early",
        NeverPumped = "a freed slot is given to nobody",
        NeverWoken = "a parent that does not answer is never woken again",
        DeathUndoesEnd = "a program that dies later cuts off a turn that had ended",
        AskForever = "an ask never expires",
        NoHeirs = "what a deleted parent is owed goes nowhere",
        DependantForgotten = "a dependant is not told that it may run",
        LenderStarves = "a lent slot is never given back",
        PauseForever = "a pause has no end",
        WordsBackwards = "the youngest of several words for a command is said first",
        AgainForgotten = "what is to be sent again, and must wait for another, is forgotten",
        DebriefsForgotten = "a restart forgets what was sealed",
        OwedEvicted = "an ended task leaves memory while it is owed",
        NoTelemetry = "an end is not given to telemetry",
        WaitersForgotten = "requests that wait for a task are never answered",
        TakersForgotten = "a consumer that waits is never given what comes",
        ReadersForgotten = "a reader is never answered",
        TouchesOthers = "an end cancels a task that has nothing to do with it",
        NeighbourActive = "activity counts for the next in the queue",
        RevivedTaken = "retention takes a task that came back to life meanwhile",
        StaleLoadCounts = "a task that retention took comes back by an older read",
        Unfenced = "a child's text stands bare in a debrief",
        SilencePosted = "the token of silence is posted",
        PersonLast = "a debrief goes before a person's turn in a conversation",
        TurnOnce = "a debrief whose turn failed in a conversation has none again",
    }
}

#[cfg(feature = "seeded-bugs")]
mod switch {
    use std::cell::Cell;

    use super::Bug;

    thread_local! {
        static ACTIVE: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Turns one bug on, or all off, for this thread.
    pub fn set(bug: Option<Bug>) {
        ACTIVE.set(bug);
    }

    pub fn active(bug: Bug) -> bool {
        ACTIVE.get() == Some(bug)
    }
}

#[cfg(feature = "seeded-bugs")]
pub use switch::{active, set};

#[cfg(not(feature = "seeded-bugs"))]
pub const fn active(_: Bug) -> bool {
    false
}
