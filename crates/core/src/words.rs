//! Owns the field-less words of a task's life: states, causes, targets, turn kinds. Says nothing of how
//! one leads to the other; `rules` does.

/// Field-less enums that are written as one lower-case word and can be walked.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.pad(self.word())
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                crate::schema::one_of(Self::ALL.iter().map(|each| each.word()))
            }
        }

        #[cfg(feature = "schema")]
        impl utoipa::ToSchema for $name {}
    };
}
pub(crate) use words;

words! {
    /// Where a task stands.
    State {
        /// Accepted, no turn under way.
        Queued = "queued",
        /// Session or first prompt under way.
        Starting = "starting",
        /// A turn in flight.
        Running = "running",
        /// The turn is blocked on an ask.
        WaitingAsk = "waiting_ask",
        /// The turn ended; descendants live, or results are not taken yet.
        WaitingChildren = "waiting_children",
        /// Quota or retry-after; goes on by itself.
        Paused = "paused",
        /// Abort not confirmed.
        Stopping = "stopping",
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
        TimedOut = "timed_out",
        Lost = "lost",
    }
}

impl State {
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled | Self::TimedOut | Self::Lost => true,
            Self::Queued
            | Self::Starting
            | Self::Running
            | Self::WaitingAsk
            | Self::WaitingChildren
            | Self::Paused
            | Self::Stopping => false,
        }
    }

    /// Whether a task in this state holds a slot (unless it lent it).
    pub const fn holds_slot(self) -> bool {
        match self {
            Self::Starting | Self::Running | Self::WaitingAsk | Self::Stopping => true,
            Self::Queued
            | Self::WaitingChildren
            | Self::Paused
            | Self::Completed
            | Self::Failed
            | Self::Cancelled
            | Self::TimedOut
            | Self::Lost => false,
        }
    }
}

words! {
    /// Why a generation ended, or is being stopped.
    Cause {
        Answered = "answered",
        /// A clean end, tools ran, no text: completed, flagged.
        NoText = "no_text",
        Exited = "exited",
        Error = "error",
        /// The agent said and did nothing.
        Empty = "empty",
        Truncated = "truncated",
        Refused = "refused",
        Interrupted = "interrupted",
        Breaker = "breaker",
        Stale = "stale",
        NeverActive = "never_active",
        NotStarted = "not_started",
        Timeout = "timeout",
        Budget = "budget",
        Dependency = "dependency",
        SessionDeleted = "session_deleted",
        HostGone = "host_gone",
        AbortUnconfirmed = "abort_unconfirmed",
        /// Somebody asked for it.
        Asked = "asked",
        /// The task that launched it ended otherwise than completed, or its parent was deleted.
        ParentEnded = "parent_ended",
        /// Every model of the chain, or every attempt, was used up.
        Exhausted = "exhausted",
    }
}

words! {
    /// Where a stop leads once it is confirmed.
    Target {
        Cancelled = "cancelled",
        TimedOut = "timed_out",
        Failed = "failed",
        NextAttempt = "next_attempt",
        Paused = "paused",
    }
}

words! {
    /// What a turn of a child is for.
    TurnKind {
        /// The task's own prompt.
        First = "first",
        /// Goes on in the same session after a pause or an interruption.
        GoOn = "go_on",
        /// The prompt of a resume.
        Resume = "resume",
        /// A `send`.
        Send = "send",
        /// What its own children brought home.
        Debrief = "debrief",
        /// Begun by someone else: an adopted session.
        Foreign = "foreign",
    }
}

words! {
    /// How far a turn of a child has come, as far as we know.
    Phase {
        /// Not sent.
        Unsent = "unsent",
        /// Sent, or perhaps not: the host must be asked before it is sent again.
        Unsure = "unsure",
        /// The host has it.
        Taken = "taken",
        /// The host's own record shows its end.
        Ended = "ended",
    }
}

words! {
    /// How a parent wants to be told.
    Notify {
        /// One debrief for the batch.
        Debrief = "debrief",
        /// Each outcome at once.
        Each = "each",
        /// Kept for reading; wakes nobody.
        Inbox = "inbox",
        /// Nothing is owed.
        Silent = "silent",
    }
}

words! {
    /// What a notice or a debrief has reached.
    DeliveryState {
        Owed = "owed",
        Sealed = "sealed",
        Sent = "sent",
        Accepted = "accepted",
        Settled = "settled",
        /// Wholly settled before it was ever sent.
        Withdrawn = "withdrawn",
        Undeliverable = "undeliverable",
    }
}

impl DeliveryState {
    /// Whether nothing more is owed.
    pub const fn is_over(self) -> bool {
        match self {
            Self::Settled | Self::Withdrawn => true,
            Self::Owed | Self::Sealed | Self::Sent | Self::Accepted | Self::Undeliverable => false,
        }
    }
}

words! {
    /// Stable codes that people and scripts see.
    Code {
        HandshakeFailed = "E_TASK_REGISTRY_HANDSHAKE_FAILED",
        SessionNotFound = "E_SESSION_NOT_FOUND",
        TelemetryFallback = "E_COMPLETION_TELEMETRY_FALLBACK",
        DepthExceeded = "E_DELEGATION_DEPTH_EXCEEDED",
        OriginUnhandled = "E_ORIGIN_TYPE_UNHANDLED",
        RoomClosed = "E_ROOM_CLOSED",
        ReceiverRefused = "E_RECEIVER_REFUSED",
        AbortUnconfirmed = "E_ABORT_UNCONFIRMED",
        LivingLimit = "E_LIVING_DESCENDANTS_EXCEEDED",
        LineageUnknown = "E_LINEAGE_UNKNOWN",
        LineageCycle = "E_LINEAGE_CYCLE",
        KeyReused = "E_IDEMPOTENCY_KEY_REUSED",
        BudgetUnavailable = "E_BUDGET_UNAVAILABLE",
        NotFound = "E_NOT_FOUND",
        NotEnded = "E_NOT_ENDED",
        Ended = "E_ENDED",
        Invalid = "E_INVALID",
        CannotPrompt = "E_CANNOT_PROMPT",
        AskClosed = "E_ASK_CLOSED",
        OnItsWay = "E_ON_ITS_WAY",
        OwnAsk = "E_OWN_ASK",
        PeopleOnly = "E_PERMISSION_BY_PEOPLE",
        CascadeIncomplete = "E_CASCADE_INCOMPLETE",
        NotAfter = "E_DEPENDENCY_UNKNOWN",
        Stopping = "E_STOPPING",
        Unsure = "E_UNSURE_REPEAT",
        Unavailable = "E_UNAVAILABLE",
    }
}

words! {
    /// Known, or honestly not.
    Tri { Yes = "yes", No = "no", Unknown = "unknown" }
}
