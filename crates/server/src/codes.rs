//! The codes that the door itself gives, each with its status; those of the core are `homing_core::words::Code`.

use axum::http::StatusCode;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// Over TCP, without the token.
    Token,
    /// A request for another machine.
    Host,
    /// A request of a web page that may not call.
    Origin,
    OtherUser,
    /// Whether the caller is inside a task is not known.
    CallerUnknown,
    InsideTask,
    Slow,
    Method,
    TooLarge,
    /// The journal does not go back that far.
    BelowFloor,
    Damaged,
}

impl Own {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Token => "E_TOKEN",
            Self::Host => "E_HOST",
            Self::Origin => "E_ORIGIN",
            Self::OtherUser => "E_OTHER_USER",
            Self::CallerUnknown => "E_CALLER_UNKNOWN",
            Self::InsideTask => "E_INSIDE_TASK",
            Self::Slow => "E_SLOW",
            Self::Method => "E_METHOD",
            Self::TooLarge => "E_TOO_LARGE",
            Self::BelowFloor => "E_BELOW_FLOOR",
            Self::Damaged => "E_DAMAGED",
        }
    }

    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Token => StatusCode::UNAUTHORIZED,
            Self::Host
            | Self::Origin
            | Self::OtherUser
            | Self::CallerUnknown
            | Self::InsideTask => StatusCode::FORBIDDEN,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BelowFloor => StatusCode::GONE,
            Self::Damaged => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}
