//! What can go wrong without anybody's defect: each with an exit code and what to try.

use homing_core::words::Code;
use homing_ports::store::StoreError;
use homing_runtime::Refused;

/// Something went wrong that people can do something about.
#[derive(Debug, thiserror::Error)]
pub enum Expected {
    #[error("{what}")]
    Usage { what: String, hint: &'static str },
    #[error("the home {path} cannot be used: {why}")]
    Home { path: String, why: String },
    #[error("the home {path} is held by another homing that runs now")]
    Held { path: String },
    #[error("{0}")]
    Store(StoreError),
    #[error("{0}")]
    Refused(Refused),
    #[error("the output cannot be written: {0}")]
    Output(std::io::Error),
    /// Whoever read the output went away: nothing to say, and nobody to say it to.
    #[error("the output was closed")]
    Closed,
}

impl Expected {
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage { .. } => 2,
            Self::Home { .. } | Self::Held { .. } => 6,
            Self::Store(error) | Self::Refused(Refused::Store(error)) => match error {
                StoreError::BelowFloor { .. } => 3,
                StoreError::Damaged { .. }
                | StoreError::Newer { .. }
                | StoreError::Foreign { .. }
                | StoreError::Held { .. }
                | StoreError::Unavailable { .. } => 6,
            },
            Self::Refused(Refused::Stopped) => 6,
            Self::Refused(Refused::Because { code, .. }) => refused(*code),
            Self::Output(_) => 1,
            Self::Closed => 0,
        }
    }

    /// What to try.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Usage { hint, .. } => *hint,
            Self::Home { .. } => "name a directory of your own with --home DIR or HOMING_HOME",
            Self::Held { .. } => "wait until that one ends, or use another home with --home DIR",
            Self::Store(error) | Self::Refused(Refused::Store(error)) => match error {
                StoreError::Damaged { .. } => {
                    "nothing was changed; put a copy of the home in its place"
                }
                StoreError::Newer { .. } => "use the newer homing that wrote it",
                StoreError::Foreign { .. } => "name another home with --home DIR",
                StoreError::Held { .. } => "wait until that one ends",
                StoreError::BelowFloor { floor, .. } => {
                    return Some(format!("homing events --after {floor}"));
                }
                StoreError::Unavailable { .. } => {
                    "see that its disk has space and can be written to"
                }
            },
            Self::Refused(Refused::Because { code: Code::NotFound, .. }) => "homing ls --all",
            Self::Refused(Refused::Because { code: Code::KeyReused, .. }) => {
                "use another --key, or give the same command, directory and options again"
            }
            Self::Refused(Refused::Because { code: Code::Unavailable | Code::Unsure, .. }) => {
                "the same again; with a --key it is the same task"
            }
            Self::Refused(_) | Self::Output(_) | Self::Closed => return None,
        };
        Some(hint.to_owned())
    }
}

impl From<StoreError> for Expected {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Refused> for Expected {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<std::io::Error> for Expected {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::Closed;
        }
        Self::Output(error)
    }
}

fn refused(code: Code) -> u8 {
    match code {
        Code::Invalid => 2,
        Code::NotFound => 3,
        Code::Unsure | Code::Unavailable => 6,
        Code::HandshakeFailed
        | Code::SessionNotFound
        | Code::TelemetryFallback
        | Code::DepthExceeded
        | Code::OriginUnhandled
        | Code::RoomClosed
        | Code::AbortUnconfirmed
        | Code::LivingLimit
        | Code::LineageUnknown
        | Code::LineageCycle
        | Code::KeyReused
        | Code::BudgetUnavailable
        | Code::NotEnded
        | Code::Ended
        | Code::CannotPrompt
        | Code::AskClosed
        | Code::OwnAsk
        | Code::CascadeIncomplete
        | Code::NotAfter
        | Code::Stopping => 5,
    }
}
